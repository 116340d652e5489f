"""Runs one thread with the values its trace gives, and notes on which events each of its values depends.

Dependencies follow the meanings in `execution.BASE_RELATIONS`. Events are named by their position in the thread.
- A loaded value depends on its read; results of operations on what their operands depend on, even if `x ^ x` is 0.
- A selection depends on the chosen alternative, and *picks* by what its condition depends on.
- The status of a store-conditional that succeeded depends on its write; that of one that failed on nothing.
- Branches, assumptions, awaits and assertions control everything behind them.
- A read-modify-write stores what depends on its read and operand, an exchange on the operand only. That a
  compare-exchange stores at all is picked by what it read and expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dekker.errors import UnsupportedError
from dekker.execution import Event, TraceEvent
from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary
from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
    Assert,
    Assign,
    Assume,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Exit,
    Fence,
    Jump,
    Load,
    Order,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout
from dekker.ir.program import Function, Program
from dekker.replay.thin_air import Returned, Shape, computed, limited
from dekker.source import Span

MAX_SILENT_STEPS = 10_000
"""Without an event; a thread that takes more does not come to an end."""
MAX_CALLS = 1_000

COMPLETE, BLOCKED, FAILED, STOPPED = "complete", "blocked", "failed", "stopped"


class Mismatch(Exception):
    """The trace is no execution of the program; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """A register's content, how it came about, and the events it depends on; `picked` ones only chose between
    alternatives."""

    value: int
    shape: Shape
    sources: frozenset[int] = frozenset()
    picked: frozenset[int] = frozenset()


def number(value: int, *sources: int) -> Word:
    return Word(value, value, frozenset(sources))


ZERO = number(0)


@dataclass(frozen=True, slots=True)
class Done:
    """An event of the thread, with its dependencies by the names of base relations."""

    event: Event
    instruction: int
    dependencies: dict[str, frozenset[int]]
    address: Shape = 0
    value: Shape = 0


@dataclass
class ThreadRun:
    """What a thread did. `end` is `complete`, `blocked` (an assumption failed), `failed` (an assertion did: see
    `failure`) or `stopped` (it would go on, perhaps for ever, but its trace ends)."""

    thread: int
    done: list[Done] = field(default_factory=list)
    updates: list[tuple[int, int, str]] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    end: str = COMPLETE
    failure: str = ""
    failure_span: Span | None = None


def run_thread(program: Program, places: Layout, thread: int, trace: Sequence[TraceEvent]) -> ThreadRun:
    """Runs a thread along its part of a trace; `Mismatch` if it does anything else."""
    machine = _Machine(program, places, thread, trace)
    silent = 0
    while silent < MAX_SILENT_STEPS:
        before = machine.taken
        if not machine.step():
            return machine.finish()
        silent = silent + 1 if machine.taken == before else 0
    machine.run.end = STOPPED
    return machine.finish()


class _End(Exception):
    """The thread does nothing more."""


@dataclass
class _Frame:
    function: Function
    registers: dict[str, Word]
    result: str | None = None
    pc: int = 0


