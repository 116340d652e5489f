"""Where fences break critical cycles: without running the program.

A place for a fence is known by the number of its *marker*, which stands at some nodes of the flow graphs. To make a
cycle impossible, every unsafe pair in it has to be kept in order on every way between the two; a write that may be seen
early needs a cumulative fence in its own thread's pair or in that of the reader. The cheapest fences that do so for all
cycles are found by asking for ways that are still open: each demands one of the fences that could stand on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from dekker.ir.fences import FENCES
from dekker.ir.instructions import Exit, Fence, Join, Spawn
from dekker.records import dataclass
from dekker.transform.classes import Classes
from dekker.transform.cycles import Cycle, Segment, fence_in_front_suffices, relaxed_links, too_weakly_fenced
from dekker.transform.fence_kinds import FenceKinds
from dekker.transform.reach import Reached, reach
from dekker.transform.solver import cheapest_cover

MOST_ROUNDS = 200

Slot = tuple[int, str]
"""A marker, and a kind of fence for it."""


@dataclass
class Places:
    """The markers of a program: `at[thread][node]`."""

    classes: Classes
    at: list[dict[int, int]]
    _reached: dict[int, Reached] = field(default_factory=dict)
    _plain: dict[int, Reached] = field(default_factory=dict)
    _between: dict[Segment, frozenset[int]] = field(default_factory=dict)
    _weak: dict[Cycle, list[Segment]] = field(default_factory=dict)

    def between(self, segment: Segment) -> frozenset[int]:
        """The markers on ways between two accesses of a pair."""
        if segment not in self._between:
            self._between[segment] = self._find_between(segment)
        return self._between[segment]

    def weak(self, cycle: Cycle) -> list[Segment]:
        if cycle not in self._weak:
            self._weak[cycle] = weak_segments(self.classes, cycle)
        return self._weak[cycle]

    def breaks(self, segment: Segment, marker: int, kind: str) -> bool:
        first, second = self.classes.all[segment.first], self.classes.all[segment.second]
        return first.direction + second.direction in FENCES[kind].orders and marker in self.between(segment)

    def _find_between(self, segment: Segment) -> frozenset[int]:
        first, second = self.classes.all[segment.first], self.classes.all[segment.second]
        thread = first.thread
        later = 0
        for event in first.members:
            later |= self._markers_after(thread).after(event.node)
        return frozenset(
            marker
            for node, marker in self.at[thread].items()
            if later >> marker & 1 and self._events_after(thread).after(node) & second.mask
        )

    def _markers_after(self, thread: int) -> Reached:
        if thread not in self._reached:
            flow = self.classes.graph.flows[thread]
            bits = [0] * len(flow.instruction)
            for node, marker in self.at[thread].items():
                bits[node] = 1 << marker
            self._reached[thread] = reach(flow.following, bits)
        return self._reached[thread]

    def _events_after(self, thread: int) -> Reached:
        if thread not in self._plain:
            graph = self.classes.graph
            bits = [0] * len(graph.flows[thread].instruction)
            for event in graph.of_thread[thread]:
                bits[event.node] |= 1 << event.bit
            self._plain[thread] = reach(graph.flows[thread].following, bits)
        return self._plain[thread]


def find_places(classes: Classes, marker_at: Callable[[str, int], int | None]) -> Places:
    at: list[dict[int, int]] = []
    for flow in classes.graph.flows:
        found = {}
        for node, (function, index) in enumerate(flow.place):
            marker = marker_at(function, index)
            if marker is not None:
                found[node] = marker
        at.append(found)
    return Places(classes, at)


def weak_segments(classes: Classes, cycle: Cycle) -> list[Segment]:
    """The pairs of a cycle in which a fence may be needed."""
    early = list(relaxed_links(classes, cycle))
    beside = {index for link in early for index in (link, (link + 1) % len(cycle.segments))}
    beside |= {index for index, _ in too_weakly_fenced(classes, cycle)}
    return [
        segment
        for index, segment in enumerate(cycle.segments)
        if index in beside or classes.unsafe(classes.all[segment.first], classes.all[segment.second])
    ]


def useful_markers(places: Places, cycles: Iterable[Cycle]) -> frozenset[int]:
    segments = {segment for cycle in cycles for segment in places.weak(cycle)}
    return frozenset(marker for segment in segments for marker in places.between(segment))


def broken_cycles(places: Places, cycles: Iterable[Cycle], marker: int, kind: str) -> Iterator[int]:
    """The cycles in which a fence of this kind keeps a pair in order, by number."""
    for number, cycle in enumerate(cycles):
        if any(places.breaks(segment, marker, kind) for segment in places.weak(cycle)):
            yield number


# --- placement


@dataclass(frozen=True)
class Placement:
    """`open_pairs` are pairs between which no fence can be put."""

    fences: Mapping[int, str]
    open_pairs: tuple[Segment, ...]


@dataclass(frozen=True)
class _Need:
    """One of these pairs has to be fenced, by a fence that orders `pair`, or everything if that is `full`."""

    alternatives: tuple[tuple[Segment, str], ...]


def place_fences(
    places: Places, cycles: Iterable[Cycle], kinds: FenceKinds, dislike: Mapping[int, float] | None = None
) -> Placement:
    """`dislike` decides between markers that cost the same."""
    needs = sorted(set(_needs(places.classes, cycles)), key=lambda need: need.alternatives)
    slots: list[Slot] = sorted({(marker, kind) for at in places.at for marker in at.values() for kind in kinds.texts})
    number = {slot: index for index, slot in enumerate(slots)}
    costs = [kinds.costs[kind] for _, kind in slots]
    ties = None if dislike is None else [dislike[marker] for marker, _ in slots]
    exclusive = [[number[marker, kind] for kind in kinds.texts] for marker in {marker for marker, _ in slots}]
    demands: set[frozenset[Slot]] = set()
    chosen: dict[int, str] = {}
    hopeless: set[Segment] = set()
    for _ in range(MOST_ROUNDS):
        found = False
        for need in needs:
            ways = [_open_way(places, kinds, segment, pair, chosen) for segment, pair in need.alternatives]
            if any(way is None for way in ways):
                continue
            demand = frozenset(slot for way in ways if way is not None for slot in way)
            if not demand:
                hopeless |= {segment for segment, _ in need.alternatives}
            elif demand not in demands:
                demands.add(demand)
                found = True
        if not found:
            break
        cover = cheapest_cover(costs, [[number[slot] for slot in demand] for demand in demands], exclusive, ties)
        chosen = _strongest(kinds, (slots[index] for index in cover))
    return Placement(chosen, tuple(sorted(hopeless)))


def _strongest(kinds: FenceKinds, slots: Iterable[Slot]) -> dict[int, str]:
    chosen: dict[int, str] = {}
    for marker, kind in slots:
        if marker not in chosen or kinds.stronger(kind, chosen[marker]):
            chosen[marker] = kind
    return chosen


def _needs(classes: Classes, cycles: Iterable[Cycle]) -> Iterator[_Need]:
    for cycle in cycles:
        for segment in cycle.segments:
            first, second = classes.all[segment.first], classes.all[segment.second]
            if classes.unsafe(first, second):
                yield _Need(((segment, first.direction + second.direction),))
        for index, strength in too_weakly_fenced(classes, cycle):
            first, second = (classes.all[number] for number in cycle.segments[index])
            pair = "full" if strength == "full" else first.direction + second.direction
            yield _Need(((cycle.segments[index], pair),))
        for index in relaxed_links(classes, cycle):
            before, behind = cycle.segments[index], cycle.segments[(index + 1) % len(cycle.segments)]
            target = classes.all[behind.second].direction
            alternatives = [(behind, "RW" if target == "W" else "full")]
            if fence_in_front_suffices(classes, cycle, index):
                alternatives.append((before, classes.all[before.first].direction + "W"))
            yield _Need(tuple(alternatives))


def _orders(kind: str, pair: str) -> bool:
    orders = FENCES[kind].orders
    return len(orders) == 4 if pair == "full" else pair in orders


def _open_way(
    places: Places, kinds: FenceKinds, segment: Segment, pair: str, chosen: Mapping[int, str]
) -> frozenset[Slot] | None:
    """The fences that could stand on a way between the two that has none; None if there is no such way."""
    graph = places.classes.graph
    first, second = places.classes.all[segment.first], places.classes.all[segment.second]
    flow, markers = graph.flows[first.thread], places.at[first.thread]
    targets = {event.node for event in second.members}

    def closed(node: int) -> bool:
        instruction = flow.instruction[node]
        if node in markers:
            return markers[node] in chosen and _orders(chosen[markers[node]], pair)
        if isinstance(instruction, Fence):
            return _orders(instruction.kind, pair)
        return isinstance(instruction, Spawn | Join | Exit)

    for event in first.members:
        if not graph.after[event.number] & second.mask:
            continue
        way = _way(flow.following, event.node, targets, closed)
        if way is not None:
            usable = [markers[node] for node in way if node in markers]
            return frozenset((marker, kind) for marker in usable for kind in kinds.texts if _orders(kind, pair))
    return None


def _way(following: list[list[int]], start: int, targets: set[int], closed: Callable[[int], bool]) -> list[int] | None:
    """The nodes strictly between."""
    came: dict[int, int] = {}
    pending = deque((start,))
    seen = {start}
    while pending:
        node = pending.popleft()
        for step in following[node]:
            if step in targets:
                way = []
                while node != start:
                    way.append(node)
                    node = came[node]
                return way
            if step not in seen and not closed(step):
                seen.add(step)
                came[step] = node
                pending.append(step)
    return None
