"""Which threads may run while a thread is at some place of its code.

A thread that starts another runs beside it only from there on, and, if it is one thread that it waits for, up to there.
"""

from __future__ import annotations

from collections.abc import Sequence

from dekker.ir.instructions import Join
from dekker.records import dataclass
from dekker.transform.flow_graph import FlowGraph
from dekker.transform.points_to import PointsTo
from dekker.transform.values import ONLY_ZERO, Handle, Target


@dataclass(frozen=True)
class Concurrency:
    """`beside[t]` are the threads that may overlap with t at all; `regions[(t, s)]` the nodes of t at which s may run,
    where that is not everywhere."""

    beside: Sequence[frozenset[int]]
    regions: dict[tuple[int, int], frozenset[int]]

    def partners(self, thread: int, node: int) -> frozenset[int]:
        return frozenset(
            other
            for other in self.beside[thread]
            if (thread, other) not in self.regions or node in self.regions[thread, other]
        )


def concurrency(points_to: PointsTo, flows: Sequence[FlowGraph]) -> Concurrency:
    regions = _regions(points_to, flows)
    count = len(points_to.threads)
    beside = [
        frozenset(
            other
            for other in range(count)
            if (other != thread or points_to.threads[thread].many)
            and not _one_after_the_other(points_to, flows, regions, thread, other)
        )
        for thread in range(count)
    ]
    return Concurrency(beside, regions)


def _regions(points_to: PointsTo, flows: Sequence[FlowGraph]) -> dict[tuple[int, int], frozenset[int]]:
    """Of each single thread, for all that it starts and that those start."""
    found: dict[tuple[int, int], frozenset[int]] = {}
    for number, thread in enumerate(points_to.threads):
        line = _line_of_starters(points_to, number)
        for starter, started in line:
            place = points_to.threads[started].started_at
            starts = [node for node, at in enumerate(flows[starter].place) if at == place]
            waits = not thread.many and started == number
            found[starter, number] = _region(points_to, flows[starter], starts, number if waits else None)
    return found


def _line_of_starters(points_to: PointsTo, thread: int) -> list[tuple[int, int]]:
    """Pairs of a starter and whom it starts, from the thread up, as long as each has one starter that is one thread."""
    found: list[tuple[int, int]] = []
    current = thread
    while len(points_to.threads[current].starters) == 1:
        (starter,) = points_to.threads[current].starters
        if points_to.threads[starter].many or any(starter == other for other, _ in found):
            break
        found.append((starter, current))
        current = starter
    return found


def _region(points_to: PointsTo, flow: FlowGraph, starts: list[int], waited_for: int | None) -> frozenset[int]:
    found = set[int]()
    pending = [step for node in starts for step in flow.following[node]]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found.add(node)
        if waited_for is None or not _joins(points_to, flow, node, waited_for):
            pending += flow.following[node]
    return frozenset(found)


def _joins(points_to: PointsTo, flow: FlowGraph, node: int, thread: int) -> bool:
    instruction = flow.instruction[node]
    if not isinstance(instruction, Join):
        return False
    value = points_to.value(flow.thread, flow.place[node][0], instruction.thread)
    return value - ONLY_ZERO == {Target(Handle(thread), 0)}  # 0 is the first thread, which nobody waits for


def _one_after_the_other(
    points_to: PointsTo,
    flows: Sequence[FlowGraph],
    regions: dict[tuple[int, int], frozenset[int]],
    first: int,
    second: int,
) -> bool:
    """Two threads of one starter, of which each is only started while the other does not run."""
    starters = points_to.threads[first].starters
    if first == second or len(starters) != 1 or starters != points_to.threads[second].starters:
        return False
    (starter,) = starters
    if (starter, first) not in regions or (starter, second) not in regions:
        return False
    return not (
        _starts_within(points_to, flows[starter], second, regions[starter, first])
        or _starts_within(points_to, flows[starter], first, regions[starter, second])
    )


def _starts_within(points_to: PointsTo, flow: FlowGraph, thread: int, region: frozenset[int]) -> bool:
    place = points_to.threads[thread].started_at
    return any(flow.place[node] == place for node in region)