class _Machine:
    def __init__(self, program: Program, places: Layout, thread: int, trace: Sequence[TraceEvent]) -> None:
        start = program.threads[thread]
        registers = {name: number(_constant(initial, places)) for name, initial in start.registers}
        self.program = program
        self.places = places
        self.name = f"thread {start.name or thread}"
        self.trace = trace
        self.taken = 0
        self.run = ThreadRun(thread)
        self.frames = [_Frame(program.function_by_name[start.function], registers)]
        self.first_frame = self.frames[0]
        self.control: frozenset[int] = frozenset()
        self.picked_control: frozenset[int] = frozenset()
        self.linked: int | None = None

    def step(self) -> bool:
        """Whether there was something left to do."""
        frame = self.frames[-1]
        try:
            if frame.pc >= len(frame.function.body):
                self.leave(ZERO)
                return True
            instruction = frame.function.body[frame.pc]
            handler = _STEPS.get(type(instruction))
            if handler is None:
                name = type(instruction).__name__
                raise UnsupportedError(f"the replay does not handle the instruction '{name}'", self.span)
            frame.pc += 1
            handler(self, instruction)
        except _End:
            return False
        return True

    def finish(self) -> ThreadRun:
        if self.taken < len(self.trace):
            how = "does not come to an end" if self.run.end == STOPPED else "ends"
            raise Mismatch(f"{self.name} {how}, but its trace goes on with {self.describe(self.trace[self.taken])}")
        self.run.registers = {name: word.value for name, word in self.first_frame.registers.items()}
        return self.run

    def end(self, how: str) -> _End:
        self.run.end = how
        return _End()

    # --- where we are

    @property
    def instruction(self) -> int:
        return self.frames[-1].pc - 1

    @property
    def span(self) -> Span | None:
        frame = self.frames[-1]
        return frame.function.span(max(0, frame.pc - 1))

    def where(self) -> str:
        return f" at {self.span}" if self.span is not None else ""

    def describe(self, item: TraceEvent) -> str:
        if item.kind in ("F", "C"):
            return "a fence" if item.kind == "F" else f"the choice of {item.value}"
        place = self.places.show(item.address)
        return f"{'a read' if item.kind == 'R' else 'a write'} of {item.size} bytes at {place} (value {item.value})"

    # --- the trace

    def peek(self) -> TraceEvent | None:
        return self.trace[self.taken] if self.taken < len(self.trace) else None

    def next_is(self, kind: str) -> bool:
        """Whether the current instruction goes on with an event of that kind."""
        item = self.peek()
        return item is not None and item.kind == kind and item.instruction == self.instruction

    def take(self, kind: str, wanted: str) -> TraceEvent:
        item = self.peek()
        if item is None:
            raise self.end(STOPPED)
        if item.kind != kind or item.instruction != self.instruction:
            raise Mismatch(f"{self.name} does {wanted}{self.where()}, its trace has {self.describe(item)}")
        self.taken += 1
        return item

    def take_access(self, kind: str, address: Word, size: int, value: int | None) -> TraceEvent:
        verb = "a read" if kind == "R" else "a write"
        wanted = f"{verb} of {size} bytes at {self.places.show(address.value)}"
        if value is not None:
            wanted = f"{wanted} (value {value})"
        item = self.take(kind, wanted)
        if (item.address, item.size) != (address.value, size) or value not in (None, item.value):
            raise Mismatch(f"{self.name} does {wanted}{self.where()}, its trace has {self.describe(item)}")
        if not 0 <= item.value <= mask(8 * size):
            raise Mismatch(f"{self.name}: {item.value} does not fit into {size} bytes")
        return item

    # --- events

    def emit(self, event: Event, dependencies: dict[str, frozenset[int]], address: Shape = 0, value: Shape = 0) -> int:
        found = {"ctrl": self.control, "pick-ctrl": self.picked_control, **dependencies}
        self.run.done.append(Done(event, self.instruction, found, address, value))
        return len(self.run.done) - 1

    def read(self, address: Word, size: int, order: Order, tags: frozenset[str]) -> tuple[int, Word]:
        item = self.take_access("R", address, size, None)
        event = self.event("R", address.value, size, item.value, order, tags)
        index = self.emit(event, {"addr": address.sources, "pick-addr": address.picked}, address.shape)
        return index, Word(item.value, Returned((self.run.thread, index)), frozenset((index,)))

    def write(self, address: Word, size: int, value: Word, order: Order, tags: frozenset[str]) -> int:
        self.take_access("W", address, size, value.value)
        event = self.event("W", address.value, size, value.value, order, tags)
        dependencies = {
            "addr": address.sources,
            "pick-addr": address.picked,
            "data": value.sources,
            "pick-data": value.picked,
        }
        return self.emit(event, dependencies, address.shape, value.shape)

    def event(self, kind: str, address: int, size: int, value: int, order: Order, tags: frozenset[str]) -> Event:
        index = len(self.run.done)
        return Event(kind, self.run.thread, index, address, size, value, order, tags, "", self.span)

    def retag(self, index: int, tag: str) -> None:
        done = self.run.done[index]
        event = replace(done.event, tags=done.event.tags | {tag})
        self.run.done[index] = replace(done, event=event)

    # --- registers and control

    def set(self, register: str, word: Word) -> None:
        self.frames[-1].registers[register] = word

    def value(self, expression: Expr) -> Word:
        return _EVALUATE[type(expression)](self, expression)

    def cut(self, expression: Expr, size: int) -> Word:
        word = self.value(expression)
        return word if size == 8 else _apply("zext", 8 * size, word)

    def depend_on(self, condition: Word) -> None:
        self.control |= condition.sources
        self.picked_control |= condition.picked

    def go(self, label: str) -> None:
        frame = self.frames[-1]
        frame.pc = frame.function.labels[label]

    def leave(self, result: Word) -> None:
        if len(self.frames) == 1:
            raise self.end(COMPLETE)
        frame = self.frames.pop()
        if frame.result is not None:
            self.set(frame.result, result)


