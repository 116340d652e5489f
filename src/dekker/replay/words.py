"""What registers hold during a replay: values, how they came about, and the events they depend on."""

from __future__ import annotations

from dataclasses import replace

from dekker.ir.expressions import evaluate_binary, evaluate_unary
from dekker.ir.undefined import of_binary, of_unary, partly
from dekker.records import dataclass
from dekker.replay.thin_air import Shape, computed, limited

Origin = int | str | None


@dataclass(frozen=True, slots=True)
class Word:
    """A register's content, how it came about, and the events it depends on; `picked` ones only chose between
    alternatives. `undefined` are the bits that nobody has set, `origin` says where: an address, or a variable."""

    value: int
    shape: Shape
    sources: frozenset[int] = frozenset()
    picked: frozenset[int] = frozenset()
    undefined: int = 0
    origin: Origin = None

    @property
    def is_undecided(self) -> bool:
        """Whether it is open if the value is 0."""
        return self.undefined != 0 and self.value & ~self.undefined == 0


def number(value: int, *sources: int) -> Word:
    return Word(value, value, frozenset(sources))


def taken(value: int, undefined: int, origin: Origin) -> Word:
    """From memory that only this thread has seen."""
    return Word(value, value, undefined=undefined, origin=origin if undefined else None)


def with_bits(word: Word, undefined: int, *operands: Word) -> Word:
    """With indeterminate bits, which come from the operands."""
    if not undefined:
        return word
    origin = next((operand.origin for operand in operands if operand.undefined), None)
    return replace(word, undefined=undefined, origin=origin)


ZERO = number(0)


def apply(op: str, width: int, *operands: Word) -> Word:
    """A unary or binary operation."""
    values = [operand.value for operand in operands]
    result = evaluate_unary(op, width, *values) if len(values) == 1 else evaluate_binary(op, width, *values)
    bits = 0
    if any(operand.undefined for operand in operands):
        numbers = [partly(operand.value, operand.undefined) for operand in operands]
        bits = of_unary(op, width, *numbers) if len(numbers) == 1 else of_binary(op, width, *numbers)
    if all(isinstance(operand.shape, int) and not operand.sources and not operand.picked for operand in operands):
        return with_bits(number(result), bits, *operands)
    found = Word(
        result,
        limited(computed(op, width, *(operand.shape for operand in operands)), result),
        frozenset[int]().union(*(operand.sources for operand in operands)),
        frozenset[int]().union(*(operand.picked for operand in operands)),
    )
    return with_bits(found, bits, *operands)
