"""Candidate executions of programs whose threads and objects come and go.

All threads run side by side, as far as it is known how they go on. Then a read is given a source: one of the writes
that are there, or one that is still to come; in the second case the read is asked again when there are new writes. So
every choice of sources is found exactly once, but for those in which a thread goes where it goes only because of a
write that it makes there: what justifies nothing but itself is no execution. Every model that comes with Dekker forbids
those, by the control dependencies that they would need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace

from dekker.engines.axiomatic.alone import run_alone
from dekker.engines.axiomatic.candidates import INITIAL, Structure, build, is_settled
from dekker.engines.axiomatic.overlaps import Place
from dekker.engines.axiomatic.own_values import join_of
from dekker.engines.axiomatic.path import UNBORN, Context, Discovered, Path, PathEvent, World, await_targets
from dekker.engines.axiomatic.paths import first_path
from dekker.engines.axiomatic.rounds import program_loops
from dekker.engines.axiomatic.steps import SYNCHRONISATION_START, advance, header_of
from dekker.engines.axiomatic.terms import Symbol, Term, resolve, symbols
from dekker.engines.axiomatic.threads import deciding_term, is_ready, spawned_path, stands_at_join
from dekker.engines.axiomatic.unset import unset_byte
from dekker.ir.flow import begins_alone
from dekker.ir.instructions import (
    Allocate,
    Call,
    Detach,
    EndScope,
    Free,
    Instruction,
    Join,
    Measure,
    Recycle,
    Spawn,
)
from dekker.ir.layout import Layout
from dekker.ir.memory import InitialMemory
from dekker.ir.passes.reuse import reuses_freed_memory
from dekker.ir.program import Program
from dekker.ir.undefined import partly
from dekker.ir.unset import may_be_undefined
from dekker.records import dataclass
from dekker.task import Limits

DYNAMIC = (Spawn, Join, Detach, Allocate, Free, EndScope, Measure, Recycle, Call)


class NewFields(Exception):
    """A part of an allocated object was accessed that freeing it did not write to, a thread writes where another relied
    on nobody else writing, or an object was freed that nobody could have allocated again: start again."""


def is_dynamic(program: Program) -> bool:
    """Whether what threads do cannot be said before it is known what they read: which threads and objects there are,
    or where something indeterminate decides; or the first thread is alone for a while, where that is no event."""
    steps = (item for function in program.functions for item in function.body)
    return any(isinstance(item, DYNAMIC) for item in steps) or may_be_undefined(program) or begins_alone(program)


@dataclass(frozen=True)
class _State:
    """`asked` are the reads without a source, with the writes that are known not to be it."""

    paths: tuple[Path, ...]
    known: dict[Symbol, Term] = field(default_factory=dict)
    sources: dict[Place, Place] = field(default_factory=dict)
    asked: dict[Place, frozenset[Place]] = field(default_factory=dict)


class Growth:
    """`is_possible` says of a candidate in which reads have no source yet whether the model may still accept it.
    `coherent`: the model lets no read see a write of its own thread that comes later, nor one that it overwrote.
    `unresolved` counts, as far as they are met, choices of sources that justify nothing but themselves."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        limits: Limits,
        discovered: Discovered,
        coherent: bool,
        is_possible: Callable[[Structure], bool],
        check_limits: Callable[[], None],
    ) -> None:
        self.program = program
        self.limits = limits
        self.layout = layout
        self.memory = InitialMemory(program, layout)
        self.discovered = discovered
        self.coherent = coherent
        self.may_be_undefined = may_be_undefined(program)
        self.is_possible = is_possible
        self.check_limits = check_limits
        self.numbers: dict[tuple[int, int], int] = {}
        self.await_targets = await_targets(program)
        self.loops = program_loops(program)
        self.reuses = reuses_freed_memory(program)
        self.frees = any(_releases(item) for function in program.functions for item in function.body)
        self.unresolved = 0

    def structures(self) -> Iterator[Structure]:
        threads = range(len(self.program.threads))
        paths = [first_path(self.program, self.layout, thread) for thread in threads]
        if begins_alone(self.program):
            paths[0], self.memory = run_alone(self._context(_State(tuple(paths)), 0), paths[0], self.memory)
        yield from self._grow(_State(tuple(paths)))

    def _context(self, state: _State, thread: int) -> Context:
        world = self._world(state)
        targets, undefined = self.await_targets, self.may_be_undefined
        return Context(self.program, self.layout, thread, self.limits, targets, self.loops, world, undefined)

    def _world(self, state: _State) -> World:
        return World(state.paths, state.known, state.sources, self.discovered, self.numbers)

    # --- threads

    def _grow(self, state: _State) -> Iterator[Structure]:
        self.check_limits()
        for grown in self._run_threads(state):
            if self._is_consistent(grown):
                yield from self._give_source(grown)

    def _run_threads(self, state: _State) -> Iterator[_State]:
        """Until no thread can go on, in every way."""
        pending = [state]
        while pending:
            state = pending.pop()
            thread = self._runnable(state)
            if thread is None:
                yield state
                continue
            path = state.paths[thread]
            ways = list(advance(self._context(state, thread), path))
            pending += [self._with_path(state, thread, way) for way in reversed(ways)]

    def _runnable(self, state: _State) -> int | None:
        running = (thread for thread, path in enumerate(state.paths) if path.status == "running")
        return next((t for t in running if is_ready(self._context(state, t), state.paths[t])), None)

    def _with_path(self, state: _State, thread: int, path: Path) -> _State:
        before = state.paths[thread]
        paths = list(state.paths)
        paths[thread] = path
        asked = dict(state.asked)
        for child in path.spawned[len(before.spawned) :]:
            paths += [UNBORN] * (child.thread + 1 - len(paths))
            paths[child.thread] = spawned_path(self._context(state, child.thread), child)
            asked[child.thread, 0] = frozenset()
        for index in range(len(before.events), len(path.events)):
            if path.events[index].kind == "R":
                asked[thread, index] = frozenset()
        return replace(state, paths=tuple(paths), asked=asked)

    # --- sources

    def _give_source(self, state: _State) -> Iterator[Structure]:
        if not state.asked:
            yield from self._finish(state)
            return
        choice = self._next_read(state)
        if choice is None:
            self.unresolved += all(path.status != "running" for path in state.paths)
            return
        read, candidates, is_last_chance = choice
        if is_last_chance:
            yield from self._complete(state, build(state.paths, self.memory, state.known, state.sources))
            return
        rest = {place: seen for place, seen in state.asked.items() if place != read}
        for source, value in candidates:
            known = {**state.known, Symbol(*read): value}
            chosen = replace(state, known=known, sources={**state.sources, read: source}, asked=rest)
            yield from self._grow(chosen)
        seen = state.asked[read] | {source for source, _ in candidates}
        yield from self._give_source(replace(state, asked={**rest, read: seen}))

    def _complete(self, state: _State, partial: Structure) -> Iterator[Structure]:
        """All events are there, only sources are missing."""
        self.check_limits()
        if not self.is_possible(partial) or not self._is_consistent(state):
            return
        choice = self._next_read(state)
        if choice is None:
            if state.asked:
                self.unresolved += 1
            else:
                yield from self._finish(state)
            return
        read, candidates, _ = choice
        rest = {place: seen for place, seen in state.asked.items() if place != read}
        event = partial.events[partial.numbers[read]]
        for source, value in candidates:
            known = {**state.known, Symbol(*read): value}
            chosen = replace(state, known=known, sources={**state.sources, read: source}, asked=rest)
            initial = partial.writes[event.address, event.size][0]
            rf = list(partial.rf)
            rf[initial if source == INITIAL else partial.numbers[source]] |= 1 << partial.numbers[read]
            yield from self._complete(chosen, replace(partial, rf=rf))

    def _next_read(self, state: _State) -> tuple[Place, list[tuple[Place, Term]], bool] | None:
        """A read that has not been asked about all writes that are there, those writes, and whether they are all that
        there will ever be. As long as threads go on or addresses are open, it is one that has a say in that."""
        wanted = self._decisive_reads(state)
        asked = {place: seen for place, seen in state.asked.items() if not wanted or Symbol(*place) in wanted}
        best: tuple[Place, list[tuple[Place, Term]]] | None = None
        for read, seen in asked.items():
            candidates = [item for item in self._candidates(state, read) if item[0] not in seen]
            if candidates and (best is None or len(candidates) < len(best[1])):
                best = read, candidates
        return None if best is None else (*best, not wanted)

    def _decisive_reads(self, state: _State) -> set[Symbol]:
        """Those that threads wait for, or that addresses depend on. None if all writes are there."""
        terms = [
            deciding_term(self._context(state, thread), path)
            for thread, path in enumerate(state.paths)
            if path.status == "running"
        ]
        events = [event for path in state.paths for event in path.events if event.kind != "F"]
        terms += [resolve(event.address.term, state.known) for event in events]
        return set[Symbol]().union(*map(symbols, terms))

    def _candidates(self, state: _State, read: Place) -> Iterator[tuple[Place, Term]]:
        event = _event(state, read)
        address = resolve(event.address.term, state.known)
        if not isinstance(address, int):
            return
        if not event.waits and not self._is_overwritten(state, read, None, address):
            yield INITIAL, self._initial_value(state, address, event.size)
        for place, write in self._writes_to(state, address, event.size):
            if not self._is_overwritten(state, read, place, address):
                yield place, write.value.term

    def _initial_value(self, state: _State, address: int, size: int) -> Term:
        value = self.memory.read(address, size)
        if not self.may_be_undefined or address >= SYNCHRONISATION_START:
            return value
        return partly(value, self.memory.undefined(address, size, unset_byte(state.paths, address)))

    def _writes_to(self, state: _State, address: int, size: int) -> Iterator[tuple[Place, PathEvent]]:
        for thread, path in enumerate(state.paths):
            for index, event in enumerate(path.events):
                if event.kind == "W" and event.size == size and resolve(event.address.term, state.known) == address:
                    yield (thread, index), event

    def _is_overwritten(self, state: _State, read: Place, source: Place | None, address: int) -> bool:
        """Whether coherence rules the source out (None: the initial write): it comes later in the thread of the read,
        or there is another write between the two, in the order in which threads do things, start others and join
        them."""
        if not self.coherent:
            return False
        if source is not None and source[0] == read[0] and source[1] > read[1]:
            return True
        return any(
            place != source
            and self._comes_before(state, place, read)
            and (source is None or self._comes_before(state, source, place))
            for place, _ in self._writes_to(state, address, _event(state, read).size)
        )

    def _comes_before(self, state: _State, first: Place, second: Place) -> bool:
        """By what threads do, start and join."""
        (thread, index), (other, before) = first, second
        if thread == other:
            return index < before
        joined = join_of(state.paths[other], thread, self._world(state))
        if joined is not None and joined < before:
            return True
        start = state.sources.get((other, 0)) if other >= len(self.program.threads) else None
        return start is not None and start != INITIAL and self._comes_before(state, first, start)

    def _is_consistent(self, state: _State) -> bool:
        for path in state.paths:
            for term, expected in path.constraints:
                value = resolve(term, state.known)
                if isinstance(value, int) and bool(value) != expected:
                    return False
        return all(source == INITIAL or self._may_match(state, read, source) for read, source in state.sources.items())

    def _may_match(self, state: _State, read: Place, source: Place) -> bool:
        wanted = resolve(_event(state, read).address.term, state.known)
        return bool(wanted == resolve(_event(state, source).address.term, state.known))

    # --- the end

    def _finish(self, state: _State) -> Iterator[Structure]:
        """Threads that still run wait for one another to end."""
        for thread, path in enumerate(state.paths):
            if path.status == "running" and stands_at_join(path):
                (path,) = advance(self._context(state, thread), path)
                state = self._with_path(state, thread, path)
        paths = state.paths
        if any(path.status == "running" for path in paths) or not is_settled(paths, state.known):
            self.unresolved += 1
            return
        structure = replace(build(paths, self.memory, state.known, state.sources), reuses=self.reuses)
        if self.frees:
            self._note_fields(structure)
        if self.reuses:
            self._note_freed(structure)
        yield structure

    def _note_freed(self, structure: Structure) -> None:
        events = (event for path in structure.paths for event in path.events if event.release)
        released = {event.address.term for event in events}
        found = {
            (start, size)
            for path in structure.paths
            for start, size in path.objects
            if header_of(start) in released or start in path.released
        }
        if not found <= self.discovered.freed:
            self.discovered.freed |= found
            raise NewFields

    def _note_fields(self, structure: Structure) -> None:
        for path in structure.paths:
            for start, size in path.objects:
                found = {
                    (address - start, length) for address, length in structure.writes if start <= address < start + size
                }
                known = self.discovered.fields.get(start, frozenset())
                if not found <= known:
                    self.discovered.fields[start] = known | found
                    raise NewFields


def _releases(step: Instruction) -> bool:
    return isinstance(step, Free) or (isinstance(step, Allocate) and step.stack and not step.confined)


def _event(state: _State, place: Place) -> PathEvent:
    return state.paths[place[0]].events[place[1]]
