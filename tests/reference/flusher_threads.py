"""Store buffers of limited size with a flusher for each of them, byte by byte: the judge of the states engine.

A state is the stacks of calls, the store buffers, and a memory of bytes. A step is one instruction of one thread, or
one store that leaves its buffer. Nothing is delayed, merged or left out, and nothing is shared with the engine.

- Under TSO the oldest store leaves. Under PSO any, unless an older one overlaps it or a fence that keeps writes before
  writes stands between.
- A store waits while its buffer is full.
- A load takes each byte from the newest store to it in the own buffer, else from memory. It waits while there are
  stores in front of a fence that keeps writes before reads.
- Updates and what is conditional act on memory and wait until the own buffer is empty, as in `store_buffers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.reference.store_buffers import evaluate

from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.expressions import Expr
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
from dekker.ir.program import Program
from dekker.ir.property import Observable, RegisterValue

Registers = frozenset[tuple[str, int]]
SC, TSO, PSO = "sc", "tso", "pso"
STOPPED = "stopped"


class Entry(NamedTuple):
    """A store, or (of size 0) the mark of a fence that orders the pairs `before`."""

    address: int = 0
    size: int = 0
    value: int = 0
    before: frozenset[str] = frozenset()


class Frame(NamedTuple):
    function: str
    position: int
    registers: Registers
    result: str | None = None


class ThreadState(NamedTuple):
    frames: tuple[Frame, ...]
    buffer: tuple[Entry, ...] = ()
    link: tuple[int, int] | None = None
    stopped: bool = False


class State(NamedTuple):
    threads: tuple[ThreadState, ...]
    memory: frozenset[tuple[int, int]] = frozenset()
    """Bytes that were written."""


class Outcome(NamedTuple):
    final: set[tuple[int, ...]]
    failed: set[str]
    explored: int


class TooManyStates(Exception):
    """The search was given up."""


def explore(program: Program, model: str, bound: int = 0, most: int = 200_000) -> Outcome:
    """`bound` 0 stands for buffers without limit."""
    machine = _Machine(program, model, bound)
    start = machine.start()
    final, seen, pending = set(), {start}, [start]
    while pending:
        state = pending.pop()
        if machine.has_ended(state):
            final.add(tuple(machine.observed(item, state) for item in program.property.observed))
        for successor in machine.successors(state):
            if successor not in seen:
                seen.add(successor)
                pending.append(successor)
        if len(seen) > most:
            raise TooManyStates
    return Outcome(final, machine.failed, len(seen))


class _Machine:
    def __init__(self, program: Program, model: str, bound: int) -> None:
        self.program, self.model, self.bound = program, model, bound
        self.layout = layout(program)
        self.initial = InitialMemory(program, self.layout)
        self.failed: set[str] = set()

    def start(self) -> State:
        return State(
            tuple(
                ThreadState(
                    (
                        Frame(
                            item.function,
                            0,
                            frozenset((name, evaluate(v, {}, self.layout)) for name, v in item.registers),
                        ),
                    )
                )
                for item in self.program.threads
            )
        )

    def instruction(self, thread: ThreadState) -> Instruction | None:
        """None where a function ends."""
        frame = thread.frames[-1]
        body = self.program.function_by_name[frame.function].body
        return body[frame.position] if frame.position < len(body) else None

    def is_at_end(self, thread: ThreadState) -> bool:
        return len(thread.frames) == 1 and self.instruction(thread) is None and not thread.stopped

    def has_ended(self, state: State) -> bool:
        return all(self.is_at_end(thread) and not thread.buffer for thread in state.threads)

    def observed(self, item: Observable, state: State) -> int:
        if isinstance(item, RegisterValue):
            return dict(state.threads[item.thread].frames[0].registers).get(item.register, 0) & mask(item.width)
        return self.read(state, self.layout.starts[item.symbol] + item.offset, item.size)

    def successors(self, state: State) -> Iterator[State]:
        for number, thread in enumerate(state.threads):
            yield from self.flushes(state, number, thread)
            if not thread.stopped and not self.is_at_end(thread):
                yield from self.steps(state, number, thread)

    # --- buffers and memory

    def flushes(self, state: State, number: int, thread: ThreadState) -> Iterator[State]:
        for index, entry in enumerate(thread.buffer):
            if entry.size and self.may_leave(entry, thread.buffer[:index]):
                rest = thread.buffer[:index] + thread.buffer[index + 1 :]
                while rest and not rest[0].size:
                    rest = rest[1:]
                yield replaced(write(state, number, entry), number, thread._replace(buffer=rest))

    def may_leave(self, entry: Entry, older: tuple[Entry, ...]) -> bool:
        if self.model == TSO:
            return not any(item.size for item in older)
        return not any(overlap(item, entry) if item.size else "WW" in item.before for item in older)

    def read(self, state: State, address: int, size: int, buffer: tuple[Entry, ...] = ()) -> int:
        memory = dict(state.memory)
        for entry in buffer:
            memory.update(entry_bytes(entry))
        return sum(
            (memory[a] if a in memory else self.initial.read(a, 1)) << 8 * i
            for i, a in enumerate(range(address, address + size))
        )

    # --- instructions

    def steps(self, state: State, number: int, thread: ThreadState) -> Iterator[State]:
        step = self.instruction(thread)
        if step is None:
            yield replaced(state, number, left(thread, 0))
        elif isinstance(step, Load | Store | StoreConditional | Rmw | CompareExchange):
            yield from self.accesses(state, number, thread, step)
        else:
            for after in self.local(thread, step):
                yield replaced(state, number, after)

    def value(self, expression: Expr, thread: ThreadState) -> int:
        return evaluate(expression, dict(thread.frames[-1].registers), self.layout)

    def local(self, thread: ThreadState, step: Instruction) -> Iterator[ThreadState]:
        labels = self.program.function_by_name[thread.frames[-1].function].labels
        following = moved(thread)
        match step:
            case Assign(dst, value):
                yield assigned(following, dst, self.value(value, thread))
            case Choose(dst, low, high):
                yield from (assigned(following, dst, choice & mask(64)) for choice in range(low, high + 1))
            case Jump(target):
                yield moved(thread, labels[target])
            case Branch(condition, target):
                yield moved(thread, labels[target]) if self.value(condition, thread) else following
            case Await(condition, target):
                yield following if self.value(condition, thread) else moved(thread, labels[target])
            case Assume(condition):
                yield following if self.value(condition, thread) else thread._replace(stopped=True)
            case Assert(condition, message):
                if self.value(condition, thread):
                    yield following
                else:
                    self.failed.add(message)
                    yield thread._replace(stopped=True)
            case Fence(kind):
                mark = Entry(before=FENCES[kind].orders)
                yield following._replace(buffer=(*thread.buffer, mark)) if thread.buffer else following
            case Call(dst, callee, arguments):
                [name] = [
                    f for f in self.program.function_by_name if self.layout.starts[f] == self.value(callee, thread)
                ]
                names = self.program.function_by_name[name].parameters
                given = frozenset(zip(names, (self.value(a, thread) for a in arguments), strict=True))
                yield following._replace(frames=(*following.frames, Frame(name, 0, given, dst)))
            case Return(value):
                yield (
                    self.ended(thread)
                    if len(thread.frames) == 1
                    else left(thread, self.value(value, thread) if value else 0)
                )
            case Exit():
                yield self.ended(thread._replace(frames=thread.frames[:1]))
            case _:
                raise NotImplementedError(type(step).__name__)

    def ended(self, thread: ThreadState) -> ThreadState:
        return moved(thread, len(self.program.function_by_name[thread.frames[0].function].body))

    def accesses(
        self,
        state: State,
        number: int,
        thread: ThreadState,
        step: Load | Store | StoreConditional | Rmw | CompareExchange,
    ) -> Iterator[State]:
        address, size, width = self.value(step.address, thread), step.size, 8 * step.size
        following = moved(thread)

        def finish(after: ThreadState, written: int | None = None) -> State:
            entry = Entry(address, size, (written or 0) & mask(width))
            return replaced(state if written is None else write(state, number, entry), number, after)

        match step:
            case Load(dst, signed=is_signed, exclusive=exclusive):
                if any("WR" in entry.before for entry in thread.buffer):
                    return
                value = self.read(state, address, size, thread.buffer)
                after = assigned(following, dst, signed(width, value) & mask(64) if is_signed else value)
                link = None if thread.buffer else (address, size)
                yield finish(after._replace(link=link) if exclusive else after)
            case Store(_, value):
                stored = self.value(value, thread) & mask(width)
                if self.model == SC:
                    yield finish(following, stored)
                elif not self.bound or sum(1 for entry in thread.buffer if entry.size) < self.bound:
                    yield finish(following._replace(buffer=(*thread.buffer, Entry(address, size, stored))))
            case StoreConditional(status, _, value):
                unlinked = following._replace(link=None)
                yield finish(assigned(unlinked, status, 1))
                if thread.link == (address, size) and not thread.buffer:
                    yield finish(assigned(unlinked, status, 0), self.value(value, thread))
            case Rmw(dst, op, _, operand) if not thread.buffer:
                old = self.read(state, address, size)
                new = RMW_OPERATORS[op](width, old, self.value(operand, thread) & mask(width))
                yield finish(following if dst is None else assigned(following, dst, old), new)
            case CompareExchange(dst, success, _, expected, desired, weak=weak) if not thread.buffer:
                old = self.read(state, address, size)
                equal = old == self.value(expected, thread) & mask(width)
                after = following if dst is None else assigned(following, dst, old)
                if equal:
                    yield finish(with_success(after, success, 1), self.value(desired, thread))
                if weak or not equal:
                    yield finish(with_success(after, success, 0))


def with_success(thread: ThreadState, success: str | None, value: int) -> ThreadState:
    return thread if success is None else assigned(thread, success, value)


def moved(thread: ThreadState, position: int | None = None) -> ThreadState:
    frame = thread.frames[-1]
    moved_frame = frame._replace(position=frame.position + 1 if position is None else position)
    return thread._replace(frames=(*thread.frames[:-1], moved_frame))


def assigned(thread: ThreadState, register: str, value: int) -> ThreadState:
    frame = thread.frames[-1]
    registers = frozenset({**dict(frame.registers), register: value}.items())
    return thread._replace(frames=(*thread.frames[:-1], frame._replace(registers=registers)))


def left(thread: ThreadState, value: int) -> ThreadState:
    """Back from a call."""
    caller = thread._replace(frames=thread.frames[:-1])
    result = thread.frames[-1].result
    return caller if result is None else assigned(caller, result, value)


def replaced(state: State, number: int, thread: ThreadState) -> State:
    return state._replace(threads=(*state.threads[:number], thread, *state.threads[number + 1 :]))


def entry_bytes(entry: Entry) -> dict[int, int]:
    return {entry.address + i: entry.value >> 8 * i & 0xFF for i in range(entry.size)}


def write(state: State, writer: int, entry: Entry) -> State:
    def keeps_link(number: int, thread: ThreadState) -> bool:
        return number == writer or thread.link is None or not overlap(Entry(*thread.link), entry)

    threads = tuple(
        thread if keeps_link(number, thread) else thread._replace(link=None)
        for number, thread in enumerate(state.threads)
    )
    return State(threads, frozenset({**dict(state.memory), **entry_bytes(entry)}.items()))


def overlap(first: Entry, second: Entry) -> bool:
    return first.address < second.address + second.size and second.address < first.address + first.size
