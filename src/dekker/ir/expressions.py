"""Expressions over registers.

Registers and intermediate results are 64-bit patterns, kept as integers in 0 … 2⁶⁴-1. Every operation names the width
it works at: it uses the low `width` bits of its operands and zero-extends its result. Comparisons yield 0 or 1.
Operators are those of `ir.arithmetic` and, on patterns of floating-point numbers, of `ir.floating`.
"""

from __future__ import annotations

from dekker.ir.arithmetic import BINARY_OPERATORS, UNARY_OPERATORS, mask
from dekker.ir.floating import FLOAT_BINARY_OPERATORS, FLOAT_UNARY_OPERATORS
from dekker.records import dataclass

MAX_NESTING = 100
"""How deep expressions and formulas of a valid program may nest."""
ALL_UNARY_OPERATORS = UNARY_OPERATORS | FLOAT_UNARY_OPERATORS
ALL_BINARY_OPERATORS = BINARY_OPERATORS | FLOAT_BINARY_OPERATORS


@dataclass(frozen=True, slots=True)
class Const:
    value: int

    def __post_init__(self) -> None:
        if not 0 <= self.value < 1 << 64:
            object.__setattr__(self, "value", self.value & mask(64))


@dataclass(frozen=True, slots=True)
class Unset(Const):
    """What a variable holds to which nothing was assigned: 0, every bit of which is indeterminate (`ir.undefined`)."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class Reg:
    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a global object or function, plus a byte offset."""

    symbol: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Unary:
    """`neg`, `not`, `zext` (keep the low `width` bits), `sext` (extend bit `width`-1 to 64 bits), `freeze` (`zext`, and
    bits that are indeterminate count as set, to 0), or an operator of `ir.floating`."""

    op: str
    width: int
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    op: str
    width: int
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Select:
    """`then` if `condition` is not 0, else `other`. The result depends on the condition only as a choice between
    the two (a *pick* dependency), which some models treat as weaker than a data dependency."""

    condition: Expr
    then: Expr
    other: Expr


Expr = Const | Reg | Address | Unary | Binary | Select


def is_unset(expression: Expr) -> bool:
    """What a variable of some size holds to which nothing was assigned."""
    return isinstance(expression.operand if isinstance(expression, Unary) else expression, Unset)


def has_unset(expression: Expr) -> bool:
    """Whether anything in it is what a variable holds to which nothing was assigned."""
    match expression:
        case Unary(_, _, operand):
            return has_unset(operand)
        case Binary(_, _, left, right):
            return has_unset(left) or has_unset(right)
        case Select(condition, then, other):
            return has_unset(condition) or has_unset(then) or has_unset(other)
    return isinstance(expression, Unset)


ZERO = Const(0)
ONE = Const(1)


def registers(expression: Expr) -> frozenset[str]:
    """All registers that the expression reads, including those of conditions of `Select`."""
    match expression:
        case Reg(name):
            return frozenset((name,))
        case Unary(_, _, operand):
            return registers(operand)
        case Binary(_, _, left, right):
            return registers(left) | registers(right)
        case Select(condition, then, other):
            return registers(condition) | registers(then) | registers(other)
    return frozenset()


def evaluate_unary(op: str, width: int, operand: int) -> int:
    return ALL_UNARY_OPERATORS[op](width, operand & mask(width))


def evaluate_binary(op: str, width: int, left: int, right: int) -> int:
    return ALL_BINARY_OPERATORS[op](width, left & mask(width), right & mask(width))
