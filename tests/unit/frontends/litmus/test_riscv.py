"""RISC-V: every instruction at least once; arithmetic by its results, accesses by their translation."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.frontends.litmus import parse_litmus
from dekker.frontends.litmus.architecture import InstructionError, Register
from dekker.frontends.litmus.riscv import ARCHITECTURE
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary
from dekker.ir.expressions import registers as read_registers
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.source import Source

CORPUS = Path(__file__).parents[5] / "shared" / "corpus" / "RISCV"
X5, X6, X7 = Reg("x5"), Reg("x6"), Reg("x7")
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
ORDERS = {
    "": Order.PLAIN,
    ".aq": Order.ACQUIRE,
    ".rl": Order.RELEASE,
    ".aq.rl": Order.ACQ_REL,
    ".aqrl": Order.ACQ_REL,
}


def one(text: str) -> Instruction:
    (only,) = ARCHITECTURE.instruction(text)
    return only


def one_assign(text: str) -> Assign:
    item = one(text)
    assert isinstance(item, Assign)
    return item


def evaluate(expression: Expr, state: Mapping[str, int]) -> int:
    match expression:
        case Const(value):
            return value
        case Reg(name):
            return state.get(name, 0)
        case Unary(op, width, operand):
            return evaluate_unary(op, width, evaluate(operand, state))
        case Binary(op, width, left, right):
            return evaluate_binary(op, width, evaluate(left, state), evaluate(right, state))
        case Select() | Address():
            raise AssertionError("not used by arithmetic")


def error(text: str) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        ARCHITECTURE.instruction(text)
    return caught.value


# Registers


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x0", "x0"),
        ("zero", "x0"),
        ("ra", "x1"),
        ("sp", "x2"),
        ("gp", "x3"),
        ("tp", "x4"),
        ("t0", "x5"),
        ("t2", "x7"),
        ("s0", "x8"),
        ("fp", "x8"),
        ("s1", "x9"),
        ("a0", "x10"),
        ("a7", "x17"),
        ("s2", "x18"),
        ("s11", "x27"),
        ("t3", "x28"),
        ("t6", "x31"),
        ("x31", "x31"),
        ("X5", "x5"),
        ("%a", "%a"),
    ],
)
def test_register(name: str, expected: str) -> None:
    assert ARCHITECTURE.register(name) == Register(expected, 64)


@pytest.mark.parametrize("name", ["x32", "t7", "s12", "a8", "y", ""])
def test_not_a_register(name: str) -> None:
    assert ARCHITECTURE.register(name) is None


# Arithmetic

OPERANDS = {"x1": 0xF0, "x2": 0x3C, "x3": 7, "x4": 1 << 31, "x8": 1 << 63, "x9": MASK64}


def negative(value: int) -> int:
    return -value & MASK64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ori x5,x0,1", 1),
        ("ori t0,x1,0x0f", 0xFF),
        ("addi x5,x1,-1", 0xEF),
        ("addi x5,x9,1", 0),
        ("andi x5,x1,128", 0x80),
        ("xori x5,x1,-1", negative(0xF1)),
        ("slti x5,x9,0", 1),
        ("sltiu x5,x3,-1", 1),
        ("slli x5,x3,60", 7 << 60 & MASK64),
        ("srli x5,x9,63", 1),
        ("srai x5,x8,63", MASK64),
        ("addiw x5,x9,1", 0),
        ("addiw x5,x4,0", negative(1 << 31)),
        ("slliw x5,x3,31", negative(1 << 31)),
        ("srliw x5,x9,0", MASK64),
        ("srliw x5,x9,1", 0x7FFFFFFF),
        ("sraiw x5,x4,31", MASK64),
        ("add x5,x1,x2", 0x12C),
        ("sub x5,x3,x1", negative(0xE9)),
        ("and x5,x1,x2", 0x30),
        ("or x5,x1,x2", 0xFC),
        ("xor x5,x1,x2", 0xCC),
        ("xor x5,x1,x1", 0),
        ("sll x5,x3,x2", 7 << 60 & MASK64),
        ("sll x5,x3,x8", 7),
        ("srl x5,x9,x2", 15),
        ("sra x5,x8,x9", MASK64),
        ("slt x5,x9,x3", 1),
        ("sltu x5,x9,x3", 0),
        ("addw x5,x4,x3", negative((1 << 31) - 7)),
        ("subw x5,x3,x1", negative(0xE9)),
        ("sllw x5,x3,x9", negative(1 << 31)),
        ("srlw x5,x9,x3", MASK32 >> 7),
        ("sraw x5,x4,x3", negative(1 << 24)),
        ("mul x5,x1,x2", 0xF0 * 0x3C),
        ("mulw x5,x4,x3", negative(1 << 31)),
        ("div x5,x9,x3", 0),
        ("div x5,x3,x9", negative(7)),
        ("div x5,x3,x0", MASK64),
        ("divu x5,x9,x3", MASK64 // 7),
        ("divu x5,x3,x0", MASK64),
        ("divw x5,x3,x0", MASK64),
        ("divuw x5,x9,x3", MASK32 // 7),
        ("rem x5,x9,x3", MASK64),
        ("rem x5,x9,x0", MASK64),
        ("remu x5,x1,x3", 0xF0 % 7),
        ("remu x5,x1,x0", 0xF0),
        ("remw x5,x9,x3", MASK64),
        ("remuw x5,x9,x0", MASK64),
        ("li x5,-1", MASK64),
        ("li x5,0x7fffffffffffffff", (1 << 63) - 1),
        ("lui x5,1", 0x1000),
        ("lui x5,0xfffff", negative(0x1000)),
        ("mv x5,x1", 0xF0),
        ("mv x5,zero", 0),
        ("not x5,x0", MASK64),
        ("neg x5,x3", negative(7)),
        ("negw x5,x4", negative(1 << 31)),
        ("seqz x5,x0", 1),
        ("seqz x5,x3", 0),
        ("snez x5,x3", 1),
        ("sltz x5,x9", 1),
        ("sgtz x5,x3", 1),
        ("sext.w x5,x4", negative(1 << 31)),
        ("sext.b x5,x1", negative(16)),
        ("sext.h x5,x9", MASK64),
        ("zext.w x5,x9", MASK32),
        ("zext.h x5,x9", 0xFFFF),
        ("zext.b x5,x9", 0xFF),
    ],
)
def test_arithmetic(text: str, expected: int) -> None:
    item = one_assign(text)
    assert item.dst == "x5"
    assert evaluate(item.value, OPERANDS) == expected


def test_zero_register_is_constant_and_discards() -> None:
    assert one("ori x5,x0,1") == Assign("x5", Const(1))
    assert one("addi x0,x5,1") == Assign("discarded", Binary("add", 64, X5, Const(1)))
    assert one("la x5,y") == Assign("x5", Address("y"))


@pytest.mark.parametrize("text", ["xor x5,x6,x6", "andi x5,x6,0", "sub x5,x6,x6", "and x5,x6,x0", "mul x5,x6,x0"])
def test_data_flow_is_never_folded(text: str) -> None:
    assert read_registers(one_assign(text).value) == {"x6"}


# Control and fences


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("eq", "eq"), ("ne", "ne"), ("lt", "slt"), ("ge", "sge"), ("gt", "sgt"), ("le", "sle"),
        ("ltu", "ult"), ("geu", "uge"), ("gtu", "ugt"), ("leu", "ule"),
    ],
)  # fmt: skip
def test_branches(name: str, op: str) -> None:
    assert one(f"b{name} x5,x6,LC00") == Branch(Binary(op, 64, X5, X6), "LC00")
    assert one(f"b{name} x5,x0,LC00") == Branch(Binary(op, 64, X5, Const(0)), "LC00")
    if not name.endswith("u"):
        assert one(f"b{name}z x5,LC00") == Branch(Binary(op, 64, X5, Const(0)), "LC00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("j L", (Jump("L"),)),
        ("jal x0,L", (Jump("L"),)),
        ("ret", (Exit(),)),
        ("nop", ()),
        ("pause", ()),
        ("fence", (Fence("fence.rw.rw"),)),
        ("fence.tso", (Fence("fence.tso"),)),
        ("fence.i", (Fence("fence.i"),)),
        ("fence iorw,iorw", (Fence("fence.rw.rw"),)),
        ("fence rwio , ow", (Fence("fence.rw.w"),)),
        ("fence wr,w", (Fence("fence.rw.w"),)),
        ("fence i,o", ()),
        ("fence r,o", ()),
        *((f"fence {p},{s}", (Fence(f"fence.{p}.{s}"),)) for p in ("r", "w", "rw") for s in ("r", "w", "rw")),
    ],
)
def test_control_and_fences(text: str, expected: tuple[Instruction, ...]) -> None:
    assert ARCHITECTURE.instruction(text) == expected


# Memory


@pytest.mark.parametrize("mark", ORDERS)
@pytest.mark.parametrize(("letter", "size"), [("b", 1), ("h", 2), ("w", 4), ("d", 8)])
def test_loads_and_stores(letter: str, size: int, mark: str) -> None:
    order = ORDERS[mark]
    assert one(f"l{letter}{mark} x5,0(x6)") == Load("x5", X6, size, order, signed=size < 8)
    assert one(f"s{letter}{mark} x5,0(x6)") == Store(X6, X5, size, order)
    if size < 8:
        assert one(f"l{letter}u{mark} x5,0(x6)") == Load("x5", X6, size, order)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lw x5,(x6)", Load("x5", X6, 4, signed=True)),
        ("lw x5, 4( x6 )", Load("x5", Binary("add", 64, X6, Const(4)), 4, signed=True)),
        ("lw x5,-4(x6)", Load("x5", Binary("add", 64, X6, Const(-4)), 4, signed=True)),
        ("lw x5,0x10(x6)", Load("x5", Binary("add", 64, X6, Const(16)), 4, signed=True)),
        ("lw x0,0(x6)", Load("discarded", X6, 4, signed=True)),
        ("lw a0,0(s0)", Load("x10", Reg("x8"), 4, signed=True)),
        ("lw %a,0(%b)", Load("%a", Reg("%b"), 4, signed=True)),
        ("sw x0,0(x6)", Store(X6, Const(0), 4)),
        ("sd x5,8(x6)", Store(Binary("add", 64, X6, Const(8)), X5, 8)),
    ],
)
def test_addresses(text: str, expected: Instruction) -> None:
    assert one(text) == expected


@pytest.mark.parametrize("mark", ORDERS)
@pytest.mark.parametrize(("letter", "size"), [("w", 4), ("d", 8)])
def test_load_reserved_and_store_conditional(letter: str, size: int, mark: str) -> None:
    order = ORDERS[mark]
    assert one(f"lr.{letter}{mark} x5,0(x6)") == Load("x5", X6, size, order, signed=size < 8, exclusive=True)
    assert one(f"sc.{letter}{mark} x7,x5,(x6)") == StoreConditional("x7", X6, X5, size, order)
    assert one(f"sc.{letter}{mark} x0,x5,(x6)") == StoreConditional("discarded", X6, X5, size, order)


@pytest.mark.parametrize("mark", ORDERS)
@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("swap", "xchg"), ("add", "add"), ("and", "and"), ("or", "or"), ("xor", "xor"),
        ("max", "max"), ("min", "min"), ("maxu", "umax"), ("minu", "umin"),
    ],
)  # fmt: skip
def test_atomics(name: str, op: str, mark: str) -> None:
    order = ORDERS[mark]
    assert one(f"amo{name}.d{mark} x5,x6,(x7)") == Rmw("x5", op, X7, X6, 8, order)
    assert one(f"amo{name}.w{mark} x0,x6,0(x7)") == Rmw(None, op, X7, X6, 4, order)
    for letter, size in (("b", 1), ("h", 2), ("w", 4)):
        assert ARCHITECTURE.instruction(f"amo{name}.{letter}{mark} x5,x6,(x7)") == (
            Rmw("x5", op, X7, X6, size, order),
            Assign("x5", Unary("sext", 8 * size, X5)),
        )


def test_compare_and_swap() -> None:
    expected = Unary("zext", 32, X5)
    assert ARCHITECTURE.instruction("amocas.w.aqrl x5,x6,(x7)") == (
        CompareExchange("x5", None, X7, expected, X6, 4, Order.ACQ_REL, Order.ACQUIRE),
        Assign("x5", Unary("sext", 32, X5)),
    )
    assert one("amocas.d.rl x5,x6,(x7)") == CompareExchange("x5", None, X7, X5, X6, 8, Order.RELEASE)
    assert one("amocas.w x0,x6,(x7)") == CompareExchange(None, None, X7, Const(0), X6, 4)


# Errors


@pytest.mark.parametrize(
    ("text", "message", "offset", "length"),
    [
        ("frob x5,x6", "unknown RISC-V instruction `frob`", 0, 4),
        ("lwz x5,0(x6)", "unknown RISC-V instruction `lwz`", 0, 3),
        ("csrrw x5,x6,x7", "`csrrw` is not supported: control registers and system instructions are outside", 0, 5),
        ("ecall", "`ecall` is not supported: control registers", 0, 5),
        ("sfence.vma", "`sfence.vma` is not supported: control registers", 0, 10),
        ("cbo.flush (x5)", "`cbo.flush` is not supported: caches are outside", 0, 9),
        ("auipc x5,0", "`auipc` is not supported: code addresses are outside", 0, 5),
        ("jalr x0,x1,0", "`jalr` is not supported: code addresses are outside", 0, 4),
        ("flw f0,0(x6)", "`flw` is not supported: floating point and vectors are outside", 0, 3),
        ("fadd.s f0,f1,f2", "`fadd.s` is not supported: floating point and vectors are outside", 0, 6),
        ("vle32.v v0,(x6)", "`vle32.v` is not supported: floating point and vectors are outside", 0, 7),
        ("amocas.q x6,x8,(x10)", "`amocas.q` is not supported: accesses of 128 bits are outside", 0, 8),
        ("jal L", "calls are not supported", 4, 1),
        ("jal x1,L", "calls are not supported", 4, 2),
        ("ori x5,x0", "`ori` takes 3 operands, not 2", 0, 9),
        ("nop x0", "`nop` takes 0 operands, not 1", 0, 6),
        ("ori x5,x32,1", "expected a register, not `x32`", 7, 3),
        ("ori x5,x0,x1", "expected a number, not `x1`", 10, 2),
        ("add x5,x6,1", "expected a register, not `1`", 10, 1),
        ("slli x5,x6,64", "64 is out of range: from 0 to 63", 11, 2),
        ("slliw x5,x6,32", "32 is out of range: from 0 to 31", 12, 2),
        ("lui x5,0x100000", "1048576 is out of range", 7, 8),
        ("li x5,99999999999999999999", "99999999999999999999 is out of range", 6, 20),
        ("la x5,0", "expected the name of a location, not `0`", 6, 1),
        ("bne x5,x0,4", "expected a label, not `4`", 10, 1),
        ("lw x5,x6", "expected an address such as 0(x6) or (x6), not `x6`", 6, 2),
        ("lw x5,0(y)", "expected a register, not `y`", 8, 1),
        ("lw x5,0()", "expected a register", 8, 1),
        ("lw x5,a(x6)", "expected a number, not `a`", 6, 1),
        ("lr.w x5,4(x6)", "this access takes no offset", 8, 5),
        ("amoadd.w x5,x6,x7", "expected an address", 15, 2),
        ("fence rw", "a fence has no operands or two", 6, 2),
        ("fence rw,x", "expected `r`, `w` or `rw`, possibly with `i` and `o`, not `x`", 9, 1),
        ("fence ,w", "expected `r`, `w` or `rw`", 6, 1),
    ],
)
def test_errors(text: str, message: str, offset: int, length: int) -> None:
    found = error(text)
    assert found.message.startswith(message)
    assert (found.offset, found.length) == (offset, length)


def test_hints() -> None:
    assert "`amoswap.w`" in str(error("amoswp.w x5,x6,(x7)").hint)


@given(st.one_of(st.text(max_size=30), st.from_regex(r"[a-z.]{2,9} [xat]\d,[-0-9(]{0,3}x\d\)?(,[a-z0-9 ]{1,6})?")))
def test_anything_else_is_an_instruction_error(text: str) -> None:
    with suppress(InstructionError):
        ARCHITECTURE.instruction(text.strip())


# Whole tests

TEST = """RISCV MP
{
0:x5=1; 0:x6=x; 0:x7=y;
1:x6=y; 1:x8=x;
}
 P0          | P1             ;
 sw x5,0(x6) | lw x5,0(x6)    ;
 fence w,w   | bne x5,x0,LC00 ;
 sw x5,0(x7) | LC00:          ;
             | lw x7,0(x8)    ;
exists (1:x5=1 /\\ 1:x7=0)
"""


def test_a_whole_test() -> None:
    program = parse_litmus(Source("MP.litmus", TEST))
    assert program.architecture == "RISCV"
    assert [len(function.body) for function in program.functions] == [3, 3]
    assert program.functions[1].labels == {"LC00": 2}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of litmus tests is not here")
def test_the_corpus_is_read() -> None:
    paths = sorted(CORPUS.rglob("*.litmus"))
    assert paths
    for path in paths:
        assert parse_litmus(Source(str(path), path.read_text())).threads
