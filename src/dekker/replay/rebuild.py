"""From a trace to an execution: run the threads, then tie their events together.

Well-formed means: every read takes the value, at the address and of the size, of the write it reads from; the writes
of a location have ranks 1, 2, 3, …; accesses of different sizes do not overlap; no value comes out of thin air.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise, takewhile

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
from dekker.ir.layout import header_address, layout, thread_at
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue, Observable, RegisterValue, observables
from dekker.records import dataclass
from dekker.replay.failures import failures
from dekker.replay.machine import Done, Failure, Mismatch, ThreadRun
from dekker.replay.thin_air import Place, Shape, unjustified
from dekker.replay.threads import Runs, run_threads
from dekker.replay.world import World
from dekker.result import Violation

__all__ = ["Mismatch", "Replayed", "replay"]

Location = tuple[int, int]

NO_EVENTS = "CP"
HEADER_DISTANCE = -header_address(0)


@dataclass(frozen=True)
class Replayed:
    """An execution of a program. `instructions` says for each event which instruction did it (-1 for initial writes).
    `values` are the final values of everything that the property mentions; `failures` is all that goes wrong."""

    execution: Execution
    instructions: tuple[int, ...]
    runs: tuple[ThreadRun, ...]
    values: Values
    failures: tuple[Failure, ...]
    world: World

    @property
    def violations(self) -> tuple[Violation, ...]:
        """In the words of engines."""
        return tuple(Violation(item.kind, item.message, item.span) for item in self.failures)

    def ended(self, how: str) -> list[int]:
        """The threads that ended that way."""
        return [run.thread for run in self.runs if run.end == how]

    def number_of(self, event: Event) -> int:
        """Its position among all events."""
        before = (len(run.done) for run in self.runs[: event.thread])
        return len(self.execution.events) - sum(len(run.done) for run in self.runs) + sum(before) + event.index

    def done(self, event: Event) -> Done:
        return self.runs[event.thread].done[event.index]


_latest: list[tuple[Program, Trace, Replayed]] = []


def replay(program: Program, trace: Trace) -> Replayed:
    """`Mismatch` if the trace is no execution of the program, whatever the memory model. The latest result is kept:
    several questions are asked about one execution."""
    for known, same, replayed in _latest:
        if known is program and same == trace:
            return replayed
    replayed = _replay(program, trace)
    _latest[:] = [(program, trace, replayed)]
    return replayed


def _replay(program: Program, trace: Trace) -> Replayed:
    places = layout(program)
    ran = run_threads(program, places, trace)
    execution = _Builder(ran, trace).execution()
    initial = sum(event.initial for event in execution.events)
    return Replayed(
        execution,
        (*[-1] * initial, *(done.instruction for run in ran.threads for done in run.done)),
        ran.threads,
        _final_values(program, ran, execution),
        tuple(failures(ran.world, ran.threads, execution)),
        ran.world,
    )


class _Builder:
    def __init__(self, ran: Runs, trace: Trace) -> None:
        self.world = ran.world
        self.places = ran.world.places
        self.runs = ran.threads
        self.thread_events = [done.event for run in ran.threads for done in run.done]
        self.locations = sorted({_location(event) for event in self.thread_events if event.accesses_memory})
        self.links = [item.link for item in trace if item.kind not in NO_EVENTS]
        positions = [position for position, item in enumerate(trace) if item.kind not in NO_EVENTS]
        self.event_at = {position: event for event, position in enumerate(positions, len(self.locations))}
        self.events = (*self._initial_writes(), *self.thread_events)
        self.relations = {name: empty_relation(len(self.events)) for name in PRIMITIVE_RELATIONS}

    def execution(self) -> Execution:
        self._refuse_overlaps()
        self._relate_threads()
        self._relate_allocations()
        for number, link in enumerate(self.links, len(self.locations)):
            if self.events[number].kind == "R":
                self._read_from(number, link)
        self._demand_releases()
        self._refuse_thin_air()
        for location in self.locations:
            self._order_writes(location)
        return Execution(self.events, self.relations)

    def _initial_writes(self) -> Iterator[Event]:
        for index, (address, size) in enumerate(self.locations):
            yield Event("W", INITIAL_THREAD, index, address, size, self.world.read(address, size))

    def _refuse_overlaps(self) -> None:
        for (address, size), (following, _) in pairwise(self.locations):
            if following < address + size:
                raise Mismatch(f"accesses of different sizes overlap at {self.places.show(following)}")

    def _add(self, name: str, source: int, target: int) -> None:
        self.relations[name][source] |= 1 << target

    def _relate_threads(self) -> None:
        first = len(self.locations)
        for run in self.runs:
            end = first + len(run.done)
            for later, done in enumerate(run.done):
                self.relations["po"][first + later] = (1 << end) - (2 << first + later)
                for name, sources in done.dependencies.items():
                    for source in sources:
                        from_write = run.done[source].event.kind == "W"
                        found = f"status-{name.removeprefix('pick-')}" if from_write else name
                        self._add(found, first + source, first + later)
            for read, write, sort in run.updates:
                self._add(sort, first + read, first + write)
            first += len(run.done)

    def _relate_allocations(self) -> None:
        """Accesses of other threads come after what the thread did next."""
        firsts = [len(self.locations)]
        for run in self.runs:
            firsts.append(firsts[-1] + len(run.done))
        for number, event in enumerate(self.thread_events, len(self.locations)):
            found = self.world.object_of(event.address) if event.accesses_memory else None
            if found is None or found.thread == event.thread:
                continue
            behind = firsts[found.thread] + found.birth
            if behind < firsts[found.thread + 1]:
                self._add("allocation", behind, number)

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
        if write.initial and self._is_synchronisation(event):
            raise Mismatch(f"{self._show(event)} should see that a thread began or ended, but sees the initial state")
        self._add("rf", source, read)

    def _is_synchronisation(self, event: Event) -> bool:
        thread = thread_at(event.address)
        return thread is not None and thread < len(self.runs)

    def _demand_releases(self) -> None:
        """Freeing an object, and allocating it again, writes to all of its parts that are accessed."""
        for run in self.runs:
            for index, done in enumerate(run.done):
                start = done.event.address + HEADER_DISTANCE
                freed = self.world.allocations.get(start) if done.release or done.renewal else None
                if freed is None:
                    continue
                of_instruction = takewhile(partial(_is_alike, done), run.done[index:])
                parts = {_location(item.event) for item in of_instruction}
                for address, size in self.locations:
                    if freed.contains(address, size) and (address, size) not in parts:
                        what = "free" if done.release else "new allocation"
                        raise Mismatch(
                            f"the {what} of {self.places.show(start)} leaves out {size} bytes at {address:#x}"
                        )

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


def _is_alike(first: Done, second: Done) -> bool:
    return (first.release, first.renewal) == (second.release, second.renewal)


def _location(event: Event) -> Location:
    return event.address, event.size


def _final_values(program: Program, ran: Runs, execution: Execution) -> Values:
    runs, world, places = ran.threads, ran.world, ran.world.places
    prop = program.property
    wanted: dict[Observable, None] = dict.fromkeys(prop.observed)
    for formula in (prop.condition.formula if prop.condition else None, prop.filter):
        wanted.update(dict.fromkeys(observables(formula) if formula is not None else ()))
    written: dict[int, int] = {}
    for number, event in enumerate(execution.events):
        if event.kind == "W" and not execution.relations["co"][number]:
            written.update({event.address + i: event.value >> 8 * i & 0xFF for i in range(event.size)})

    def byte(address: int) -> int:
        return written[address] if address in written else world.read(address, 1)

    def final(item: Observable) -> int:
        if isinstance(item, RegisterValue):
            return runs[item.thread].registers.get(item.register, 0) & mask(item.width)
        assert isinstance(item, MemoryValue)
        start = places.starts[item.symbol] + item.offset
        return sum(byte(start + i) << 8 * i for i in range(item.size))

    return {item: final(item) for item in wanted}
