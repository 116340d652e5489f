"""Recognises that the sequence of passed writes of a thread grows without bound (section 5.8, Fig. 15).

A state grows out of an earlier one on its path if nothing differs but that threads have passed more writes, the old
ones are among the new in their order, and a read would find the same newest writes. Then the way from one to the other
can be gone again. An infinite search has an infinite path, and on it, because sequences over finitely many writes are
well quasi-ordered, there are chains of any length of states that grow out of one another. So a search that does not go
on behind the end of a chain of `LONGEST_CHAIN` states ends, and one without growth is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dekker.engines.modular.capture import NOWHERE, Local, Passed, PassedWrite
from dekker.engines.modular.code import Code, Write
from dekker.engines.modular.machine import LocalId, Machine
from dekker.source import Span

LONGEST_CHAIN = 3
FEW_WRITES = 4
"""States with fewer passed writes are not looked at."""

State = tuple[int, tuple[LocalId, ...]]


@dataclass
class Growth:
    """`chains` has, for states with enough passed writes, the length of the longest chain that ends there."""

    machine: Machine
    parent: Callable[[State], State | None]
    chains: dict[State, int] = field(default_factory=dict)

    def thread(self, state: State) -> LocalId | None:
        """The thread whose passed writes have grown time and again on the path to the state."""
        if all(len(self.machine.locals[thread].passed) < FEW_WRITES for thread in state[1]):
            return None
        longest, grown = 0, None
        earlier = self.parent(state)
        while earlier is not None:
            length = self.chains.get(earlier)
            if length is not None and length >= longest:
                found = _grown(self.machine, earlier, state)
                if found is not None:
                    longest, grown = length + 1, found
            earlier = self.parent(earlier)
        self.chains[state] = longest
        return grown if longest >= LONGEST_CHAIN else None


def _grown(machine: Machine, before: State, after: State) -> LocalId | None:
    """None unless the later state is the earlier one with more passed writes."""
    if before[0] != after[0] or len(before[1]) != len(after[1]):
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


def _newest(passed: Passed) -> dict[int, int]:
    return {item.cell: item.value for item in passed if isinstance(item, PassedWrite)}


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
