"""Executions by brute force: every source for every read, every order of the writes, no pruning, no stages.

It shares the oracle's paths and terms, and judges its search and its staged evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations, product

from dekker.cat.interpreter import evaluate
from dekker.cat.model import Model
from dekker.engines.axiomatic.candidates import static_relations
from dekker.engines.axiomatic.overlaps import Place
from dekker.engines.axiomatic.paths import Path, PathEvent, thread_paths
from dekker.engines.axiomatic.terms import Symbol, Term, resolve
from dekker.execution import INITIAL_THREAD, Event, Execution, as_seen_by, base_value, relation
from dekker.ir.layout import layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.task import Limits

Sources = dict[Place, Place | None]


def allowed_executions(program: Program, model: Model, unroll: int) -> Iterator[Execution]:
    """The complete executions that pass every check of the model."""
    for execution in _candidates(program, unroll):
        seen = Execution(execution.events, as_seen_by(execution.relations, model.uses))
        values = {item.name: base_value(item.name, seen) for item in model.program.inputs}
        results = evaluate(model.program, len(execution.events), values)
        if all(holds or check.flag for check, holds in zip(model.program.checks, results, strict=True)):
            yield execution


def _candidates(program: Program, unroll: int) -> Iterator[Execution]:
    places = layout(program)
    memory = InitialMemory(program, places)
    threads = [list(thread_paths(program, places, thread, Limits(unroll))) for thread in range(len(program.threads))]
    for paths in product(*threads):
        if all(path.status == "complete" for path in paths):
            yield from _with_sources(paths, memory)


def _with_sources(paths: tuple[Path, ...], memory: InitialMemory) -> Iterator[Execution]:
    events = {(thread, i): event for thread, path in enumerate(paths) for i, event in enumerate(path.events)}
    reads = [place for place, event in events.items() if event.kind == "R"]
    writes: list[Place | None] = [place for place, event in events.items() if event.kind == "W"]
    for chosen in product([None, *writes], repeat=len(reads)):
        sources = dict(zip(reads, chosen, strict=True))
        known = _values(events, sources, memory)
        if len(known) == len(reads) and _fits(paths, events, sources, known):
            yield from _with_coherence(paths, events, sources, known, memory)


def _values(events: dict[Place, PathEvent], sources: Sources, memory: InitialMemory) -> dict[Symbol, Term]:
    """The value of every read that follows from the sources."""
    known: dict[Symbol, Term] = {}
    changed = True
    while changed:
        changed = False
        for read, source in sources.items():
            if Symbol(*read) in known:
                continue
            value = _value(events, read, source, known, memory)
            if isinstance(value, int):
                known[Symbol(*read)] = value
                changed = True
    return known


def _value(
    events: dict[Place, PathEvent],
    read: Place,
    source: Place | None,
    known: dict[Symbol, Term],
    memory: InitialMemory,
) -> Term:
    if source is not None:
        return resolve(events[source].value.term, known)
    address = resolve(events[read].address.term, known)
    return memory.read(address, events[read].size) if isinstance(address, int) else address


def _fits(paths: tuple[Path, ...], events: dict[Place, PathEvent], sources: Sources, known: dict[Symbol, Term]) -> bool:
    conditions = (condition for path in paths for condition in path.constraints)
    if any(bool(resolve(term, known)) != expected for term, expected in conditions):
        return False
    return all(
        source is None or _location(events[read], known) == _location(events[source], known)
        for read, source in sources.items()
    )


def _location(event: PathEvent, known: dict[Symbol, Term]) -> tuple[int, int]:
    address = resolve(event.address.term, known)
    assert isinstance(address, int)
    return address, event.size


def _with_coherence(
    paths: tuple[Path, ...],
    events: dict[Place, PathEvent],
    sources: Sources,
    known: dict[Symbol, Term],
    memory: InitialMemory,
) -> Iterator[Execution]:
    concrete = {place: _concrete(place, event, known) for place, event in events.items()}
    locations = sorted({(event.address, event.size) for event in concrete.values() if event.accesses_memory})
    initial = [Event("W", INITIAL_THREAD, i, a, s, memory.read(a, s)) for i, (a, s) in enumerate(locations)]
    number = {place: len(initial) + i for i, place in enumerate(concrete)}
    everything = (*initial, *concrete.values())
    rf = [
        (
            locations.index((concrete[read].address, concrete[read].size)) if source is None else number[source],
            number[read],
        )
        for read, source in sources.items()
    ]
    static = static_relations(paths, number, len(everything))
    for orders in product(*(_orders(i, location, concrete, number) for i, location in enumerate(locations))):
        co = [pair for order in orders for pair in combinations(order, 2)]
        size = len(everything)
        yield Execution(everything, {**static, "rf": relation(size, rf), "co": relation(size, co)})


def _concrete(place: Place, event: PathEvent, known: dict[Symbol, Term]) -> Event:
    address, value = resolve(event.address.term, known), resolve(event.value.term, known)
    assert isinstance(address, int)
    assert isinstance(value, int)
    return Event(event.kind, *place, address, event.size, value, event.order, event.tags, event.fence)


def _orders(
    initial: int, location: tuple[int, int], events: dict[Place, Event], number: dict[Place, int]
) -> Iterator[tuple[int, ...]]:
    writes = [number[p] for p, e in events.items() if e.kind == "W" and (e.address, e.size) == location]
    yield from ((initial, *order) for order in permutations(writes))
