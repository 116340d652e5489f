"""From one path per thread to candidate executions: choose a source for every read, then a coherence order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dekker.engines.axiomatic.overlaps import Location, Place, refuse_overlaps
from dekker.engines.axiomatic.path import Path, PathEvent, Value
from dekker.engines.axiomatic.terms import Symbol, Term, initially, resolve
from dekker.execution import INITIAL_THREAD, PRIMITIVE_RELATIONS, Event, Relation, empty_relation
from dekker.ir.layout import header_address
from dekker.ir.memory import InitialMemory
from dekker.records import dataclass

UNKNOWN = 0
"""In the place of values that are still open; models do not look at values."""

INITIAL: Place = (INITIAL_THREAD, 0)


@dataclass(frozen=True)
class Structure:
    """The events of all threads with everything known but coherence."""

    events: tuple[Event, ...]
    static_relations: dict[str, Relation]
    rf: Relation
    writes: dict[Location, list[int]]
    """Per location its writes, the initial one first."""
    known: dict[Symbol, Term]
    paths: tuple[Path, ...]
    memory: InitialMemory
    numbers: dict[Place, int]
    reuses: bool = False
    """Memory that was freed may be allocated again."""

    def path_event(self, event: Event) -> PathEvent:
        return self.paths[event.thread].events[event.index]

    def is_release(self, number: int) -> bool:
        event = self.events[number]
        return self._starts_free(event.address) if event.initial else self.path_event(event).release

    def _starts_free(self, address: int) -> bool:
        """Whether that was freed before there were other threads, and may be in use again."""
        return self.reuses and any(
            start in path.released and (start <= address < start + size or address == header_address(start))
            for path in self.paths
            for start, size in path.objects
        )

    def is_renewal(self, number: int) -> bool:
        event = self.events[number]
        return not event.initial and self.path_event(event).renewal

    def final_value(self, value: Value) -> int:
        term = resolve(value.term, self.known)
        assert isinstance(term, int), "every read has a source"
        return term


class Search:
    """Every way to give each read a source that agrees with all addresses, values and branch conditions.

    Sources are chosen read by read; what contradicts a condition is dropped as soon as that is known. `unresolved`
    counts the choices in which a value is justified by nothing but itself: those are no executions.
    """

    def __init__(self, paths: tuple[Path, ...], memory: InitialMemory, check_time: Callable[[], None]) -> None:
        self.paths = paths
        self.memory = memory
        self.check_time = check_time
        self.reads = [(place, event) for place, event in self.places() if event.kind == "R"]
        self.writes = [(place, event) for place, event in self.places() if event.kind == "W"]
        self.constraints = [constraint for path in paths for constraint in path.constraints]
        self.unresolved = 0

    def places(self) -> Iterator[tuple[Place, PathEvent]]:
        for thread, path in enumerate(self.paths):
            for index, event in enumerate(path.events):
                yield (thread, index), event

    def run(self) -> Iterator[tuple[dict[Symbol, Term], dict[Place, Place]]]:
        yield from self._choose({}, {}, [read for read, _ in self.reads])

    def _choose(
        self, known: dict[Symbol, Term], sources: dict[Place, Place], open_reads: list[Place]
    ) -> Iterator[tuple[dict[Symbol, Term], dict[Place, Place]]]:
        self.check_time()
        if not self._consistent(known, sources):
            return
        if not open_reads:
            if is_settled(self.paths, known):
                yield known, sources
            else:
                self.unresolved += 1
            return
        read = self._next_read(known, open_reads)
        rest = [other for other in open_reads if other != read]
        for source, value in self._sources(read, known):
            yield from self._choose({**known, Symbol(*read): value}, {**sources, read: source}, rest)

    def _event(self, place: Place) -> PathEvent:
        return self.paths[place[0]].events[place[1]]

    def _next_read(self, known: dict[Symbol, Term], open_reads: list[Place]) -> Place:
        """The first whose address is known, if there is one."""
        for read in open_reads:
            if isinstance(resolve(self._event(read).address.term, known), int):
                return read
        return open_reads[0]

    def _sources(self, read: Place, known: dict[Symbol, Term]) -> Iterator[tuple[Place, Term]]:
        event = self._event(read)
        address = resolve(event.address.term, known)
        yield INITIAL, initially(address, event.size, self.memory)
        for write, candidate in self.writes:
            if candidate.size != event.size:
                continue
            target = resolve(candidate.address.term, known)
            if target == address or not (isinstance(target, int) and isinstance(address, int)):
                yield write, candidate.value.term

    def _consistent(self, known: dict[Symbol, Term], sources: dict[Place, Place]) -> bool:
        for term, expected in self.constraints:
            value = resolve(term, known)
            if isinstance(value, int) and bool(value) != expected:
                return False
        return all(source == INITIAL or self._may_match(read, source, known) for read, source in sources.items())

    def _may_match(self, read: Place, source: Place, known: dict[Symbol, Term]) -> bool:
        wanted = resolve(self._event(read).address.term, known)
        written = resolve(self._event(source).address.term, known)
        return wanted == written or not (isinstance(wanted, int) and isinstance(written, int))


def is_settled(paths: Sequence[Path], known: dict[Symbol, Term]) -> bool:
    """Whether every value, address and condition has become a number."""
    events = (event for path in paths for event in path.events if event.kind != "F")
    terms = [term for event in events for term in (event.address.term, event.value.term)]
    terms += [term for path in paths for term, _ in path.constraints]
    terms += [value.term for path in paths if path.frames for value in path.frames[0].registers.values()]
    return all(isinstance(resolve(term, known), int) for term in terms)


def build(
    paths: tuple[Path, ...], memory: InitialMemory, known: dict[Symbol, Term], sources: dict[Place, Place]
) -> Structure:
    places = [((thread, i), event) for thread, path in enumerate(paths) for i, event in enumerate(path.events)]
    """Values may still be open, and reads without a source."""
    thread_events = {place: _concrete(place, event, known) for place, event in places}
    locations = sorted({(event.address, event.size) for event in thread_events.values() if event.accesses_memory})
    refuse_overlaps(locations, dict(places), thread_events)
    initial = [Event("W", INITIAL_THREAD, i, a, s, memory.read(a, s)) for i, (a, s) in enumerate(locations)]
    events = (*initial, *thread_events.values())
    number = {place: len(initial) + i for i, place in enumerate(thread_events)}
    initial_write = {location: i for i, location in enumerate(locations)}
    rf = empty_relation(len(events))
    for read, source in sources.items():
        event = thread_events[read]
        write = initial_write[event.address, event.size] if source == INITIAL else number[source]
        rf[write] |= 1 << number[read]
    writes = {location: [initial_write[location]] for location in locations}
    for place, event in thread_events.items():
        if event.kind == "W":
            writes[event.address, event.size].append(number[place])
    relations = static_relations(paths, number, len(events))
    relations["allocation"] = _after_allocation(paths, events, number)
    return Structure(events, relations, rf, writes, known, paths, memory, number)


def _after_allocation(paths: Sequence[Path], events: Sequence[Event], number: dict[Place, int]) -> Relation:
    rows = empty_relation(len(events))
    for thread, path in enumerate(paths):
        others = [(i, e) for i, e in enumerate(events) if e.accesses_memory and not e.initial and e.thread != thread]
        for (start, size), birth in zip(path.objects, path.births, strict=True):
            accesses = (i for i, e in others if start <= e.address < start + size or e.address == header_address(start))
            if birth < len(path.events):
                rows[number[thread, birth]] |= sum(1 << access for access in accesses)
    return rows


def _concrete(place: Place, event: PathEvent, known: dict[Symbol, Term]) -> Event:
    address, value = resolve(event.address.term, known), resolve(event.value.term, known)
    assert isinstance(address, int), "locations are known"
    value = value if isinstance(value, int) else UNKNOWN
    thread, index = place
    return Event(
        event.kind, thread, index, address, event.size, value, event.order, event.tags, event.fence, event.span
    )


def static_relations(paths: Sequence[Path], number: dict[Place, int], size: int) -> dict[str, Relation]:
    result = {name: empty_relation(size) for name in PRIMITIVE_RELATIONS if name not in ("rf", "co")}
    for thread, path in enumerate(paths):
        ids = [number[thread, index] for index in range(len(path.events))]
        for index, event in enumerate(path.events):
            target = 1 << ids[index]
            for earlier in ids[:index]:
                result["po"][earlier] |= target
            for name, sources in _dependencies(event):
                for source in (source for source in sources if source >= 0):
                    result[_dependency(name, path.events[source])][ids[source]] |= target
        for read, write, sort in path.updates:
            result[sort][ids[read]] |= 1 << ids[write]
    return result


def _dependency(name: str, source: PathEvent) -> str:
    """A dependency on a write comes through the status register of a store-conditional."""
    return name if source.kind == "R" else f"status-{name.removeprefix('pick-')}"


def _dependencies(event: PathEvent) -> Iterator[tuple[str, frozenset[int]]]:
    yield "ctrl", event.control
    yield "pick-ctrl", event.picked_control
    if event.kind != "F":
        name = "data" if event.loose else "addr"  # which orders the read alone, or also what comes behind it
        yield name, event.address.reads
        yield f"pick-{name}", event.address.picked
    if event.kind == "W":
        yield "data", event.value.reads
        yield "pick-data", event.value.picked


def order_with_prefix(prefix: Sequence[int], others: Sequence[int], size: int) -> Relation:
    """The writes of `prefix` in that order, all before the `others`, which are not ordered among themselves."""
    rows = empty_relation(size)
    after = sum(1 << write for write in others)
    for write in reversed(prefix):
        rows[write] = after
        after |= 1 << write
    return rows
