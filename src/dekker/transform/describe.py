"""Cycles in the words of the source: accesses with their lines, threads by name, idioms by their customary names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dekker.ir.families import family_of
from dekker.ir.shapes import part_name
from dekker.records import dataclass
from dekker.source import Span
from dekker.transform.classes import Classes, EventClass
from dekker.transform.cycles import Cycle, Segment, is_critical, relaxed_links
from dekker.transform.events import AccessPoint, span_of
from dekker.transform.graph import Atom, Event, EventGraph
from dekker.transform.values import Allocation, Handle


@dataclass(frozen=True)
class AccessView:
    """`places` are where the source has it; an access of a library function has none."""

    direction: str
    location: str
    function: str
    spans: tuple[Span, ...]
    points: tuple[AccessPoint, ...]

    @property
    def lines(self) -> str:
        return ", ".join(dict.fromkeys(str(span.line) for span in self.spans)) or "?"


@dataclass(frozen=True)
class ThreadView:
    """A thread's part of a cycle: two accesses, or one write. `unsafe`: the model may reorder the two."""

    thread: str
    accesses: tuple[AccessView, ...]
    unsafe: bool


@dataclass(frozen=True)
class LinkView:
    """From the last access of one thread to the first of the next. `early`: this write may be seen before others do."""

    kind: str
    early: bool


@dataclass(frozen=True)
class CycleView:
    """`links[i]` leads from `threads[i]` to the next. `alike` cycles differ only in which threads do the same. If it is
    not `critical`, the model keeps all of it in order."""

    idiom: str
    threads: tuple[ThreadView, ...]
    links: tuple[LinkView, ...]
    critical: bool = True
    alike: int = 1


def describe_cycles(classes: Classes, cycles: Iterable[Cycle]) -> list[CycleView]:
    """Short ones first; of those that only exchange threads one."""
    groups: dict[frozenset[object], list[CycleView]] = {}
    for cycle in cycles:
        view = describe(classes, cycle)
        groups.setdefault(_key(view), []).append(view)
    found = [replace(views[0], alike=len(views)) for views in groups.values()]
    return sorted(found, key=lambda view: (not view.critical, len(view.threads), view.idiom))


def describe(classes: Classes, cycle: Cycle) -> CycleView:
    critical = is_critical(classes, cycle)
    early = set(relaxed_links(classes, cycle)) if critical else set()
    segments, links = cycle.segments, cycle.links
    if len(segments) == 1:
        segments, links, early = segments * 2, links * 2, {0, 1} if early else set()
    threads: list[ThreadView] = []
    found: list[LinkView] = []
    for index, (segment, link) in enumerate(zip(segments, links, strict=True)):
        first, second = classes.all[segment.first], classes.all[segment.second]
        following = classes.all[segments[(index + 1) % len(segments)].first]
        threads.append(_pair(classes, first, second))
        if link.through is None:
            kind = {"WW": "co", "WR": "rf", "RW": "fr"}[second.direction + following.direction]
            found.append(LinkView(kind, index in early))
        else:
            through = classes.all[link.through]
            threads.append(
                ThreadView(_thread(classes, through), (_access(classes.graph, through, through.members),), False)
            )
            found += [LinkView("fr", False), LinkView("rf", index in early)]
    start = _start(threads)
    shapes = ["".join(access.direction for access in thread.accesses) for thread in threads]
    turned = (*threads[start:], *threads[:start]), (*found[start:], *found[:start])
    return CycleView(family_of(shapes), *turned, critical=critical)


def describe_pair(classes: Classes, segment: Segment) -> ThreadView:
    return _pair(classes, classes.all[segment.first], classes.all[segment.second])


def atom_name(graph: EventGraph, atom: Atom) -> str:
    if isinstance(atom.base, Handle):
        return f"the {'end' if atom.start else 'start'} of {graph.threads[atom.base.thread].name}"
    if isinstance(atom.base, Allocation):
        span = graph.program.function_by_name[atom.base.function].span(atom.base.at)
        where = f" of line {span.line}" if span is not None else f" of {atom.base.function}"
        return f"allocation{where}" + (f"+{atom.start}" if atom.start else "")
    item = graph.program.object_by_name.get(str(atom.base))
    if atom.start is None:
        return f"{atom.base}[…]"
    return f"{atom.base}{part_name(item.shape if item is not None else None, atom.start)}"


def _key(view: CycleView) -> frozenset[object]:
    """The same for cycles that go through the same places of the code."""
    parts = [
        (thread.unsafe, tuple((item.direction, item.points) for item in thread.accesses)) for thread in view.threads
    ]
    counted = {part: parts.count(part) for part in parts}
    return frozenset(((view.idiom, len(parts), view.critical), *counted.items()))


def _start(threads: Sequence[ThreadView]) -> int:
    """A lonely write comes first, else the thread that comes first in the program."""
    return min(range(len(threads)), key=lambda at: (len(threads[at].accesses), at))


def _pair(classes: Classes, first: EventClass, second: EventClass) -> ThreadView:
    graph = classes.graph
    unsafe = classes.unsafe(first, second)
    relation = graph.unordered if unsafe else graph.after
    starts = [event for event in first.members if relation[event.number] & second.mask]
    reached = 0
    for event in starts:
        reached |= relation[event.number]
    ends = [event for event in second.members if reached >> event.bit & 1]
    accesses = (_access(graph, first, starts), _access(graph, second, ends))
    return ThreadView(_thread(classes, first), accesses, unsafe)


def _access(graph: EventGraph, item: EventClass, events: Iterable[Event]) -> AccessView:
    points = tuple(sorted({event.point for event in events}))
    spans = {point: span_of(graph.program, point) for point in points}
    shown = sorted(
        {span for span in spans.values() if span is not None}, key=lambda span: (span.source.name, span.start)
    )
    return AccessView(
        item.direction, atom_name(graph, graph.atoms[item.atom]), points[0].function, tuple(shown), points
    )


def _thread(classes: Classes, item: EventClass) -> str:
    thread = classes.graph.threads[item.thread]
    if thread.started_at is None:
        return thread.name
    function, index = thread.started_at
    span = classes.graph.program.function_by_name[function].span(index)
    where = f"line {span.line}" if span is not None else function
    return f"{thread.name} ({'several, ' if thread.many else ''}started in {where})"
