"""The thread-modular search of section 7: N concrete threads, and whatever others do to memory.

    Init   every choice of N threads that the classes allow, at their beginnings
    Step   a concrete thread takes a step; if that changes memory, it becomes known as a global transition
    Env    another thread t takes a known global transition, if each concrete thread could be replaced by t: then t
           can exist beside all of them

R is kept as bit sets: for memory and N-1 threads, which local states complete them to a state in R. What an environment
transition needs is then an intersection of N such sets.

Everything that any number of threads can reach is covered: of a state with more threads, every choice of N is in R.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from itertools import combinations_with_replacement

from dekker.engines.modular.forbidden import Forbidden
from dekker.engines.modular.growth import Growth
from dekker.engines.modular.limits import LimitReached, Watch
from dekker.engines.modular.machine import GlobalId, LocalId, Machine, Move
from dekker.engines.modular.paths import Arrival, Environment, State, Taken
from dekker.engines.modular.reachability import Bad, FoundBad, has_failed
from dekker.records import dataclass

Threads = tuple[LocalId, ...]


@dataclass
class Covered:
    machine: Machine
    parents: dict[State, Arrival | None] = field(default_factory=dict)
    bad: list[Bad] = field(default_factory=list)
    growth: Growth = field(init=False)
    stopped_by: str | None = None

    def __post_init__(self) -> None:
        self.growth = Growth(self.machine, self.parents)


def cover(machine: Machine, concrete: int, forbidden: list[Forbidden], watch: Watch, *, first_only: bool) -> Covered:
    """`concrete` is N; the classes must have at least that many threads together."""
    search = _Search(Covered(machine), forbidden, watch, first_only)
    try:
        search.init(concrete)
        search.run()
    except FoundBad:
        pass
    except LimitReached as limit:
        search.covered.stopped_by = str(limit)
    except KeyboardInterrupt:
        search.covered.stopped_by = "interrupt"
    return search.covered


@dataclass
class _Search:
    covered: Covered
    forbidden: list[Forbidden]
    watch: Watch
    first_only: bool
    waiting: deque[State] = field(default_factory=deque)
    completions: dict[tuple[GlobalId, Threads], int] = field(default_factory=dict)
    transitions: dict[tuple[GlobalId, LocalId], tuple[tuple[GlobalId, int], ...]] = field(default_factory=dict)
    active: dict[GlobalId, int] = field(default_factory=dict)
    """Local states that have a global transition, by the memory that they need."""
    of_class: list[int] = field(default_factory=list)

    @property
    def machine(self) -> Machine:
        return self.covered.machine

    def init(self, concrete: int) -> None:
        classes = self.machine.system.classes
        self.of_class = [0] * len(classes)
        memory = self.machine.initial_global()
        for choice in combinations_with_replacement(range(len(classes)), concrete):
            counts = [(item.count, choice.count(number)) for number, item in enumerate(classes)]
            if all(most is None or used <= most for most, used in counts):
                threads = tuple(sorted(self.machine.initial_local(number) for number in choice))
                self.add((memory, threads), None)

    def run(self) -> None:
        while self.waiting and not self.covered.growth.is_enough:
            state = self.waiting.popleft()
            if has_failed(self.machine, state) or self.covered.growth.ends(state):
                continue
            self._step(state)
            self._env_for(state)
            self._env_by_threads_of(state)

    # --- Step

    def _step(self, state: State) -> None:
        memory, threads = state
        for thread in dict.fromkeys(threads):
            others = _without(threads, thread)
            for move, becomes, after, shift in self._outcomes(memory, thread):
                threads_after = self._shifted(_with(others, becomes), shift)
                self.add((after, threads_after), Taken(state, thread, move, becomes, after, shift))

    def _shifted(self, threads: Threads, shift: int) -> Threads:
        return tuple(sorted(self.machine.shifted(thread, shift) for thread in threads)) if shift else threads

    def _outcomes(self, memory: GlobalId, thread: LocalId) -> Iterator[tuple[Move, LocalId, GlobalId, int]]:
        machine = self.machine
        for move in machine.moves_of(thread):
            for written, becomes in machine.outcomes(thread, move, memory):
                after, shift = machine.written(memory, move.cell, written)
                yield move, becomes, after, shift

    # --- Env

    def _env_for(self, state: State) -> None:
        """Other threads that can exist beside those of a new state."""
        memory, threads = state
        beside = self.active.get(memory, 0)
        for thread in dict.fromkeys(threads):
            beside &= self.completions[memory, _without(threads, thread)]
        for other in _bits(self._allowed_beside(threads, beside)):
            for after, shift in self.transitions[memory, other]:
                self.add((after, self._shifted(threads, shift)), Environment(state, other, after, shift))

    def _env_by_threads_of(self, state: State) -> None:
        """A new state lets its threads exist beside others: which states gain by that?"""
        memory, threads = state
        active = self.active.get(memory, 0)
        for other in dict.fromkeys(threads):
            if not active >> other & 1:
                continue
            rest = _without(threads, other)
            completing = self.completions[memory, rest]
            for thread in dict.fromkeys(rest):
                completing &= self.completions.get((memory, _with(_without(rest, thread), other)), 0)
            completing = self._allowed_completions(rest, other, completing)
            for after, shift in self.transitions[memory, other]:
                new = completing if shift else completing & ~self.completions.get((after, rest), 0)
                for last in _bits(new):
                    target = _with(rest, last)
                    self.add((after, self._shifted(target, shift)), Environment((memory, target), other, after, shift))

    def _allowed_beside(self, threads: Threads, others: int) -> int:
        """Of the other threads, those of which the class can have one more than there are concrete ones."""
        for number, item in enumerate(self.machine.system.classes):
            if item.count is not None and self._count(threads, number) + 1 > item.count:
                others &= ~self.of_class[number]
        return others

    def _allowed_completions(self, rest: Threads, other: LocalId, completing: int) -> int:
        number = self.machine.locals[other].thread_class
        most = self.machine.system.classes[number].count
        if most is None:
            return completing
        used = self._count(rest, number) + 1
        if used > most:
            return 0
        return completing & ~self.of_class[number] if used + 1 > most else completing

    def _count(self, threads: Threads, number: int) -> int:
        return sum(self.machine.locals[thread].thread_class == number for thread in threads)

    # --- new states

    def add(self, state: State, step: Arrival | None) -> None:
        if state in self.covered.parents:
            return
        self.watch.new_state()
        self.covered.parents[state] = step
        self.waiting.append(state)
        memory, threads = state
        for thread in dict.fromkeys(threads):
            key = memory, _without(threads, thread)
            self.completions[key] = self.completions.get(key, 0) | 1 << thread
            if (memory, thread) not in self.transitions:
                self._know(memory, thread)
        self._judge(state)

    def _know(self, memory: GlobalId, thread: LocalId) -> None:
        self.of_class[self.machine.locals[thread].thread_class] |= 1 << thread
        outcomes = self._outcomes(memory, thread)
        changes = dict.fromkeys((after, shift) for _, _, after, shift in outcomes if after != memory or shift)
        self.transitions[memory, thread] = tuple(changes)
        if changes:
            self.active[memory] = self.active.get(memory, 0) | 1 << thread

    def _judge(self, state: State) -> None:
        found = [Bad(state, None, thread) for thread in state[1] if self.machine.locals[thread].failure is not None]
        found += [Bad(state, number) for number, item in enumerate(self.forbidden) if item.holds(*state)]
        self.covered.bad += found
        if found and self.first_only:
            raise FoundBad


def _without(threads: Threads, thread: LocalId) -> Threads:
    place = threads.index(thread)
    return threads[:place] + threads[place + 1 :]


def _with(threads: Threads, thread: LocalId) -> Threads:
    return tuple(sorted((*threads, thread)))


def _bits(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
