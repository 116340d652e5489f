"""What registers may hold, as far as it matters for addresses: numbers, and places in objects.

A value is a set of targets. A target is a base with an offset; offset None is any. The base is an object, an
allocation, a function, a thread's identifier, or `NUMBER`: then the offset is the number itself. Whatever a program
computes with an address stays a target of its object, so that no provenance is lost; where the offset cannot be
followed it is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

from dekker.ir.expressions import (
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
from dekker.ir.floating import FLOAT_BINARY_OPERATORS, FLOAT_UNARY_OPERATORS

MOST_OFFSETS = 8
_MOST_NUMBERS = 4
_MOST_COMBINATIONS = 64
_POINTER_WIDTH = 32
_COMPARISONS = frozenset("eq ne ult ugt ule uge slt sgt sle sge".split())
_FLOATING = FLOAT_BINARY_OPERATORS.keys() | FLOAT_UNARY_OPERATORS.keys()
_ABSORBING = frozenset(("and", "mul"))
_CANCELLING = frozenset(("xor", "sub"))


class Allocation(NamedTuple):
    """All objects that one thread allocates at one place."""

    thread: int
    function: str
    at: int


class Handle(NamedTuple):
    """The identifier of a thread."""

    thread: int


NUMBER = ""
Base = str | Allocation | Handle


class Target(NamedTuple):
    base: Base
    offset: int | None


Value = frozenset[Target]

NOTHING: Value = frozenset()
ANY_NUMBER: Value = frozenset((Target(NUMBER, None),))
ONLY_ZERO: Value = frozenset((Target(NUMBER, 0),))


def evaluate(expression: Expr, register: Callable[[str], Value]) -> Value:
    match expression:
        case Const(value):
            return frozenset((Target(NUMBER, value),))
        case Reg(name):
            return register(name)
        case Address(symbol, offset):
            return frozenset((Target(symbol, offset),))
        case Unary(op, width, operand):
            return _unary(op, width, evaluate(operand, register))
        case Binary(op, width, left, right):
            if op in _CANCELLING and left == right:
                return ONLY_ZERO
            return _binary(op, width, evaluate(left, register), evaluate(right, register))
        case Select(_, then, other):
            return widened(evaluate(then, register) | evaluate(other, register))
    return ANY_NUMBER


def widened(value: Value) -> Value:
    """The value with at most so many offsets for each base, which makes every analysis end; any offset includes all."""
    if len(value) == 1:
        return value
    counts = Counter(target.base for target in value)
    if len(counts) == len(value):
        return value
    anywhere = {
        base
        for base, count in counts.items()
        if count > (_MOST_NUMBERS if base == NUMBER else MOST_OFFSETS) or Target(base, None) in value
    }
    return frozenset(blurred(target) if target.base in anywhere else target for target in value)


def blurred(target: Target) -> Target:
    return Target(target.base, None)


def blurred_pointers(values: Iterable[Target]) -> Value:
    return frozenset(blurred(target) for target in values if target.base != NUMBER)


def _unary(op: str, width: int, operand: Value) -> Value:
    found: set[Target] = set()
    for base, offset in operand:
        if base != NUMBER:
            keeps = op in ("zext", "sext", "freeze") and width >= _POINTER_WIDTH
            found.add(Target(base, offset if keeps else None))
        elif offset is None or op in _FLOATING:
            found |= ANY_NUMBER
        else:
            found.add(Target(NUMBER, evaluate_unary(op, width, offset)))
    return frozenset(found)


def _binary(op: str, width: int, left: Value, right: Value) -> Value:
    if op in _COMPARISONS or op in _FLOATING:
        return ANY_NUMBER
    if ANY_NUMBER in (left, right) and op not in _ABSORBING and _only_numbers(left) and _only_numbers(right):
        return ANY_NUMBER
    if len(left) * len(right) > _MOST_COMBINATIONS:
        return ANY_NUMBER | blurred_pointers(left | right)
    found: set[Target] = set()
    for first, second in product(left, right):
        found |= _combined(op, width, first, second)
    return widened(frozenset(found))


def _only_numbers(value: Value) -> bool:
    return all(base == NUMBER for base, _ in value)


def _combined(op: str, width: int, left: Target, right: Target) -> Value:
    if left.base == NUMBER and right.base == NUMBER:
        return _number(op, width, left.offset, right.offset)
    if right.base == NUMBER and op in ("add", "sub") and width >= _POINTER_WIDTH:
        return frozenset((Target(left.base, _moved(op, left.offset, right.offset, width)),))
    if left.base == NUMBER and op == "add" and width >= _POINTER_WIDTH:
        return frozenset((Target(right.base, _moved(op, right.offset, left.offset, width)),))
    return ANY_NUMBER | blurred_pointers((left, right))


def _number(op: str, width: int, left: int | None, right: int | None) -> Value:
    if left is None or right is None:
        known = left if right is None else right
        if known == 0 and op in _ABSORBING:
            return ONLY_ZERO
        if op == "and" and known is not None and 0 <= known < _MOST_NUMBERS:
            return frozenset(Target(NUMBER, number & known) for number in range(_MOST_NUMBERS))
        return ANY_NUMBER
    return frozenset((Target(NUMBER, evaluate_binary(op, width, left, right)),))


def _moved(op: str, offset: int | None, by: int | None, width: int) -> int | None:
    if offset is None or by is None:
        return None
    signed = by - (1 << width) if by >> (width - 1) & 1 else by
    return offset + signed if op == "add" else offset - signed
