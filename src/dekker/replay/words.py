"""What registers hold during a replay: values, how they came about, and the events they depend on."""

from __future__ import annotations

from dataclasses import dataclass

from dekker.ir.expressions import evaluate_binary, evaluate_unary
from dekker.replay.thin_air import Shape, computed, limited


@dataclass(frozen=True, slots=True)
class Word:
    """A register's content, how it came about, and the events it depends on; `picked` ones only chose between
    alternatives."""

    value: int
    shape: Shape
    sources: frozenset[int] = frozenset()
    picked: frozenset[int] = frozenset()


def number(value: int, *sources: int) -> Word:
    return Word(value, value, frozenset(sources))


ZERO = number(0)


def apply(op: str, width: int, *operands: Word) -> Word:
    """A unary or binary operation."""
    values = [operand.value for operand in operands]
    result = evaluate_unary(op, width, *values) if len(values) == 1 else evaluate_binary(op, width, *values)
    if all(isinstance(operand.shape, int) and not operand.sources and not operand.picked for operand in operands):
        return number(result)
    return Word(
        result,
        limited(computed(op, width, *(operand.shape for operand in operands)), result),
        frozenset[int]().union(*(operand.sources for operand in operands)),
        frozenset[int]().union(*(operand.picked for operand in operands)),
    )
