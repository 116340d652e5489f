"""What a compiled model says, whatever it calls things and in which order it says them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import lru_cache
from itertools import count

from dekker.cat.relational import Fixpoint, Op, RelationalProgram, Step

Meaning = frozenset[tuple[str, int, str, bool, bool]]

_COMMUTATIVE = frozenset(("union", "inter", "set-union", "set-inter"))
_numbers: dict[Hashable, int] = {}
"""Of values, by their definitions: the same in all models."""
_next_number = count()


@lru_cache(maxsize=64)
def meaning(program: RelationalProgram) -> Meaning:
    """Its checks, as a set of values that are the same for models with the same definitions. Flags keep their names:
    reports tell a data race by it."""
    values = _Values(program)
    return frozenset(
        (check.kind, values.numbers[check.slot], check.name if check.flag else "", check.negated, check.flag)
        for check in program.checks
    )


class _Values:
    """`numbers[slot]` tells what the slot holds. Unions and intersections are taken as sets of operands."""

    def __init__(self, program: RelationalProgram) -> None:
        self.numbers = {item.slot: _number("input", item.name) for item in program.inputs}
        self.operands: dict[tuple[str, int], frozenset[int]] = {}
        self.run(program.steps, 0)

    def run(self, steps: Iterable[Step], depth: int) -> None:
        for step in steps:
            if isinstance(step, Fixpoint):
                self.solve(step, depth)
            elif step.code in _COMMUTATIVE:
                self.unite(step)
            else:
                self.numbers[step.dst] = _number(step.code, *(self.numbers[arg] for arg in step.args))

    def unite(self, step: Op) -> None:
        numbers = (self.numbers[arg] for arg in step.args)
        operands = frozenset[int]().union(*(self.operands.get((step.code, number), {number}) for number in numbers))
        result = self.numbers[step.dst] = _number(step.code, operands)
        self.operands[step.code, result] = operands

    def solve(self, step: Fixpoint, depth: int) -> None:
        for position, variable in enumerate(step.variables):
            self.numbers[variable] = _number("variable", depth, position)
        self.run(step.body, depth + 1)
        results = tuple(self.numbers[result] for result in step.results)
        for position, variable in enumerate(step.variables):
            self.numbers[variable] = _number("fixpoint", results, position)


def _number(*definition: Hashable) -> int:
    return _numbers.setdefault(definition, next(_next_number))
