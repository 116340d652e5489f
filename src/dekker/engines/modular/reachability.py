"""Reachability for fixed threads: the rules INIT and STEP of Fig. 11.

A state is memory and the local states of all threads. Threads of one class are interchangeable, so the local states are
kept in order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field

from dekker.engines.modular.forbidden import Forbidden
from dekker.engines.modular.growth import Growth
from dekker.engines.modular.limits import LimitReached, Watch
from dekker.engines.modular.machine import GlobalId, LocalId, Machine
from dekker.engines.modular.paths import Arrival, State, Taken
from dekker.ir.thread_classes import AssumptionFails, Finale
from dekker.records import dataclass
from dekker.source import Span


@dataclass(frozen=True, slots=True)
class Bad:
    """`forbidden` is the number of the forbidden state, None for an error that a thread has run into, or that comes
    when all have ended (`finale`)."""

    state: State
    forbidden: int | None
    thread: LocalId | None = None
    finale: tuple[str, Span | None] | None = None


@dataclass
class Reached:
    """`growth` knows the states behind which the search did not go on, because a thread passes writes without bound."""

    machine: Machine
    parents: dict[State, Arrival | None] = field(default_factory=dict)
    final: set[State] = field(default_factory=set)
    bad: list[Bad] = field(default_factory=list)
    growth: Growth = field(init=False)
    stopped_by: str | None = None

    def __post_init__(self) -> None:
        self.growth = Growth(self.machine, self.parents)


class FoundBad(Exception):
    pass


def reach(
    machine: Machine, classes: list[int], forbidden: list[Forbidden], watch: Watch, *, first_only: bool
) -> Reached:
    """`classes` has the class of every thread."""
    search = _Search(Reached(machine), forbidden, watch, first_only)
    threads = tuple(sorted(machine.initial_local(number) for number in classes))
    try:
        search.add((machine.initial_global(), threads), None)
        search.run()
    except FoundBad:
        pass
    except LimitReached as limit:
        search.reached.stopped_by = str(limit)
    except KeyboardInterrupt:
        search.reached.stopped_by = "interrupt"
    return search.reached


def has_failed(machine: Machine, state: State) -> bool:
    """A thread has run into an error: what would follow is of no interest."""
    return any(machine.locals[thread].failure is not None for thread in state[1])


@dataclass
class _Search:
    reached: Reached
    forbidden: list[Forbidden]
    watch: Watch
    first_only: bool
    waiting: deque[State] = field(default_factory=deque)
    finales: dict[GlobalId, bool] = field(default_factory=dict)
    """States of memory with which main has gone on, and whether it came to its end."""

    def run(self) -> None:
        while self.waiting and not self.reached.growth.is_enough:
            state = self.waiting.popleft()
            if has_failed(self.reached.machine, state) or self.reached.growth.ends(state):
                continue
            if not self._expand(state):
                self._record_end(state)

    def _expand(self, state: State) -> bool:
        machine = self.reached.machine
        memory, threads = state
        moved = False
        last = -1
        for place, thread in enumerate(threads):
            if thread == last:
                continue
            last = thread
            for move in machine.moves_of(thread):
                for written, becomes in machine.outcomes(thread, move, memory):
                    moved = True
                    after, shift = machine.written(memory, move.cell, written)
                    all_after = (*threads[:place], *threads[place + 1 :], becomes)
                    if shift:
                        all_after = tuple(machine.shifted(item, shift) for item in all_after)
                    self.add((after, tuple(sorted(all_after))), Taken(state, thread, move, becomes, after, shift))
        return moved

    def _record_end(self, state: State) -> None:
        machine = self.reached.machine
        if not all(machine.has_ended(thread) for thread in state[1]):
            return
        if machine.system.finale is not None and state[0] not in self.finales:
            self.finales[state[0]] = self._go_on(state, machine.system.finale)
        if self.finales.get(state[0], True):
            self.reached.final.add(state)

    def _go_on(self, state: State, finale: Finale) -> bool:
        """Whether main comes to its end."""
        try:
            failure = finale(self.reached.machine.bytes(state[0]))
        except AssumptionFails:
            return False
        if failure is not None:
            self.reached.bad.append(Bad(state, None, None, failure))
            if self.first_only:
                raise FoundBad
        return failure is None

    def add(self, state: State, step: Taken | None) -> None:
        if state in self.reached.parents:
            return
        self.watch.new_state()
        self.reached.parents[state] = step
        self.waiting.append(state)
        self._judge(state)

    def _judge(self, state: State) -> None:
        machine = self.reached.machine
        found = [Bad(state, None, thread) for thread in state[1] if machine.locals[thread].failure is not None]
        found += [Bad(state, number) for number, item in enumerate(self.forbidden) if item.holds(*state)]
        self.reached.bad += found
        if found and self.first_only:
            raise FoundBad
