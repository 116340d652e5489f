"""Events of a thread that are alike for cycles: they have one direction and one atom, and may meet the same threads.

Cycles are looked for among classes. An event with several atoms is in several classes. The pair of two classes stands
for all pairs of their events:
- it *exists* if some event of the second may follow one of the first, and they need not be the same place;
- it is *unsafe* if the model may delay some first beyond some second;
- it is *breakable* if the model may always do so, whatever way control goes and wherever reads take their values from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from dekker.records import dataclass
from dekker.transform.graph import Event, EventGraph


@dataclass(frozen=True, eq=False)
class EventClass:
    """The bit sets are the unions of those of the members."""

    number: int
    thread: int
    direction: str
    atom: int
    partners: frozenset[int]
    members: tuple[Event, ...]
    mask: int
    after: int
    unordered: int
    perhaps_ordered: int
    uncumulated: int
    without_full: int

    @property
    def is_of_threads(self) -> bool:
        """Whether its members are no accesses (`thread_events`)."""
        return self.members[0].role != ""


@dataclass(eq=False)
class Classes:
    graph: EventGraph
    all: list[EventClass] = field(default_factory=list)
    _kept: dict[int, int] = field(default_factory=dict)

    @cached_property
    def by_atom(self) -> dict[int, list[EventClass]]:
        found: dict[int, list[EventClass]] = defaultdict(list)
        for item in self.all:
            found[item.atom].append(item)
        return found

    @cached_property
    def by_thread(self) -> dict[int, list[EventClass]]:
        found: dict[int, list[EventClass]] = defaultdict(list)
        for item in self.all:
            found[item.thread].append(item)
        return found

    def several(self, atom: int) -> bool:
        return self.graph.atoms[atom].several

    def exists(self, first: EventClass, second: EventClass) -> bool:
        if not first.after & second.mask:
            return False
        if first.atom != second.atom or self.several(first.atom):
            return True
        return self.graph.rules.hazards and first.direction == second.direction == "R"

    def unsafe(self, first: EventClass, second: EventClass) -> bool:
        return bool(first.unordered & second.mask)

    def breakable(self, first: EventClass, second: EventClass) -> bool:
        return self.unsafe(first, second) and not self._kept_behind(first) & second.mask

    def _kept_behind(self, item: EventClass) -> int:
        if item.number not in self._kept:
            found = 0
            for event in item.members:
                found |= self.graph.kept_behind(event)
            self._kept[item.number] = found
        return self._kept[item.number]

    def fenced(self, first: EventClass, second: EventClass) -> bool:
        """Whether a cumulative fence stands on every way between them."""
        return not first.uncumulated & second.mask

    def fully_fenced(self, first: EventClass, second: EventClass) -> bool:
        return not first.without_full & second.mask

    def meets(self, first: EventClass, second: EventClass) -> bool:
        """Whether the two may communicate."""
        return "W" in (first.direction, second.direction) and self.beside(first, second)

    def beside(self, first: EventClass, second: EventClass) -> bool:
        return second.thread in first.partners and first.thread in second.partners

    def partners(self, item: EventClass) -> Iterator[EventClass]:
        return (other for other in self.by_atom[item.atom] if self.meets(item, other))


def classes_of(graph: EventGraph) -> Classes:
    groups: dict[tuple[int, str, int, frozenset[int], bool], list[Event]] = defaultdict(list)
    for event in graph.events:
        for atom in event.atoms:
            groups[event.thread, event.direction, atom, event.partners, event.locked].append(event)
    found = Classes(graph)
    shared = _shared_atoms(groups)
    for (thread, direction, atom, partners, _), members in groups.items():
        if atom in shared:
            found.all.append(_class(graph, len(found.all), thread, direction, atom, partners, members))
    return found


def _shared_atoms(groups: dict[tuple[int, str, int, frozenset[int], bool], list[Event]]) -> frozenset[int]:
    """Those that one thread writes and another that may run at the same time accesses."""
    keys: dict[int, list[tuple[int, str, frozenset[int]]]] = defaultdict(list)
    for thread, direction, atom, partners, _ in groups:
        keys[atom].append((thread, direction, partners))
    return frozenset(
        atom
        for atom, users in keys.items()
        if any(
            "W" in (first[1], second[1]) and second[0] in first[2] and first[0] in second[2]
            for first in users
            for second in users
        )
    )


def _class(
    graph: EventGraph,
    number: int,
    thread: int,
    direction: str,
    atom: int,
    partners: frozenset[int],
    members: list[Event],
) -> EventClass:
    mask = after = unordered = perhaps = uncumulated = without_full = 0
    for event in members:
        mask |= 1 << event.bit
        after |= graph.after[event.number]
        unordered |= graph.unordered[event.number]
        perhaps |= graph.perhaps_ordered[event.number]
        uncumulated |= graph.uncumulated.get(event.number, 0)
        without_full |= graph.without_full.get(event.number, 0)
    bits = (mask, after, unordered, perhaps, uncumulated, without_full)
    return EventClass(number, thread, direction, atom, partners, tuple(members), *bits)
