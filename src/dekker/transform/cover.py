"""A choice of pairs that leaves no cycle whole, without listing cycles.

Nodes are classes as entries to and as exits from a thread; pairs lead from entries to exits, communication from exits
to entries. The choice starts empty. A closed walk that contains an unsafe pair that is not chosen, and no breakable
pair that is, becomes a demand: one of its breakable pairs, or if it has none all its unsafe ones. The cheapest choice
for all demands is computed anew, until there is no such walk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from dekker.transform.classes import Classes
from dekker.transform.cycles import Segment
from dekker.transform.solver import cheapest_cover

MOST_ROUNDS = 60


def cover_walks(classes: Classes, candidates: Sequence[Segment], cost: Callable[[Segment], float]) -> set[Segment]:
    unsafe = [item for item in candidates if classes.unsafe(classes.all[item.first], classes.all[item.second])]
    breakable = {item for item in unsafe if classes.breakable(classes.all[item.first], classes.all[item.second])}
    ordered = sorted(breakable)
    number = {segment: index for index, segment in enumerate(ordered)}
    costs = [cost(segment) for segment in ordered]
    walks = _Walks(classes, candidates)
    forced, chosen = set[Segment](), set[Segment]()
    demands: set[tuple[int, ...]] = set()
    for _ in range(MOST_ROUNDS):
        found = False
        for segment in unsafe:
            if segment in chosen or segment in forced:
                continue
            walk = walks.through(segment, chosen & breakable)
            if walk is None:
                continue
            found = True
            usable = tuple(sorted(number[item] for item in set(walk) & breakable))
            if usable:
                demands.add(usable)
            else:
                forced |= {item for item in walk if classes.unsafe(classes.all[item.first], classes.all[item.second])}
        if not found:
            return forced | chosen
        chosen = {ordered[index] for index in cheapest_cover(costs, demands)}
    return set(unsafe)


class _Walks:
    def __init__(self, classes: Classes, candidates: Sequence[Segment]) -> None:
        self.classes = classes
        self._exits: dict[int, list[int]] = {}
        for first, second in candidates:
            self._exits.setdefault(first, []).append(second)
        self._entries: dict[int, list[int]] = {}

    def through(self, segment: Segment, without: set[Segment]) -> list[Segment] | None:
        """A shortest closed walk through a pair that avoids others."""
        came: dict[int, Segment] = {}
        pending = deque((segment.second,))
        seen = {segment.second}
        while pending:
            leaving = pending.popleft()
            for entry in self._reached(leaving):
                if entry == segment.first:
                    return self._walk(segment, leaving, came)
                for leaving_next in self._exits.get(entry, ()):
                    step = Segment(entry, leaving_next)
                    if leaving_next not in seen and step not in without:
                        seen.add(leaving_next)
                        came[leaving_next] = Segment(entry, leaving)
                        pending.append(leaving_next)
        return None

    def _walk(self, segment: Segment, leaving: int, came: dict[int, Segment]) -> list[Segment]:
        found = [segment]
        while leaving != segment.second:
            entry, before = came[leaving]
            found.append(Segment(entry, leaving))
            leaving = before
        return found

    def _reached(self, leaving: int) -> list[int]:
        """The classes by which the next thread may be entered, also with a write between two reads."""
        if leaving not in self._entries:
            item = self.classes.all[leaving]
            direct = list(self.classes.partners(item))
            found = {other.number for other in direct}
            if item.direction == "R":
                for write in direct:
                    found |= {other.number for other in self.classes.partners(write) if other.direction == "R"}
            self._entries[leaving] = sorted(found)
        return self._entries[leaving]
