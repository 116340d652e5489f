"""From a trace to an execution: run the threads, then tie their events together.

Well-formed means: every read takes the value, at the address and of the size, of the write it reads from; the writes
of a location have ranks 1, 2, 3, …; accesses of different sizes do not overlap; no value comes out of thin air.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from dekker.execution import (
    FROM_INITIAL,
    INITIAL_THREAD,
    PRIMITIVE_RELATIONS,
    Event,
    Execution,
    Trace,
    empty_relation,
    pairs,
)
from dekker.ir.arithmetic import mask
from dekker.ir.conditions import Values
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue, Observable, RegisterValue, observables
from dekker.replay.machine import Mismatch, ThreadRun, run_thread
from dekker.replay.thin_air import Place, Shape, unjustified
from dekker.result import Violation

__all__ = ["Mismatch", "Replayed", "replay"]

Location = tuple[int, int]


@dataclass(frozen=True)
class Replayed:
    """An execution of a program. `instructions` says for each event which instruction did it (-1 for initial writes).
    `values` are the final values of everything that the property mentions."""

    execution: Execution
    instructions: tuple[int, ...]
    runs: tuple[ThreadRun, ...]
    values: Values
    violations: tuple[Violation, ...]

    def ended(self, how: str) -> list[int]:
        """The threads that ended that way."""
        return [run.thread for run in self.runs if run.end == how]


def replay(program: Program, trace: Trace) -> Replayed:
    """`Mismatch` if the trace is no execution of the program, whatever the memory model."""
    places = layout(program)
    runs = tuple(run_thread(program, places, thread, part) for thread, part in enumerate(_by_thread(program, trace)))
    execution = _Builder(program, places, trace, runs).execution()
    initial = sum(event.initial for event in execution.events)
    return Replayed(
        execution,
        (*[-1] * initial, *(done.instruction for run in runs for done in run.done)),
        runs,
        _final_values(program, places, runs, execution),
        tuple(_violations(places, runs, execution)),
    )


def _by_thread(program: Program, trace: Trace) -> list[Trace]:
    threads = [item.thread for item in trace]
    if threads != sorted(threads) or not all(0 <= thread < len(program.threads) for thread in threads):
        raise Mismatch("the threads of the trace are not those of the program, one after the other")
    return [tuple(item for item in trace if item.thread == thread) for thread in range(len(program.threads))]


class _Builder:
    def __init__(self, program: Program, places: Layout, trace: Trace, runs: tuple[ThreadRun, ...]) -> None:
        self.places = places
        self.memory = InitialMemory(program, places)
        self.runs = runs
        self.thread_events = [done.event for run in runs for done in run.done]
        self.locations = sorted({_location(event) for event in self.thread_events if event.accesses_memory})
        self.links = [item.link for item in trace if item.kind != "C"]
        positions = [position for position, item in enumerate(trace) if item.kind != "C"]
        self.event_at = {position: event for event, position in enumerate(positions, len(self.locations))}
        self.events = (*self._initial_writes(), *self.thread_events)
        self.relations = {name: empty_relation(len(self.events)) for name in PRIMITIVE_RELATIONS}

    def execution(self) -> Execution:
        self._refuse_overlaps()
        self._relate_threads()
        for number, link in enumerate(self.links, len(self.locations)):
            if self.events[number].kind == "R":
                self._read_from(number, link)
        self._refuse_thin_air()
        for location in self.locations:
            self._order_writes(location)
        return Execution(self.events, self.relations)

    def _initial_writes(self) -> Iterator[Event]:
        for index, (address, size) in enumerate(self.locations):
            yield Event("W", INITIAL_THREAD, index, address, size, self.memory.read(address, size))

    def _refuse_overlaps(self) -> None:
        for (address, size), (following, _) in pairwise(self.locations):
            if following < address + size:
                raise Mismatch(f"accesses of different sizes overlap at {self.places.show(following)}")

    def _add(self, name: str, source: int, target: int) -> None:
        self.relations[name][source] |= 1 << target

    def _relate_threads(self) -> None:
        first = len(self.locations)
        for run in self.runs:
            for later, done in enumerate(run.done):
                for earlier in range(later):
                    self._add("po", first + earlier, first + later)
                for name, sources in done.dependencies.items():
                    for source in sources:
                        from_write = run.done[source].event.kind == "W"
                        found = f"status-{name.removeprefix('pick-')}" if from_write else name
                        self._add(found, first + source, first + later)
            for read, write, sort in run.updates:
                self._add(sort, first + read, first + write)
            first += len(run.done)

    def _read_from(self, read: int, link: int) -> None:
        event = self.events[read]
        source = self.locations.index(_location(event)) if link == FROM_INITIAL else self.event_at.get(link)
        if source is None or self.events[source].kind != "W":
            raise Mismatch(f"{self._show(event)} takes its value from what is no write")
        write = self.events[source]
        if _location(write) != _location(event):
            raise Mismatch(f"{self._show(event)} takes its value from {self._show(write)}, which is elsewhere")
        if write.value != event.value:
            raise Mismatch(f"{self._show(event)} takes its value from {self._show(write)}, which wrote another one")
        self._add("rf", source, read)

    def _refuse_thin_air(self) -> None:
        done = {(run.thread, index): item for run in self.runs for index, item in enumerate(run.done)}
        origins: dict[Place, Shape] = {}
        for source, read in pairs(self.relations["rf"]):
            write, event = self.events[source], self.events[read]
            place = (event.thread, event.index)
            origins[place] = done[place].address if write.initial else done[write.thread, write.index].value
        values = {place: done[place].event.value for place in origins}
        for place in sorted(unjustified(origins, values)):
            raise Mismatch(f"{self._show(done[place].event)} takes a value that comes from nothing but itself")

    def _order_writes(self, location: Location) -> None:
        first = len(self.locations)
        ranks = {
            number: self.links[number - first]
            for number in range(first, len(self.events))
            if self.events[number].kind == "W" and _location(self.events[number]) == location
        }
        if sorted(ranks.values()) != list(range(1, len(ranks) + 1)):
            raise Mismatch(f"the writes to {self.places.show(location[0])} are not in one order, one after the other")
        order = [self.locations.index(location), *sorted(ranks, key=lambda number: ranks[number])]
        for earlier, later in combinations(order, 2):
            self._add("co", earlier, later)

    def _show(self, event: Event) -> str:
        place = self.places.show(event.address)
        owner = "the initial state" if event.initial else f"thread {event.thread}"
        return f"{event.kind} {place}={event.value} of {owner}"


def _location(event: Event) -> Location:
    return event.address, event.size


def _final_values(program: Program, places: Layout, runs: tuple[ThreadRun, ...], execution: Execution) -> Values:
    prop = program.property
    wanted: dict[Observable, None] = dict.fromkeys(prop.observed)
    for formula in (prop.condition.formula if prop.condition else None, prop.filter):
        wanted.update(dict.fromkeys(observables(formula) if formula is not None else ()))
    memory = InitialMemory(program, places)
    written: dict[int, int] = {}
    for number, event in enumerate(execution.events):
        if event.kind == "W" and not execution.relations["co"][number]:
            written.update({event.address + i: event.value >> 8 * i & 0xFF for i in range(event.size)})

    def byte(address: int) -> int:
        return written[address] if address in written else memory.read(address, 1)

    def final(item: Observable) -> int:
        if isinstance(item, RegisterValue):
            return runs[item.thread].registers.get(item.register, 0) & mask(item.width)
        assert isinstance(item, MemoryValue)
        start = places.starts[item.symbol] + item.offset
        return sum(byte(start + i) << 8 * i for i in range(item.size))

    return {item: final(item) for item in wanted}


def _violations(places: Layout, runs: tuple[ThreadRun, ...], execution: Execution) -> Iterator[Violation]:
    for run in runs:
        if run.end == "failed":
            yield Violation("assertion", run.failure, run.failure_span)
    for event in execution.events:
        if event.accesses_memory and not event.initial and not places.contains(event.address, event.size):
            message = f"access to {event.size} bytes at {event.address:#x}, which lie in no object"
            yield Violation("memory", message, event.span)
