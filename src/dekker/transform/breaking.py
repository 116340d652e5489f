"""How a critical cycle can be kept from being whole: by accesses that may be delayed.

Let D be these accesses. All others take effect at once, so that program order behind them counts, and on POWER so does
a write of theirs, or of anything behind them, being read. A cycle that consists of what counts and of what the model
keeps is one that no run of the instrumented program has. A *way* to break it is a set of accesses: with all of them in
D, one step of the cycle does not count.

- A pair of the cycle that the model may always delay: the first, and everything between that may be kept behind it,
  because from there it would go on to the second.
- Where writes are not atomic, a link from a write to a read: whoever may have written what is read, and what accesses
  the place before such a write in its thread, because the cycle may come to the write by way of that. If a fence behind
  the read makes what it saw known to all, this is none. So it is if a dependency or a fence stands between the pair in
  front and its write; it only counts where the cycle comes to the write by communication.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dekker.transform.classes import Classes, EventClass
from dekker.transform.cycles import Cycle, Segment
from dekker.transform.events import AccessPoint
from dekker.transform.graph import Event, EventGraph

Points = frozenset[AccessPoint]


def ways_to_break(classes: Classes, cycle: Cycle) -> Iterator[Points]:
    for segment in cycle.segments:
        if classes.breakable(classes.all[segment.first], classes.all[segment.second]):
            yield frozenset(delayed_with(classes, segment))
    if not classes.graph.rules.atomic_writes:
        yield from _seen_early(classes, cycle)


def all_unsafe(classes: Classes, cycle: Cycle) -> Iterator[AccessPoint]:
    """Everything that may be delayed in a cycle."""
    if not classes.graph.rules.atomic_writes:
        yield from with_all_between(classes, cycle.segments)
        return
    for segment in cycle.segments:
        if classes.unsafe(classes.all[segment.first], classes.all[segment.second]):
            yield from delayed_with(classes, segment)


def delayed_with(classes: Classes, segment: Segment) -> Iterator[AccessPoint]:
    """What is delayed so that the pair is. Only what lies on a way without a fence between the two can be overtaken
    with the first."""
    graph = classes.graph
    start, targets = classes.all[segment.first], classes.all[segment.second].mask
    unfenced = graph.orders[start.thread].without(start.direction + classes.all[segment.second].direction)
    before = _mask(event for event in graph.of_thread[start.thread] if unfenced.after(event.node) & targets)
    for event in start.members:
        if graph.unordered[event.number] & targets:
            yield from (found.point for found in closure(graph, event, before & unfenced.after(event.node)))


def closure(graph: EventGraph, event: Event, between: int, seen: int = 0) -> Iterator[Event]:
    """The event, and what has to be delayed with it; not what was `seen` already. A read that takes a delayed write
    waits for what that depends on."""
    pending, seen = [event], seen | 1 << event.bit
    while pending:
        current = pending.pop()
        yield current
        same = graph.same_place(current, "RW" if current.direction == "W" else "W")
        found = (graph.perhaps_ordered[current.number] | same) & graph.after[current.number] & between & ~seen
        seen |= found
        pending += graph.members(event.thread, found)


# --- writes that are not atomic


def _seen_early(classes: Classes, cycle: Cycle) -> Iterator[Points]:
    for index, link in enumerate(cycle.links):
        behind = cycle.segments[(index + 1) % len(cycle.segments)]
        reader = classes.all[behind.first]
        if link.through is None or reader.is_of_threads:
            continue
        if _made_known(classes, behind) or _fenced_within(classes, reader.atom):
            continue
        yield frozenset(_writers(classes, reader))


def _made_known(classes: Classes, segment: Segment) -> bool:
    """Whether a fence behind the read makes what it saw known to something on the way to the second of the pair."""
    graph = classes.graph
    first, second = classes.all[segment.first], classes.all[segment.second]
    for event in first.members:
        fenced = graph.after[event.number] & ~graph.uncumulated[event.number]
        if any(
            1 << other.bit & second.mask or graph.after[other.number] & second.mask
            for other in graph.members(first.thread, fenced)
        ):
            return True
    return False


def _fenced_within(classes: Classes, atom: int) -> bool:
    """Whether a fence between two accesses of a thread to the place makes the second, a write, known late."""
    graph = classes.graph
    return any(
        graph.after[event.number] & ~graph.uncumulated[event.number] & graph.same_place(event, "W")
        for item in classes.by_atom[atom]
        for event in item.members
    )


def _writers(classes: Classes, reader: EventClass) -> Iterator[AccessPoint]:
    """The accesses to the place of a read that are writes, or come before one in their thread."""
    graph = classes.graph
    for item in classes.by_atom[reader.atom]:
        for event in item.members:
            if event.direction == "W" or graph.after[event.number] & graph.same_place(event, "W"):
                yield event.point


def with_all_between(classes: Classes, segments: Iterable[Segment]) -> Iterator[AccessPoint]:
    """Pairs with everything between, and all that may write what the first of a pair reads. Nothing is delayed beyond
    the start or the end of a thread."""
    graph = classes.graph
    for first, second in sorted(segments):
        start, end = classes.all[first], classes.all[second]
        if start.is_of_threads or end.is_of_threads:
            continue
        between = start.mask | end.mask
        for event in graph.members(start.thread, start.after):
            if graph.after[event.number] & end.mask:
                between |= 1 << event.bit
        yield from (event.point for event in graph.members(start.thread, between))
        if start.direction == "R":
            yield from _writers(classes, start)


def _mask(events: Iterable[Event]) -> int:
    found = 0
    for event in events:
        found |= 1 << event.bit
    return found
