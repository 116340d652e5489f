"""The abstract event graph (Alglave et al., section 4.2): accesses of all threads, what each may reach, which pairs of
a thread a model keeps in order, and which accesses of different threads may meet.

Events stand for all executions of an access in one copy of its function, by one thread. Both halves of an update are
events. Going round a loop orders a pair either way: reachability in the graph says so without copies of the body.

- `after[e]`: events that may follow e in its thread.
- `unordered[e]`: those of them that the model lets overtake e, on some way between the two.
- `perhaps_ordered[e]`: those that are kept behind e on some way.
- `uncumulated[e]`: those that some way reaches without a fence that makes writes known to all that e has seen;
  `without_full[e]`: without a full fence.

All are bit sets over the events of the thread. Accesses that only their own thread can reach have no atom.

Starting a thread is a write that its beginning reads, and its end a write that is read where others wait for it
(`thread_events`): cycles may pass through these, too. They are kept in order with all around them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    CompareExchange,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Load,
    Order,
    Renew,
    Rmw,
    Spawn,
)
from dekker.ir.program import Program
from dekker.records import dataclass
from dekker.transform.concurrency import Concurrency, concurrency
from dekker.transform.dependencies import Following, follow_dependencies
from dekker.transform.events import AccessPoint
from dekker.transform.flow_graph import FlowGraph, flow_graph
from dekker.transform.points_to import Place, PointsTo, ThreadClass, analyse
from dekker.transform.reach import Reached, reach
from dekker.transform.rules import ACQUIRES, RELEASES, Rules
from dekker.transform.thread_events import BEGIN, ThreadEvents
from dekker.transform.values import Allocation, Base, Handle

MOST_SEARCHES = 1_000_000
"""Steps for which dependencies are followed in one thread; beyond it they do not count."""


class Atom(NamedTuple):
    """Bytes that are accessed together. `several`: it may stand for more than one place."""

    base: Base
    start: int | None
    end: int | None
    several: bool


@dataclass(frozen=True, slots=True)
class Event:
    """`bit` is its place in the bit sets of its thread; `partners` are the threads that may run at the same time.
    `role`: what it is, if it is no access (`thread_events`)."""

    number: int
    thread: int
    node: int
    point: AccessPoint
    direction: str
    atoms: tuple[int, ...]
    locked: bool
    order: Order
    bit: int
    partners: frozenset[int]
    role: str = ""


@dataclass
class EventGraph:
    program: Program
    rules: Rules
    threads: list[ThreadClass]
    atoms: list[Atom] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    of_thread: dict[int, list[Event]] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    unordered: dict[int, int] = field(default_factory=dict)
    perhaps_ordered: dict[int, int] = field(default_factory=dict)
    uncumulated: dict[int, int] = field(default_factory=dict)
    without_full: dict[int, int] = field(default_factory=dict)
    flows: list[FlowGraph] = field(default_factory=list)
    orders: list[ThreadOrder] = field(default_factory=list)
    nodes: int = 0
    _by_place: dict[int, dict[tuple[int | None, str], int]] = field(default_factory=dict)

    def same_place(self, event: Event, directions: str) -> int:
        """The accesses of its thread that may be to a place of this one; if it has none, to any."""
        if event.thread not in self._by_place:
            self._by_place[event.thread] = _masks_by_place(self.of_thread[event.thread])
        masks = self._by_place[event.thread]
        found = 0
        for atom in event.atoms or (None,):
            for direction in directions:
                found |= masks.get((atom, direction), 0)
        return found

    def kept_behind(self, event: Event) -> int:
        """What may be kept behind an event step by step: by what orders two accesses, by writes to one place, and by
        reads of own writes behind what these depend on."""
        found, pending = 0, [event]
        while pending:
            current = pending.pop()
            taken = "RW" if current.direction == "W" and current is not event else "W"
            kept = self.perhaps_ordered[current.number] | self.same_place(current, taken)
            new = kept & self.after[current.number] & ~found
            found |= new
            pending += self.members(event.thread, new)
        return found

    def members(self, thread: int, bits: int) -> Iterator[Event]:
        events = self.of_thread[thread]
        while bits:
            low = bits & -bits
            yield events[low.bit_length() - 1]
            bits ^= low


def event_graph(program: Program, rules: Rules) -> EventGraph:
    points_to = analyse(program)
    flows = [flow_graph(points_to, thread) for thread in range(len(points_to.threads))]
    graph = EventGraph(program, rules, points_to.threads, flows=flows, nodes=sum(len(it.instruction) for it in flows))
    overlaps = concurrency(points_to, flows)
    places = _places(points_to, flows)
    atoms = _Atoms(points_to, places, graph.atoms)
    for flow in flows:
        _add_events(graph, flow, places, atoms, overlaps)
    _add_thread_events(graph, points_to)
    for flow in flows:
        _order(graph, flow)
    return graph


# --- places and atoms

Accesses = dict[tuple[int, str, int], frozenset[Place] | None]


def _places(points_to: PointsTo, flows: list[FlowGraph]) -> Accesses:
    found: Accesses = {}
    for flow in flows:
        for instruction, (function, index) in zip(flow.instruction, flow.place, strict=True):
            key = (flow.thread, function, index)
            if key in found:
                continue
            if isinstance(instruction, Free | Renew):
                value = points_to.places(flow.thread, function, instruction.address, 1)
                found[key] = None if value is None else frozenset(Place(base, None, 1) for base, _, _ in value)
            elif isinstance(instruction, MEMORY_ACCESSES):
                found[key] = points_to.places(flow.thread, function, instruction.address, instruction.size)
    return found


class _Atoms:
    """The atoms of objects that threads share: accessed bytes, joined where accesses overlap, and `several` for the
    rest of objects that are accessed at places that are not known."""

    def __init__(self, points_to: PointsTo, places: Accesses, atoms: list[Atom]) -> None:
        self._shared = points_to.escaping()
        spans: dict[Base, set[tuple[int, int]]] = defaultdict(set)
        blurred = set[Base]()
        for found in places.values():
            for base, offset, size in found or ():
                if base not in self._shared:
                    continue
                if offset is None:
                    blurred.add(base)
                else:
                    spans[base].add((offset, offset + size))
        self._atoms = atoms
        self._of: dict[Base, list[int]] = {}
        for base in [*spans, *(base for base in sorted(blurred, key=str) if base not in spans)]:
            self._of[base] = list(self._make(base, _merged(spans.get(base, set())), base in blurred))

    def _make(self, base: Base, spans: list[tuple[int, int]], blurred: bool) -> Iterator[int]:
        heap = isinstance(base, Allocation)
        for start, end in spans:
            self._atoms.append(Atom(base, start, end, heap))
            yield len(self._atoms) - 1
        if blurred:
            self._atoms.append(Atom(base, None, None, True))
            yield len(self._atoms) - 1

    def reached(self, places: frozenset[Place] | None) -> tuple[int, ...]:
        if places is None:
            return tuple(range(len(self._atoms)))
        found = set[int]()
        for base, offset, size in places:
            for number in self._of.get(base, ()):
                start, end = self._atoms[number].start, self._atoms[number].end
                if offset is None or (start is not None and end is not None and start < offset + size and offset < end):
                    found.add(number)
        return tuple(sorted(found))


def _merged(spans: set[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


# --- events


def _add_events(graph: EventGraph, flow: FlowGraph, places: Accesses, atoms: _Atoms, overlaps: Concurrency) -> None:
    mine = graph.of_thread[flow.thread] = []
    reachable = _reachable(flow)
    for node, (instruction, place) in enumerate(zip(flow.instruction, flow.place, strict=True)):
        directions = _directions(instruction)
        if not directions or not reachable[node]:
            continue
        reached = atoms.reached(places[(flow.thread, *place)])
        partners = overlaps.partners(flow.thread, node) if reached else frozenset[int]()
        locked = graph.rules.locked and len(directions) > 1
        for direction in directions:
            order = getattr(instruction, "order", Order.PLAIN)
            event = Event(
                len(graph.events),
                flow.thread,
                node,
                AccessPoint(*place),
                direction,
                reached if partners else (),
                locked,
                order,
                len(mine),
                partners,
            )
            mine.append(event)
            graph.events.append(event)


def _add_thread_events(graph: EventGraph, points_to: PointsTo) -> None:
    found = ThreadEvents(points_to, graph.flows)
    atom_of: dict[tuple[int, bool], int] = {}
    for item in found.all():
        key = (item.about, item.is_end)
        if key not in atom_of:
            atom_of[key] = len(graph.atoms)
            place = 1 if item.is_end else 0
            graph.atoms.append(Atom(Handle(item.about), place, place + 1, graph.threads[item.about].many))
        mine = graph.of_thread[item.thread]
        event = Event(
            len(graph.events),
            item.thread,
            item.node,
            AccessPoint(*graph.flows[item.thread].place[item.node]),
            item.direction,
            (atom_of[key],),
            True,
            Order.SEQ_CST,
            len(mine),
            item.partners,
            item.role,
        )
        mine.append(event)
        graph.events.append(event)


def _masks_by_place(events: list[Event]) -> dict[tuple[int | None, str], int]:
    """By atom and direction; None stands for all."""
    found: dict[tuple[int | None, str], int] = defaultdict(int)
    for event in events:
        for atom in (*event.atoms, None):
            found[atom, event.direction] |= 1 << event.bit
    return found


def _reachable(flow: FlowGraph) -> bytearray:
    found = bytearray(len(flow.instruction))
    pending = [0]
    found[0] = 1
    while pending:
        for step in flow.following[pending.pop()]:
            if not found[step]:
                found[step] = 1
                pending.append(step)
    return found


def _directions(instruction: Instruction | None) -> str:
    if isinstance(instruction, Load):
        return "R"
    if isinstance(instruction, Rmw | CompareExchange):
        return "RW"
    return "W" if isinstance(instruction, (*MEMORY_ACCESSES, Free, Renew)) else ""


# --- order


def _order(graph: EventGraph, flow: FlowGraph) -> None:
    events = graph.of_thread[flow.thread]
    bits = [0] * len(flow.instruction)
    for event in events:
        if event.role != BEGIN:  # nothing leads to it
            bits[event.node] |= 1 << event.bit
    order = ThreadOrder(graph, flow, events, bits)
    graph.orders.append(order)
    for event in events:
        order.fill(event)


class ThreadOrder:
    """What is reached from the nodes of a thread, without fences of each kind; computed when it is needed."""

    def __init__(self, graph: EventGraph, flow: FlowGraph, events: list[Event], bits: list[int]) -> None:
        self.graph, self.flow, self.bits = graph, flow, bits
        self.plain = reach(flow.following, bits)
        self.reads = _mask(event for event in events if event.direction == "R")
        self.writes = _mask(event for event in events if event.direction == "W")
        self.locked = _mask(event for event in events if event.locked)
        self.released = _mask(event for event in events if event.direction == "W" and event.order in RELEASES)
        self.acquired = _mask(
            event for event in events if event.direction == "R" and event.order in ACQUIRES - {Order.ACQUIRE_PC}
        )
        self._locked_nodes = {event.node for event in events if event.locked and event.role != BEGIN}
        self._without: dict[frozenset[int], Reached] = {}
        self._blocking: dict[str, frozenset[int]] = {}
        self._budget = MOST_SEARCHES

    def fill(self, event: Event) -> None:
        graph, rules, number = self.graph, self.graph.rules, event.number
        after = self.plain.after(event.node)
        if event.role == BEGIN:
            after |= self.bits[event.node]
        graph.after[number] = after
        unordered = ordered = 0
        is_resultless = rules.resultless and event.direction == "R" and self._has_no_result(event.node)
        for target, mask in (("R", self.reads), ("W", self.writes)):
            pair = event.direction + target
            if pair in rules.relaxed:
                reached = self.without("full" if is_resultless else pair)
                unordered |= reached.after(event.node) & mask
                ordered |= reached.beyond_blocking(event.node) & mask
        if event.direction == "R" and rules.dependencies and not is_resultless:
            unordered, ordered = self._by_dependencies(event, unordered, ordered)
        unordered = self._by_annotations(event, unordered & ~self.locked) if not event.locked else 0
        graph.unordered[number] = unordered
        graph.perhaps_ordered[number] = (after & ~unordered) | (ordered & after)
        if not rules.atomic_writes:
            graph.uncumulated[number] = 0 if event.role else self._uncumulated(event) & ~self.locked
            graph.without_full[number] = 0 if event.role else self.without("full").after(event.node) & ~self.locked

    def without(self, pair: str) -> Reached:
        """`pair` is one of directions, or `full`."""
        if pair not in self._blocking:
            self._blocking[pair] = frozenset(
                node for node in range(len(self.bits)) if self._blocks(node, self.flow.instruction[node], pair)
            )
        blocked = self._blocking[pair]
        if not blocked:
            return self.plain
        if blocked not in self._without:
            self._without[blocked] = reach(self.flow.following, self.bits, blocked.__contains__, self.plain)
        return self._without[blocked]

    def _blocks(self, node: int, instruction: Instruction | None, pair: str) -> bool:
        if isinstance(instruction, Fence):
            orders = FENCES[instruction.kind].orders
            return len(orders) == 4 if pair == "full" else pair in orders
        return self._orders_all(node)

    def _has_no_result(self, node: int) -> bool:
        instruction = self.flow.instruction[node]
        return isinstance(instruction, Rmw) and instruction.dst is None

    def _orders_all(self, node: int) -> bool:
        return node in self._locked_nodes or isinstance(self.flow.instruction[node], Spawn | Join | Exit)

    def _by_dependencies(self, event: Event, unordered: int, ordered: int) -> tuple[int, int]:
        if not unordered or self._budget <= 0:
            return unordered, ordered | unordered
        following = Following(
            self.flow,
            self.graph.rules.control_fences,
            self._orders_all,
            lambda node: self.bits[node] & self.reads,
            lambda node: self.bits[node] & self.writes,
            lambda node: self.without("RR").after(node) & self.reads,
            lambda node: self.without("RW").after(node) & self.writes,
        )
        found = follow_dependencies(following, event.node)
        self._budget -= found.states
        if not found.complete:
            return unordered, ordered | unordered
        return unordered & found.unordered, ordered | found.ordered

    def _by_annotations(self, event: Event, unordered: int) -> int:
        if not self.graph.rules.annotations:
            return unordered
        if event.direction == "R" and event.order in ACQUIRES:
            return 0
        if event.direction == "W" and event.order in RELEASES and self.graph.rules.name == "aarch64":
            unordered &= ~self.acquired  # not those of LDAPR
        return unordered & ~self.released

    def _uncumulated(self, event: Event) -> int:
        node, first = event.node, event.direction
        to_writes = self.without(first + "W").after(node) & self.writes
        to_reads = self.without("full" if first == "R" else "WR").after(node) & self.reads
        return to_writes | to_reads


def _mask(events: Iterator[Event]) -> int:
    found = 0
    for event in events:
        found |= 1 << event.bit
    return found
