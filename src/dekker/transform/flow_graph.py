"""The control flow of a whole thread: functions as if they were inlined.

Calls are followed into a copy of the function for each place that calls it. Where functions call themselves, or copies
would become too many, there is one copy for all of its callers: control may then seem to return to another caller,
which only adds ways. Calls of functions that neither access memory nor order anything are passed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field

from dekker.ir.flow import successors
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    Await,
    Call,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Refuse,
    Renew,
    Return,
    Spawn,
)
from dekker.ir.program import Function
from dekker.records import dataclass
from dekker.transform.points_to import PointsTo

MOST_NODES = 150_000
_EFFECTS = (*MEMORY_ACCESSES, Fence, Free, Renew, Join, Spawn, Exit)


@dataclass
class FlowGraph:
    """Node n is an instruction, `instruction[n]` (None: the end of a function), in a copy of its function,
    `context[n]`. Of a call that is followed, `binds` has the context of the callee, if it is its own."""

    thread: int
    instruction: list[Instruction | None] = field(default_factory=list)
    place: list[tuple[str, int]] = field(default_factory=list)
    context: list[int] = field(default_factory=list)
    following: list[list[int]] = field(default_factory=list)
    binds: dict[int, tuple[int, str]] = field(default_factory=dict)
    returns: dict[int, int] = field(default_factory=dict)
    """From a return in an own copy to the call."""
    parameters: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Of the function that begins at a node."""


def flow_graph(points_to: PointsTo, thread: int) -> FlowGraph:
    return _Builder(points_to, FlowGraph(thread)).build()


@dataclass
class _Builder:
    points_to: PointsTo
    graph: FlowGraph
    _contexts: int = 0
    _shared: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _effects: dict[str, bool] = field(default_factory=dict)
    _pending: deque[tuple[int, Function, frozenset[str]]] = field(default_factory=deque)

    def build(self) -> FlowGraph:
        entry = self.points_to.threads[self.graph.thread].entry
        self._copy(entry, frozenset((entry,)), ())
        while self._pending:
            start, function, active = self._pending.popleft()
            for index, instruction in enumerate(function.body):
                if isinstance(instruction, Call):
                    self._follow_call(start + index, function, instruction, active)
        return self.graph

    def _copy(self, name: str, active: frozenset[str], back_to: tuple[int, ...]) -> tuple[int, list[int]]:
        """The first node of a new copy, and the nodes at which it ends."""
        function = self.points_to.program.function_by_name[name]
        graph, start = self.graph, len(self.graph.instruction)
        ends: list[int] = []
        for index, instruction in enumerate((*function.body, None)):
            graph.instruction.append(instruction)
            graph.place.append((name, index))
            graph.context.append(self._contexts)
            steps = _steps(function, index)
            graph.following.append([start + step for step in steps])
            if instruction is None or isinstance(instruction, Return):
                ends.append(start + index)
                graph.following[-1] = list(back_to)
        graph.parameters[start] = function.parameters
        self._contexts += 1
        self._pending.append((start, function, active))
        return start, ends

    def _follow_call(self, node: int, function: Function, call: Call, active: frozenset[str]) -> None:
        names = self.points_to.callees(self.graph.thread, function.name, call)
        behind = self.graph.following[node]
        after: list[int] = [] if names else list(behind)
        for name in names:
            if not self._has_effects(name):
                after += behind
            elif name in active or self._too_many(name):
                start, ends = self._shared_copy(name)
                after.append(start)
                for end in ends:
                    self.graph.following[end] += behind
            else:
                context = self._contexts
                start, ends = self._copy(name, active | {name}, tuple(behind))
                after.append(start)
                if len(names) == 1:
                    self.graph.binds[node] = (context, name)
                    self.graph.returns.update(dict.fromkeys(ends, node))
        self.graph.following[node] = list(dict.fromkeys(after))

    def _shared_copy(self, name: str) -> tuple[int, list[int]]:
        if name not in self._shared:
            self._shared[name] = self._copy(name, frozenset((name,)), ())
        return self._shared[name]

    def _too_many(self, name: str) -> bool:
        return len(self.graph.instruction) + self._size(name, frozenset()) > MOST_NODES

    def _size(self, name: str, active: frozenset[str]) -> int:
        """How many nodes a function has with all that it calls."""
        if name in active:
            return 0
        if name not in self._sizes:
            function = self.points_to.program.function_by_name[name]
            inner = active | {name}
            size = len(function.body) + sum(self._size(callee, inner) for callee in self._callees(function))
            self._sizes[name] = min(size, MOST_NODES)
        return self._sizes[name]

    def _callees(self, function: Function) -> Iterator[str]:
        for instruction in function.body:
            if isinstance(instruction, Call):
                yield from self.points_to.callees(self.graph.thread, function.name, instruction)

    def _has_effects(self, name: str) -> bool:
        if name not in self._effects:
            self._effects[name] = self._look_for_effects(name)
        return self._effects[name]

    def _look_for_effects(self, name: str) -> bool:
        seen, pending = set[str](), [name]
        while pending:
            function = self.points_to.program.function_by_name[pending.pop()]
            if function.name in seen:
                continue
            seen.add(function.name)
            if any(isinstance(step, _EFFECTS) for step in function.body):
                return True
            pending += self._callees(function)
        return False


def _steps(function: Function, index: int) -> tuple[int, ...]:
    """An await goes on: rounds that fail can be left out."""
    if index == len(function.body):
        return ()
    instruction = function.body[index]
    if isinstance(instruction, Await):
        return (index + 1,)
    return () if isinstance(instruction, Refuse) else successors(function, index)
