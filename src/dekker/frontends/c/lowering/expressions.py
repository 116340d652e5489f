"""Makes expressions, folding constants and what is plainly superfluous.

A value of n bits is an expression whose upper 64-n bits are 0. Nothing is folded that a program may use as a
dependency: `x ^ x` and `x & 0` keep their operands.
"""

from __future__ import annotations

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import (
    ONE,
    ZERO,
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
    evaluate_binary,
    evaluate_unary,
)

_COMPARISONS = {"eq": "ne", "slt": "sge", "sgt": "sle", "ult": "uge", "ugt": "ule"}
_NEGATED = _COMPARISONS | {right: left for left, right in _COMPARISONS.items()}
_TRUTHS = frozenset(_NEGATED) | {"feq", "flt", "fle", "funo"}
_NEUTRAL_ZERO = frozenset(("add", "sub", "or", "xor", "shl", "lshr", "ashr"))


def binary(op: str, width: int, left: Expr, right: Expr) -> Expr:
    if isinstance(right, Const):
        if isinstance(left, Const):
            return Const(evaluate_binary(op, width, left.value, right.value))
        if right.value & mask(width) == 0 and op in _NEUTRAL_ZERO and bits_of(left) <= width:
            return left
        if op in ("ne", "eq") and is_truth(left):
            return left if (op == "ne") == (right.value == 0) else negate(left)
        if op in ("add", "sub") and width == 64:
            return offset(left, right.value if op == "add" else -right.value)
    elif op == "add" and width == 64 and isinstance(left, Const):
        return offset(right, left.value)
    return Binary(op, width, left, right)


def unary(op: str, width: int, operand: Expr) -> Expr:
    if isinstance(operand, Const):
        return Const(evaluate_unary(op, width, operand.value))
    if op == "zext" and bits_of(operand) <= width:
        return operand
    if op == "sext" and bits_of(operand) < width:
        return operand
    return Unary(op, width, operand)


def bits_of(expression: Expr) -> int:
    """How many low bits of the value can be set at all, as far as the expression tells."""
    match expression:
        case Const(value):
            return value.bit_length()
        case Binary(op, width, left, right):
            if op in _TRUTHS:
                return 1
            if op == "and":
                return min(bits_of(left), bits_of(right), width)
            return width
        case Unary("zext" | "not" | "neg", width, _):
            return width
        case Select(_, then, other):
            return max(bits_of(then), bits_of(other))
    return 64


def truncate(width: int, value: Expr) -> Expr:
    return unary("zext", width, value)


def sign_extend(source: int, target: int, value: Expr) -> Expr:
    return truncate(target, unary("sext", source, value))


def offset(address: Expr, distance: int) -> Expr:
    """The address, that many bytes further."""
    match address:
        case Const(value):
            return Const(value + distance)
        case Address(symbol, start):
            return Address(symbol, _wrapped(start + distance))
        case Binary("add", 64, left, Const(value)) if not isinstance(left, Address):
            distance += value
            address = left
    distance &= mask(64)
    return address if distance == 0 else Binary("add", 64, address, Const(distance))


def _wrapped(value: int) -> int:
    value &= mask(64)
    return value - (1 << 64) if value >> 63 else value


def scaled(index: Expr, size: int) -> Expr:
    if size == 1:
        return index
    return binary("mul", 64, index, Const(size))


def is_truth(expression: Expr) -> bool:
    """Is its value 0 or 1?"""
    match expression:
        case Binary(op, _, left, right):
            return op in _TRUTHS or (op in ("and", "or", "xor") and is_truth(left) and is_truth(right))
        case Const(value):
            return value <= 1
        case Unary("zext", 1, _):
            return True
        case Select(_, then, other):
            return is_truth(then) and is_truth(other)
    return False


def negate(condition: Expr) -> Expr:
    """1 if the value of one bit is 0, and the other way round."""
    match condition:
        case Const(value):
            return ONE if value == 0 else ZERO
        case Binary(op, width, left, right) if op in _NEGATED:
            return Binary(_NEGATED[op], width, left, right)
    return Binary("eq", 64, condition, ZERO)


def select(condition: Expr, then: Expr, other: Expr) -> Expr:
    if isinstance(condition, Const):
        return then if condition.value else other
    return Select(condition, then, other)


def depth(expression: Expr) -> int:
    match expression:
        case Unary(_, _, operand):
            return 1 + depth(operand)
        case Binary(_, _, left, right):
            return 1 + max(depth(left), depth(right))
        case Select(condition, then, other):
            return 1 + max(depth(condition), depth(then), depth(other))
    return 0


def is_leaf(expression: Expr) -> bool:
    return isinstance(expression, Const | Reg | Address)
