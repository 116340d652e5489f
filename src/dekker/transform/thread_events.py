"""How threads that start others, and wait for them, communicate: as if by accesses to a place of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dekker.ir.instructions import Join, Spawn
from dekker.records import dataclass
from dekker.transform.flow_graph import FlowGraph
from dekker.transform.points_to import PointsTo
from dekker.transform.values import NUMBER, ONLY_ZERO, Handle

START, BEGIN, END, WAIT = "start", "begin", "end", "wait"


@dataclass(frozen=True)
class ThreadEvent:
    """At a node of `thread`, and about the thread `about`. `partners` are those who do the other part."""

    role: str
    thread: int
    node: int
    about: int
    partners: frozenset[int]

    @property
    def direction(self) -> str:
        return "W" if self.role in (START, END) else "R"

    @property
    def is_end(self) -> bool:
        return self.role in (END, WAIT)


class ThreadEvents:
    def __init__(self, points_to: PointsTo, flows: Sequence[FlowGraph]) -> None:
        self._points_to, self._flows = points_to, flows

    def all(self) -> Iterator[ThreadEvent]:
        starters, waiting = self._starters(), self._waiting()
        for started, nodes in starters.items():
            for thread, node in nodes:
                yield ThreadEvent(START, thread, node, started, frozenset((started,)))
            yield ThreadEvent(BEGIN, started, 0, started, frozenset(thread for thread, _ in nodes))
        for ended, nodes in waiting.items():
            for node in self._ends(ended):
                yield ThreadEvent(END, ended, node, ended, frozenset(thread for thread, _ in nodes))
            for thread, node in nodes:
                yield ThreadEvent(WAIT, thread, node, ended, frozenset((ended,)))

    def _starters(self) -> dict[int, list[tuple[int, int]]]:
        """For each thread that is started, by whom, and at which nodes."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, started in enumerate(self._points_to.threads):
            for thread in sorted(started.starters):
                flow = self._flows[thread]
                nodes = [node for node, step in enumerate(flow.instruction) if isinstance(step, Spawn)]
                found.setdefault(number, []).extend(
                    (thread, node) for node in nodes if flow.place[node] == started.started_at
                )
        return found

    def _waiting(self) -> dict[int, list[tuple[int, int]]]:
        """For each thread, who waits for its end, and at which nodes."""
        found: dict[int, list[tuple[int, int]]] = {}
        for flow in self._flows:
            for node, step in enumerate(flow.instruction):
                if isinstance(step, Join):
                    for ended in self._awaited(flow, node, step):
                        found.setdefault(ended, []).append((flow.thread, node))
        return found

    def _awaited(self, flow: FlowGraph, node: int, step: Join) -> list[int]:
        """A number that is no identifier may be that of any thread; 0 is the first, which nobody waits for."""
        value = self._points_to.value(flow.thread, flow.place[node][0], step.thread) - ONLY_ZERO
        started = [number for number, item in enumerate(self._points_to.threads) if item.started_at is not None]
        if any(target.base == NUMBER for target in value):
            return started
        return sorted({target.base.thread for target in value if isinstance(target.base, Handle)})

    def _ends(self, thread: int) -> Iterator[int]:
        flow = self._flows[thread]
        return (node for node, following in enumerate(flow.following) if not following)