def _constant(initial: Const | Address, places: Layout) -> int:
    return initial.value if isinstance(initial, Const) else places.resolve(initial)


# --- expressions


def _apply(op: str, width: int, *operands: Word) -> Word:
    values = [operand.value for operand in operands]
    result = evaluate_unary(op, width, *values) if len(values) == 1 else evaluate_binary(op, width, *values)
    return Word(
        result,
        limited(computed(op, width, *(operand.shape for operand in operands)), result),
        frozenset[int]().union(*(operand.sources for operand in operands)),
        frozenset[int]().union(*(operand.picked for operand in operands)),
    )


def _binary(machine: _Machine, expression: Binary) -> Word:
    return _apply(expression.op, expression.width, machine.value(expression.left), machine.value(expression.right))


def _unary(machine: _Machine, expression: Unary) -> Word:
    return _apply(expression.op, expression.width, machine.value(expression.operand))


def _select(machine: _Machine, expression: Select) -> Word:
    condition = machine.value(expression.condition)
    chosen = machine.value(expression.then if condition.value else expression.other)
    return replace(chosen, picked=chosen.picked | condition.sources | condition.picked)


_EVALUATE: dict[type, Callable[[_Machine, Any], Word]] = {
    Const: lambda machine, expression: number(expression.value),
    Reg: lambda machine, expression: machine.frames[-1].registers.get(expression.name, ZERO),
    Address: lambda machine, expression: number(machine.places.resolve(expression)),
    Unary: _unary,
    Binary: _binary,
    Select: _select,
}


# --- instructions


def _assign(machine: _Machine, instruction: Assign) -> None:
    machine.set(instruction.dst, machine.value(instruction.value))


def _load(machine: _Machine, instruction: Load) -> None:
    tags = frozenset(("X",)) if instruction.exclusive else frozenset[str]()
    address = machine.value(instruction.address)
    index, word = machine.read(address, instruction.size, instruction.order, tags)
    if instruction.exclusive:
        machine.linked = index
    if instruction.signed:
        word = _apply("sext", 8 * instruction.size, word)
    machine.set(instruction.dst, word)


def _store(machine: _Machine, instruction: Store) -> None:
    address = machine.value(instruction.address)
    value = machine.cut(instruction.value, instruction.size)
    machine.write(address, instruction.size, value, instruction.order, frozenset())


def _store_conditional(machine: _Machine, instruction: StoreConditional) -> None:
    linked, machine.linked = machine.linked, None
    if not machine.next_is("W"):
        machine.set(instruction.status, number(1))
        return
    address = machine.value(instruction.address)
    if linked is None or machine.run.done[linked].event.address != address.value:
        raise Mismatch(
            f"{machine.name}: a store-conditional{machine.where()} succeeds, but the closest load-linked before it is "
            "paired already, or read another address, or does not exist"
        )
    value = machine.cut(instruction.value, instruction.size)
    tags = frozenset(("X", "RMW"))
    index = machine.write(address, instruction.size, value, instruction.order, tags)
    machine.retag(linked, "RMW")
    machine.run.updates.append((linked, index, "lxsx"))
    machine.set(instruction.status, number(0, index))


def _rmw(machine: _Machine, instruction: Rmw) -> None:
    tags = frozenset(("AMO", "RMW", "NORET") if instruction.dst is None else ("AMO", "RMW"))
    size, order = instruction.size, instruction.order
    address, operand = machine.value(instruction.address), machine.cut(instruction.operand, size)
    index, old = machine.read(address, size, order, tags)
    written = machine.write(address, size, _updated(instruction.op, 8 * size, old, operand), order, tags)
    machine.run.updates.append((index, written, "amo"))
    if instruction.dst is not None:
        machine.set(instruction.dst, old)


def _updated(op: str, width: int, old: Word, operand: Word) -> Word:
    """What a read-modify-write stores."""
    if op == "xchg":
        return operand
    result = RMW_OPERATORS[op](width, old.value, operand.value)
    return Word(
        result,
        limited(computed(op, width, old.shape, operand.shape), result),
        old.sources | operand.sources,
        operand.picked,
    )


