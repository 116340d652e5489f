"""POWER: every instruction at least once; computations by their results, accesses by their translation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.frontends.litmus.sequential import runner

from dekker.frontends.litmus.architecture import InstructionError, Register
from dekker.frontends.litmus.ppc import ARCHITECTURE
from dekker.ir.arithmetic import mask, signed
from dekker.ir.expressions import ZERO, Binary, Const, Reg
from dekker.ir.expressions import registers as read_registers
from dekker.ir.instructions import Assign, Branch, Exit, Fence, Instruction, Jump, Load, Store, StoreConditional

R1, R2, R3 = Reg("r1"), Reg("r2"), Reg("r3")
translate = ARCHITECTURE.instruction
run = runner("PPC")
WORDS = st.integers(0, mask(64))


def one(text: str) -> Instruction:
    (only,) = translate(text)
    return only


def result(cells: str, **registers: int) -> int:
    """What is in r1 at the end, as a signed number."""
    return signed(64, run(cells, registers=registers).registers["r1"])


def error(text: str) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        translate(text)
    return caught.value


@pytest.mark.parametrize(
    ("name", "register"),
    [
        ("r0", Register("r0", 32)),
        ("R31", Register("r31", 32)),
        ("%x0", Register("%x0", 32)),
        ("r32", None),
        ("r01", None),
        ("x", None),
        ("cr0", None),
        ("", None),
    ],
)
def test_registers(name: str, register: Register | None) -> None:
    assert ARCHITECTURE.register(name) == register


# Memory


@pytest.mark.parametrize(("letter", "size"), [("b", 1), ("h", 2), ("w", 4)])
def test_loads_and_stores(letter: str, size: int) -> None:
    assert one(f"l{letter}z r1,0(r2)") == Load("r1", R2, size)
    assert one(f"l{letter}zx r1,r2,r3") == Load("r1", Binary("add", 64, R2, R3), size)
    assert one(f"st{letter} r1,0(r2)") == Store(R2, R1, size)
    assert one(f"st{letter}x r1,r2,r3") == Store(Binary("add", 64, R2, R3), R1, size)


def test_double_words_and_signed_loads() -> None:
    assert one("ld r1,8(r2)") == Load("r1", Binary("add", 64, R2, Const(8)), 8)
    assert one("ldx r1,r2,r3") == Load("r1", Binary("add", 64, R2, R3), 8)
    assert one("std r1,-8(r2)") == Store(Binary("add", 64, R2, Const(-8)), R1, 8)
    assert one("stdx r1,r2,r3") == Store(Binary("add", 64, R2, R3), R1, 8)
    assert one("lwa r1,0(r2)") == Load("r1", R2, 4, signed=True)
    assert one("lha r1,0(r2)") == Load("r1", R2, 2, signed=True)
    assert one("lwax r1,r2,r3") == Load("r1", Binary("add", 64, R2, R3), 4, signed=True)


@pytest.mark.parametrize("place", ["0(r2)", "0 ( r2 )", "(r2)", "0,r2", "0x0(R2)"])
def test_ways_to_write_an_address(place: str) -> None:
    assert one(f"lwz r1,{place}") == Load("r1", R2, 4)


def test_zero_as_base() -> None:
    assert one("lwzx r1,0,r2") == Load("r1", R2, 4)
    assert one("lwzx r1,r0,r2") == Load("r1", Binary("add", 64, Reg("r0"), R2), 4)
    assert one("lwz r1,16(0)") == Load("r1", Const(16), 4)


def test_symbolic_registers() -> None:
    assert one("lwz %v,0(%x)") == Load("%v", Reg("%x"), 4)


def test_updates() -> None:
    moved = Binary("add", 64, R2, Const(4))
    indexed = Binary("add", 64, R2, R3)
    assert translate("lwzu r1,4(r2)") == (Load("r1", moved, 4), Assign("r2", moved))
    assert translate("stwu r1,4,r2") == (Store(moved, R1, 4), Assign("r2", moved))
    assert translate("stdux r1,r2,r3") == (Store(indexed, R1, 8), Assign("r2", indexed))
    assert translate("lwzux r1,r2,r3") == (Load("r1", indexed, 4), Assign("r2", indexed))
    assert "must differ" in error("lwzu r1,4(r1)").message
    assert "must differ" in error("lwzux r1,r1,r2").message


@pytest.mark.parametrize(("letter", "size"), [("b", 1), ("h", 2), ("w", 4), ("d", 8)])
def test_reservations(letter: str, size: int) -> None:
    assert one(f"l{letter}arx r1,0,r2") == Load("r1", R2, size, exclusive=True)
    assert one(f"l{letter}arx r1,r3,r2,1") == Load("r1", Binary("add", 64, R3, R2), size, exclusive=True)
    store, *flags = translate(f"st{letter}cx. r1,r0,r2")
    assert isinstance(store, StoreConditional)
    assert (store.address, store.value, store.size) == (Binary("add", 64, Reg("r0"), R2), R1, size)
    assert [item.dst for item in flags if isinstance(item, Assign)] == ["CR0.lt", "CR0.gt", "CR0.eq"]


def test_flags_after_a_conditional_store_come_from_its_status_alone() -> None:
    store, *flags = translate("stwcx. r1,0,r2")
    assert isinstance(store, StoreConditional)
    used = frozenset[str]().union(*(read_registers(item.value) for item in flags if isinstance(item, Assign)))
    assert used == {store.status}
    assert result("li r1,5 ; stwcx. r1,0,r2 ; bne Fail ; li r1,7 ; Fail:") == 7


# Control and fences


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sync", "sync"),
        ("hwsync", "sync"),
        ("sync 0", "sync"),
        ("sync 1", "lwsync"),
        ("lwsync", "lwsync"),
        ("eieio", "eieio"),
        ("isync", "isync"),
        ("SYNC", "sync"),
    ],
)
def test_fences(text: str, kind: str) -> None:
    assert one(text) == Fence(kind)


@pytest.mark.parametrize(
    ("cells", "loaded", "base"),
    [("lwzux r2,r1,r2", 8, 4), ("lwzux r3,r1,r2", 8, 4), ("ldux r2,r1,r3", 7 + (8 << 32), 0)],
)
def test_updates_use_the_index_from_before_the_load(cells: str, loaded: int, base: int) -> None:
    machine = run(cells, "int x[3]={7,8,9}; 0:r1=x; 0:r2=4;")
    assert machine.registers[cells.split()[1][:2]] == loaded
    assert machine.registers["r1"] - machine.layout.starts["x"] == base


@pytest.mark.parametrize("text", ["nop", "dcbf r1,r2", 'com "text"'])
def test_no_effect(text: str) -> None:
    assert translate(text) == ()


def test_branches() -> None:
    assert one("b Loop") == Jump("Loop")
    assert one("beq L0") == Branch(Reg("CR0.eq"), "L0")
    assert one("bne cr3,L0") == Branch(Binary("eq", 64, Reg("CR3.eq"), ZERO), "L0")
    assert one("blr") == Exit()
    assert one("bne- L0") == one("bne+ L0") == one("bne L0")


def goes(branch: str, compare: str, left: int, right: int) -> bool:
    return result(f"{compare} ; li r1,0 ; {branch} End ; li r1,1 ; End:", r2=left & mask(64), r3=right & mask(64)) == 0


@given(st.integers(-2, 2), st.integers(-2, 2))
def test_signed_comparisons(left: int, right: int) -> None:
    for compare in ("cmpw r2,r3", f"cmpwi r2,{right}", "cmpd r2,r3", f"cmpdi r2,{right}", "cmpw cr0,r2,r3"):
        assert goes("beq", compare, left, right) == (left == right)
        assert goes("bne", compare, left, right) == (left != right)
        assert goes("blt", compare, left, right) == (left < right)
        assert goes("ble", compare, left, right) == goes("bng", compare, left, right) == (left <= right)
        assert goes("bgt", compare, left, right) == (left > right)
        assert goes("bge", compare, left, right) == goes("bnl", compare, left, right) == (left >= right)
    assert goes("blt cr5,", "cmpw cr5,r2,r3", left, right) == (left < right)


@given(WORDS, WORDS)
def test_unsigned_comparisons(left: int, right: int) -> None:
    assert goes("blt", "cmplw r2,r3", left, right) == (left & mask(32) < right & mask(32))
    assert goes("blt", "cmpld cr0,r2,r3", left, right) == (left < right)
    assert goes("bgt", "cmplwi r2,7", left, right) == (left & mask(32) > 7)


# Computations


@given(WORDS, WORDS)
def test_arithmetic(left: int, right: int) -> None:
    def gives(name: str, expected: int) -> None:
        assert result(f"{name} r1,r2,r3", r2=left, r3=right) == signed(64, expected & mask(64)), name

    gives("add", left + right)
    gives("sub", left - right)
    gives("subf", right - left)
    gives("mulld", left * right)
    gives("mullw", signed(32, left & mask(32)) * signed(32, right & mask(32)))
    gives("and", left & right)
    gives("or", left | right)
    gives("xor", left ^ right)
    gives("nor", ~(left | right))
    gives("nand", ~(left & right))
    gives("eqv", ~(left ^ right))
    gives("andc", left & ~right)
    gives("orc", left | ~right)
    gives("divdu", left // right if right else 0)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("mr r1,r2", 5, 5),
        ("neg r1,r2", 5, -5),
        ("not r1,r2", 5, -6),
        ("extsb r1,r2", 0x80, -128),
        ("extsh r1,r2", 0x8000, -32768),
        ("extsw r1,r2", 0xFFFF_FFFF, -1),
        ("addi r1,r2,-3", 5, 2),
        ("addi r1,0,7", 5, 7),
        ("addis r1,r2,2", 5, 0x20005),
        ("subi r1,r2,3", 5, 2),
        ("mulli r1,r2,-3", 5, -15),
        ("ori r1,r2,0xf0", 5, 0xF5),
        ("oris r1,r2,1", 5, 0x10005),
        ("xori r1,r2,1", 5, 4),
        ("xoris r1,r2,1", 5, 0x10005),
        ("andi. r1,r2,4", 5, 4),
        ("andi r1,r2,4", 5, 4),
        ("slwi r1,r2,4", 0xF000_0001, 0x10),
        ("srwi r1,r2,4", 0xF000_0001, 0x0F00_0000),
        ("srawi r1,r2,4", 0x8000_0000, -0x0800_0000),
        ("sldi r1,r2,4", 1, 16),
        ("srdi r1,r2,60", -1, 15),
        ("sradi r1,r2,60", -1, -1),
        ("slw r1,r2,r2", 3, 24),
        ("slw r1,r2,r2", 33, 0),
        ("srw r1,r2,r2", 2, 0),
        ("sraw r1,r2,r2", 0xFFFF_FFFF, -1),
        ("sld r1,r2,r2", 3, 24),
        ("divw r1,r2,r3", -7, -3),
        ("divwu r1,r2,r3", 7, 3),
        ("divd r1,r2,r3", -7, -3),
        ("rlwinm r1,r2,4,30,31", -1, 3),
        ("rlwinm r1,r2,16,0,15", -1, 0xFFFF_0000),
        ("rlwinm r1,r2,0,31,0", -1, 0x8000_0001),
        ("rlwimi r1,r2,8,16,23", 0xAB, 0xAB00),
        ("clrlwi r1,r2,24", -1, 255),
        ("clrldi r1,r2,32", -1, 0xFFFF_FFFF),
        ("li r1,-1", 0, -1),
        ("lis r1,-1", 0, -65536),
        ("lis r1,2", 0, 0x20000),
    ],
)
def test_results(text: str, value: int, expected: int) -> None:
    assert result(text, r2=value & mask(64), r3=2) == expected


@pytest.mark.parametrize("name", ["add.", "and.", "or.", "xor.", "sub.", "subf.", "nor.", "mullw."])
def test_dotted_forms_set_the_condition_field(name: str) -> None:
    expected = result(f"{name[:-1]} r1,r2,r3", r2=3, r3=5)
    for branch, holds in (("beq", expected == 0), ("blt", expected < 0), ("bgt", expected > 0)):
        assert (result(f"{name} r1,r2,r3 ; {branch} End ; li r1,99 ; End:", r2=3, r3=5) != 99) == holds


def test_dependencies_are_kept() -> None:
    (xor,) = translate("xor r3,r1,r1")
    assert isinstance(xor, Assign)
    assert read_registers(xor.value) == {"r1"}
    (zero,) = translate("andi r3,r1,0")
    assert isinstance(zero, Assign)
    assert read_registers(zero.value) == {"r1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frob r1", "unknown PPC instruction `frob`"),
        ("lwz r1", "takes 2 or 3 operands, not 1"),
        ("lwz r1,r2", "expected an address"),
        ("lwz 1,0(r2)", "expected a register"),
        ("lwz r1,q(r2)", "expected a number"),
        ("li r1,r2", "expected a number"),
        ("cmpw cr9,r1,r2", "expected a condition field"),
        ("beq 5", "expected a label"),
        ("rlwinm r1,r2,40,0,0", "out of range"),
        ("bl function", "there are no calls"),
        ("lmw r1,0(r2)", "several registers"),
        ("ptesync", "system instructions"),
    ],
)
def test_errors(text: str, message: str) -> None:
    assert message in error(text).message


def test_unknown_names_suggest_known_ones() -> None:
    assert "`lwzx`" in (error("lwzxx r1,r2,r3").hint or "")
