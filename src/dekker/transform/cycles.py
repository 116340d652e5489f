"""Critical cycles (Alglave et al., section 4.3), found among classes of events.

A cycle is a sequence of pairs, each of one thread in program order, and of links between them: the second of a pair and
the first of the next access the same atom, and one of them writes; or both read, and a write of a third thread stands
in between. What makes a cycle critical:

1. each thread has one pair or one write between two reads, not more; a thread that stands for many has any number;
2. each place occurs in one link only; an atom that stands for several places may occur again;
3. the accesses of a pair are to different places (to the same one, uniproc keeps them in order);
4. two links of one atom could not be exchanged, so that two cycles come of it: these then stand for it;
5. something in it may be delayed: a pair is unsafe, or, where writes are not atomic, a read may see a write before
   others do, and no cumulative fence stands in front of the write or behind the read;
6. it is not out of thin air: reads kept before writes, and nothing but those writes being read;
7. on POWER and ARMv7, where a global order is lacking, a cycle is also critical if a pair behind `co` or `fr` has no
   fence, or no full fence where `fr` occurs twice or together with `co`. (R with one lwsync and one sync is allowed.)

Longer runs of one place (W W R) need not be looked for, because a shorter cycle has the same pairs. The search is by
components of the graph of classes, and in each from every pair on, to pairs with higher numbers (Tarjan 1973).

For the selection of delays cycles count, too, that come back to a thread (`revisits`), which gives up 1. Where writes
are not atomic they may also come back to a place (2), if all links there but one lead from a write to a read: such a
link may hold because of what comes before the write in its thread, and then no shorter cycle need have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from dekker.records import dataclass
from dekker.transform.classes import Classes, EventClass
from dekker.transform.reach import components

MOST_CYCLES = 20_000
MOST_STEPS = 200_000


class Segment(NamedTuple):
    """A pair, by the numbers of its classes."""

    first: int
    second: int


class Link(NamedTuple):
    """From the second of a pair to the first of the next; `through` is the write between two reads."""

    atom: int
    through: int | None


@dataclass(frozen=True)
class Cycle:
    """`links[i]` leads from `segments[i]` to the next one."""

    segments: tuple[Segment, ...]
    links: tuple[Link, ...]


@dataclass
class Cycles:
    """`complete`: all were found. `components` are the classes that may be on a common cycle."""

    found: list[Cycle]
    complete: bool
    components: list[list[EventClass]]

    @cached_property
    def segments(self) -> frozenset[Segment]:
        return frozenset(segment for cycle in self.found for segment in cycle.segments)


def critical_cycles(classes: Classes, *, revisits: bool = False, safe: bool = False, most: int = MOST_CYCLES) -> Cycles:
    """`safe`: those, too, in which the model keeps everything in order (neither 5 nor 6 is asked for)."""
    parts = _components(classes)
    result = Cycles([], True, parts)
    for part in parts:
        search = _Search(classes, part, revisits, safe, most - len(result.found))
        result.found += search.run()
        result.complete = result.complete and not search.exhausted
    return result


def candidates(classes: Classes, part: list[EventClass]) -> Iterator[Segment]:
    """All pairs of a component."""
    members = {item.number for item in part}
    for item in part:
        for other in classes.by_thread[item.thread]:
            if other.number in members and classes.exists(item, other):
                yield Segment(item.number, other.number)


def relaxed_links(classes: Classes, cycle: Cycle) -> Iterator[int]:
    """The links by which a read may see a write before other threads do."""
    if classes.graph.rules.atomic_writes:
        return
    for index, link in enumerate(cycle.links):
        before, behind = cycle.segments[index], cycle.segments[(index + 1) % len(cycle.segments)]
        if classes.all[behind.first].direction != "R":
            continue
        if classes.fenced(classes.all[behind.first], classes.all[behind.second]):
            continue
        if link.through is None and classes.all[before.second].direction == "R":
            continue
        if not (fence_in_front_suffices(classes, cycle, index) and _fenced(classes, before)):
            yield index


def fence_in_front_suffices(classes: Classes, cycle: Cycle, index: int) -> bool:
    """Whether the read of a link sees the write that the link comes from, and not another that took its place."""
    leaving = classes.all[cycle.segments[index].second]
    entry = classes.all[cycle.segments[(index + 1) % len(cycle.segments)].first]
    if cycle.links[index].through is not None or leaving.direction != "W":
        return False
    return not any(
        other.direction == "W"
        and (other.number != leaving.number or classes.graph.threads[other.thread].many)
        and classes.meets(other, entry)
        for other in classes.by_atom[leaving.atom]
    )


def _fenced(classes: Classes, segment: Segment) -> bool:
    return classes.fenced(classes.all[segment.first], classes.all[segment.second])


def is_critical(classes: Classes, cycle: Cycle) -> bool:
    if any(classes.unsafe(classes.all[first], classes.all[second]) for first, second in cycle.segments):
        return True
    if _out_of_thin_air(classes, cycle):
        return False
    return any(True for _ in relaxed_links(classes, cycle)) or bool(too_weakly_fenced(classes, cycle))


def too_weakly_fenced(classes: Classes, cycle: Cycle) -> list[tuple[int, str]]:
    """Where there is no global order: the pairs, by number, that need a fence or a stronger one, and whether that is
    one that is `light` or `full` (7)."""
    if not classes.graph.rules.propagation:
        return []
    kinds = [_link_kind(classes, cycle, index) for index in range(len(cycle.links))]
    strong = kinds.count("fr") > 1 or ("fr" in kinds and "co" in kinds)
    found = []
    for index, kind in enumerate(kinds):
        behind = (index + 1) % len(kinds)
        first, second = (classes.all[number] for number in cycle.segments[behind])
        if kind == "rf":
            continue
        if strong and not classes.fully_fenced(first, second):
            found.append((behind, "full"))
        elif not classes.fenced(first, second):
            found.append((behind, "light"))
    return found


def _link_kind(classes: Classes, cycle: Cycle, index: int) -> str:
    """A third thread may overwrite what was written before it is read: then there is `co` in the link."""
    leaving = classes.all[cycle.segments[index].second]
    entry = classes.all[cycle.segments[(index + 1) % len(cycle.segments)].first]
    if leaving.direction == "R":
        return "fr"
    return "rf" if entry.direction == "R" and fence_in_front_suffices(classes, cycle, index) else "co"


def _out_of_thin_air(classes: Classes, cycle: Cycle) -> bool:
    """Reads that are kept before the writes that the next ones read: no model here allows that."""
    return all(_link_kind(classes, cycle, index) == "rf" for index in range(len(cycle.links))) and all(
        classes.all[first].direction + classes.all[second].direction == "RW" for first, second in cycle.segments
    )


def _components(classes: Classes) -> list[list[EventClass]]:
    """Classes that may be on a common cycle. Entering and leaving a thread at a class are different nodes."""
    count = len(classes.all)
    following: list[list[int]] = [[] for _ in range(2 * count)]
    for items in classes.by_thread.values():
        for first in items:
            reached = [other for other in items if classes.exists(first, other)]
            following[first.number] = [count + other.number for other in reached]
            if first.direction == "W":
                following[first.number].append(count + first.number)
    for item in classes.all:
        following[count + item.number] = [other.number for other in classes.partners(item)]
    parts = []
    for members in components(following):
        if len(members) > 1:
            numbers = sorted({node % count for node in members})
            parts.append([classes.all[number] for number in numbers])
    return parts


class _Search:
    def __init__(self, classes: Classes, part: list[EventClass], revisits: bool, safe: bool, most: int) -> None:
        self.classes, self.revisits, self.safe, self.most = classes, revisits, safe, most
        self._again = revisits and not classes.graph.rules.atomic_writes
        self.exhausted = self._longer = False
        self._length = 1
        self._steps = 0
        self._part = part
        self._members = {item.number for item in part}
        self._known_exits: dict[int, list[EventClass]] = {}
        self._longer = True
        self._entries = {
            item.number: [other for other in classes.by_atom[item.atom] if other.number in self._members]
            for item in part
        }

    def _exits(self, item: EventClass) -> list[EventClass]:
        if item.number not in self._known_exits:
            self._known_exits[item.number] = [
                other
                for other in self.classes.by_thread[item.thread]
                if other.number in self._members and self.classes.exists(item, other)
            ]
        return self._known_exits[item.number]

    def _closing_exits(self, entry: EventClass, start: EventClass) -> list[EventClass]:
        """Those from which the cycle can end; the others only matter if longer cycles are looked for."""
        found = [
            other
            for other in self.classes.by_atom[start.atom]
            if other.thread == entry.thread and other.number in self._members and self.classes.exists(entry, other)
        ]
        self._longer = self._longer or len(found) < len(self._exits(entry))
        return found

    def run(self) -> list[Cycle]:
        """Short cycles first, so that these are known if there are too many."""
        found: list[Cycle] = []
        self._length, self._longer = 1, True
        while self._longer and not self.exhausted:
            self._longer = False
            for start in candidates(self.classes, self._part):
                if self.exhausted:
                    break
                thread = self.classes.all[start.first].thread
                for cycle in self._extend([start], [], frozenset((thread,)), frozenset()):
                    if self.safe or is_critical(self.classes, cycle):
                        found.append(cycle)
                        self.exhausted = self.exhausted or len(found) >= self.most
            self._length += 1
        return found

    def _extend(
        self, segments: list[Segment], links: list[Link], threads: frozenset[int], atoms: frozenset[int]
    ) -> Iterator[Cycle]:
        """All cycles that begin with these pairs and go on with pairs of higher numbers than the first."""
        start, leaving = self.classes.all[segments[0].first], self.classes.all[segments[-1].second]
        if leaving.atom in atoms and not (self._again and leaving.direction == "W"):
            return
        if leaving.atom == start.atom and len(segments) == self._length and not self._splits(segments, start):
            for link, _ in self._links(leaving, start, threads, closing=True):
                if leaving.atom not in atoms or self._may_come_back(leaving, start):
                    yield Cycle(tuple(segments), (*links, link))
        if len(segments) == self._length:
            self._longer = True
            return
        for entry in self._entries[leaving.number]:
            if not self._free(entry.thread, threads) or self._splits(segments, entry):
                continue
            used = self._used(leaving, entry, atoms)
            if used is None or (start.atom in used and not (self._again and start.direction == "R")):
                continue
            for link, now in self._links(leaving, entry, threads, closing=False):
                last = len(segments) + 1 == self._length
                for step in self._closing_exits(entry, start) if last else self._exits(entry):
                    segment = Segment(entry.number, step.number)
                    self._steps += 1
                    if self._steps > MOST_STEPS:
                        self.exhausted = True
                    if self.exhausted:
                        return
                    if segment > segments[0] and segment not in segments:
                        yield from self._extend([*segments, segment], [*links, link], now | {entry.thread}, used)

    def _used(self, leaving: EventClass, entry: EventClass, atoms: frozenset[int]) -> frozenset[int] | None:
        """The atoms that no later link may have, or None if this one may not have its own."""
        if self.classes.several(leaving.atom) or self._may_come_back(leaving, entry):
            return atoms
        return None if leaving.atom in atoms else atoms | {leaving.atom}

    def _may_come_back(self, leaving: EventClass, entry: EventClass) -> bool:
        """Whether a link does not count against others of its place."""
        return self._again and leaving.direction == "W" and entry.direction == "R"

    def _splits(self, segments: list[Segment], entry: EventClass) -> bool:
        """Whether going on to this entry makes a cycle that shorter ones stand for (4)."""
        leaving = self.classes.all[segments[-1].second]
        if not self.classes.several(leaving.atom):
            return False
        for before, behind in pairwise(segments):
            earlier, later = self.classes.all[before.second], self.classes.all[behind.first]
            if earlier.atom == leaving.atom and self._linked(earlier, entry) and self._linked(leaving, later):
                return True
        return False

    def _linked(self, leaving: EventClass, entry: EventClass) -> bool:
        if self.classes.meets(leaving, entry):
            return True
        return any(
            other.direction == "W" and self.classes.meets(leaving, other) and self.classes.meets(other, entry)
            for other in self.classes.by_atom[leaving.atom]
        )

    def _links(
        self, leaving: EventClass, entry: EventClass, threads: frozenset[int], *, closing: bool
    ) -> Iterator[tuple[Link, frozenset[int]]]:
        if self.classes.meets(leaving, entry):
            yield Link(leaving.atom, None), threads
        elif leaving.direction == entry.direction == "R":
            taken = threads if closing else threads | {entry.thread}
            for other in self.classes.by_atom[leaving.atom]:
                if (
                    other.direction == "W"
                    and self.classes.meets(leaving, other)
                    and self.classes.meets(other, entry)
                    and self._free(other.thread, taken)
                ):
                    yield Link(leaving.atom, other.number), threads | {other.thread}

    def _free(self, thread: int, threads: frozenset[int]) -> bool:
        return self.revisits or thread not in threads or self.classes.graph.threads[thread].many