def _compare_exchange(machine: _Machine, instruction: CompareExchange) -> None:
    size = instruction.size
    address = machine.value(instruction.address)
    expected, desired = machine.cut(instruction.expected, size), machine.cut(instruction.desired, size)
    succeeds = _succeeds(machine)
    tags = frozenset(("AMO", "RMW") if succeeds else ("AMO",))
    order = instruction.order if succeeds else instruction.failure_order
    index, old = machine.read(address, size, order, tags)
    if succeeds != (old.value == expected.value) and (succeeds or not instruction.weak):
        outcome = "succeeds" if succeeds else "fails"
        raise Mismatch(
            f"{machine.name}: a compare-exchange{machine.where()} {outcome}, but it read {old.value} and expected "
            f"{expected.value}"
        )
    compared = old.sources | expected.sources
    if succeeds:
        stored = replace(desired, picked=desired.picked | expected.picked | compared)
        written = machine.write(address, size, stored, order, tags)
        machine.run.updates.append((index, written, "amo"))
    machine.set(instruction.dst, old)
    if instruction.success is not None:
        machine.set(instruction.success, Word(int(succeeds), int(succeeds), compared, expected.picked))


def _succeeds(machine: _Machine) -> bool:
    """Whether the read that comes next is followed by a write of the same instruction."""
    following = machine.taken + 1
    if following >= len(machine.trace):
        return False
    item = machine.trace[following]
    return item.kind == "W" and item.instruction == machine.instruction


def _fence(machine: _Machine, instruction: Fence) -> None:
    machine.take("F", f"the fence {instruction.kind}")
    name = FENCES[instruction.kind].name
    event = Event("F", machine.run.thread, len(machine.run.done), fence=name, span=machine.span)
    machine.emit(event, {})


def _branch(machine: _Machine, instruction: Branch) -> None:
    condition = machine.value(instruction.condition)
    machine.depend_on(condition)
    if condition.value:
        machine.go(instruction.target)


def _assume(machine: _Machine, instruction: Assume) -> None:
    condition = machine.value(instruction.condition)
    machine.depend_on(condition)
    if not condition.value:
        raise machine.end(BLOCKED)


def _await(machine: _Machine, instruction: Await) -> None:
    """A thread whose condition fails reads again; that its trace ends there means that it waits for ever."""
    condition = machine.value(instruction.condition)
    machine.depend_on(condition)
    if condition.value:
        return
    if machine.peek() is None:
        raise machine.end(BLOCKED)
    machine.go(instruction.target)


def _assert(machine: _Machine, instruction: Assert) -> None:
    condition = machine.value(instruction.condition)
    if not instruction.loose:
        machine.depend_on(condition)
    if not condition.value:
        machine.run.failure, machine.run.failure_span = instruction.message, machine.span
        raise machine.end(FAILED)


def _choose(machine: _Machine, instruction: Choose) -> None:
    chosen = machine.take("C", f"a choice from {instruction.low} to {instruction.high}").value
    if not 0 <= chosen <= mask(64) or (chosen - instruction.low) & mask(64) > instruction.high - instruction.low:
        raise Mismatch(f"{machine.name} chooses {chosen}{machine.where()}, which is out of range")
    machine.set(instruction.dst, number(chosen))


def _call(machine: _Machine, instruction: Call) -> None:
    target = machine.value(instruction.function).value
    place = machine.places.locate(target)
    function = machine.program.function_by_name.get(place.symbol) if place is not None else None
    if isinstance(instruction.function, Address):
        function = machine.program.function_by_name.get(instruction.function.symbol, function)
    if function is None or len(machine.frames) >= MAX_CALLS:
        raise UnsupportedError("the replay cannot follow this call", machine.span)
    arguments = [machine.value(argument) for argument in instruction.arguments]
    registers = dict(zip(function.parameters, arguments, strict=False))
    machine.frames.append(_Frame(function, registers, instruction.dst))


def _return(machine: _Machine, instruction: Return) -> None:
    machine.leave(ZERO if instruction.value is None else machine.value(instruction.value))


def _exit(machine: _Machine, instruction: Exit) -> None:
    if instruction.everything:
        raise UnsupportedError("the replay does not handle an exit of the whole program", machine.span)
    raise machine.end(COMPLETE)


_STEPS: dict[type, Callable[[_Machine, Any], None]] = {
    Assign: _assign,
    Load: _load,
    Store: _store,
    StoreConditional: _store_conditional,
    Rmw: _rmw,
    CompareExchange: _compare_exchange,
    Fence: _fence,
    Jump: lambda machine, instruction: machine.go(instruction.target),
    Branch: _branch,
    Assume: _assume,
    Await: _await,
    Assert: _assert,
    Choose: _choose,
    Call: _call,
    Return: _return,
    Exit: _exit,
}
