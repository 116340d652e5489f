"""Values that are justified by nothing but themselves are no values of an execution, whatever the model.

A *shape* says how a value was computed from what reads returned: a number, a read, or an operation on shapes. It is
reduced only where the result does not depend on unknown values at all (`x ^ x` is 0), so that a false dependency
justifies nothing. Every read must get its value in the end from numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dekker.ir.arithmetic import RMW_OPERATORS
from dekker.ir.expressions import evaluate_binary, evaluate_unary

Place = tuple[int, int]
"""A thread and the index of an event in it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a read returned."""

    read: Place


@dataclass(frozen=True, slots=True)
class Computed:
    """An operation; `update` marks those of read-modify-writes that expressions do not have."""

    op: str
    width: int
    operands: tuple[Shape, ...]
    update: bool = False


Shape = int | Returned | Computed

_ZERO_FOR_EQUALS = frozenset(("xor", "sub", "ne", "ult", "ugt", "slt", "sgt"))
_ONE_FOR_EQUALS = frozenset(("eq", "ule", "uge", "sle", "sge"))


def computed(op: str, width: int, *operands: Shape, update: bool = False) -> Shape:
    numbers = [operand for operand in operands if isinstance(operand, int)]
    if len(numbers) == len(operands):
        if update:
            return RMW_OPERATORS[op](width, *numbers)
        return evaluate_unary(op, width, *numbers) if len(numbers) == 1 else evaluate_binary(op, width, *numbers)
    if op in ("and", "mul") and 0 in numbers:
        return 0
    if len(operands) == 2 and operands[0] == operands[1]:
        if op in _ZERO_FOR_EQUALS:
            return 0
        if op in _ONE_FOR_EQUALS:
            return 1
    return Computed(op, width, operands, update)


def unjustified(origins: Mapping[Place, Shape]) -> set[Place]:
    """The reads whose values rest on themselves; `origins` says where each read has its value from."""
    open_reads = dict(origins)
    numbers: dict[Place, int] = {}
    while True:
        settled = {}
        for read, shape in open_reads.items():
            reduced = _reduced(shape, numbers)
            if isinstance(reduced, int):
                settled[read] = reduced
        if not settled:
            return set(open_reads)
        numbers |= settled
        open_reads = {read: shape for read, shape in open_reads.items() if read not in settled}


def _reduced(shape: Shape, numbers: Mapping[Place, int]) -> Shape:
    if isinstance(shape, Returned):
        return numbers.get(shape.read, shape)
    if isinstance(shape, Computed):
        operands = (_reduced(operand, numbers) for operand in shape.operands)
        return computed(shape.op, shape.width, *operands, update=shape.update)
    return shape
