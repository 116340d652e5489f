"""Atomic sections of C as what they are: nothing happens in other threads meanwhile.

The front end makes them critical sections of one lock, because traces know no sections. Here whoever has taken the lock
goes on alone until it is given back. The lock stays, so that the run of a violation is one of the program with the
lock; nobody ever waits for it.
"""

from __future__ import annotations

from dataclasses import field, replace

from dekker.engines.states.schedule import function_of
from dekker.ir.expressions import Address
from dekker.ir.instructions import AtomicBegin, AtomicEnd, CompareExchange, Fence, Instruction, Store
from dekker.ir.program import SECTION_LOCK, Function, Program
from dekker.native import Action, Place, StateSearch
from dekker.records import dataclass

LOCK = Address(SECTION_LOCK)


@dataclass
class ExactSections:
    """The program that is searched, and for each of its functions where its instructions stand in the source's."""

    source: Program
    wanted: bool = True
    origins: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = self.source
        if self.wanted and SECTION_LOCK in self.source.object_by_name:
            self.program = replace(self.source, functions=tuple(map(self._with_sections, self.source.functions)))

    def in_source(self, found: StateSearch) -> StateSearch:
        """With places as in the source."""
        if not self.origins:
            return found
        return replace(
            found,
            states=[(state, self._actions(example)) for state, example in found.states],
            violations=[
                (kind, self._place(place), size, self._actions(example))
                for kind, place, size, example in found.violations
            ],
            refused_at=self._place(found.refused_at) if found.stopped_by == "refused" else found.refused_at,
        )

    def _with_sections(self, function: Function) -> Function:
        rewriting = _Rewriting(function)
        self.origins[function.name] = rewriting.origin
        return rewriting.result

    def _actions(self, schedule: list[Action]) -> list[Action]:
        return [
            action if action[0] == "commit" else (*action[:3], self._index(action[2], action[3]), *action[4:])
            for action in schedule
        ]

    def _place(self, place: Place) -> Place:
        return (place[0], place[1], self._index(place[1], place[2]))

    def _index(self, block: int, index: int) -> int:
        function = function_of(self.source, block)
        origin = self.origins[function.name]
        return origin[index] if index < len(origin) else len(function.body)


class _Rewriting:
    def __init__(self, function: Function) -> None:
        self.body: list[Instruction] = []
        self.origin: list[int] = []
        starts: list[int] = []
        leaving = False
        for index, step in enumerate(function.body):
            if leaving and not isinstance(step, Fence):
                self._emit(AtomicEnd(), index - 1)
                leaving = False
            starts.append(len(self.body))
            if isinstance(step, CompareExchange) and step.address == LOCK:
                self._emit(AtomicBegin(), index)  # then the lock is free, and taking it is no step of its own
            self._emit(step, index)
            leaving = leaving or (isinstance(step, Store) and step.address == LOCK)
        if leaving:
            self._emit(AtomicEnd(), len(function.body) - 1)
        starts.append(len(self.body))
        spans = [function.span(index) for index in self.origin]
        labels = {name: starts[index] for name, index in function.labels.items()}
        self.result = Function(function.name, function.parameters, tuple(self.body), labels, tuple(spans))

    def _emit(self, step: Instruction, index: int) -> None:
        self.body.append(step)
        self.origin.append(index)
