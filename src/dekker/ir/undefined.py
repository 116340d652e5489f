"""Which bits of a result are indeterminate, by those of the operands.

Memory that was allocated and never written is indeterminate, bit by bit, and so is what is computed from such bits:
masks and shifts keep the others. Never too few bits are; too many only where an operator mixes them in a way that is
not followed here.
"""

from __future__ import annotations

from typing import Self

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import evaluate_binary, evaluate_unary

ALL = mask(64)
_CARRYING = frozenset(("neg", "add", "sub", "mul"))
_SHIFTS = frozenset(("shl", "lshr", "ashr"))
_EQUALITIES = frozenset(("eq", "ne"))
_ORDERS = frozenset(("ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge", "feq", "flt", "fle", "funo"))


class Partly(int):
    """A number of which some bits are `undefined`."""

    undefined: int

    def __new__(cls, value: int, undefined: int) -> Self:
        made = super().__new__(cls, value)
        made.undefined = undefined
        return made


def partly(value: int, undefined: int) -> int:
    return Partly(value, undefined) if undefined else value


def undefined_bits(value: object) -> int:
    return value.undefined if isinstance(value, Partly) else 0


def is_undecided(value: object) -> bool:
    """Whether it is open if the value is 0."""
    return isinstance(value, Partly) and int(value) & ~value.undefined == 0


def of_unary(op: str, width: int, operand: int) -> int:
    undefined = undefined_bits(operand) & mask(width)
    match op:
        case "neg":
            return _carried(width, undefined)
        case "not" | "zext":
            return undefined
        case "sext":
            return evaluate_unary("sext", width, undefined)
        case "freeze":
            return 0
    return ALL if undefined else 0


def of_binary(op: str, width: int, left: int, right: int) -> int:
    """Of the operators of expressions, and of those of updates."""
    a, b = int(left) & mask(width), int(right) & mask(width)
    in_a, in_b = undefined_bits(left) & mask(width), undefined_bits(right) & mask(width)
    either = in_a | in_b
    if op == "xchg":
        return in_b
    if not either:
        return 0
    if op in _CARRYING:
        return _carried(width, either)
    if op in _SHIFTS:
        return mask(width) if in_b else evaluate_binary(op, width, in_a, b)
    if op in _EQUALITIES:
        return int((a ^ b) & ~either == 0)
    if op in _ORDERS:
        return 1
    match op:
        case "and" | "nand":
            return in_a & in_b | in_a & b | a & in_b
        case "or":
            return (in_a & in_b | in_a & ~b | ~a & in_b) & mask(width)
        case "xor":
            return either
    return mask(width)


def _carried(width: int, undefined: int) -> int:
    """A carry may reach all bits from the lowest undefined one upwards."""
    return (undefined | -undefined) & mask(width)
