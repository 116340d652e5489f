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
the graph of classes, until there is none. Some of these walks are no critical cycles, so it may be more than needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from dekker.ir.program import Program
from dekker.transform.classes import Classes, classes_of
from dekker.transform.cover import cover_walks
from dekker.transform.cycles import Cycle, Cycles, Segment, critical_cycles
from dekker.transform.events import AccessPoint, Delay, access_points
from dekker.transform.graph import Event, EventGraph, event_graph
from dekker.transform.rules import rules_of
from dekker.transform.solver import cheapest_cover

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
    if not rules.atomic_writes:
        segments: Iterable[Segment] = cycles.segments if cycles.complete else cycles.candidates
        delays = _with_all_between(classes, segments)
    else:
        delays = _with_closure(classes, _chosen(classes, cycles, strategy))
    return Selection(frozenset(delays), tuple(cycles.found), cycles.complete)


# --- which pairs


def _chosen(classes: Classes, cycles: Cycles, strategy: Strategy) -> Iterable[Segment]:
    if strategy is Strategy.ALL_PAIRS:
        return _unsafe(classes, cycles.segments if cycles.complete else cycles.candidates)
    if not cycles.complete:
        return cover_walks(classes, cycles.candidates, lambda segment: _cost(classes, segment))
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
    graph = classes.graph
    for first, second in sorted(segments):
        targets = classes.all[second].mask
        thread = classes.all[first].thread
        before = _mask(event for event in graph.of_thread[thread] if graph.after[event.number] & targets)
        for event in classes.all[first].members:
            reached = graph.unordered[event.number] & targets
            if reached:
                for delayed in _closure(graph, event, before):
                    for other in graph.members(thread, graph.after[delayed.number] & targets):
                        yield Delay(delayed.point, other.point)


def _closure(graph: EventGraph, event: Event, before: int) -> Iterator[Event]:
    pending, seen = [event], 1 << event.bit
    while pending:
        current = pending.pop()
        yield current
        kept = graph.perhaps_ordered[current.number] | _same_place(graph, current)
        found = kept & graph.after[current.number] & before & ~seen
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
