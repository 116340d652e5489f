"""Values that are justified by nothing but themselves are no values of an execution, whatever the model.

A *shape* says how a value was computed from what reads returned: a number, a read, or an operation on shapes. It is
reduced only where the result does not depend on unknown values at all (`x ^ x` is 0), so that a false dependency
justifies nothing. Every read must get its value in the end from numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dekker.ir.arithmetic import RMW_OPERATORS
from dekker.ir.expressions import evaluate_binary, evaluate_unary
from dekker.records import dataclass

Place = tuple[int, int]
"""A thread and the index of an event in it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a read returned."""

    read: Place


@dataclass(frozen=True, slots=True)
class Computed:
    op: str
    width: int
    operands: tuple[Shape, ...]
    size: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value computed from these reads in too many steps to remember."""

    value: int
    reads: frozenset[Place]


Shape = int | Returned | Computed | Opaque

LARGEST = 300

_ZERO_FOR_EQUALS = frozenset(("xor", "sub", "ne", "ult", "ugt", "slt", "sgt"))
_ONE_FOR_EQUALS = frozenset(("eq", "ule", "uge", "sle", "sge"))


_LARGEST_AND_SMALLEST = frozenset(("max", "min", "umax", "umin"))


def computed(op: str, width: int, *operands: Shape) -> Shape:
    """The shape of a unary or binary operation, or of what a read-modify-write stores."""
    if op == "nand":
        return computed("not", width, computed("and", width, *operands))
    numbers = [operand for operand in operands if isinstance(operand, int)]
    if len(numbers) == len(operands):
        return _evaluated(op, width, *numbers)
    if op in ("and", "mul") and 0 in numbers:
        return 0
    if len(operands) == 2 and operands[0] == operands[1]:
        if op in _LARGEST_AND_SMALLEST:
            return operands[0]
        if op in _ZERO_FOR_EQUALS or op in _ONE_FOR_EQUALS:
            return int(op in _ONE_FOR_EQUALS)
    return Computed(op, width, operands, 1 + sum(map(_size, operands)))


def limited(shape: Shape, value: int) -> Shape:
    """The shape of a value, simplified if it has become too large."""
    return Opaque(value, _reads(shape)) if _size(shape) > LARGEST else shape


def _size(shape: Shape) -> int:
    return shape.size if isinstance(shape, Computed) else 1


def _reads(shape: Shape) -> frozenset[Place]:
    if isinstance(shape, Returned):
        return frozenset((shape.read,))
    if isinstance(shape, Computed):
        return frozenset[Place]().union(*map(_reads, shape.operands))
    return shape.reads if isinstance(shape, Opaque) else frozenset()


def _evaluated(op: str, width: int, *numbers: int) -> int:
    if op in _LARGEST_AND_SMALLEST:
        return RMW_OPERATORS[op](width, *numbers)
    return evaluate_unary(op, width, *numbers) if len(numbers) == 1 else evaluate_binary(op, width, *numbers)


def unjustified(origins: Mapping[Place, Shape], values: Mapping[Place, int]) -> set[Place]:
    """The reads whose values rest on themselves. `origins` says on what each read rests: what was written, or for an
    initial value its address; `values` what it returned."""
    open_reads = set(origins)
    justified: dict[Place, int] = {}
    while True:
        settled = [read for read in open_reads if isinstance(_reduced(origins[read], justified), int)]
        if not settled:
            return open_reads
        justified |= {read: values[read] for read in settled}
        open_reads.difference_update(settled)


def _reduced(shape: Shape, numbers: Mapping[Place, int]) -> Shape:
    if isinstance(shape, Returned):
        return numbers.get(shape.read, shape)
    if isinstance(shape, Computed):
        operands = (_reduced(operand, numbers) for operand in shape.operands)
        return computed(shape.op, shape.width, *operands)
    if isinstance(shape, Opaque) and shape.reads <= numbers.keys():
        return shape.value
    return shape
