"""The textbook store-buffer machines: every final state of a program under SC, TSO and PSO, by exhaustive search.

A state is the registers of the threads, their store buffers and one shared memory; a step is one instruction of one
thread, or one store that leaves a buffer. The machines judge the axiomatic models, so they share nothing with them.

- SC has no buffer. Under TSO stores leave in the order in which they came. Under PSO this holds for stores to the same
  location only.
- A load takes the newest store to its location in the own buffer, else it reads memory.
- A fence is a mark in the buffer. If it keeps writes before writes, no store behind it leaves before those in front of
  it; if it keeps writes before reads, no load is done while there are stores in front of it. Loads are done in order
  and at once, so what a fence says about earlier reads always holds.
- A read-modify-write or compare-exchange, even one that fails, waits until the own buffer is empty and then acts on
  memory.
- A load-linked is linked only if the own buffer is empty. Another thread's store to the location breaks the link when
  it reaches memory; an own store does not. A store-conditional may always fail; one that succeeds waits until the own
  buffer is empty and then acts on memory.

Left out: accesses that overlap but differ in address or size; calls; threads and memory created while running.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, evaluate_binary, evaluate_unary
from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    Assert,
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
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.ir.property import Observable, RegisterValue

STOPPED = -1
"""The position of a thread whose assumption or assertion failed."""


class Buffers(Enum):
    NONE = "sc"
    PER_THREAD = "tso"
    PER_LOCATION = "pso"


class Location(NamedTuple):
    address: int
    size: int


class Entry(NamedTuple):
    """A store in a buffer, or (without a location) the mark of a fence that orders the pairs `before`."""

    location: Location | None
    value: int = 0
    before: frozenset[str] = frozenset()


class ThreadState(NamedTuple):
    position: int
    registers: frozenset[tuple[str, int]]
    buffer: tuple[Entry, ...] = ()
    link: Location | None = None


class State(NamedTuple):
    threads: tuple[ThreadState, ...]
    memory: frozenset[tuple[Location, int]] = frozenset()
    """What was written; the rest of memory is as it was at the start."""


class Outcome(NamedTuple):
    """`final` has the values of `Property.observed`, in that order; `failed` the messages of failed assertions."""

    final: set[tuple[int, ...]]
    failed: set[str]
    explored: int


def explore(program: Program, buffers: Buffers) -> Outcome:
    machine = _Machine(program, buffers)
    start = machine.start()
    final, seen, pending = set(), {start}, [start]
    while pending:
        state = pending.pop()
        if machine.ended(state):
            final.add(machine.observe(state))
        for successor in machine.successors(state):
            if successor not in seen:
                seen.add(successor)
                pending.append(successor)
    return Outcome(final, machine.failed, len(seen))


def may_hang(program: Program, buffers: Buffers) -> bool:
    """Whether the program can come to where it can no longer end, however it goes on."""
    machine = _Machine(program, buffers)
    start = machine.start()
    leads_to: dict[State, set[State]] = {start: set()}
    pending = [start]
    while pending:
        state = pending.pop()
        for successor in machine.successors(state):
            if successor not in leads_to:
                leads_to[successor] = set()
                pending.append(successor)
            leads_to[successor].add(state)
    can_end: set[State] = set()
    pending = [state for state in leads_to if machine.ended(state)]
    while pending:
        state = pending.pop()
        if state not in can_end:
            can_end.add(state)
            pending += leads_to[state]
    return len(can_end) < len(leads_to)


class _Machine:
    def __init__(self, program: Program, buffers: Buffers) -> None:
        self.program = program
        self.buffers = buffers
        self.layout = layout(program)
        self.initial = InitialMemory(program, self.layout)
        self.bodies = [program.function_by_name[thread.function] for thread in program.threads]
        self.failed: set[str] = set()

    def start(self) -> State:
        threads = (
            frozenset((name, evaluate(value, {}, self.layout)) for name, value in thread.registers)
            for thread in self.program.threads
        )
        return State(tuple(ThreadState(0, registers) for registers in threads))

    def ended(self, state: State) -> bool:
        at_end = (thread.position == len(body.body) for thread, body in zip(state.threads, self.bodies, strict=True))
        return all(at_end) and not any(thread.buffer for thread in state.threads)

    def observe(self, state: State) -> tuple[int, ...]:
        return tuple(self._observed(observable, state) for observable in self.program.property.observed)

    def _observed(self, observable: Observable, state: State) -> int:
        if isinstance(observable, RegisterValue):
            registers = dict(state.threads[observable.thread].registers)
            return registers.get(observable.register, 0) & mask(observable.width)
        start = self.layout.starts[observable.symbol] + observable.offset
        return self._read_memory(state, Location(start, observable.size))

    def successors(self, state: State) -> Iterator[State]:
        """What touches no memory commutes with all that other threads and buffers do, so it is done first."""
        enabled = [(number, self._next(state, number)) for number in range(len(state.threads))]
        for number, instruction in enabled:
            if instruction is not None and not isinstance(instruction, MEMORY_ACCESSES):
                yield from self._step(instruction, state, number)
                return
        for number, instruction in enabled:
            yield from self._flushes(state, number)
            if instruction is not None:
                yield from self._step(instruction, state, number)

    def _next(self, state: State, number: int) -> Instruction | None:
        position, body = state.threads[number].position, self.bodies[number].body
        return body[position] if position in range(len(body)) else None

    # A store reaches memory.

    def _flushes(self, state: State, number: int) -> Iterator[State]:
        thread = state.threads[number]
        for index, entry in enumerate(thread.buffer):
            if entry.location is not None and self._may_leave(entry, thread.buffer[:index]):
                rest = without_leading_marks(thread.buffer[:index] + thread.buffer[index + 1 :])
                written = write_memory(state, number, entry.location, entry.value)
                yield replace_thread(written, number, thread._replace(buffer=rest))

    def _may_leave(self, entry: Entry, older: tuple[Entry, ...]) -> bool:
        if self.buffers is Buffers.PER_THREAD:
            return not older
        return all(other.location != entry.location and "WW" not in other.before for other in older)

    # An instruction is done.

    def _step(self, instruction: Instruction, state: State, number: int) -> Iterator[State]:
        """All ways to do the instruction now; none if it has to wait."""
        thread = state.threads[number]
        thread = thread._replace(position=thread.position + 1)
        if isinstance(instruction, Load | Store | StoreConditional | Rmw | CompareExchange):
            yield from self._access(instruction, state, number, thread)
        else:
            for after in self._local_step(instruction, number, thread):
                yield replace_thread(state, number, after)

    def _local_step(self, instruction: Instruction, number: int, thread: ThreadState) -> Iterator[ThreadState]:
        labels = self.bodies[number].labels
        match instruction:
            case Assign(dst, value):
                yield set_register(thread, dst, self._value(value, thread))
            case Choose(dst, low, high):
                yield from (set_register(thread, dst, choice & mask(64)) for choice in range(low, high + 1))
            case Jump(target):
                yield thread._replace(position=labels[target])
            case Branch(condition, target):
                yield thread._replace(position=labels[target]) if self._value(condition, thread) else thread
            case Assume(condition):
                yield thread if self._value(condition, thread) else thread._replace(position=STOPPED)
            case Assert(condition, message):
                if self._value(condition, thread):
                    yield thread
                else:
                    self.failed.add(message)
                    yield thread._replace(position=STOPPED)
            case Exit(everything=False) | Return():
                yield thread._replace(position=len(self.bodies[number].body))
            case Fence(kind):
                mark = Entry(None, before=FENCES[kind].orders)
                repeated = thread.buffer[-1:] == (mark,)
                yield thread if repeated else thread._replace(buffer=without_leading_marks((*thread.buffer, mark)))
            case _:
                raise NotImplementedError(type(instruction).__name__)

    def _access(
        self,
        instruction: Load | Store | StoreConditional | Rmw | CompareExchange,
        state: State,
        number: int,
        thread: ThreadState,
    ) -> Iterator[State]:
        size, width = instruction.size, 8 * instruction.size
        location = Location(self._value(instruction.address, thread), size)

        def finish(after: ThreadState, written: int | None = None) -> State:
            changed = state if written is None else write_memory(state, number, location, written & mask(width))
            return replace_thread(changed, number, after)

        match instruction:
            case Load(dst, signed=is_signed, exclusive=exclusive):
                if any("WR" in entry.before for entry in thread.buffer):
                    return
                value = self._read(state, thread, location)
                after = set_register(thread, dst, signed(width, value) & mask(64) if is_signed else value)
                if exclusive:
                    after = after._replace(link=None if thread.buffer else location)
                yield finish(after)
            case Store(_, value):
                stored = self._value(value, thread) & mask(width)
                if self.buffers is Buffers.NONE:
                    yield finish(thread, stored)
                else:
                    yield finish(thread._replace(buffer=(*thread.buffer, Entry(location, stored))))
            case StoreConditional(status, _, value):
                unlinked = thread._replace(link=None)
                yield finish(set_register(unlinked, status, 1))
                if thread.link == location and not thread.buffer:
                    yield finish(set_register(unlinked, status, 0), self._value(value, thread))
            case Rmw(dst, op, _, operand) if not thread.buffer:
                old = self._read_memory(state, location)
                new = RMW_OPERATORS[op](width, old, self._value(operand, thread) & mask(width))
                yield finish(thread if dst is None else set_register(thread, dst, old), new)
            case CompareExchange(dst, success, _, expected, desired, weak=weak) if not thread.buffer:
                old = self._read_memory(state, location)
                equal = old == self._value(expected, thread) & mask(width)
                after = set_register(thread, dst, old)
                if equal:
                    yield finish(set_register(after, success, 1), self._value(desired, thread))
                if weak or not equal:
                    yield finish(set_register(after, success, 0))

    def _read(self, state: State, thread: ThreadState, location: Location) -> int:
        own = [entry.value for entry in thread.buffer if entry.location == location]
        return own[-1] if own else self._read_memory(state, location)

    def _read_memory(self, state: State, location: Location) -> int:
        written = dict(state.memory)
        return written[location] if location in written else self.initial.read(*location)

    def _value(self, expression: Expr, thread: ThreadState) -> int:
        return evaluate(expression, dict(thread.registers), self.layout)


def evaluate(expression: Expr, registers: dict[str, int], places: Layout) -> int:
    match expression:
        case Const(value):
            return value
        case Reg(name):
            return registers.get(name, 0)
        case Address():
            return places.resolve(expression)
        case Unary(op, width, operand):
            return evaluate_unary(op, width, evaluate(operand, registers, places))
        case Binary(op, width, left, right):
            return evaluate_binary(op, width, evaluate(left, registers, places), evaluate(right, registers, places))
        case Select(condition, then, other):
            return evaluate(then if evaluate(condition, registers, places) else other, registers, places)


def set_register(thread: ThreadState, register: str | None, value: int) -> ThreadState:
    if register is None:
        return thread
    return thread._replace(registers=frozenset({**dict(thread.registers), register: value}.items()))


def replace_thread(state: State, number: int, thread: ThreadState) -> State:
    return state._replace(threads=(*state.threads[:number], thread, *state.threads[number + 1 :]))


def write_memory(state: State, writer: int, location: Location, value: int) -> State:
    threads = tuple(
        thread._replace(link=None) if number != writer and thread.link == location else thread
        for number, thread in enumerate(state.threads)
    )
    return State(threads, frozenset({**dict(state.memory), location: value}.items()))


def without_leading_marks(buffer: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """A mark with no store in front of it orders nothing any more."""
    while buffer and buffer[0].location is None:
        buffer = buffer[1:]
    return buffer
