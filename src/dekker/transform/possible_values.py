"""Which values a read may return, whatever the order in which things happen.

A delayed read is bound to a value before it is performed, so there must be few to try. The analysis follows values
through registers and memory without regard to order, so it holds under every model in which values do not come out of
thin air: then a value passes through memory no more often than the program writes. A set that grows beyond
`MOST_VALUES` is given up: None stands for any value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from itertools import product
from math import inf, prod
from typing import TypeVar

from dekker.ir.arithmetic import BINARY_OPERATORS, mask
from dekker.ir.expressions import (
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
    evaluate_binary,
    evaluate_unary,
    registers,
)
from dekker.ir.flow import successors
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Branch,
    Call,
    Choose,
    CompareExchange,
    EndScope,
    Instruction,
    Join,
    Load,
    Measure,
    Recycle,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.transform.points_to import PointsTo, analyse
from dekker.transform.sizes import comes_back, executions
from dekker.transform.values import Allocation

Writing = Store | StoreConditional | Rmw | CompareExchange
WRITING = (Store, StoreConditional, Rmw, CompareExchange)
MOST_VALUES = 64
MOST_COMBINATIONS = 4096

Key = TypeVar("Key")
Values = frozenset[int] | None
Place = tuple[int, int]
"""An address and a size."""

NOTHING: Values = frozenset()
ZERO: Values = frozenset((0,))
BOTH: Values = frozenset((0, 1))


State = dict[str, Values]
"""Registers at some point; those that are not named hold 0."""


@dataclass
class ValueSets:
    """`reads` has the values of each load, by function and index; a load that is never reached has none."""

    program: Program
    reads: dict[tuple[str, int], Values] = field(default_factory=dict)
    _places: Layout = field(init=False)
    _initial: InitialMemory = field(init=False)
    _entries: dict[str, State] = field(default_factory=dict)
    _memory: dict[Place, Values] = field(default_factory=dict)
    _results: dict[str, Values] = field(default_factory=dict)
    _written: dict[Place, Values] = field(default_factory=dict)
    _anywhere: bool = False
    """Something is written to an address that is not known."""
    _written_anywhere: bool = False
    _changed: bool = True

    def __post_init__(self) -> None:
        self._places = layout(self.program)
        self._initial = InitialMemory(self.program, self._places)
        for thread in self.program.threads:
            self._enter(thread.function, {name: self._value({}, value) for name, value in thread.registers})
        n_writes = _most_writes(self.program)
        self._settle()
        while n_writes and self._merge():
            n_writes -= 1
            self._settle()

    def _settle(self) -> None:
        """What follows from the memory as it is."""
        self._changed = True
        while self._changed:
            self._changed = False
            for function in self.program.functions:
                if function.name in self._entries:
                    self._follow(function)

    def _merge(self) -> bool:
        """What was written becomes part of the memory; returns whether that makes a difference."""
        old, everywhere = dict(self._memory), self._anywhere
        for place, values in self._written.items():
            self._memory[place] = _union(self._memory.get(place, NOTHING), values)
        self._anywhere = self._written_anywhere
        return self._memory != old or self._anywhere != everywhere

    def _enter(self, name: str, registers: State) -> None:
        old = self._entries.get(name)
        new = registers if old is None else _join(old, registers)
        if new != old:
            self._entries[name] = new
            self._changed = True

    def _follow(self, function: Function) -> None:
        states: list[State | None] = [None] * (len(function.body) + 1)
        states[0] = self._entries[function.name]
        pending = [0]
        while pending:
            index = pending.pop()
            if index == len(function.body):
                self._add(self._results, function.name, ZERO)
                continue
            state = states[index]
            assert state is not None
            step = function.body[index]
            behind = self._step(function, index, step, state)
            for following, after in self._ways_on(function, index, step, behind):
                old = states[following]
                new = after if old is None else _join(old, after)
                if new != old:
                    states[following] = new
                    pending.append(following)

    def _ways_on(self, function: Function, index: int, step: Instruction, after: State) -> Iterator[tuple[int, State]]:
        """Where control may go, with what is known there: behind a branch, its condition."""
        ways = successors(function, index)
        if not isinstance(step, Branch) or ways[0] == ways[1]:
            yield from ((following, after) for following in ways)
            return
        for following, taken in zip(ways, (False, True), strict=True):
            refined = self._refined(after, step.condition, taken)
            if refined is not None:
                yield following, refined

    def _refined(self, state: State, condition: Expr, holds: bool) -> State | None:
        """None if it cannot be so."""
        names = sorted(registers(condition))
        choices = self._choices(state, names)
        if choices is None:
            return state
        left = [
            choice
            for choice in choices
            if bool(self._evaluate(condition, dict(zip(names, choice, strict=True)))) == holds
        ]
        if not left:
            return None
        return {
            **state,
            **{name: frozenset(values) for name, values in zip(names, zip(*left, strict=True), strict=True)},
        }

    def _step(self, function: Function, index: int, step: Instruction, state: State) -> State:
        """The registers after an instruction."""
        found: dict[str | None, Values] = {}
        match step:
            case Assign(dst, value):
                found[dst] = self._value(state, value)
            case Load(dst, address, size, signed=signed):
                read = self._at(self._value(state, address), size)
                self.reads[function.name, index] = read
                found[dst] = _map(read, lambda value: _extended(value, size)) if signed else read
            case Store(_, value):
                self._write(function, step, state, self._value(state, value))
            case StoreConditional(status, _, value):
                self._write(function, step, state, self._value(state, value))
                found[status] = BOTH
            case Rmw(dst, op, address, operand, size):
                old = self.reads[function.name, index] = self._at(self._value(state, address), size)
                self._write(function, step, state, self._updated(op, size, old, self._value(state, operand)))
                found[dst] = old
            case CompareExchange(dst, success, address, _, desired, size):
                old = self.reads[function.name, index] = self._at(self._value(state, address), size)
                found |= {dst: old, success: BOTH}
                self._write(function, step, state, self._value(state, desired))
            case Choose(dst, low, high):
                few = high - low < MOST_VALUES
                found[dst] = frozenset(number & mask(64) for number in range(low, high + 1)) if few else None
            case Call(dst, target, arguments):
                found[dst] = self._call(state, target, arguments)
            case Spawn(dst, target, arguments):
                self._call(state, target, arguments)
                found[dst] = None
            case Return(value):
                self._add(self._results, function.name, ZERO if value is None else self._value(state, value))
            case Allocate(dst) | EndScope(dst) | Measure(dst) | Recycle(dst) | Join(dst):
                found[dst] = None
        return {**state, **{name: values for name, values in found.items() if name is not None}} if found else state

    def _call(self, state: State, target: Expr, arguments: tuple[Expr, ...]) -> Values:
        functions = self.program.functions
        if isinstance(target, Address):
            functions = tuple(item for item in functions if item.name == target.symbol)
        result: Values = NOTHING
        for function in functions:
            given = (self._value(state, argument) for argument in arguments)
            self._enter(function.name, dict(zip(function.parameters, given, strict=False)))
            result = _union(result, self._results.get(function.name, NOTHING))
        return result

    def _value(self, state: State, expression: Expr) -> Values:
        """Joint values of the registers of the expression are tried one by one, so that what cancels out does so."""
        names = sorted(registers(expression))
        choices = self._choices(state, names)
        if choices is None:
            return None
        found = {self._evaluate(expression, dict(zip(names, choice, strict=True))) for choice in choices}
        return frozenset(found) if len(found) <= MOST_VALUES else None

    def _choices(self, state: State, names: list[str]) -> Iterator[tuple[int, ...]] | None:
        """All values that registers may have together, if these are known and few."""
        sets = [state.get(name, ZERO) for name in names]
        known = [values for values in sets if values is not None]
        few = len(known) == len(sets) and prod(map(len, known)) <= MOST_COMBINATIONS
        return product(*known) if few else None

    def _evaluate(self, expression: Expr, known: dict[str, int]) -> int:
        match expression:
            case Const(value):
                return value
            case Address():
                return self._places.resolve(expression)
            case Reg(name):
                return known[name]
            case Unary(op, width, operand):
                return evaluate_unary(op, width, self._evaluate(operand, known))
            case Binary(op, width, left, right):
                return evaluate_binary(op, width, self._evaluate(left, known), self._evaluate(right, known))
            case Select(condition, then, other):
                return self._evaluate(then if self._evaluate(condition, known) else other, known)

    def _at(self, addresses: Values, size: int) -> Values:
        if addresses is None or self._anywhere:
            return None
        found: Values = NOTHING
        for address in addresses:
            if self._places.contains(address, size):
                found = _union(found, self._held(address, size))
        return found

    def _held(self, address: int, size: int) -> Values:
        overlapping = (place for place in self._memory if place[0] < address + size and address < place[0] + place[1])
        if any(place != (address, size) for place in overlapping):
            return None
        return _union(self._memory.get((address, size), NOTHING), frozenset((self._initial.read(address, size),)))

    def _write(self, function: Function, step: Writing, state: State, value: Values) -> None:
        addresses, size = self._value(state, step.address), step.size
        if addresses is None:
            self._written_anywhere |= not self._is_to_allocated(function, step)
            return
        cut = _map(value, lambda number: number & mask(8 * size))
        for address in addresses:
            if self._places.contains(address, size):
                self._written[address, size] = _union(self._written.get((address, size), NOTHING), cut)

    def _is_to_allocated(self, function: Function, step: Writing) -> bool:
        """Whether it only reaches objects that the program allocates; what these hold is not followed."""
        places = (
            self._points_to.places(thread, function.name, step.address, step.size)
            for thread in range(len(self._points_to.threads))
        )
        return all(found is not None and all(isinstance(place.base, Allocation) for place in found) for found in places)

    @cached_property
    def _points_to(self) -> PointsTo:
        return analyse(self.program)

    def _updated(self, op: str, size: int, old: Values, operand: Values) -> Values:
        if op == "xchg":
            return operand
        if op in BINARY_OPERATORS:
            return _combine(op, 8 * size, old, operand)
        return _union(old, operand) if op in ("max", "min", "umax", "umin") else None

    def _add(self, sets: dict[Key, Values], key: Key, values: Values) -> None:
        old = sets.get(key, NOTHING)
        new = _union(old, values)
        if key not in sets or new != old:
            sets[key] = new
            self._changed = True


def _most_writes(program: Program) -> float:
    """How many writes there are in a run at most."""
    counts = executions(program, lambda name, index, step: isinstance(step, WRITING))
    starts = {item.name: sum(thread.function == item.name for thread in program.threads) for item in program.functions}
    total = sum(counts[name] * number for name, number in starts.items() if number)
    for function in program.functions:
        for index, step in enumerate(function.body):
            if isinstance(step, Spawn):
                once = starts[function.name] == 1 and not comes_back(function, index)
                target = step.function.symbol if isinstance(step.function, Address) else None
                total += counts[target] if once and target in counts else inf
    return total


def _join(left: State, right: State) -> State:
    return {name: _union(left.get(name, ZERO), right.get(name, ZERO)) for name in left.keys() | right.keys()}


def _extended(value: int, size: int) -> int:
    return evaluate_unary("sext", 8 * size, value) if size < 8 else value


def _union(left: Values, right: Values) -> Values:
    if left is None or right is None:
        return None
    both = left | right
    return both if len(both) <= MOST_VALUES else None


def _map(values: Values, change: Callable[[int], int]) -> Values:
    return None if values is None else frozenset(map(change, values))


def _combine(op: str, width: int, left: Values, right: Values) -> Values:
    if left is None or right is None or len(left) * len(right) > MOST_COMBINATIONS:
        return None
    found = frozenset(evaluate_binary(op, width, first, second) for first, second in product(left, right))
    return found if len(found) <= MOST_VALUES else None
