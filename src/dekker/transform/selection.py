"""Which accesses have to be delayed so that no behaviour of a model is lost.

All others take effect at once. An execution of the model survives if no cycle consists of what the model keeps in
order, of communication, and of program order behind accesses that are not delayed. So of every critical cycle one step
has to be broken (`breaking`). What is chosen:

- `EVERY_ACCESS`: everything may be delayed.
- `ALL_PAIRS`: all that can be in critical cycles.
- `WEIGHTED`: the cheapest accesses that break every cycle. (The paper weighs pairs in section 4.5: 1 if they begin
  with a write, 2 from read to write, 3 from read to read. But what costs is the accesses, and pairs share them.)
- `ONE_PER_CYCLE`: the first step that can be broken, cycle by cycle.

One pair per cycle is too few if that is taken literally: more has to be delayed with the first of a pair (`breaking`),
cycles may come back to a thread and on POWER to a place (`cycles`), and a pair that dependencies, fences and forwarding
may keep in order, step by step or on some way, is none to rely on (`classes`). A cycle without a pair to rely on is
broken wherever it can be.

If there are too many cycles to list, those that a choice leaves whole are looked for one at a time, as closed walks in
the graph of classes, until there is none. Some of these walks are no critical cycles, so it may be more than needed. If
even the pairs are too many, all unsafe ones that may be on a cycle are delayed; on POWER everything on cycles is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import islice, product

from dekker.ir.program import Program
from dekker.records import dataclass
from dekker.transform.breaking import Points, all_unsafe, closure, delayed_with, ways_to_break
from dekker.transform.classes import Classes, EventClass, classes_of
from dekker.transform.cover import cover_walks
from dekker.transform.cycles import Cycle, Cycles, Segment, candidates, critical_cycles
from dekker.transform.events import AccessPoint, access_points
from dekker.transform.graph import Event, EventGraph, event_graph
from dekker.transform.rules import framework_rules
from dekker.transform.solver import cheapest_choice

MOST_SEGMENTS = 20_000
COSTS = {"WR": 1, "WW": 1, "RW": 2, "RR": 3}
COST_OF_READ, COST_OF_WRITE = 3, 1


class Strategy(Enum):
    WEIGHTED = "weighted"
    ALL_PAIRS = "all-pairs"
    EVERY_ACCESS = "every-access"
    ONE_PER_CYCLE = "one-per-cycle"


@dataclass(frozen=True)
class Selection:
    """`delayed` are the accesses that may be delayed. `complete`: all critical cycles were listed; otherwise what is
    delayed covers those that were not, too."""

    delayed: Points
    cycles: tuple[Cycle, ...]
    complete: bool


def select(program: Program, model: str, strategy: Strategy) -> Selection:
    """`program` is as engines run it: prepared for the model."""
    rules = framework_rules(model)
    if strategy is Strategy.EVERY_ACCESS:
        return Selection(frozenset(access_points(program)), (), True)
    classes = classes_of(event_graph(program, rules))
    cycles = critical_cycles(classes, revisits=True)
    delayed = _delayed(classes, cycles, strategy) if cycles.complete else _covering(classes, cycles, strategy)
    return Selection(frozenset(delayed) & frozenset(access_points(program)), tuple(cycles.found), cycles.complete)


def _delayed(classes: Classes, cycles: Cycles, strategy: Strategy) -> Iterable[AccessPoint]:
    if strategy is Strategy.ALL_PAIRS:
        return {point for cycle in cycles.found for point in all_unsafe(classes, cycle)}
    forced, demands = set[AccessPoint](), list[list[Points]]()
    for cycle in cycles.found:
        ways = list(ways_to_break(classes, cycle))
        if ways:
            demands.append(ways)
        else:
            forced |= set(all_unsafe(classes, cycle))
    if strategy is Strategy.ONE_PER_CYCLE:
        return _first_of_each(demands, forced)
    return forced | _cheapest(classes.graph, demands)


def _first_of_each(demands: list[list[Points]], forced: set[AccessPoint]) -> set[AccessPoint]:
    chosen = set(forced)
    for ways in demands:
        if not any(way <= chosen for way in ways):
            chosen |= ways[0]
    return chosen


def _cheapest(graph: EventGraph, demands: list[list[Points]]) -> Points:
    points = sorted({point for ways in demands for way in ways for point in way})
    number = {point: index for index, point in enumerate(points)}
    reads = {event.point for event in graph.events if event.direction == "R"}
    costs = [COST_OF_READ if point in reads else COST_OF_WRITE for point in points]
    chosen = cheapest_choice(costs, [[frozenset(number[point] for point in way) for way in ways] for ways in demands])
    return frozenset(points[index] for index in chosen)


# --- cycles that were not listed


def _covering(classes: Classes, cycles: Cycles, strategy: Strategy) -> Iterator[AccessPoint]:
    if not classes.graph.rules.atomic_writes:
        return _everything_in(classes, cycles)
    listed = _listed(classes, cycles)
    if listed is None:
        return _all_unsafe(classes, cycles)
    unsafe = [item for item in listed if classes.unsafe(classes.all[item.first], classes.all[item.second])]
    if strategy is not Strategy.ALL_PAIRS:
        unsafe = sorted(cover_walks(classes, listed, lambda segment: _cost(classes, segment)))
    return (point for segment in unsafe for point in delayed_with(classes, segment))


def _listed(classes: Classes, cycles: Cycles) -> list[Segment] | None:
    """All pairs of components, if they are not too many."""
    pairs = (segment for part in cycles.components for segment in candidates(classes, part))
    found = list(islice(pairs, MOST_SEGMENTS + 1))
    return found if len(found) <= MOST_SEGMENTS else None


def _cost(classes: Classes, segment: Segment) -> float:
    first, second = classes.all[segment.first], classes.all[segment.second]
    unordered = classes.graph.unordered
    delayed = {event.point for event in first.members if unordered[event.number] & second.mask}
    return COSTS[first.direction + second.direction] * len(delayed)


def _all_unsafe(classes: Classes, cycles: Cycles) -> Iterator[AccessPoint]:
    """The firsts of all unsafe pairs of components."""
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
                for delayed in closure(graph, event, before & unfenced.after(event.node), seen):
                    seen |= 1 << delayed.bit
                    if unfenced.after(delayed.node) & targets:
                        yield delayed.point


def _everything_in(classes: Classes, cycles: Cycles) -> Iterator[AccessPoint]:
    """All accesses of components with all that lies between."""
    graph = classes.graph
    for part in cycles.components:
        for thread in {item.thread for item in part}:
            mask = _mask_of(part, thread, "R") | _mask_of(part, thread, "W")
            after = 0
            for event in graph.members(thread, mask):
                after |= graph.after[event.number]
            between = mask | _mask(event for event in graph.members(thread, after) if graph.after[event.number] & mask)
            yield from (event.point for event in graph.members(thread, between))


def _mask_of(part: list[EventClass], thread: int, direction: str) -> int:
    found = 0
    for item in part:
        if item.thread == thread and item.direction == direction and not item.is_of_threads:
            found |= item.mask
    return found


def _mask(events: Iterable[Event]) -> int:
    found = 0
    for event in events:
        found |= 1 << event.bit
    return found
