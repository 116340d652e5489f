"""Recognises that the sequence of passed writes of a thread grows without bound (section 5.8, Fig. 15).

A state grows out of an earlier one on its path if nothing differs but that threads have passed more writes, the old
ones are among the new in their order, and a read would find the same newest writes.

- If one thread has grown, and none of its class has made a write take effect in between, then the old writes are the
  first of the new ones, and the way from one state to the other can be gone again, for ever: this growth is *certain*.
- Otherwise it may be chance. But an infinite search has an infinite path, and on it, because sequences over finitely
  many writes are well quasi-ordered, there are chains of any length of states that grow out of one another. So a search
  that does not go on behind the end of a chain of `LONGEST_CHAIN` states ends, and one without growth is not touched.

What grows is left at once; what is left of the search can only find something bad, so it need not be long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from dekker.engines.modular.capture import NOWHERE, Local, Mark, Passed, PassedWrite
from dekker.engines.modular.code import Code, Write
from dekker.engines.modular.machine import LocalId, Machine
from dekker.engines.modular.paths import Parents, State, Taken
from dekker.engines.modular.rules.candidates import TakeEffect
from dekker.records import dataclass
from dekker.source import Span

LONGEST_CHAIN = 3
FEW_WRITES = 4
"""States with fewer passed writes are not looked at: something bad may need a few of them."""
STATES_BEHIND = 10_000
"""So many states are looked at when it is known that writes have no bound."""


@dataclass
class Growth:
    """`grown` has the threads that pass writes without bound; `chains`, for states with enough passed writes, the
    length of the longest chain that ends there; `first_at` is when the first was found."""

    machine: Machine
    parents: Parents
    grown: dict[LocalId, None] = field(default_factory=dict)
    is_certain: bool = False
    chains: dict[State, int] = field(default_factory=dict)
    first_at: int | None = None

    @property
    def is_enough(self) -> bool:
        return self.first_at is not None and len(self.parents) > self.first_at + STATES_BEHIND

    def ends(self, state: State) -> bool:
        """Whether the search should not go on behind the state."""
        certain = self._certain(state)
        found = self._chained(state) if certain is None else certain
        if found is None:
            return False
        self.grown[found] = None
        self.is_certain |= certain is not None
        if self.first_at is None:
            self.first_at = len(self.parents)
        return True

    def _certain(self, state: State) -> LocalId | None:
        """Walks back as long as a thread with several passed writes has not made one take effect."""
        growing = {
            self.machine.locals[thread].thread_class
            for thread in state[1]
            if len(self.machine.locals[thread].passed) >= FEW_WRITES
        }
        at = state
        while growing and isinstance(step := self.parents[at], Taken):
            if isinstance(step.move.candidate, TakeEffect):
                growing.discard(self.machine.locals[step.thread].thread_class)
            at = step.before
            found = self._grown_alone(at, state)
            if found is not None and self.machine.locals[found].thread_class in growing:
                return found
        return None

    def _grown_alone(self, before: State, after: State) -> LocalId | None:
        if before[0] != after[0]:
            return None
        old, new = list(before[1]), list(after[1])
        for thread in before[1]:
            if thread in new:
                old.remove(thread)
                new.remove(thread)
        if len(old) != 1 or not _extends(self.machine.locals[old[0]], self.machine.locals[new[0]]):
            return None
        return new[0]

    def _chained(self, state: State) -> LocalId | None:
        """The thread whose passed writes have grown time and again on the path to the state."""
        if all(len(self.machine.locals[thread].passed) < FEW_WRITES for thread in state[1]):
            return None
        longest, grown = 0, None
        step = self.parents[state]
        while step is not None:
            length = self.chains.get(step.before)
            if length is not None and length >= longest:
                found = _grown(self.machine, step.before, state)
                if found is not None:
                    longest, grown = length + 1, found
            step = self.parents[step.before]
        self.chains[state] = longest
        return grown if longest >= LONGEST_CHAIN else None


def _grown(machine: Machine, before: State, after: State) -> LocalId | None:
    """None unless the later state is the earlier one with more passed writes."""
    if before[0] != after[0]:
        return None
    remaining = list(after[1])
    grown = None
    for thread in before[1]:
        if thread in remaining:
            remaining.remove(thread)
            continue
        other = next((item for item in remaining if _extends(machine.locals[thread], machine.locals[item])), None)
        if other is None:
            return None
        remaining.remove(other)
        grown = other
    return grown


def _extends(before: Local, after: Local) -> bool:
    return (
        before._replace(passed=()) == after._replace(passed=())
        and len(before.passed) < len(after.passed)
        and _newest(before.passed) == _newest(after.passed)
        and _is_part(before.passed, after.passed)
    )


def _newest(passed: Passed) -> dict[int | Mark, int]:
    """What matters for a read: the newest write to each cell, and which marks there are."""
    return {item.cell if isinstance(item, PassedWrite) else item: getattr(item, "value", 0) for item in passed}


def _is_part(few: Passed, many: Passed) -> bool:
    rest = iter(many)
    return all(item in rest for item in few)


def loop_at(code: Code, position: int) -> Span | None:
    """The smallest loop with a write around a position, or the smallest loop."""
    around = [loop for loop in _loops(code) if loop[0] <= position <= loop[1]]
    around.sort(key=lambda loop: loop[1] - loop[0])
    writing = [loop for loop in around if any(isinstance(code.steps[at], Write) for at in range(loop[0], loop[1] + 1))]
    for first, last in (*writing, *around):
        span = next((span for span in code.spans[first : last + 1] if span is not None), None)
        if span is not None:
            return span
    return None if position == NOWHERE else code.spans[position]


def _loops(code: Code) -> Iterator[tuple[int, int]]:
    """From the target of a backward jump to the jump."""
    for at in range(len(code.steps)):
        for target in code.successors(at):
            if target <= at:
                yield target, at
