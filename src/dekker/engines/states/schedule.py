"""Schedules of the search as traces: the form in which all engines deliver an execution."""

from __future__ import annotations

from dataclasses import dataclass, field

from dekker.execution import FROM_INITIAL, Trace, TraceEvent
from dekker.native import Action


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


@dataclass
class _Run:
    """The memory and the buffers, as events."""

    events: dict[int, list[_Event]] = field(default_factory=dict)
    buffers: dict[int, list[_Event]] = field(default_factory=dict)
    last: dict[tuple[int, int], _Event] = field(default_factory=dict)
    written: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, event: _Event) -> _Event:
        self.events.setdefault(event.thread, []).append(event)
        return event

    def write(self, event: _Event) -> None:
        place = (event.address, event.size)
        self.written[place] = event.rank = self.written.get(place, 0) + 1
        self.last[place] = event

    def source(self, thread: int, address: int, size: int) -> _Event | None:
        own = [item for item in self.buffers.get(thread, []) if (item.address, item.size) == (address, size)]
        return own[-1] if own else self.last.get((address, size))


def trace_of(schedule: list[Action]) -> Trace:
    """Threads one after the other, each in program order. What is still buffered at the end is written in order."""
    run = _Run()
    for kind, thread, _, pc, address, size, value in schedule:
        match kind:
            case "read":
                source = run.source(thread, address, size)
                run.add(_Event(thread, pc, "R", address, size, value, source))
            case "write":
                run.write(run.add(_Event(thread, pc, "W", address, size, value)))
            case "buffered":
                event = run.add(_Event(thread, pc, "W", address, size, value))
                run.buffers.setdefault(thread, []).append(event)
            case "commit":
                run.write(run.buffers[thread].pop(value))
            case "fence":
                run.add(_Event(thread, pc, "F"))
            case "choice":
                run.add(_Event(thread, pc, "C", value=value))
    for buffer in run.buffers.values():
        for event in buffer:
            run.write(event)
    return _numbered(run)


def _numbered(run: _Run) -> Trace:
    ordered = [event for thread in sorted(run.events) for event in run.events[thread]]
    numbers = {id(event): number for number, event in enumerate(ordered)}
    return tuple(
        TraceEvent(event.thread, event.pc, event.kind, event.address, event.size, event.value, _link(event, numbers))
        for event in ordered
    )


def _link(event: _Event, numbers: dict[int, int]) -> int:
    if event.kind == "R":
        return FROM_INITIAL if event.source is None else numbers[id(event.source)]
    return event.rank
