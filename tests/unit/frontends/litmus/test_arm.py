"""ARMv7: computations and flags by their results, accesses by their translation, conditions at the end of names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.frontends.litmus.sequential import Machine, parse, runner

from dekker.frontends.litmus.architecture import InstructionError, Register
from dekker.frontends.litmus.arm import ARCHITECTURE
from dekker.frontends.litmus.assembly import NEXT
from dekker.ir.arithmetic import mask, signed
from dekker.ir.expressions import ZERO, Address, Binary, Const, Reg
from dekker.ir.expressions import registers as read_registers
from dekker.ir.instructions import (
    Assign,
    Branch,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Store,
    StoreConditional,
)

R1, R2, R3 = Reg("R1"), Reg("R2"), Reg("R3")
translate = ARCHITECTURE.instruction
run = runner("ARM")
WORDS = st.integers(0, mask(32))


def one(text: str) -> Instruction:
    (only,) = translate(text)
    return only


def result(cells: str, **registers: int) -> int:
    """What is in R0 at the end."""
    return run(cells, registers=registers).registers["R0"] & mask(32)


def at(machine: Machine, symbol: str, offset: int = 0) -> int:
    return machine.read(machine.layout.starts[symbol] + offset, 4)


def error(text: str) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        translate(text)
    return caught.value


@pytest.mark.parametrize(
    ("name", "register"),
    [
        ("R0", "R0"),
        ("r12", "R12"),
        ("LR", "R14"),
        ("fp", "R11"),
        ("SP", "R13"),
        ("%x0", "%x0"),
        ("R15", None),
        ("PC", None),
        ("X0", None),
        ("x", None),
    ],
)
def test_registers(name: str, register: str | None) -> None:
    assert ARCHITECTURE.register(name) == (None if register is None else Register(register, 32))


# Memory


@pytest.mark.parametrize(("suffix", "size"), [("", 4), ("B", 1), ("H", 2)])
def test_loads_and_stores(suffix: str, size: int) -> None:
    assert one(f"LDR{suffix} R1,[R2]") == Load("R1", R2, size)
    assert one(f"STR{suffix} R1,[R2]") == Store(R2, R1, size)
    assert one(f"LDREX{suffix} R1,[R2]") == Load("R1", R2, size, exclusive=True)
    assert one(f"STREX{suffix} R1,R2,[R3]") == StoreConditional("R1", R3, R2, size)


def test_signed_loads() -> None:
    assert one("LDRSB R1,[R2]") == Load("R1", R2, 1, signed=True)
    assert one("ldrsh R1,[R2]") == Load("R1", R2, 2, signed=True)


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ("[R2]", R2),
        ("[ R2 ]", R2),
        ("R2", R2),
        ("[%x]", Reg("%x")),
        ("[R2,#0]", R2),
        ("[R2,#4]", Binary("add", 32, R2, Const(4))),
        ("[R2,4]", Binary("add", 32, R2, Const(4))),
        ("[R2,#-4]", Binary("add", 32, R2, Const(-4 & mask(32)))),
        ("[R2,R3]", Binary("add", 32, R2, R3)),
        ("[R2,-R3]", Binary("sub", 32, R2, R3)),
        ("[R2,R3,LSL #2]", Binary("add", 32, R2, Binary("shl", 32, R3, Const(2)))),
        ("[R2, R3, lsr #1]", Binary("add", 32, R2, Binary("lshr", 32, R3, Const(1)))),
    ],
)
def test_addresses(place: str, address: object) -> None:
    assert one(f"LDR R1,{place}") == Load("R1", address, 4)  # type: ignore[arg-type]


def test_write_back() -> None:
    moved = Binary("add", 32, R2, Const(4))
    assert translate("LDR R1,[R2,#4]!") == (Load("R1", moved, 4), Assign("R2", moved))
    assert translate("STR R1,[R2],#4") == (Store(R2, R1, 4), Assign("R2", moved))
    assert "must differ" in error("LDR R2,[R2],#4").message


def test_literals() -> None:
    assert one("LDR R1,=x") == Assign("R1", Address("x"))
    assert one("LDR R1,=0x10") == Assign("R1", Const(16))


def test_pairs_and_lists() -> None:
    four = Binary("add", 32, R2, Const(4))
    assert translate("LDRD R0,R1,[R2]") == (Load("R0", R2, 4), Load("R1", four, 4))
    assert translate("STRD R0,R1,[R2]") == (Store(R2, Reg("R0"), 4), Store(four, R1, 4))
    assert translate("LDRD R0,[R2]") == translate("LDRD R0,R1,[R2]")
    assert translate("LDM R2,{R0,R1}") == translate("LDMIA R2,{R0-R1}") == translate("LDRD R0,R1,[R2]")
    machine = run("LDM R0,{R3,R0-R1} ; STMIB R4!,{R0,R1}", "int x[3]={7,8,9}; int y[3]; 0:R0=x; 0:R4=y;")
    assert [machine.registers[name] for name in ("R0", "R1", "R3")] == [7, 8, 9]
    assert [at(machine, "y", offset) for offset in (0, 4, 8)] == [0, 7, 8]
    assert machine.registers["R4"] == machine.layout.starts["y"] + 8


# Control and fences


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("LDRD R2,R3,[R1,R2]", {"R2": 8, "R3": 9}),
        ("LDRD R1,R3,[R1,R2]", {"R1": 8, "R3": 9}),
        ("LDRD R3,R2,[R1,R2]", {"R3": 8, "R2": 9}),
        ("LDRD R2,R3,[R1],R2", {"R2": 7, "R3": 8, "R1": 4}),
        ("LDR R2,[R1],R2", {"R2": 7, "R1": 4}),
        ("LDR R2,[R1,R2]!", {"R2": 8, "R1": 4}),
        ("LDRNE R2,[R1],R2", {"R2": 7, "R1": 4}),
        ("LDM R1,{R1-R3}", {"R1": 7, "R2": 8, "R3": 9}),
    ],
)
def test_addresses_are_computed_before_loads_overwrite_their_registers(cells: str, expected: dict[str, int]) -> None:
    machine = run(cells, "int x[3]={7,8,9}; 0:R1=x; 0:R2=4;")
    start = machine.layout.starts["x"]
    found = {name: machine.registers[name] for name in expected}
    assert {name: value - start if value >= start else value for name, value in found.items()} == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DMB", "dmb.sy"),
        ("DMB SY", "dmb.sy"),
        ("DMB ST", "dmb.st"),
        ("dmb ish", "dmb.ish"),
        ("DMB ISHST", "dmb.ishst"),
        ("DMB.ST", "dmb.st"),
        ("DSB", "dsb.sy"),
        ("DSB ST", "dsb.st"),
        ("DSB OSHST", "dsb.oshst"),
        ("DSB NSH", "dsb.nsh"),
        ("DSB UNST", "dsb.nshst"),
        ("ISB", "isb"),
        ("ISB SY", "isb"),
    ],
)
def test_fences(text: str, kind: str) -> None:
    assert one(text) == Fence(kind)


def test_control() -> None:
    assert one("B L0") == Jump("L0")
    assert one("BEQ L0") == Branch(Reg("NZCV.Z"), "L0")
    assert one("CBZ R1,L0") == Branch(Binary("eq", 32, R1, ZERO), "L0")
    assert one("CBNZ R1,L0") == Branch(Binary("ne", 32, R1, ZERO), "L0")
    assert one("BX LR") == Exit()
    assert translate("NOP") == translate("PLD [R1]") == ()


def goes(branch: str, cells: str, left: int, right: int) -> bool:
    registers = {"R1": left & mask(32), "R2": right & mask(32)}
    return "R9" not in run(f"{cells} ; {branch} End ; MOV R9,#1 ; End:", registers=registers).registers


SIGNED = st.integers(-(1 << 31), (1 << 31) - 1)


@given(SIGNED, SIGNED)
def test_comparisons(left: int, right: int) -> None:
    lower, higher = left & mask(32) < right & mask(32), left & mask(32) > right & mask(32)
    conditions = {
        "BEQ": left == right,
        "BNE": left != right,
        "BLT": left < right,
        "BLE": left <= right,
        "BGT": left > right,
        "BGE": left >= right,
        "BCC BLO": lower,
        "BCS BHS": not lower,
        "BHI": higher,
        "BLS": not higher,
        "BMI": signed(32, (left - right) & mask(32)) < 0,
        "BPL": signed(32, (left - right) & mask(32)) >= 0,
        "BVS": not -(1 << 31) <= left - right < 1 << 31,
        "BVC": -(1 << 31) <= left - right < 1 << 31,
    }
    for names, holds in conditions.items():
        for name in names.split():
            assert goes(name, "CMP R1,R2", left, right) == holds, name
            assert goes(name, "SUBS R3,R1,R2", left, right) == holds, name
            assert goes(name, "RSBS R3,R2,R1", left, right) == holds, name
    carry = (left & mask(32)) + (right & mask(32)) > mask(32)
    assert goes("BCS", "CMN R1,R2", left, right) == goes("BCS", "ADDS R3,R1,R2", left, right) == carry
    assert goes("BEQ", "TST R1,R2", left, right) == (left & right == 0)
    assert goes("BEQ", "TEQ R1,R2", left, right) == (left == right)
    assert goes("BMI", "ANDS R3,R1,R2", left, right) == (left & right < 0)


# Computations


@given(WORDS, WORDS)
def test_arithmetic(left: int, right: int) -> None:
    expected = {
        "ADD": left + right,
        "SUB": left - right,
        "RSB": right - left,
        "AND": left & right,
        "ORR": left | right,
        "EOR": left ^ right,
        "XOR": left ^ right,
        "BIC": left & ~right,
        "ORN": left | ~right,
        "MUL": left * right,
        "UDIV": left // right if right else 0,
    }
    for name, value in expected.items():
        assert result(f"{name} R0,R1,R2", R1=left, R2=right) == value & mask(32), name
    assert result("ADD R0,R1", R0=left, R1=right) == (left + right) & mask(32)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("MOV R0,#5", 5),
        ("MOV R0,#-1", mask(32)),
        ("MOV R0,R1", 12),
        ("MOV R0,R1,LSL #2", 48),
        ("MVN R0,#0", mask(32)),
        ("MVN R0,R1", mask(32) - 12),
        ("MOVW R0,#0x1234 ; MOVT R0,#0xabcd", 0xABCD_1234),
        ("ADD R0,R1,#3", 15),
        ("ADD R0,R1,R2,LSL #1", 18),
        ("ADD R0,R1,R2,ASR R2", 12),
        ("LSL R0,R1,#2", 48),
        ("LSL R0,R1,R2", 96),
        ("LSR R0,R1,#2", 3),
        ("ASR R0,R1,#2", 3),
        ("ROR R0,R1,#3", 0x8000_0001),
        ("MLA R0,R1,R2,R1", 48),
        ("MLS R0,R1,R2,R1", -24 & mask(32)),
        ("SDIV R0,R1,R2", 4),
        ("UXTB R0,R3", 0x80),
        ("SXTB R0,R3", 0xFFFF_FF80),
        ("UXTH R0,R3", 0xFF80),
        ("SXTH R0,R3", 0xFFFF_FF80),
        ("MOV R0,#1 ; LSLS R1,R1,#28 ; MOVCC R0,#2", 2),
        ("MOV R0,#1 ; LSRS R1,R1,#3 ; MOVCS R0,#2", 2),
    ],
)
def test_results(cells: str, expected: int) -> None:
    assert result(cells, R1=12, R2=3, R3=0xFF80) == expected


def test_dependencies_are_kept() -> None:
    (xor,) = translate("EOR R1,R0,R0")
    assert isinstance(xor, Assign)
    assert read_registers(xor.value) == {"R0"}


# Conditions at the end of names


@pytest.mark.parametrize(("value", "expected"), [(0, 7), (1, 5)])
def test_conditional_computations(value: int, expected: int) -> None:
    for cells in ("MOVEQ R0,#7", "MOVEQ R0,R2", "ADDEQ R0,R0,#2", "ADDEQS R0,R0,#2", "ADDSEQ R0,R0,#2", "MOVWEQ R0,#7"):
        assert result(f"CMP R1,#0 ; {cells}", R0=5, R1=value, R2=7) == expected


def test_conditional_computations_make_no_branch() -> None:
    assert all(isinstance(item, Assign) for item in translate("ADDSNE R0,R0,#1"))


@pytest.mark.parametrize(("value", "expected"), [(0, 7), (1, 5)])
def test_conditional_accesses(value: int, expected: int) -> None:
    init = f"x=7; y=5; 0:R0=5; 0:R1={value}; 0:R2=x; 0:R3=y; 0:R4=7;"
    assert run("CMP R1,#0 ; LDREQ R0,[R2]", init).registers["R0"] == expected
    assert at(run("CMP R1,#0 ; STREQ R4,[R3]", init), "y") == expected
    assert at(run("CMP R1,#0 ; BNE End ; STRAL R4,[R3] ; End:", init), "y") == expected


def test_conditional_accesses_branch_around() -> None:
    (branch, store) = translate("STRNE R1,[R2]")
    assert branch == Branch(Binary("eq", 1, Binary("eq", 1, Reg("NZCV.Z"), ZERO), ZERO), NEXT)
    assert store == Store(R2, R1, 4)
    program = parse("ARM", "STRNE R1,[R2] ; L: LDREQ R1,[R2]", "0:R2=x;")
    function = program.functions[0]
    targets = [function.labels[item.target] for item in function.body if isinstance(item, Branch)]
    assert targets == [2, 4]
    assert function.labels["L"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROB R1", "unknown ARM instruction `FROB`"),
        ("LDR R1", "takes 2 or 3 operands"),
        ("LDR R1,[X2]", "expected a register"),
        ("LDR R1,[R2,R3,R4,R5]", "expected an address"),
        ("LDR R1,(R2)", "expected an address"),
        ("LDR R1,[R2,R3,FOO #1]", "expected a shift"),
        ("STREX R1,R1,[R2]", "must differ"),
        ("DMB LD", "expected a domain of DMB"),
        ("ANDS R1,R2,R3,LSL #1", "the flags that this shift sets"),
        ("LSLS R1,R2,R3", "the flags that this shift sets"),
        ("LDM R1,R2", "expected a list of registers"),
        ("LDRD R0,R1", "expected an address"),
        ("LDRD R14,[R1]", "expected a register"),
        ("LDRD %x,[R1]", "expected two registers"),
        ("LDRD R0,R1,[R2],#4,#5", "takes 2 to 4 operands"),
        ("LDRD R1,R2,[R1],#8", "must differ"),
        ("LDM R1!,{R0-R2}", "must differ"),
        ("MOV R0,#0x100000000", "4294967296 is out of range"),
        ("LDR R0,=0x100000000", "4294967296 is out of range"),
        ("BX R1", "only `BX LR`"),
        ("LDA R1,[R2]", "ARMv8"),
        ("STLEX R0,R1,[R2]", "ARMv8"),
        ("PUSH {R1}", "no stack"),
        ("LDREXD R0,R1,[R2]", "not translated"),
        ("ADC R1,R2,R3", "carry"),
        ("VLD1 R1", "vectors"),
        ("ITE EQ", "end of each name"),
        ("MOVT R1,#70000", "out of range"),
    ],
)
def test_errors(text: str, message: str) -> None:
    assert message in error(text).message
