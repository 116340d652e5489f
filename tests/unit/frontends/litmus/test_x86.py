"""x86 in both orders of operands: computations and flags by their results, accesses by their translation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.frontends.litmus.sequential import Machine, runner

from dekker.frontends.litmus.architecture import InstructionError, Register
from dekker.frontends.litmus.x86 import ARCHITECTURE, ARCHITECTURE_64
from dekker.ir.arithmetic import mask, signed
from dekker.ir.expressions import Address, Binary, Const, Reg
from dekker.ir.instructions import (
    Assign,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Rmw,
    Store,
)

RAX, RBX = Reg("RAX"), Reg("RBX")
X = Address("x")
intel, att = ARCHITECTURE.instruction, ARCHITECTURE_64.instruction
run, run_att = runner("X86"), runner("X86_64")
WORDS = st.integers(0, mask(64))


def first(text: str) -> Instruction:
    return intel(text)[0]


def error(text: str) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        intel(text)
    return caught.value


def at(machine: Machine, symbol: str, size: int = 4) -> int:
    return machine.read(machine.layout.starts[symbol], size)


@pytest.mark.parametrize(
    ("name", "register"),
    [
        ("EAX", Register("RAX", 32)),
        ("eax", Register("RAX", 32)),
        ("%eax", Register("RAX", 32)),
        ("rax", Register("RAX", 64)),
        ("AX", Register("RAX", 16)),
        ("AL", Register("RAX", 8)),
        ("ESI", Register("RSI", 32)),
        ("sil", Register("RSI", 8)),
        ("r8", Register("R8", 64)),
        ("r15d", Register("R15", 32)),
        ("r9w", Register("R9", 16)),
        ("r10b", Register("R10", 8)),
        ("%x0", Register("%x0", 64)),
        ("rip", Register("RIP", 64)),
        ("r16", None),
        ("r1", None),
        ("x", None),
    ],
)
def test_registers(name: str, register: Register | None) -> None:
    assert ARCHITECTURE.register(name) == register


# Moves


@pytest.mark.parametrize(
    "text",
    ["MOV [x],$1", "mov [x],1", "MOV [ x ] , 1", "MOVL [x],$1", "mov dword ptr [x], 1", "MOV [x],$0x1"],
)
def test_store_of_a_number(text: str) -> None:
    assert intel(text) == (Store(X, Const(1), 4),)


@pytest.mark.parametrize("text", ["movl $1,(x)", "movl $1,[x]", "mov $1,(x)", "MOVL $1 , ( x )", "movl $1,x(%rip)"])
def test_store_of_a_number_att(text: str) -> None:
    assert att(text) == (Store(X, Const(1), 4),)


def test_loads() -> None:
    assert intel("MOV EAX,[x]") == (Load("RAX", X, 4),)
    assert intel("MOV RAX,[x]") == (Load("RAX", X, 8),)
    assert att("movl (x),%eax") == (Load("RAX", X, 4),)
    assert att("movq (x),%rax") == (Load("RAX", X, 8),)
    assert att("movl (%rbx),%r8d") == (Load("R8", RBX, 4),)


def test_stores_of_registers() -> None:
    assert intel("MOV [x],EAX") == (Store(X, RAX, 4),)
    assert att("movl %eax,(x)") == (Store(X, RAX, 4),)
    assert att("movb %al,(x)") == (Store(X, RAX, 1),)
    assert intel("MOV [x],AH") == (Store(X, Binary("lshr", 64, RAX, Const(8)), 1),)


def test_the_order_does_not_matter_for_numbers() -> None:
    assert att("movl [x],$1") == att("movl $1,[x]")


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ("(%rbx)", RBX),
        ("[rbx]", RBX),
        ("8(%rbx)", Binary("add", 64, RBX, Const(8))),
        ("-8(%rbx)", Binary("add", 64, RBX, Const(-8))),
        ("8[rbx]", Binary("add", 64, RBX, Const(8))),
        ("[rbx+8]", Binary("add", 64, RBX, Const(8))),
        ("[rbx-8]", Binary("add", 64, RBX, Const(-8))),
        ("(%rbx,%rax)", Binary("add", 64, RBX, RAX)),
        ("(%rbx,%rax,4)", Binary("add", 64, RBX, Binary("mul", 64, RAX, Const(4)))),
        ("(,%rax,4)", Binary("mul", 64, RAX, Const(4))),
        ("[rbx+rax*4]", Binary("add", 64, RBX, Binary("mul", 64, RAX, Const(4)))),
        ("[rbx+4*rax]", Binary("add", 64, RBX, Binary("mul", 64, RAX, Const(4)))),
        ("[x+4]", Address("x", 4)),
        ("x+4(%rip)", Address("x", 4)),
        ("4(x)", Address("x", 4)),
        ("x(%rax)", Binary("add", 64, X, RAX)),
        ("(%ptr)", Reg("%ptr")),
        ("[16]", Const(16)),
    ],
)
def test_addresses(place: str, address: object) -> None:
    assert att(f"movl {place},%ecx") == (Load("RCX", address, 4),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MOV EAX,$-1", 0xFFFF_FFFF),
        ("MOV RAX,$-1", mask(64)),
        ("MOV AX,$0", 0x1122_3344_5566_0000),
        ("MOV AL,$0", 0x1122_3344_5566_7700),
        ("MOV AH,$0", 0x1122_3344_5566_0088),
        ("MOV EAX,EBX", 0x0000_0000_CCDD_EEFF),
        ("MOV AL,BH", 0x1122_3344_5566_77EE),
        ("MOV AX,[w]", 0x1122_3344_5566_0A0B),
        ("MOV AL,[w]", 0x1122_3344_5566_770B),
        ("MOVZX EAX,BL", 0xFF),
        ("MOVSX EAX,BL", 0xFFFF_FFFF),
        ("MOVSX RAX,BL", mask(64)),
        ("MOVZX EAX,word ptr [w]", 0x0A0B),
        ("MOVSXD RAX,EBX", 0xFFFF_FFFF_CCDD_EEFF),
        ("LEA EAX,[EBX+1]", 0xCCDD_EF00),
        ("XCHG EAX,EBX", 0xCCDD_EEFF),
        ("NOT EAX", 0xAA99_8877),
        ("NEG AL", 0x1122_3344_5566_7778),
        ("SHL EAX,$4", 0x5667_7880),
        ("SHR EAX,$4", 0x0556_6778),
        ("SAR EAX", 0x2AB3_3BC4),
    ],
)
def test_parts_of_registers(text: str, expected: int) -> None:
    registers = {"RAX": 0x1122_3344_5566_7788, "RBX": 0x8899_AABB_CCDD_EEFF}
    machine = run(text, "w=0x0A0B;", registers)
    assert machine.registers["RAX"] == expected


def test_extending_moves_att() -> None:
    assert run_att("movzbl (w),%eax", "w=0x80;").registers["RAX"] == 0x80
    assert run_att("movsbl (w),%eax", "w=0x80;").registers["RAX"] == 0xFFFF_FF80
    assert run_att("movslq %ebx,%rax", registers={"RBX": 0xFFFF_FFFF}).registers["RAX"] == mask(64)


# Computations and flags


@given(st.sampled_from((8, 16, 32, 64)), WORDS, WORDS)
def test_two_operands(width: int, left: int, right: int) -> None:
    names = {8: ("AL", "BL"), 16: ("AX", "BX"), 32: ("EAX", "EBX"), 64: ("RAX", "RBX")}[width]
    left, right = left & mask(width), right & mask(width)
    expected = {"ADD": left + right, "SUB": left - right, "AND": left & right, "OR": left | right, "XOR": left ^ right}
    for name, value in expected.items():
        machine = run(f"{name} {','.join(names)}", registers={"RAX": left, "RBX": right})
        assert machine.registers["RAX"] == value & mask(width), name


def goes(branch: str, cells: str, left: int, right: int) -> bool:
    registers = {"RAX": left & mask(64), "RBX": right & mask(64)}
    return "RDX" not in run(f"{cells} ; {branch} End ; MOV EDX,$1 ; End:", registers=registers).registers


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 31), (1 << 31) - 1))
def test_comparisons(left: int, right: int) -> None:
    above, below = left & mask(32) > right & mask(32), left & mask(32) < right & mask(32)
    conditions = {
        "JE JZ": left == right,
        "JNE JNZ": left != right,
        "JL JLT JNGE": left < right,
        "JLE JNG": left <= right,
        "JG JGT JNLE": left > right,
        "JGE JNL": left >= right,
        "JB JC JNAE": below,
        "JAE JNC JNB": not below,
        "JA JNBE": above,
        "JBE JNA": not above,
    }
    for names, holds in conditions.items():
        for name in names.split():
            assert goes(name, "CMP EAX,EBX", left, right) == holds, name
    assert goes("JS", "TEST EAX,EBX", left, right) == (left & right < 0)
    assert goes("JNS", "SUB EAX,EBX", left, right) == (signed(32, (left - right) & mask(32)) >= 0)
    overflow = not -(1 << 31) <= left + right < 1 << 31
    assert goes("JO", "ADD EAX,EBX", left, right) == overflow
    assert goes("JNO", "ADD EAX,EBX", left, right) != overflow
    assert goes("JC", "ADD EAX,EBX", left, right) == ((left & mask(32)) + (right & mask(32)) > mask(32))


def test_att_comparisons_have_the_other_order() -> None:
    cells = "movl $1,%eax ; cmpl $2,%eax ; jl End ; movl $9,%edx ; End:"
    assert "RDX" not in run_att(cells).registers


def test_increments_keep_the_carry() -> None:
    assert goes("JC", "CMP EAX,EBX ; INC EAX", 1, 2)
    assert not goes("JC", "CMP EAX,EBX ; DEC EAX", 2, 1)
    assert goes("JZ", "DEC EAX", 1, 0)
    assert goes("JC", "SHL EAX,$1", 1 << 31, 0)
    assert goes("JC", "NEG EAX", 1, 0)


@pytest.mark.parametrize(("left", "right", "expected"), [(1, 2, 7), (2, 1, 5)])
def test_conditional_moves_and_sets(left: int, right: int, expected: int) -> None:
    registers = {"RAX": left, "RBX": right, "RCX": 5, "RDX": 7}
    assert run("CMP EAX,EBX ; CMOVL ECX,EDX", registers=registers).registers["RCX"] == expected
    assert run("CMP EAX,EBX ; CMOVC ECX,[v]", "v=7;", registers).registers["RCX"] == expected
    assert run_att("cmpl %ebx,%eax ; cmovl %edx,%ecx", registers=registers).registers["RCX"] == expected
    assert run_att("cmpl %ebx,%eax ; cmovcl %edx,%ecx", registers=registers).registers["RCX"] == expected
    assert run_att("cmpl %ebx,%eax ; cmovcl (v),%ecx", "v=7;", registers).registers["RCX"] == expected
    assert run_att("cmpl %ebx,%eax ; cmovcl %ecx,(v)", "v=7;", registers).registers["RCX"] == expected
    assert run("CMP EAX,EBX ; SETL CL", registers=registers).registers["RCX"] == (expected == 7)
    assert at(run("CMP EAX,EBX ; SETNB [v]", "v=9;", registers), "v") == (expected == 5)


# Memory


def test_plain_updates_are_a_load_and_a_store() -> None:
    for text in ("ADD [x],$1", "INC [x]", "XADD [x],EAX"):
        kinds = [type(item) for item in intel(text) if not isinstance(item, Assign)]
        assert kinds == [Load, Store]
    assert [type(item) for item in intel("CMP [x],$1") if not isinstance(item, Assign)] == [Load]
    assert [type(item) for item in intel("ADD EAX,[x]") if not isinstance(item, Assign)] == [Load]


@pytest.mark.parametrize(
    ("text", "op", "operand"),
    [
        ("LOCK ADD [x],$2", "add", Const(2)),
        ("lock addl [x],2", "add", Const(2)),
        ("LOCK SUB [x],EAX", "sub", RAX),
        ("LOCK AND [x],EAX", "and", RAX),
        ("LOCK OR [x],EAX", "or", RAX),
        ("LOCK XOR [x],EAX", "xor", RAX),
        ("LOCK INC [x]", "add", Const(1)),
        ("LOCK DEC [x]", "sub", Const(1)),
        ("LOCK NOT [x]", "xor", Const(mask(32))),
        ("LOCK XADD [x],EAX", "add", RAX),
    ],
)
def test_locked_updates(text: str, op: str, operand: object) -> None:
    update = first(text)
    assert isinstance(update, Rmw)
    assert (update.op, update.address, update.operand, update.size) == (op, X, operand, 4)


@pytest.mark.parametrize("text", ["XCHG [x],EAX", "XCHG EAX,[x]", "LOCK XCHG [x],EAX", "xchgl EAX,[x]"])
def test_exchange_is_atomic(text: str) -> None:
    assert intel(text) == (Rmw("RAX", "xchg", X, RAX, 4),)


def test_exchange_of_a_byte() -> None:
    machine = run("XCHG [x],AL", "x=0x1234;", {"RAX": 0x5678})
    assert (machine.registers["RAX"], at(machine, "x")) == (0x5634, 0x1278)


def test_unlocked_exchange() -> None:
    assert [type(item) for item in intel("UXCH [x],EAX")] == [Load, Store, Assign]


@pytest.mark.parametrize("lock", ["", "LOCK "])
@pytest.mark.parametrize(("old", "in_register", "in_memory", "equal"), [(3, 3, 8, 1), (4, 4, 4, 0)])
def test_compare_exchange(lock: str, old: int, in_register: int, in_memory: int, equal: int) -> None:
    registers = {"RAX": 3, "RBX": 8}
    for cells in (f"{lock}CMPXCHG [x],EBX ; SETE CL", f"{lock}cmpxchgl EBX,[x] ; SETE CL"):
        machine = run(cells, f"x={old};", registers)
        assert (machine.registers["RAX"], at(machine, "x")) == (in_register, in_memory)
        assert machine.registers["RCX"] == equal
    assert isinstance(first("LOCK CMPXCHG [x],EBX"), CompareExchange)


@pytest.mark.parametrize("lock", ["", "LOCK "])
def test_exchange_and_add(lock: str) -> None:
    machine = run(f"{lock}XADD [x],EAX", "x=40;", {"RAX": 2})
    assert (machine.registers["RAX"], at(machine, "x")) == (40, 42)


def test_effects_in_memory() -> None:
    cells = "ADD [x],$2 ; SUB [x],EAX ; NEG [x] ; SHL [x],$2 ; NOT [x] ; DEC [x]"
    assert at(run(cells, "x=5;", {"RAX": 3}), "x") == 14
    assert signed(32, at(run("ADD [x],$2 ; NEG [x]", "x=5;"), "x")) == -7
    assert at(run("addw [x],1", "x=0x1ffff;"), "x") == 0x10000


# The rest


def test_fences_jumps_and_nothing() -> None:
    assert intel("MFENCE") == (Fence("mfence"),)
    assert intel("lfence") == (Fence("lfence"),)
    assert intel("SFENCE") == (Fence("sfence"),)
    assert intel("JMP L0") == (Jump("L0"),)
    assert intel("NOP") == intel("pause") == intel("endbr64") == ()
    assert att("nopl 0(%rax,%eax,0)") == att("nopw %cs:0(%rax,%rax,1)") == ()
    assert intel("ret") == (Exit(),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROB EAX", "unknown x86 instruction `FROB`"),
        ("MOV EAX", "takes 2 operands"),
        ("MOV [x],[y]", "only one operand can be in memory"),
        ("MOV $1,EAX", "expected a register or memory"),
        ("MOV EAX,x", "expected an operand"),
        ("MOV EAX,[x*y]", "expected an address"),
        ("MOV EAX,[x-y]", "expected an address"),
        ("MOV EAX,[]", "expected an address"),
        ("MOV EAX,[rax*3]", "expected an address"),
        ("LOCK MOV [x],$1", "LOCK cannot stand before"),
        ("LOCK ADD EAX,$1", "expected memory"),
        ("LOCK", "LOCK stands alone"),
        ("LOCK INC", "takes 1 operand"),
        ("XCHG [x],$1", "expected a register"),
        ("CMPXCHG EAX,EBX", "expected memory"),
        ("LEA EAX,EBX", "expected an address"),
        ("SHL EAX,CL", "expected a number"),
        ("MOVZX EAX,[x]", "expected a register, or memory with its size"),
        ("MOVNTI [x],EAX", "non-temporal"),
        ("CLFLUSH [x]", "caches"),
        ("PUSH EAX", "no stack"),
        ("JMP 5", "expected a label"),
    ],
)
def test_errors(text: str, message: str) -> None:
    assert message in error(text).message


def test_errors_point_behind_the_lock() -> None:
    found = error("LOCK INC q")
    assert (found.offset, found.length) == (9, 1)
