"""Which allocations no other thread ever learns of (section 3.4 of the paper, static): the address is never stored,
passed on or returned, nor anything computed from it."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.ir.expressions import Binary, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    CompareExchange,
    Free,
    Instruction,
    Join,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function

_COMPARISONS = frozenset(("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"))


def local_allocations(function: Function) -> frozenset[int]:
    """The positions of those allocations in the function."""
    positions = [index for index, step in enumerate(function.body) if isinstance(step, Allocate)]
    return frozenset(index for index in positions if not _escapes(function, index))


def _escapes(function: Function, index: int) -> bool:
    allocation = function.body[index]
    assert isinstance(allocation, Allocate)
    holders = {allocation.dst}
    while True:
        found = {
            step.dst
            for step in function.body
            if isinstance(step, Assign) and step.dst not in holders and not holders.isdisjoint(_carried(step.value))
        }
        if not found:
            break
        holders |= found
    return any(not holders.isdisjoint(registers(part)) for step in function.body for part in _given_away(step))


def _carried(expression: Expr) -> frozenset[str]:
    """The registers whose values can be told from that of the expression, other than by a comparison."""
    match expression:
        case Reg(name):
            return frozenset((name,))
        case Unary(_, _, operand):
            return _carried(operand)
        case Binary(op, _, left, right):
            return frozenset() if op in _COMPARISONS else _carried(left) | _carried(right)
        case Select(condition, then, other):
            return _carried(condition) | _carried(then) | _carried(other)
    return frozenset()


def _given_away(step: Instruction) -> Iterator[Expr]:
    match step:
        case Store(value=value) | StoreConditional(value=value) | Rmw(operand=value):
            yield value
        case CompareExchange(expected=expected, desired=desired):
            yield from (expected, desired)
        case Call(function=callee, arguments=arguments) | Spawn(function=callee, arguments=arguments):
            yield from (callee, *arguments)
        case Return(value=value) if value is not None:
            yield value
        case Free(address=address):
            yield address
        case Join(thread=thread):
            yield thread
        case Allocate(size=size):
            yield size
