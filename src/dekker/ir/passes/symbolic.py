"""What is known about values without running a program: numbers, and copies of what registers held before.

A value is a number, a `Copy`, or None if nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dekker.ir.expressions import Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary


class Copy(NamedTuple):
    """The low bits of what a register held at some earlier point."""

    register: str
    width: int


Known = int | Copy | None

_ZERO_IF_EQUAL = frozenset(("xor", "sub", "ne", "ult", "ugt", "slt", "sgt"))
_ONE_IF_EQUAL = frozenset(("eq", "ule", "uge", "sle", "sge"))


def evaluate(expression: Expr, register: Callable[[str], Known]) -> Known:
    """The value of an expression, given those of registers."""
    match expression:
        case Const(value):
            return value
        case Reg(name):
            return register(name)
        case Unary(op, width, operand):
            return _unary(op, width, evaluate(operand, register))
        case Binary(op, width, left, right):
            return _binary(op, width, evaluate(left, register), evaluate(right, register))
        case Select(condition, then, other):
            chosen = evaluate(condition, register)
            return evaluate(then if chosen else other, register) if isinstance(chosen, int) else None
    return None


def truncated(value: Known, width: int) -> Known:
    return _unary("zext", width, value)


def _unary(op: str, width: int, operand: Known) -> Known:
    if isinstance(operand, int):
        return evaluate_unary(op, width, operand)
    if isinstance(operand, Copy) and op == "zext":
        return Copy(operand.register, min(width, operand.width))
    return None


def _binary(op: str, width: int, left: Known, right: Known) -> Known:
    if isinstance(left, int) and isinstance(right, int):
        return evaluate_binary(op, width, left, right)
    same = isinstance(left, Copy) and truncated(left, width) == truncated(right, width)
    if same and op in _ZERO_IF_EQUAL:
        return 0
    return 1 if same and op in _ONE_IF_EQUAL else None
