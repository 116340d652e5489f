"""Schedules of the search as traces: the form in which all engines deliver an execution.

What the first thread does before it starts another is left out, as far as it is deterministic; objects have the
addresses that a replay gives them; threads begin and end, and memory is released, by accesses to locations that stand
for it (`ir.layout`).
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise

from dekker.execution import FROM_INITIAL, Trace, TraceEvent
from dekker.ir.instructions import CompareExchange, Recycle
from dekker.ir.layout import HEADER_SIZE, end_address, header_address, heap_address, heap_use, start_address
from dekker.ir.program import Function, Program
from dekker.native import VIOLATIONS, Action
from dekker.records import dataclass

Location = tuple[int, int]
SYNCHRONISATION_SIZE = 8
SLOT_BITS = 32
_BEGINS_CONCURRENCY = frozenset(("spawn", "choice", "release", "begin", "failure"))


def function_of(program: Program, block: int) -> Function:
    """The code of threads comes first, then all functions."""
    n_threads = len(program.threads)
    if block < n_threads:
        return program.function_by_name[program.threads[block].function]
    return program.functions[block - n_threads]


@dataclass
class _Event:
    thread: int
    pc: int
    kind: str
    address: int = 0
    size: int = 0
    value: int = 0
    source: _Event | None = None
    rank: int = 0
    block: int = -1

    @property
    def location(self) -> Location:
        return self.address, self.size


@dataclass
class Run:
    """A schedule as events."""

    program: Program
    shifts: dict[int, int]
    """Where a replay puts an object less where the search has it, by the upper half of its address."""
    sizes: dict[int, int]
    """Of objects, by their start in a replay."""
    accessed: set[Location]
    events: dict[int, list[_Event]] = field(default_factory=dict)
    buffers: dict[int, list[_Event]] = field(default_factory=dict)
    last: dict[Location, _Event] = field(default_factory=dict)
    written: dict[Location, int] = field(default_factory=dict)
    alone: int = 0

    def add(self, event: _Event) -> _Event:
        self.events.setdefault(event.thread, []).append(event)
        return event

    def write(self, event: _Event) -> None:
        self.written[event.location] = event.rank = self.written.get(event.location, 0) + 1
        self.last[event.location] = event

    def source(self, thread: int, location: Location) -> _Event | None:
        own = [item for item in self.buffers.get(thread, []) if item.location == location]
        return own[-1] if own else self.last.get(location)

    def moved(self, value: int) -> int:
        """An address as in a replay."""
        return value + self.shifts.get(value >> SLOT_BITS, 0)

    def object_at(self, address: int) -> int | None:
        """The start of the allocated object around an address."""
        return next((start for start, size in self.sizes.items() if start <= address <= start + size), None)


def run_schedule(program: Program, schedule: list[Action]) -> Run:
    run = _prepared(program, schedule)
    begins = next((i for i, action in enumerate(schedule) if _begins_concurrency(program, action)), len(schedule))
    n_alone = begins if len(program.threads) == 1 else 0
    waits = next((i for i, action in enumerate(schedule[:n_alone]) if action[0] == "wait"), None)
    if waits is not None:  # for ever, since nobody else is there: a replay ends with the first round
        n_alone = waits
        schedule = schedule[:waits]
    for position, action in enumerate(schedule):
        if position < n_alone:
            _take_alone(run, action, schedule[position - 1] if position else None)
        else:
            _take(run, action)
    for event in [event for buffer in run.buffers.values() for event in buffer]:
        run.write(event)
    return run


def _begins_concurrency(program: Program, action: Action) -> bool:
    """A weak compare-exchange is a choice, too: it may fail for no reason. Which freed object to use again is none as
    long as nothing was freed."""
    kind, _, block, pc, *_ = action
    body = function_of(program, block).body
    step = body[pc] if kind in ("read", "write", "choice") and pc < len(body) else None
    if kind in _BEGINS_CONCURRENCY:
        return not isinstance(step, Recycle)
    return isinstance(step, CompareExchange) and step.weak


def _prepared(program: Program, schedule: list[Action]) -> Run:
    """Where objects go, and what is accessed: what releases an object writes to all of that."""
    run = Run(program, {}, {}, set())
    used: dict[int, int] = {}
    for kind, thread, _, _, address, size, value in schedule:
        if kind == "allocate":
            start = heap_address(thread, used.get(thread, 0))
            used[thread] = used.get(thread, 0) + heap_use(value)
            run.sizes[start] = value
            if address != start:
                run.shifts[address >> SLOT_BITS] = start - address
        elif kind in ("read", "write", "buffered"):
            run.accessed.add((run.moved(address), size))
    return run


def trace_of(program: Program, schedule: list[Action]) -> Trace | None:
    """None if no replay could follow: accesses of different sizes overlap."""
    run = run_schedule(program, schedule)
    locations = sorted({event.location for part in run.events.values() for event in part if event.kind in "RW"})
    overlaps = any(following < address + size for (address, size), (following, _) in pairwise(locations))
    return None if overlaps else _numbered(run)


def _numbered(run: Run) -> Trace:
    ordered = [event for thread in sorted(run.events) for event in run.events[thread]]
    first = 1 if run.alone else 0
    numbers = {id(event): number for number, event in enumerate(ordered, first)}
    events = [
        TraceEvent(
            *(event.thread, event.pc, event.kind, event.address, event.size, event.value, _link(event, numbers)),
            function=function_of(run.program, event.block).name if event.block >= 0 else "",
        )
        for event in ordered
    ]
    return (*([TraceEvent(0, 0, "P", value=run.alone)] if run.alone else []), *events)


def _link(event: _Event, numbers: dict[int, int]) -> int:
    if event.kind == "R":
        return FROM_INITIAL if event.source is None else numbers[id(event.source)]
    return event.rank


# --- actions


def _take_alone(run: Run, action: Action, before: Action | None) -> None:
    """Accesses and fences are counted, an update once."""
    is_update = action[0] == "write" and before is not None and before[0] == "read" and before[1:4] == action[1:4]
    if action[0] in ("read", "write", "buffered", "fence") and not is_update:
        run.alone += 1


def _take(run: Run, action: Action) -> None:
    kind, thread, block, pc, address, size, value = action
    place = run.moved(address)
    match kind:
        case "read":
            source = run.source(thread, (place, size))
            run.add(_Event(thread, pc, "R", place, size, run.moved(value), source, block=block))
        case "write" | "buffered":
            event = run.add(_Event(thread, pc, "W", place, size, run.moved(value), block=block))
            if kind == "write":
                run.write(event)
            else:
                run.buffers.setdefault(thread, []).append(event)
        case "commit":
            if run.buffers.get(thread):
                run.write(run.buffers[thread].pop(value))
        case "fence":
            run.add(_Event(thread, pc, "F"))
        case "choice":
            run.add(_Event(thread, pc, "C", value=run.moved(value)))
        case "release" | "renew":
            _write_to_parts(run, thread, pc, place)
        case "failure":
            _fail(run, action)
        case "allocate" | "wait":
            pass
        case _:
            _synchronise(run, action)


def _synchronise(run: Run, action: Action) -> None:
    """Threads begin and end."""
    kind, thread, _, pc, _, _, value = action
    size = SYNCHRONISATION_SIZE
    match kind:
        case "spawn":
            run.add(_Event(thread, pc, "F"))
            run.write(run.add(_Event(thread, pc, "W", start_address(value), size, 1)))
        case "begin":
            place = start_address(thread), size
            run.add(_Event(thread, 0, "R", *place, 1, run.last[place]))
            run.add(_Event(thread, 0, "F"))
        case "end":
            run.add(_Event(thread, pc, "F"))
            run.write(run.add(_Event(thread, pc, "W", end_address(thread), size, run.moved(value))))
        case "join":
            place = end_address(value), size
            run.add(_Event(thread, pc, "R", *place, run.last[place].value, run.last[place]))
            run.add(_Event(thread, pc, "F"))


def _write_to_parts(run: Run, thread: int, pc: int, start: int) -> None:
    run.write(run.add(_Event(thread, pc, "W", header_address(start), HEADER_SIZE)))
    inside = ((a, size) for a, size in run.accessed if start <= a and a + size <= start + run.sizes[start])
    for address, size in sorted(inside):
        run.write(run.add(_Event(thread, pc, "W", address, size)))


def _fail(run: Run, action: Action) -> None:
    """A second release is an event, too. What is read where nothing is may be anything: it is what was left."""
    _, thread, _, pc, address, _, kind = action
    start = run.object_at(run.moved(address))
    last = run.events.get(thread, [_Event(thread, pc, "")])[-1]
    if last.kind == "R" and last.pc == pc and last.address == run.moved(address) and last.source is not None:
        last.value = last.source.value
    if VIOLATIONS[kind] == "double free" and start is not None:
        _write_to_parts(run, thread, pc, start)
