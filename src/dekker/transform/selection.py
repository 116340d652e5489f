"""Which delays have to be simulated so that no behaviour of a model is lost.

Let D be the accesses that may be delayed, all others taking effect at once. An execution of the model survives if no
cycle consists of what the model keeps in order, of program order behind accesses outside of D, and of communication.
For that, of every cycle one pair has to be delayed. What is chosen:

- `EVERY_ACCESS`: D is everything.
- `ALL_PAIRS`: all unsafe pairs of critical cycles.
- `WEIGHTED`: at least cost (section 4.5 of the paper: a pair that begins with a write costs 1, read to write 2, read to
  read 3, for each access that is delayed), one pair of each cycle.
- `ONE_PER_CYCLE`: the first that can be, cycle by cycle.

One pair per cycle is too few if that is taken literally. What is added:

1. With x delayed beyond y, everything between them that may be kept behind x is delayed, too; otherwise x is ordered
   before y by what comes between.
2. Cycles may come back to a thread.
3. A pair counts for a cycle only if it is breakable (see `classes`); a cycle without such a pair gets all its pairs.
4. Where writes are not atomic (POWER) there is no choice: all pairs on cycles are delayed, with all that lies between,
   and so are all writes that a cycle may enter a thread from.

If there are too many cycles to list, those that a choice leaves whole are looked for one at a time, as closed walks in
the graph of classes, until there is none. Some of these walks are no critical cycles, so it may be more than needed. If
even the pairs are too many, all unsafe ones that may be on a cycle are delayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice, product

from dekker.ir.program import Program
from dekker.transform.classes import Classes, EventClass, classes_of
from dekker.transform.cover import cover_walks
from dekker.transform.cycles import Cycle, Cycles, Segment, candidates, critical_cycles
from dekker.transform.events import AccessPoint, Delay, access_points
from dekker.transform.graph import Event, EventGraph, event_graph
from dekker.transform.rules import rules_of
from dekker.transform.solver import cheapest_cover

MOST_SEGMENTS = 20_000
COSTS = {"WR": 1, "WW": 1, "RW": 2, "RR": 3}


class Strategy(Enum):
    WEIGHTED = "weighted"
    ALL_PAIRS = "all-pairs"
    EVERY_ACCESS = "every-access"
    ONE_PER_CYCLE = "one-per-cycle"


@dataclass(frozen=True)
class Selection:
    """`delayed` are the accesses that may be delayed, which is what an instrumentation needs to know: the first of each
    pair in `delays`. With EVERY_ACCESS no pairs are computed, and a pair stands for an access with itself.

    `complete`: all critical cycles were listed. Otherwise the delays cover those that were not, too."""

    delays: frozenset[Delay]
    cycles: tuple[Cycle, ...]
    complete: bool

    @property
    def delayed(self) -> frozenset[AccessPoint]:
        return frozenset(delay.first for delay in self.delays)


def select(program: Program, model: str, strategy: Strategy) -> Selection:
    """`program` is as engines run it: prepared for the model."""
    rules = rules_of(model)
    if strategy is Strategy.EVERY_ACCESS:
        return Selection(frozenset(Delay(point, point) for point in access_points(program)), (), True)
    classes = classes_of(event_graph(program, rules))
    cycles = critical_cycles(classes, revisits=True)
    return Selection(frozenset(_delays(classes, cycles, strategy)), tuple(cycles.found), cycles.complete)


def _delays(classes: Classes, cycles: Cycles, strategy: Strategy) -> Iterator[Delay]:
    if not classes.graph.rules.atomic_writes:
        if cycles.complete:
            return _with_all_between(classes, cycles.segments)
        return _everything_in(classes, cycles)
    if cycles.complete:
        return _with_closure(classes, _chosen(classes, cycles, strategy))
    listed = _listed(classes, cycles)
    if listed is None:
        return _all_unsafe(classes, cycles)
    if strategy is Strategy.ALL_PAIRS:
        return _with_closure(classes, _unsafe(classes, listed))
    return _with_closure(classes, cover_walks(classes, listed, lambda segment: _cost(classes, segment)))


def _listed(classes: Classes, cycles: Cycles) -> list[Segment] | None:
    """All pairs of components, if they are not too many."""
    pairs = (segment for part in cycles.components for segment in candidates(classes, part))
    found = list(islice(pairs, MOST_SEGMENTS + 1))
    return found if len(found) <= MOST_SEGMENTS else None


# --- which pairs


def _chosen(classes: Classes, cycles: Cycles, strategy: Strategy) -> Iterable[Segment]:
    if strategy is Strategy.ALL_PAIRS:
        return _unsafe(classes, cycles.segments)
    forced, demands = set[Segment](), []
    for cycle in cycles.found:
        breakable = [segment for segment in cycle.segments if _breakable(classes, segment)]
        if breakable:
            demands.append(breakable)
        else:
            forced |= set(_unsafe(classes, cycle.segments))
    if strategy is Strategy.ONE_PER_CYCLE:
        return forced | _first_of_each(demands)
    return forced | _cheapest(classes, demands)


def _unsafe(classes: Classes, segments: Iterable[Segment]) -> list[Segment]:
    return [item for item in segments if classes.unsafe(classes.all[item.first], classes.all[item.second])]


def _breakable(classes: Classes, segment: Segment) -> bool:
    return classes.breakable(classes.all[segment.first], classes.all[segment.second])


def _first_of_each(demands: list[list[Segment]]) -> set[Segment]:
    chosen = set[Segment]()
    for demand in demands:
        if chosen.isdisjoint(demand):
            chosen.add(demand[0])
    return chosen


def _cheapest(classes: Classes, demands: list[list[Segment]]) -> set[Segment]:
    segments = sorted({segment for demand in demands for segment in demand})
    number = {segment: index for index, segment in enumerate(segments)}
    costs = [_cost(classes, segment) for segment in segments]
    cover = cheapest_cover(costs, [[number[segment] for segment in demand] for demand in demands])
    return {segments[index] for index in cover}


def _cost(classes: Classes, segment: Segment) -> float:
    first, second = classes.all[segment.first], classes.all[segment.second]
    unordered = classes.graph.unordered
    delayed = {event.point for event in first.members if unordered[event.number] & second.mask}
    return COSTS[first.direction + second.direction] * len(delayed)


# --- what else has to be delayed with them


def _with_closure(classes: Classes, segments: Iterable[Segment]) -> Iterator[Delay]:
    """Only what lies on a way without a fence between the two can be overtaken with the first."""
    graph = classes.graph
    for first, second in sorted(segments):
        start, targets = classes.all[first], classes.all[second].mask
        unfenced = graph.orders[start.thread].without(start.direction + classes.all[second].direction)
        before = _mask(event for event in graph.of_thread[start.thread] if unfenced.after(event.node) & targets)
        for event in start.members:
            if graph.unordered[event.number] & targets:
                for delayed in _closure(graph, event, before & unfenced.after(event.node)):
                    for other in graph.members(start.thread, unfenced.after(delayed.node) & targets):
                        yield Delay(delayed.point, other.point)


def _closure(graph: EventGraph, event: Event, between: int, seen: int = 0) -> Iterator[Event]:
    """The event, and what has to be delayed with it; not what was `seen` already."""
    pending, seen = [event], seen | 1 << event.bit
    while pending:
        current = pending.pop()
        yield current
        kept = graph.perhaps_ordered[current.number] | _same_place(graph, current)
        found = kept & graph.after[current.number] & between & ~seen
        seen |= found
        pending += graph.members(event.thread, found)


def _same_place(graph: EventGraph, event: Event) -> int:
    """What may be to the same place: writes are never overtaken; a read that takes a delayed write waits for what that
    depends on."""
    atoms = set(event.atoms)
    directions = "RW" if event.direction == "W" else "W"
    return _mask(
        other
        for other in graph.of_thread[event.thread]
        if other.direction in directions and (not atoms.isdisjoint(other.atoms) or not atoms)
    )


def _all_unsafe(classes: Classes, cycles: Cycles) -> Iterator[Delay]:
    """All unsafe pairs of components, each delayed access with one that it may be delayed beyond."""
    graph = classes.graph
    for part in cycles.components:
        for thread, pair in product({item.thread for item in part}, sorted(graph.rules.relaxed)):
            starts = _mask_of(part, thread, pair[0])
            targets = _mask_of(part, thread, pair[1])
            unfenced = graph.orders[thread].without(pair)
            before = _mask(event for event in graph.of_thread[thread] if unfenced.after(event.node) & targets)
            seen = 0
            for event in graph.members(thread, starts):
                if seen >> event.bit & 1 or not graph.unordered[event.number] & targets:
                    continue
                for delayed in _closure(graph, event, before & unfenced.after(event.node), seen):
                    seen |= 1 << delayed.bit
                    beyond = unfenced.after(delayed.node) & targets
                    if beyond:
                        yield Delay(delayed.point, next(graph.members(thread, beyond)).point)


def _everything_in(classes: Classes, cycles: Cycles) -> Iterator[Delay]:
    """All accesses of components with all that lies between, each with one that it may be delayed beyond."""
    graph = classes.graph
    for part in cycles.components:
        for thread in {item.thread for item in part}:
            mask = _mask_of(part, thread, "R") | _mask_of(part, thread, "W")
            after = 0
            for event in graph.members(thread, mask):
                after |= graph.after[event.number]
            between = mask | _mask(event for event in graph.members(thread, after) if graph.after[event.number] & mask)
            for event in graph.members(thread, between):
                beyond = graph.after[event.number] & mask or 1 << event.bit
                yield Delay(event.point, next(graph.members(thread, beyond)).point)


def _mask_of(part: list[EventClass], thread: int, direction: str) -> int:
    found = 0
    for item in part:
        if item.thread == thread and item.direction == direction:
            found |= item.mask
    return found


def _with_all_between(classes: Classes, segments: Iterable[Segment]) -> Iterator[Delay]:
    graph = classes.graph
    for first, second in sorted(segments):
        start, end = classes.all[first], classes.all[second]
        targets = list(end.members)
        between = start.mask | end.mask
        for event in graph.members(start.thread, start.after):
            if graph.after[event.number] & end.mask:
                between |= 1 << event.bit
        for event in graph.members(start.thread, between):
            for target in targets:
                yield Delay(event.point, target.point)
        if start.direction == "R":
            for writer in classes.partners(start):
                yield from (Delay(write.point, read.point) for write in writer.members for read in start.members)


def _mask(events: Iterable[Event]) -> int:
    found = 0
    for event in events:
        found |= 1 << event.bit
    return found
