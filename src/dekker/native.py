"""The only door to the compiled extension: relations as bit matrices, and compiled models evaluated natively.

A set of events is an integer whose bit `j` stands for event `j`; a relation is a sequence of such integers, one per
event, where bit `j` of row `i` stands for the pair `(i, j)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dekker._core import FIXPOINT, Model, Relation, opcode
from dekker.cat.relational import Fixpoint, RelationalProgram, Step

__all__ = ["NativeModel", "Relation"]


class NativeModel:
    """A model compiled once and evaluated on many executions; may be used by several threads at a time.

    `ValueError`: the program is malformed, an input is missing, or a value does not fit the number of events.
    `RuntimeError`: a recursive definition has no least fixpoint because it is not monotone.
    """

    def __init__(self, program: RelationalProgram) -> None:
        self._names = tuple(i.name for i in program.inputs)
        self._model = Model(
            program.kinds,
            [(i.slot, i.name, i.kind) for i in program.inputs],
            list(_encoded(program.steps)),
            [(c.kind, c.slot, c.negated, c.flag) for c in program.checks],
        )

    def check(self, n_events: int, inputs: Mapping[str, int | Sequence[int]]) -> list[bool]:
        """For each check of the program, flags included, whether what it states holds.

        `inputs` may hold more names than the model uses.
        """
        return self._model.check(n_events, self._values(inputs))

    def is_allowed(self, n_events: int, inputs: Mapping[str, int | Sequence[int]]) -> bool:
        """Whether all checks hold that are not flags; faster than `check`, because it stops at the first that fails."""
        return self._model.is_allowed(n_events, self._values(inputs))

    def _values(self, inputs: Mapping[str, int | Sequence[int]]) -> list[int | Sequence[int]]:
        try:
            return [inputs[name] for name in self._names]
        except KeyError as missing:
            raise ValueError(f"no value for the input {missing}; given are {', '.join(inputs) or 'none'}") from None


def _encoded(steps: Sequence[Step]) -> Iterator[int]:
    """The flat form of `steps` that the extension reads (see `decode_steps` in the core)."""
    for step in steps:
        if isinstance(step, Fixpoint):
            yield FIXPOINT
            yield from _counted(step.variables)
            yield from _counted(step.results)
            yield len(step.body)
            yield from _encoded(step.body)
        else:
            yield opcode(step.code)
            yield step.dst
            yield from _counted(step.args)


def _counted(slots: Sequence[int]) -> Iterator[int]:
    yield len(slots)
    yield from slots
