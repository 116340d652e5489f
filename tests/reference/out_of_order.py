"""An out-of-order machine: every final state of a program without loops under RMO, by exhaustive search.

First each thread guesses which way its branches go and which of its store-conditionals succeed. Then the accesses on
that path are done one by one, in any order that the following allows; runs whose guesses turn out wrong are dropped.

- An access waits for the values that its address and its stored value are computed from.
- A load takes the value of the newest earlier own store to its location that has not reached memory, else it reads
  memory. It may run ahead of branches, of other loads, and of stores whose address is not known yet; if it turns out
  that it missed one of those, the run is dropped.
- A store is settled once its address and value and all branches before it are known. Only a settled store passes its
  value on to loads. It reaches memory some time after, when all earlier accesses that are known to go to the same
  location are done; if another turns out to go there, the run is dropped.
- A fence makes accesses behind it wait for those in front of it, according to the pairs it orders.
- Read-modify-writes, compare-exchanges (even those that fail), and a load-linked and store-conditional that succeed,
  wait for everything before them and are waited for by everything behind them.
- A store-conditional cannot succeed if a store of another thread to the location came between.

Left out: loops, and what the store-buffer machines leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from tests.reference.store_buffers import Location, evaluate

from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.expressions import Const, Expr, registers
from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
    Assign,
    Assume,
    Branch,
    Choose,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.layout import layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Function, Program
from dekker.ir.property import Observable, RegisterValue

Access = Load | Store | StoreConditional | Rmw | CompareExchange


@dataclass(frozen=True)
class Guess:
    """The condition is thought to be (not) 0."""

    condition: Expr
    outcome: bool


Path = tuple[Instruction | Guess, ...]
"""What remains when all choices are made: accesses, assignments, fences and guesses. A load is `exclusive` only if its
store-conditional succeeds."""


class Done(NamedTuple):
    """What an access did. `source` is the position of the own store that passed its value to this load, -1 if none."""

    location: Location
    results: tuple[tuple[str | None, int], ...] = ()
    source: int = -1


class State(NamedTuple):
    """Per thread and position of its path what was done there, if anything."""

    done: tuple[tuple[Done | None, ...], ...]
    memory: frozenset[tuple[Location, int]] = frozenset()


def explore(program: Program) -> set[tuple[int, ...]]:
    """Final states, as values of `Property.observed`."""
    functions = [program.function_by_name[thread.function] for thread in program.threads]
    final: set[tuple[int, ...]] = set()
    for choice in product(*(list(paths(function)) for function in functions)):
        final |= _Machine(program, choice).final_states()
    return final


def paths(function: Function, position: int = 0, path: Path = (), linked: int | None = None) -> Iterator[Path]:
    """All ways through the function. `linked` is where the load-linked stands that a store-conditional pairs with."""
    if position >= len(function.body):
        yield path
        return
    match instruction := function.body[position]:
        case Branch(condition, target):
            for goal, outcome in ((position + 1, False), (function.labels[target], True)):
                yield from paths(function, goal, (*path, Guess(condition, outcome)), linked)
        case Jump(target):
            if function.labels[target] <= position:
                raise NotImplementedError("loop")
            yield from paths(function, function.labels[target], path, linked)
        case Assume(condition):
            yield from paths(function, position + 1, (*path, Guess(condition, True)), linked)
        case Choose(dst, low, high):
            for value in range(low, high + 1):
                yield from paths(function, position + 1, (*path, Assign(dst, Const(value))), linked)
        case Load(exclusive=True):
            yield from paths(function, position + 1, (*path, replace(instruction, exclusive=False)), len(path))
        case StoreConditional(status):
            yield from paths(function, position + 1, (*path, Assign(status, Const(1))))
            if linked is not None:
                load = path[linked]
                assert isinstance(load, Load)
                paired = (*path[:linked], replace(load, exclusive=True), *path[linked + 1 :])
                yield from paths(function, position + 1, (*paired, instruction, Assign(status, Const(0))))
        case Exit(everything=False) | Return():
            yield path
        case Assign() | Load() | Store() | Rmw() | CompareExchange() | Fence():
            yield from paths(function, position + 1, (*path, instruction), linked)
        case _:
            raise NotImplementedError(type(instruction).__name__)


def locked(item: Instruction | Guess) -> bool:
    return isinstance(item, Rmw | CompareExchange | StoreConditional) or (isinstance(item, Load) and item.exclusive)


def kept_in_order(path: Path, first: int, second: int) -> bool:
    """Whether an access waits for an earlier one, whatever their locations and values."""
    if locked(path[first]) or locked(path[second]):
        return True
    pair = "".join("R" if isinstance(path[position], Load) else "W" for position in (first, second))
    return any(isinstance(item, Fence) and pair in FENCES[item.kind].orders for item in path[first:second])


class _Thread:
    """One thread in one state: what is known by now."""

    def __init__(self, machine: _Machine, number: int, done: tuple[Done | None, ...]) -> None:
        self.machine = machine
        self.path = machine.paths[number]
        self.initial = machine.registers[number]
        self.done = done

    def accesses(self, until: int) -> Iterator[tuple[int, Access]]:
        for position, item in enumerate(self.path[:until]):
            if isinstance(item, Access):
                yield position, item

    def register(self, name: str, position: int) -> int | None:
        """The register as the instruction at `position` sees it; None if it is not known yet."""
        for earlier in reversed(range(position)):
            match self.path[earlier]:
                case Assign(dst, value) if dst == name:
                    return self.value(value, earlier)
                case Load(dst) | Rmw(dst) if dst == name:
                    return self._result(name, earlier)
                case CompareExchange(dst, success) if name in (dst, success):
                    return self._result(name, earlier)
        return self.initial.get(name, 0)

    def _result(self, name: str, position: int) -> int | None:
        done = self.done[position]
        return None if done is None else dict(done.results)[name]

    def value(self, expression: Expr, position: int) -> int | None:
        known: dict[str, int] = {}
        for name in registers(expression):
            value = self.register(name, position)
            if value is None:
                return None
            known[name] = value
        return evaluate(expression, known, self.machine.layout)

    def location(self, position: int) -> Location | None:
        item = self.path[position]
        assert isinstance(item, Access)
        address = self.value(item.address, position)
        return None if address is None else Location(address, item.size)

    def may_go(self, position: int) -> bool:
        return all(
            self.done[earlier] is not None or not kept_in_order(self.path, earlier, position)
            for earlier, _ in self.accesses(position)
        )

    def settled(self, position: int) -> bool:
        store = self.path[position]
        assert isinstance(store, Store)
        guesses = [(i, item) for i, item in enumerate(self.path[:position]) if isinstance(item, Guess)]
        return (
            self.value(store.value, position) is not None
            and self.location(position) is not None
            and all(self.value(guess.condition, i) is not None for i, guess in guesses)
        )

    def newest_waiting_store(self, position: int, location: Location) -> int | None:
        waiting = [
            earlier
            for earlier, item in self.accesses(position)
            if isinstance(item, Store) and self.done[earlier] is None and self.location(earlier) == location
        ]
        return max(waiting, default=None)

    def was_overtaken(self, position: int, location: Location) -> bool:
        """By a later store to its location."""
        later = enumerate(self.done[position + 1 :], position + 1)
        return any(
            done is not None and done.location == location and isinstance(self.path[i], Store) for i, done in later
        )

    def guesses_hold(self) -> bool:
        guesses = [(i, item) for i, item in enumerate(self.path) if isinstance(item, Guess)]
        values = [(self.value(guess.condition, i), guess.outcome) for i, guess in guesses]
        return all(value is None or bool(value) == outcome for value, outcome in values)

    def linked_to(self, location: Location) -> bool:
        """Whether a store-conditional that is still to come needs this location untouched."""
        waiting = False
        for position in reversed(range(len(self.path))):
            item, done = self.path[position], self.done[position]
            if isinstance(item, StoreConditional):
                waiting = done is None
            elif isinstance(item, Load) and item.exclusive and done is not None:
                return waiting and done.location == location
        return False


class _Machine:
    def __init__(self, program: Program, choice: tuple[Path, ...]) -> None:
        self.program = program
        self.paths = choice
        self.layout = layout(program)
        self.initial = InitialMemory(program, self.layout)
        self.registers = [
            {name: evaluate(value, {}, self.layout) for name, value in thread.registers} for thread in program.threads
        ]

    def final_states(self) -> set[tuple[int, ...]]:
        start = State(tuple((None,) * len(path) for path in self.paths))
        if not all(self._thread(start, number).guesses_hold() for number in range(len(self.paths))):
            return set()
        final, seen, pending = set(), {start}, [start]
        while pending:
            state = pending.pop()
            if self._ended(state):
                final.add(tuple(self._observed(item, state) for item in self.program.property.observed))
            for successor in self._successors(state):
                if successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return final

    def _thread(self, state: State, number: int) -> _Thread:
        return _Thread(self, number, state.done[number])

    def _ended(self, state: State) -> bool:
        threads = [self._thread(state, number) for number in range(len(self.paths))]
        return all(
            thread.done[position] is not None for thread in threads for position, _ in thread.accesses(len(thread.path))
        )

    def _observed(self, observable: Observable, state: State) -> int:
        if isinstance(observable, RegisterValue):
            thread = self._thread(state, observable.thread)
            value = thread.register(observable.register, len(thread.path))
            assert value is not None
            return value & mask(observable.width)
        start = self.layout.starts[observable.symbol] + observable.offset
        return self._read_memory(state, Location(start, observable.size))

    def _read_memory(self, state: State, location: Location) -> int:
        written = dict(state.memory)
        return written[location] if location in written else self.initial.read(*location)

    def _successors(self, state: State) -> Iterator[State]:
        for number in range(len(self.paths)):
            thread = self._thread(state, number)
            for position, access in thread.accesses(len(thread.path)):
                location = thread.location(position)
                if thread.done[position] is None and location is not None and thread.may_go(position):
                    for done, written in self._do(access, state, thread, position, location):
                        yield from self._after(state, number, position, done, written)

    def _after(self, state: State, number: int, position: int, done: Done, written: int | None) -> Iterator[State]:
        """The next state, unless a guess was wrong."""
        mine = (*state.done[number][:position], done, *state.done[number][position + 1 :])
        memory = state.memory
        if written is not None:
            others = (self._thread(state, other) for other in range(len(self.paths)) if other != number)
            if any(other.linked_to(done.location) for other in others):
                return
            memory = frozenset({**dict(memory), done.location: written & mask(8 * done.location.size)}.items())
        if _Thread(self, number, mine).guesses_hold():
            yield State((*state.done[:number], mine, *state.done[number + 1 :]), memory)

    def _do(
        self, access: Access, state: State, thread: _Thread, position: int, location: Location
    ) -> Iterator[tuple[Done, int | None]]:
        """All ways to do the access now, each with what is written to memory."""
        width = 8 * access.size
        old = self._read_memory(state, location)

        def value(expression: Expr) -> int:
            known = thread.value(expression, position)
            assert known is not None, "everything before is done"
            return known & mask(width)

        match access:
            case Load(dst, signed=is_signed):
                if thread.was_overtaken(position, location):
                    return
                source = thread.newest_waiting_store(position, location)
                if source is not None:
                    store = thread.path[source]
                    if not (isinstance(store, Store) and thread.settled(source)):
                        return
                    passed = thread.value(store.value, source)
                    assert passed is not None
                    old = passed & mask(width)
                result = signed(width, old) & mask(64) if is_signed else old
                yield Done(location, ((dst, result),), -1 if source is None else source), None
            case Store():
                if self._may_reach_memory(thread, position, location):
                    yield Done(location), value(access.value)
            case StoreConditional():
                (*_, load) = (i for i, item in thread.accesses(position) if isinstance(item, Load) and item.exclusive)
                linked = thread.done[load]
                if linked is not None and linked.location == location:
                    yield Done(location), value(access.value)
            case Rmw(dst, op, _, operand):
                yield Done(location, ((dst, old),)), RMW_OPERATORS[op](width, old, value(operand))
            case CompareExchange(dst, success, _, expected, desired, weak=weak):
                equal = old == value(expected)
                if equal:
                    yield Done(location, ((dst, old), (success, 1))), value(desired)
                if weak or not equal:
                    yield Done(location, ((dst, old), (success, 0))), None

    def _may_reach_memory(self, thread: _Thread, position: int, location: Location) -> bool:
        earlier_done = all(
            thread.done[earlier] is not None
            for earlier, _ in thread.accesses(position)
            if thread.location(earlier) == location
        )
        missed = any(
            done is not None and done.location == location and done.source < position
            for done in thread.done[position + 1 :]
        )
        return thread.settled(position) and earlier_done and not missed
