"""AArch64: every instruction at least once; data processing by its results, accesses by their translation."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.frontends.litmus import parse_litmus
from dekker.frontends.litmus.aarch64 import ARCHITECTURE
from dekker.frontends.litmus.architecture import InstructionError, Register
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

CORPUS = Path(__file__).parents[5] / "shared" / "corpus" / "AARCH64"
X0, X1, X2, X5 = Reg("X0"), Reg("X1"), Reg("X2"), Reg("X5")
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def one(text: str) -> Instruction:
    (only,) = ARCHITECTURE.instruction(text)
    return only


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
        case Select(condition, then, other):
            return evaluate(then if evaluate(condition, state) else other, state)
        case Address():
            raise AssertionError("no addresses here")


def run(*texts: str, **state: int) -> dict[str, int]:
    """The registers after instructions that only compute."""
    for text in texts:
        for item in ARCHITECTURE.instruction(text):
            assert isinstance(item, Assign)
            state[item.dst] = evaluate(item.value, state)
    return state


def taken(branch: str, state: Mapping[str, int]) -> bool:
    item = one(branch)
    assert isinstance(item, Branch)
    assert item.target == "L"
    return bool(evaluate(item.condition, state))


def error(text: str) -> InstructionError:
    with pytest.raises(InstructionError) as caught:
        ARCHITECTURE.instruction(text)
    return caught.value


# Registers


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("X5", Register("X5", 64)),
        ("W5", Register("X5", 32)),
        ("x30", Register("X30", 64)),
        ("w0", Register("X0", 32)),
        ("XZR", Register("XZR", 64)),
        ("wzr", Register("XZR", 32)),
        ("SP", Register("SP", 64)),
        ("LR", Register("X30", 64)),
        ("%a", Register("%a", 64)),
        ("X%a", Register("%a", 64)),
        ("W%a", Register("%a", 32)),
        ("X31", None),
        ("V0", None),
        ("y", None),
    ],
)
def test_register(name: str, expected: Register | None) -> None:
    assert ARCHITECTURE.register(name) == expected


# Data processing

OPERANDS = {"X1": 0xF0, "X2": 0x3C, "X3": 7, "X8": (1 << 63) + (1 << 31) + 5, "X9": MASK64}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MOV W0,#1", 1),
        ("mov w0, 1", 1),
        ("MOV W0,#0x10", 16),
        ("MOV W0,#-1", MASK32),
        ("MOV X0,#-1", MASK64),
        ("MOV X0,X1", 0xF0),
        ("MOV W0,W9", MASK32),
        ("MOV X0,W9", MASK32),
        ("MOV X0,XZR", 0),
        ("MOVZ W0,#1,LSL #16", 1 << 16),
        ("MOVZ X0,#1,LSL #48", 1 << 48),
        ("MOVN W0,#0", MASK32),
        ("MOVN X0,#1", MASK64 - 1),
        ("ADD W0,W1,#1", 0xF1),
        ("ADD W0,W9,#1", 0),
        ("ADD X0,X9,#1", 0),
        ("ADD X0,X1,#1,LSL #12", 0x10F0),
        ("ADD W0,W1,W2", 0x12C),
        ("ADD X0,X1,X2,LSL #4", 0xF0 + 0x3C0),
        ("ADD X0,X1,W9,SXTW", 0xEF),
        ("ADD X0,X1,W9,UXTW", 0xF0 + MASK32),
        ("ADD X0,X1,W2,UXTB #2", 0xF0 + 0xF0),
        ("ADD X0,X1,W9,SXTH", 0xEF),
        ("ADD X0,X1,X2,SXTX #1", 0xF0 + 0x78),
        ("ADD W0,W1,WZR", 0xF0),
        ("ADD X0,SP,#16", 16),
        ("SUB W0,W3,#8", MASK32),
        ("SUB X0,X3,#8", MASK64),
        ("SUB X0,X3,X3", 0),
        ("AND W0,W1,#0", 0),
        ("AND X0,X1,X2", 0x30),
        ("ORR W0,W1,W2", 0xFC),
        ("EOR W0,W1,W2", 0xCC),
        ("EOR W0,W1,W1", 0),
        ("EON W0,W1,W2", MASK32 ^ 0xCC),
        ("BIC X0,X1,X2", 0xC0),
        ("ORN W0,W1,W2", MASK32 - 0x3C | 0xF0),
        ("AND X0,X9,X2,LSR #2", 0xF),
        ("EOR X0,XZR,X8,ASR #63", MASK64),
        ("ORR W0,WZR,W3,ROR #1", 0x80000003),
        ("MUL W0,W1,W2", 0xF0 * 0x3C),
        ("MADD X0,X1,X2,X3", 0xF0 * 0x3C + 7),
        ("MSUB W0,W1,W2,W3", (7 - 0xF0 * 0x3C) & MASK32),
        ("MNEG X0,X1,X2", (-0xF0 * 0x3C) & MASK64),
        ("SMULL X0,W9,W3", (-7) & MASK64),
        ("UMULL X0,W9,W3", MASK32 * 7),
        ("SMADDL X0,W9,W3,X1", 0xF0 - 7),
        ("UMADDL X0,W9,W3,X1", 0xF0 + MASK32 * 7),
        ("SMSUBL X0,W9,W3,X1", 0xF7),
        ("UMSUBL X0,W1,W3,XZR", (-0xF0 * 7) & MASK64),
        ("SMNEGL X0,W9,W3", 7),
        ("UMNEGL X0,W1,W3", (-0xF0 * 7) & MASK64),
        ("UDIV W0,W1,W3", 0xF0 // 7),
        ("UDIV W0,W1,WZR", 0),
        ("SDIV W0,W9,W3", 0),
        ("SDIV X0,X9,X9", 1),
        ("LSL W0,W1,#28", 0),
        ("LSL X0,X1,#60", 0),
        ("LSL W0,W9,#0", MASK32),
        ("LSL W0,W1,W3", 0xF0 << 7),
        ("LSLV W0,W1,W2", 0),
        ("LSR W0,W9,#31", 1),
        ("LSRV X0,X9,X2", 15),
        ("ASR W0,W9,#4", MASK32),
        ("ASRV X0,X8,X2", MASK64 - 7),
        ("ROR W0,W3,#1", 0x80000003),
        ("ROR X0,X3,#0", 7),
        ("RORV W0,W3,WZR", 7),
        ("NEG W0,W3", (-7) & MASK32),
        ("NEG X0,X3,LSL #1", (-14) & MASK64),
        ("MVN X0,X9", 0),
        ("MVN W0,W3", MASK32 - 7),
        ("ABS W0,W9", 1),
        ("ABS X0,X3", 7),
        ("SXTB W0,W1", 0xFFFFFFF0),
        ("SXTB X0,W1", MASK64 - 15),
        ("SXTH X0,W8", 5),
        ("SXTW X0,W8", MASK64 - MASK32 + (1 << 31) + 5),
        ("UXTB W0,W9", 0xFF),
        ("UXTH W0,W9", 0xFFFF),
        ("UXTW X0,W9", MASK32),
        ("UBFM W0,W1,#4,#7", 0xF),
        ("UBFM X0,X3,#60,#2", 0x70),
        ("SBFM W0,W1,#4,#7", MASK32),
        ("SBFM X0,X3,#60,#2", (-16) & MASK64),
        ("UBFX X0,X1,#4,#2", 3),
        ("SBFX X0,X1,#4,#4", MASK64),
        ("UBFIZ W0,W3,#4,#2", 0x30),
        ("SBFIZ W0,W3,#4,#2", MASK32 - 15),
        ("EXTR W0,W3,W1,#4", 0x7000000F),
        ("EXTR X0,X3,X1,#0", 0xF0),
        ("RBIT W0,W3", 0xE0000000),
        ("RBIT X0,X3", 0xE << 60),
        ("REV W0,W1", 0xF0 << 24),
        ("REV X0,X1", 0xF0 << 56),
        ("REV64 X0,X1", 0xF0 << 56),
        ("REV32 X0,X8", 0x80 << 32 | 0x05000080),
        ("REV16 W0,W1", 0xF000),
    ],
)
def test_data_processing(text: str, expected: int) -> None:
    assert run(text, **OPERANDS)["X0"] == expected


def test_partial_writes_keep_the_rest() -> None:
    assert run("MOVK X0,#1,LSL #16", X0=0x1111222233334444)["X0"] == 0x1111222200014444
    assert run("MOVK W0,#1", X0=0x1111222233334444)["X0"] == 0x33330001
    assert run("BFI W0,W1,#8,#4", X0=0xFFFF, X1=0x5A)["X0"] == 0xFAFF
    assert run("BFXIL W0,W1,#4,#4", X0=0xFFFF, X1=0x5A)["X0"] == 0xFFF5
    assert run("BFM W0,W1,#4,#7", X0=0xFFFF, X1=0x5A)["X0"] == 0xFFF5


def test_w_writes_clear_the_high_half() -> None:
    for text in ("MOV W0,W1", "ADD W0,W1,#0", "LSL W0,W1,#0", "CSEL W0,W1,W1,EQ", "SXTB W0,W1", "RBIT W0,W1"):
        assert run(text, X1=MASK64)["X0"] == MASK32, text


def test_zero_register_is_constant_and_discards() -> None:
    assert one("MOV WZR,W1") == Assign("discarded", Unary("zext", 32, X1))
    assert "XZR" not in read_registers(one_assign("ADD X0,XZR,X1").value)


def one_assign(text: str) -> Assign:
    item = one(text)
    assert isinstance(item, Assign)
    return item


@pytest.mark.parametrize("text", ["EOR W2,W0,W0", "AND W2,W0,#0", "SUB X2,X0,X0", "BIC W2,W0,W0", "MUL W2,W0,WZR"])
def test_data_flow_is_never_folded(text: str) -> None:
    assert "X0" in read_registers(one_assign(text).value)


# Flags

INTERESTING = (0, 1, 2, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 63, (1 << 63) - 1, MASK64)


def signed(width: int, value: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("dotted", ["B.", "b"])
def test_conditions_after_a_comparison(width: int, dotted: str) -> None:
    letter = "W" if width == 32 else "X"
    limit = 1 << width
    for left in INTERESTING:
        for right in INTERESTING:
            state = run(f"CMP {letter}0,{letter}1", X0=left, X1=right)
            a, b, c, d = left % limit, right % limit, signed(width, left), signed(width, right)
            expected = {
                "EQ": a == b, "NE": a != b, "HS": a >= b, "CS": a >= b, "LO": a < b, "CC": a < b, "HI": a > b,
                "LS": a <= b, "LT": c < d, "GE": c >= d, "GT": c > d, "LE": c <= d,
                "MI": signed(width, a - b) < 0, "PL": signed(width, a - b) >= 0,
                "VS": signed(width, a - b) != c - d, "VC": signed(width, a - b) == c - d,
            }  # fmt: skip
            assert {name: taken(f"{dotted}{name} L", state) for name in expected} == expected


def flags(state: Mapping[str, int]) -> str:
    return "".join(letter if state[f"NZCV.{letter}"] else "-" for letter in "NZCV")


@pytest.mark.parametrize(
    ("text", "left", "right", "expected"),
    [
        ("ADDS W0,W1,W2", MASK32, 1, "-ZC-"),
        ("ADDS W0,W1,W2", 0x7FFFFFFF, 1, "N--V"),
        ("ADDS X0,X1,X2", MASK32, 1, "----"),
        ("CMN W1,W2", 0x80000000, 0x80000000, "-ZCV"),
        ("CMN X1,#1", MASK64, 0, "-ZC-"),
        ("SUBS W0,W1,W2", 1, 2, "N---"),
        ("CMP W1,#1", 1, 0, "-ZC-"),
        ("CMP X1,W2,SXTW", 0, MASK32, "----"),
        ("NEGS W0,W2", 0, 0, "-ZC-"),
        ("ANDS W0,W1,W2", 0x80000000, MASK32, "N---"),
        ("TST W1,#4", 3, 0, "-Z--"),
        ("BICS W0,W1,W2", 3, 3, "-Z--"),
        ("CCMP W1,#1,#0,VC", 1, 0, "-ZC-"),
        ("CCMP W1,#1,#9,VS", 1, 0, "N--V"),
        ("CCMN W1,W2,#0,NE", MASK32, 1, "-ZC-"),
    ],
)
def test_flags(text: str, left: int, right: int, expected: str) -> None:
    assert flags(run(text, X1=left, X2=right)) == expected


def test_flags_are_taken_before_the_destination_is_written() -> None:
    state = run("SUBS W0,W0,#1", X0=1)
    assert (state["X0"], flags(state)) == (0, "-ZC-")
    assert flags(run("CMP W0,#0", "CCMP W0,#5,#4,EQ", X0=0)) == "N---"


@pytest.mark.parametrize(
    ("text", "equal", "different"),
    [
        ("CSEL W0,W1,W2,EQ", 10, 20),
        ("CSEL X0,X1,XZR,NE", 0, 10),
        ("CSINC W0,W1,W2,EQ", 10, 21),
        ("CSINV W0,W1,W2,EQ", 10, MASK32 - 20),
        ("CSNEG X0,X1,X2,EQ", 10, (-20) & MASK64),
        ("CSET W0,EQ", 1, 0),
        ("CSETM W0,NE", 0, MASK32),
        ("CSETM X0,NE", 0, MASK64),
        ("CINC W0,W1,EQ", 11, 10),
        ("CINV X0,X1,EQ", MASK64 - 10, 10),
        ("CNEG W0,W1,EQ", (-10) & MASK32, 10),
        ("CSEL W0,W1,W2,AL", 10, 10),
    ],
)
def test_conditional_select(text: str, equal: int, different: int) -> None:
    assert run("CMP W3,#0", text, X1=10, X2=20)["X0"] == equal
    assert run("CMP W3,#1", text, X1=10, X2=20)["X0"] == different
    assert isinstance(one_assign(text).value, Select)


# Control and barriers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B L", (Jump("L"),)),
        ("B.AL Exit0", (Jump("Exit0"),)),
        ("B .loop", (Jump(".loop"),)),
        ("CBZ W0,L", (Branch(Binary("eq", 32, X0, Const(0)), "L"),)),
        ("CBNZ X0,LC00", (Branch(Binary("ne", 64, X0, Const(0)), "LC00"),)),
        ("CBNZ W%a,L", (Branch(Binary("ne", 32, Reg("%a"), Const(0)), "L"),)),
        ("TBZ W0,#3,L", (Branch(Binary("eq", 64, Binary("and", 64, X0, Const(8)), Const(0)), "L"),)),
        ("TBNZ X0,#63,L", (Branch(Binary("ne", 64, Binary("and", 64, X0, Const(1 << 63)), Const(0)), "L"),)),
        ("RET", (Exit(),)),
        ("RET X30", (Exit(),)),
        ("NOP", ()),
        ("YIELD", ()),
        ("WFE", ()),
        ("SEV", ()),
        ("SEVL", ()),
        ("HINT #0", ()),
        (".p2align 3", ()),
        ("ISB", (Fence("isb"),)),
        ("ISB SY", (Fence("isb"),)),
        ("DMB SY", (Fence("dmb.sy"),)),
        ("dmb ld", (Fence("dmb.ld"),)),
        ("DMB ST", (Fence("dmb.st"),)),
        ("DMB ISH", (Fence("dmb.ish"),)),
        ("DMB ISHLD", (Fence("dmb.ishld"),)),
        ("DMB OSHST", (Fence("dmb.oshst"),)),
        ("DSB SY", (Fence("dsb.sy"),)),
        ("DSB NSH", (Fence("dsb.nsh"),)),
        ("DSB ISHST", (Fence("dsb.ishst"),)),
    ],
)
def test_control(text: str, expected: tuple[Instruction, ...]) -> None:
    assert ARCHITECTURE.instruction(text) == expected


# Loads and stores


def add(base: str, offset: int) -> Expr:
    return Binary("add", 64, Reg(base), Const(offset))


def index(op: str, shift: int = 0) -> Expr:
    extended: Expr = Unary(op, 32, X2)
    return Binary("add", 64, X1, Binary("shl", 64, extended, Const(shift)) if shift else extended)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDR W0,[X1]", Load("X0", X1, 4)),
        ("ldr w0, [ x1 ]", Load("X0", X1, 4)),
        ("LDR X0,[X1]", Load("X0", X1, 8)),
        ("LDR WZR,[X1]", Load("discarded", X1, 4)),
        ("LDR W%a,[X%b]", Load("%a", Reg("%b"), 4)),
        ("LDR W0,[X1,#4]", Load("X0", add("X1", 4), 4)),
        ("LDR W0,[X1,#-4]", Load("X0", add("X1", -4), 4)),
        ("LDR W0,[X1,8]", Load("X0", add("X1", 8), 4)),
        ("LDR W0,[X1,#0]", Load("X0", X1, 4)),
        ("LDR W0,[SP,#8]", Load("X0", add("SP", 8), 4)),
        ("LDR W0,[X1,X2]", Load("X0", Binary("add", 64, X1, X2), 4)),
        ("LDR W0,[X1,W2,SXTW]", Load("X0", index("sext"), 4)),
        ("LDR W0,[X1,X2,SXTW]", Load("X0", index("sext"), 4)),
        ("LDR W0,[X1,W2]", Load("X0", index("sext"), 4)),
        ("LDR W0,[X1,W2,UXTW]", Load("X0", index("zext"), 4)),
        ("LDR W0,[X1,W2,SXTW #2]", Load("X0", index("sext", 2), 4)),
        ("LDR X0,[X1,W2,UXTW 3]", Load("X0", index("zext", 3), 8)),
        (
            "LDR W0,[X1,X2,LSL #2]",
            Load("X0", Binary("add", 64, X1, Binary("shl", 64, X2, Const(2))), 4),
        ),
        ("LDR W0,[X1,X2,SXTX]", Load("X0", Binary("add", 64, X1, X2), 4)),
        ("LDR W0,[X1,XZR]", Load("X0", Binary("add", 64, X1, Const(0)), 4)),
        ("LDRB W0,[X1]", Load("X0", X1, 1)),
        ("LDRH W0,[X1,W2,SXTW]", Load("X0", index("sext"), 2)),
        ("LDRSB X0,[X1]", Load("X0", X1, 1, signed=True)),
        ("LDRSH X0,[X1]", Load("X0", X1, 2, signed=True)),
        ("LDRSW X0,[X1]", Load("X0", X1, 4, signed=True)),
        ("LDUR W0,[X1,#1]", Load("X0", add("X1", 1), 4)),
        ("LDURB W0,[X1]", Load("X0", X1, 1)),
        ("LDURSW X0,[X1]", Load("X0", X1, 4, signed=True)),
        ("LDTR W0,[X1]", Load("X0", X1, 4)),
        ("LDAR W0,[X1]", Load("X0", X1, 4, Order.ACQUIRE)),
        ("LDAR X0,[X1]", Load("X0", X1, 8, Order.ACQUIRE)),
        ("LDARB W0,[X1]", Load("X0", X1, 1, Order.ACQUIRE)),
        ("LDARH W0,[X1]", Load("X0", X1, 2, Order.ACQUIRE)),
        ("LDAPR W0,[X1]", Load("X0", X1, 4, Order.ACQUIRE_PC)),
        ("LDAPRB W0,[X1]", Load("X0", X1, 1, Order.ACQUIRE_PC)),
        ("LDAPRH W0,[X1]", Load("X0", X1, 2, Order.ACQUIRE_PC)),
        ("LDAPUR X0,[X1,#8]", Load("X0", add("X1", 8), 8, Order.ACQUIRE_PC)),
        ("LDAPURSB X0,[X1]", Load("X0", X1, 1, Order.ACQUIRE_PC, signed=True)),
        ("STR W0,[X1]", Store(X1, X0, 4)),
        ("STR X0,[X1]", Store(X1, X0, 8)),
        ("STR WZR,[X1]", Store(X1, Const(0), 4)),
        ("STR W0,[X1,W2,SXTW]", Store(index("sext"), X0, 4)),
        ("STRB W0,[X1]", Store(X1, X0, 1)),
        ("STRH W0,[X1]", Store(X1, X0, 2)),
        ("STUR W0,[X1,#4]", Store(add("X1", 4), X0, 4)),
        ("STURH W0,[X1]", Store(X1, X0, 2)),
        ("STTR W0,[X1]", Store(X1, X0, 4)),
        ("STLR W0,[X1]", Store(X1, X0, 4, Order.RELEASE)),
        ("STLRB W0,[X1]", Store(X1, X0, 1, Order.RELEASE)),
        ("STLRH W0,[X1]", Store(X1, X0, 2, Order.RELEASE)),
        ("STLUR W0,[X1,#4]", Store(add("X1", 4), X0, 4, Order.RELEASE)),
        ("LDXR W0,[X1]", Load("X0", X1, 4, exclusive=True)),
        ("LDXRB W0,[X1]", Load("X0", X1, 1, exclusive=True)),
        ("LDXRH W0,[X1]", Load("X0", X1, 2, exclusive=True)),
        ("LDAXR X0,[X1]", Load("X0", X1, 8, Order.ACQUIRE, exclusive=True)),
        ("LDAXRB W0,[X1]", Load("X0", X1, 1, Order.ACQUIRE, exclusive=True)),
        ("STXR W5,W0,[X1]", StoreConditional("X5", X1, X0, 4)),
        ("STXR W5,X0,[X1]", StoreConditional("X5", X1, X0, 8)),
        ("STXR WZR,W0,[X1]", StoreConditional("discarded", X1, X0, 4)),
        ("STXRB W5,W0,[X1]", StoreConditional("X5", X1, X0, 1)),
        ("STXRH W5,W0,[X1]", StoreConditional("X5", X1, X0, 2)),
        ("STLXR W5,W0,[X1]", StoreConditional("X5", X1, X0, 4, Order.RELEASE)),
        ("STLXRH W5,W0,[X1]", StoreConditional("X5", X1, X0, 2, Order.RELEASE)),
    ],
)
def test_accesses(text: str, expected: Instruction) -> None:
    assert one(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDR W0,[X1],#4", (Load("X0", X1, 4), Assign("X1", add("X1", 4)))),
        ("LDR W0,[X1,#4]!", (Load("X0", add("X1", 4), 4), Assign("X1", add("X1", 4)))),
        ("STR W0,[X1],#-4", (Store(X1, X0, 4), Assign("X1", add("X1", -4)))),
        ("STR X1,[X1,#8] !", (Store(add("X1", 8), X1, 8), Assign("X1", add("X1", 8)))),
        ("LDAPR W0,[X1],#4", (Load("X0", X1, 4, Order.ACQUIRE_PC), Assign("X1", add("X1", 4)))),
        ("STLR W0,[X1,#-4]!", (Store(add("X1", -4), X0, 4, Order.RELEASE), Assign("X1", add("X1", -4)))),
        ("LDRSB W0,[X1]", (Load("X0", X1, 1, signed=True), Assign("X0", Unary("zext", 32, X0)))),
        ("LDRSH WZR,[X1]", (Load("discarded", X1, 2, signed=True),)),
        ("LDP W0,W5,[X1]", (Load("X0", X1, 4), Load("X5", add("X1", 4), 4))),
        ("LDP X0,X5,[X1,#16]", (Load("X0", add("X1", 16), 8), Load("X5", add("X1", 24), 8))),
        ("LDP W0,W5,[X1],#8", (Load("X0", X1, 4), Load("X5", add("X1", 4), 4), Assign("X1", add("X1", 8)))),
        ("LDP X1,X5,[X1]", (Assign("pair", X1), Load("X1", Reg("pair"), 8), Load("X5", add("pair", 8), 8))),
        ("LDNP W0,W5,[X1]", (Load("X0", X1, 4), Load("X5", add("X1", 4), 4))),
        ("LDPSW X0,X5,[X1]", (Load("X0", X1, 4, signed=True), Load("X5", add("X1", 4), 4, signed=True))),
        ("LDIAPP W0,W5,[X1]", (Load("X0", X1, 4, Order.ACQUIRE_PC), Load("X5", add("X1", 4), 4, Order.ACQUIRE_PC))),
        ("STP W0,W5,[X1]", (Store(X1, X0, 4), Store(add("X1", 4), X5, 4))),
        ("STP XZR,X5,[X1]", (Store(X1, Const(0), 8), Store(add("X1", 8), X5, 8))),
        ("STNP W0,W5,[X1]", (Store(X1, X0, 4), Store(add("X1", 4), X5, 4))),
        ("STILP W0,W5,[X1]", (Store(X1, X0, 4, Order.RELEASE), Store(add("X1", 4), X5, 4, Order.RELEASE))),
    ],
)  # fmt: skip
def test_accesses_of_several_steps(text: str, expected: tuple[Instruction, ...]) -> None:
    assert ARCHITECTURE.instruction(text) == expected


# Atomics

ORDERS = {"": Order.PLAIN, "A": Order.ACQUIRE, "L": Order.RELEASE, "AL": Order.ACQ_REL}
SIZES = {"": 4, "B": 1, "H": 2}
OPERATIONS = {
    "ADD": "add", "EOR": "xor", "SET": "or", "SMAX": "max", "SMIN": "min", "UMAX": "umax", "UMIN": "umin",
}  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
def test_swap_and_fetch_and_operate(order: str, size: str) -> None:
    expected = Rmw("X5", "xchg", X1, X0, SIZES[size], ORDERS[order])
    assert one(f"SWP{order}{size} W0,W5,[X1]") == expected
    for name, op in OPERATIONS.items():
        assert one(f"LD{name}{order}{size} W0,W5,[X1]") == Rmw("X5", op, X1, X0, SIZES[size], ORDERS[order])
        if "A" not in order:
            assert one(f"ST{name}{order}{size} W0,[X1]") == Rmw(None, op, X1, X0, SIZES[size], ORDERS[order])


def test_atomics_of_64_bits() -> None:
    assert one("SWP X0,X5,[X1]") == Rmw("X5", "xchg", X1, X0, 8)
    assert one("LDADDAL X0,X5,[X1,#0]") == Rmw("X5", "add", X1, X0, 8, Order.ACQ_REL)
    assert one("STADD X0,[X1]") == Rmw(None, "add", X1, X0, 8)


def test_clear_inverts_its_operand() -> None:
    assert one("LDCLR W0,W5,[X1]") == Rmw("X5", "and", X1, Unary("not", 32, X0), 4)
    assert one("LDCLRALB W0,W5,[X1]") == Rmw("X5", "and", X1, Unary("not", 8, X0), 1, Order.ACQ_REL)
    assert one("STCLRL X0,[X1]") == Rmw(None, "and", X1, Unary("not", 64, X0), 8, Order.RELEASE)


@pytest.mark.parametrize(
    ("text", "order"),
    [("", Order.PLAIN), ("A", Order.PLAIN), ("L", Order.RELEASE), ("AL", Order.RELEASE)],
)
def test_no_acquire_into_the_zero_register(text: str, order: Order) -> None:
    assert one(f"SWP{text} W0,WZR,[X1]") == Rmw(None, "xchg", X1, X0, 4, order)
    assert one(f"LDADD{text} X0,XZR,[X1]") == Rmw(None, "add", X1, X0, 8, order)
    assert one(f"CAS{text} WZR,W0,[X1]") == CompareExchange(None, None, X1, Const(0), X0, 4, order)


@pytest.mark.parametrize(
    ("mark", "order", "failure"),
    [
        ("", Order.PLAIN, Order.PLAIN),
        ("A", Order.ACQUIRE, Order.ACQUIRE),
        ("L", Order.RELEASE, Order.PLAIN),
        ("AL", Order.ACQ_REL, Order.ACQUIRE),
    ],
)
def test_compare_and_swap(mark: str, order: Order, failure: Order) -> None:
    for suffix, size in SIZES.items():
        expected = Unary("zext", 8 * size, X0)
        swap = CompareExchange("X0", None, X1, expected, X5, size, order, failure)
        assert one(f"CAS{mark}{suffix} W0,W5,[X1]") == swap
    assert one(f"CAS{mark} X0,X5,[X1]") == CompareExchange("X0", None, X1, X0, X5, 8, order, failure)


# Errors


@pytest.mark.parametrize(
    ("text", "message", "offset", "length"),
    [
        ("FROB X0,X1", "unknown AArch64 instruction `FROB`", 0, 4),
        ("MOVE W0,#1", "unknown AArch64 instruction `MOVE`", 0, 4),
        ("", "unknown AArch64 instruction ``", 0, 1),
        ("LDXP W0,W1,[X2]", "`LDXP` is not supported: exclusive accesses to a pair of registers are", 0, 4),
        ("CASPAL X0,X1,X2,X3,[X4]", "`CASPAL` is not supported: atomic accesses to a pair", 0, 6),
        ("MRS X0,NZCV", "`MRS` is not supported: system registers and instructions are outside", 0, 3),
        ("MSR DAIFSet,#1", "`MSR` is not supported: system registers", 0, 3),
        ("TLBI VAE1IS,X0", "`TLBI` is not supported: system registers", 0, 4),
        ("SVC #0", "`SVC` is not supported: system registers", 0, 3),
        ("HLT #1", "`HLT` is not supported: system registers", 0, 3),
        ("DC CVAU,X0", "`DC` is not supported: caches and instruction memory are outside", 0, 2),
        ("IC IVAU,X0", "`IC` is not supported: caches and instruction memory are outside", 0, 2),
        ("ADR X0,L", "`ADR` is not supported: caches and instruction memory are outside", 0, 3),
        ("BL L", "`BL` is not supported: caches and instruction memory are outside", 0, 2),
        ("blr x0", "`blr` is not supported: caches and instruction memory are outside", 0, 3),
        ("LDG X0,[X1]", "`LDG` is not supported: memory tags are outside", 0, 3),
        ("STZ2G X0,[X1]", "`STZ2G` is not supported: memory tags are outside", 0, 5),
        ("PACIA X0,X1", "`PACIA` is not supported: pointer authentication is outside", 0, 5),
        ("LD1 {V0.4S},[X1]", "`LD1` is not supported: vectors and floating point are outside", 0, 3),
        ("PTRUE P0.S", "`PTRUE` is not supported: vectors and floating point are outside", 0, 5),
        ("CLREX", "`CLREX` is not supported: speculation and what clears", 0, 5),
        ("LDR Q0,[X1]", "`Q0` is not supported: vectors are outside what Dekker models", 4, 2),
        ("ADD V0.4S,V1.4S,V2.4S", "`V0.4S` is not supported: vectors", 4, 5),
        ("MOV W0", "`MOV` takes 2 operands, not 1", 0, 6),
        ("ADD W0,W1", "`ADD` takes 3 or 4 operands, not 2", 0, 9),
        ("DMB", "`DMB` takes 1 operand, not 0", 0, 3),
        ("LDR W0,[X1],#4,#5", "`LDR` takes 2 or 3 operands, not 4", 0, 17),
        ("ADD W0,X1,W2", "expected a 32-bit register (W…), not `X1`", 7, 2),
        ("ADD X0,X1,W2", "expected a 64-bit register (X…), not `W2`", 10, 2),
        ("MOV W0,X1", "expected a 32-bit register (W…), not `X1`", 7, 2),
        ("EOR W0, W1, Y", "expected a register, not `Y`", 12, 1),
        ("NEG W0,#1", "expected a register, not `#1`", 7, 2),
        ("MUL W0,W1,#2", "expected a register, not `#2`", 10, 2),
        ("ADD W0,,W1", "expected a register", 7, 1),
        ("ADD W0,W1,W2,FOO", "expected a shift or an extension such as `LSL #2` or `SXTW`, not `FOO`", 13, 3),
        ("ADD W0,W1,W2,LSL #32", "the amount of a shift must be less than 32", 13, 7),
        ("ADD X0,X1,W2,SXTW #5", "the shift after an extension must be from 0 to 4", 13, 7),
        ("ADD W0,W1,#1,ASR #1", "expected `LSL #12` after a number, not `ASR #1`", 13, 6),
        ("MOVZ W0,#1,LSL #32", "expected `LSL` by 0 or 16, not `LSL #32`", 11, 7),
        ("MOVZ W0,#65536", "65536 is out of range: from 0 to 65535", 8, 6),
        ("MOV X0,#99999999999999999999", "99999999999999999999 is out of range", 7, 21),
        ("MOV W0,#0x100000000", "4294967296 is out of range", 7, 12),
        ("ADD W0,W1,#-0x80000001", "-2147483649 is out of range", 10, 12),
        ("LSL W0,W1,#32", "32 is out of range: from 0 to 31", 10, 3),
        ("TBZ W0,#32,L", "32 is out of range: from 0 to 31", 7, 3),
        ("TBZ W0,X1,L", "expected a number, not `X1`", 7, 2),
        ("CBZ W0,#4", "expected a label, not `#4`", 7, 2),
        ("B .+8", "expected a label, not `.+8`", 2, 3),
        ("RET X1", "a return ends the thread", 4, 2),
        ("CSEL W0,W1,W2,XX", "expected a condition, not `XX`", 14, 2),
        ("CCMP W0,#1,#16,EQ", "16 is out of range: from 0 to 15", 11, 3),
        ("DMB FOO", "expected a barrier option, not `FOO`", 4, 3),
        ("DSB ISHNXS", "expected a barrier option, not `ISHNXS`", 4, 6),
        ("ISB ISH", "expected `SY` or nothing, not `ISH`", 4, 3),
        ("LDR W0,X1", "expected an address such as [X1], [X1,#4] or [X1,W2,SXTW], not `X1`", 7, 2),
        ("LDR W0,=x", "expected an address", 7, 2),
        ("LDR W0,[]", "expected an address", 7, 2),
        ("LDR W0,[W1]", "expected a 64-bit register (X…), not `W1`", 8, 2),
        ("LDR W0,[XZR]", "expected an X register or SP as base address, not `XZR`", 8, 3),
        ("LDR W0,[X1,Y]", "expected a register, not `Y`", 11, 1),
        ("LDR W0,[X1,#4,SXTW]", "a number as index takes no shift or extension", 14, 4),
        ("LDR W0,[X1,X2,UXTB]", "expected UXTW, SXTW, SXTX or LSL", 14, 4),
        ("LDR W0,[X1,X2]!", "the index before `!` is a number", 7, 8),
        ("LDR W0,[X1,#4],#4", "the address before an increment is a register alone", 7, 7),
        ("LDR W0,[X1],X2", "expected a number, not `X2`", 12, 2),
        ("LDR X1,[X1],#8", "`X1` is both loaded and updated", 4, 2),
        ("LDP X0,X1,[X1,#8]!", "`X1` is both loaded and updated", 7, 2),
        ("LDRB X0,[X1]", "expected a 32-bit register (W…), not `X0`", 5, 2),
        ("LDRSW W0,[X1]", "expected a 64-bit register (X…), not `W0`", 6, 2),
        ("SWPB X0,X1,[X2]", "expected a 32-bit register (W…), not `X0`", 5, 2),
        ("SWP W0,X1,[X2]", "expected a 32-bit register (W…), not `X1`", 7, 2),
        ("LDXR W0,[X1,#4]", "this access takes no index", 8, 7),
        ("STXR X2,X0,[X1]", "expected a 32-bit register (W…), not `X2`", 5, 2),
    ],
)  # fmt: skip
def test_errors(text: str, message: str, offset: int, length: int) -> None:
    found = error(text)
    assert found.message.startswith(message)
    assert (found.offset, found.length) == (offset, length)


def test_hints() -> None:
    assert error("MOVE W0,#1").hint == "did you mean `MOV` or `MOVZ` or `MOVN` or `MOVK`?"
    assert error("ADD X0,X1,W2").hint == "a 32-bit register can be extended, as in `W2,SXTW`"
    assert "ISHLD" in str(error("DMB FOO").hint)


@given(st.one_of(st.text(max_size=30), st.from_regex(r"[A-Z]{2,6} [XW]\d,\[?[XW]\d\]?!?(,[#A-Z0-9 ]{1,6})?")))
def test_anything_else_is_an_instruction_error(text: str) -> None:
    with suppress(InstructionError):
        ARCHITECTURE.instruction(text.strip())


# Whole tests

TEST = """AArch64 MP
{
uint64_t y; 0:X1=x; 0:X3=y; 1:X1=y; 1:X3=x;
}
 P0          | P1                  ;
 MOV W0,#1   | LDAR W0,[X1]        ;
 STR W0,[X1] | EOR W2,W0,W0        ;
 DMB ST      | LDR W4,[X3,W2,SXTW] ;
 STR W0,[X3] | CBNZ W4,LC00        ;
             | LC00: ISB           ;
exists (1:X0=1 /\\ 1:W4=0)
"""


def test_a_whole_test() -> None:
    program = parse_litmus(Source("MP.litmus", TEST))
    assert program.architecture == "AArch64"
    assert [len(function.body) for function in program.functions] == [4, 5]
    assert program.functions[1].labels == {"LC00": 4}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of litmus tests is not here")
def test_the_corpus_is_read() -> None:
    paths = sorted(CORPUS.rglob("*.litmus"))
    assert paths
    for path in paths:
        assert parse_litmus(Source(str(path), path.read_text())).threads
