"""Runs threads with the values their trace gives, and notes on which events each of their values depends.

Dependencies follow the meanings in `execution.BASE_RELATIONS`. Events are named by their position in the thread.
- A loaded value depends on its read; results of operations on what their operands depend on, even if `x ^ x` is 0.
- A selection depends on the chosen alternative, and *picks* by what its condition depends on.
- The status of a store-conditional that succeeded depends on its write; that of one that failed on nothing.
- Branches, assumptions, awaits and assertions control everything behind them, unless they are loose.
- A read-modify-write stores what depends on its read and operand, an exchange on the operand only. That a
  compare-exchange stores at all is picked by what it read and expected.
- Dependencies do not reach from one thread into another.

What instructions do is in `steps` and `runtime_steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from dekker.errors import UnsupportedError
from dekker.execution import FROM_INITIAL, Event, TraceEvent
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, Unset
from dekker.ir.fences import FENCES
from dekker.ir.flow import Resource
from dekker.ir.instructions import Await, Order
from dekker.ir.layout import HEADER_SIZE, end_address, heap_address, start_address
from dekker.ir.passes.idling import live_values
from dekker.ir.program import Function
from dekker.records import dataclass
from dekker.replay.frames import shown_function
from dekker.replay.thin_air import Returned, Shape
from dekker.replay.words import ZERO, Word, apply, number, taken, with_bits
from dekker.replay.world import Allocation, Frame, Stack, World
from dekker.source import Span

MAX_SILENT_STEPS = 2_000_000
"""Without an access or fence; a thread that takes more does not come to an end."""

COMPLETE, BLOCKED, WAITING, FAILED, STOPPED = "complete", "blocked", "waiting", "failed", "stopped"
ENDED = "ended"
UNBORN = "unborn"
UNINITIALISED = "uninitialised"
POINTER = "the pointer that is accessed through"


Visit = tuple[str, int, frozenset[tuple[str, int | tuple[str, int, int]]]]
"""Of a function: the instruction that is next, and the values of live registers that are not 0."""


class Mismatch(Exception):
    """The trace is no execution of the program; the message says why."""


class NotYet(Exception):
    """The thread cannot go on before others have been run."""


@dataclass(frozen=True, slots=True)
class Done:
    """An event of the thread, with its dependencies by the names of base relations. `release`: it frees memory;
    `renewal`: with it memory that was freed is in use again."""

    event: Event
    instruction: int
    dependencies: dict[str, frozenset[int]]
    address: Shape = 0
    value: Shape = 0
    stack: Stack = ()
    release: bool = False
    renewal: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """What goes wrong in a thread behind so many of its events, under the name that engines have for it. `address` is
    what it is about."""

    kind: str
    message: str
    thread: int
    stack: Stack
    address: int = 0
    size: int = 0
    n_events: int = 0

    @property
    def span(self) -> Span | None:
        return self.stack[-1].span if self.stack else None


@dataclass(frozen=True, slots=True)
class Printed:
    """What a thread printed, behind so many of its events."""

    position: int
    text: str
    values: tuple[int, ...]
    stack: Stack


@dataclass
class ThreadRun:
    """What a thread did. `end` is `complete`, `ended` (it ended the program), `blocked` (an assumption failed),
    `waiting` (an await whose condition failed, or its trace ends where it has been before with the same values, with
    `last_round` the number of events before its last round; or for the end of the thread `waits_for`), `failed` (see
    `failure`), `stopped` (it would go on, perhaps for ever, but its trace ends) or `unborn`."""

    thread: int
    done: list[Done] = field(default_factory=list)
    updates: list[tuple[int, int, str]] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    printed: list[Printed] = field(default_factory=list)
    end: str = UNBORN
    stack: Stack = ()
    failure: Failure | None = None
    noted: list[Failure] = field(default_factory=list)
    last_round: int = 0
    waits_for: int = -1
    is_idle: bool = False
    """It waits in a loop that reads nothing."""


class End(Exception):
    """The thread does nothing more."""


@dataclass
class Call:
    """A frame of the call stack, with its registers. `result` takes the value of the call."""

    function: Function
    registers: dict[str, Word]
    result: str | None = None
    pc: int = 0


@dataclass(frozen=True)
class Steps:
    """What instructions do: `ordinary` ones, and `alone` where they are no events."""

    ordinary: Mapping[type, Step]
    alone: Mapping[type, Step]


class Machine:
    """One thread. `alone` accesses and fences at its beginning are no events."""

    def __init__(self, world: World, steps: Steps, thread: int, name: str, trace: Sequence[TraceEvent]) -> None:
        self.world = world
        self.steps = steps
        self.places = world.places
        self.name = name
        self.trace = trace
        self.taken = 0
        self.offset = 0
        self.alone = 0
        self.run = ThreadRun(thread)
        self.calls: list[Call] = []
        self.control: frozenset[int] = frozenset()
        self.picked_control: frozenset[int] = frozenset()
        self.linked: int | None = None
        self.heap_used = 0
        self.scoped: list[Allocation] = []
        self.spawned = False
        self.patient = True
        self.silent = 0
        self.may_stop = False
        self.rounds: dict[tuple[int, int], int] = {}
        self.heads: dict[str, frozenset[int]] = {}
        self.live: dict[str, list[frozenset[Resource]]] = {}
        self.visits: dict[tuple[Visit, ...], int] = {}
        self.begun = 0
        self.must_wait = False

    # --- running

    def begin(self, function: Function, registers: dict[str, Word]) -> None:
        self.calls = [Call(function, registers)]
        self.first_call = self.calls[0]
        self.run.end = STOPPED

    def begin_spawned(self, function: Function, arguments: Sequence[Word]) -> None:
        """The first thing that such a thread does is to read that it was started."""
        self.begin(function, dict(zip(function.parameters, arguments, strict=False)))
        self.spawned = True
        self.calls[0].pc = 1
        try:
            self.read(number(start_address(self.run.thread)), 8, Order.SEQ_CST, frozenset())
            self.fence("mfence")
        except End:
            self.calls = []
        else:
            self.calls[0].pc = 0

    def advance(self, patient: bool) -> bool:
        """Runs as far as possible, and says whether the thread came to its end. If it is not `patient`, what other
        threads have not done yet they never will."""
        self.patient = patient
        while self.calls:
            if self.silent >= MAX_SILENT_STEPS:
                self.run.end = FAILED if self.may_stop else STOPPED
                break
            before = self.taken - self.alone
            try:
                going_on = self.step()
            except NotYet:
                self.calls[-1].pc -= 1
                return False
            if not going_on:
                break
            self.silent = self.silent + 1 if self.taken - self.alone == before else 0
        return True

    def step(self) -> bool:
        """Whether there was something left to do."""
        call = self.calls[-1]
        try:
            if call.pc >= len(call.function.body):
                self.leave(ZERO)
                return True
            instruction = call.function.body[call.pc]
            self.note_round(call)
            self.begun = self.taken
            call.pc += 1
            handler = self.handler(instruction)
            handler(self, instruction)
        except End:
            return False
        return True

    def handler(self, instruction: object) -> Step:
        kind = type(instruction)
        if self.alone and kind in self.steps.alone:
            self.alone -= 1
            return self.steps.alone[kind]
        found = self.steps.ordinary.get(kind)
        if found is None:
            raise UnsupportedError(f"the replay does not handle the instruction '{kind.__name__}'", self.span)
        return found

    def note_round(self, call: Call) -> None:
        """When control comes to where an await goes back to, a round begins."""
        heads = self.heads.get(call.function.name)
        if heads is None:
            awaits = (step for step in call.function.body if isinstance(step, Await))
            heads = self.heads[call.function.name] = frozenset(call.function.labels[step.target] for step in awaits)
        if call.pc in heads:
            self.rounds[len(self.calls), call.pc] = len(self.run.done)

    def finish(self) -> ThreadRun:
        if self.taken < len(self.trace):
            how = "does not come to an end" if self.run.end == STOPPED else "ends"
            how = "is never started" if self.run.end == UNBORN else how
            raise Mismatch(f"{self.name} {how}, but its trace goes on with {self.describe(self.trace[self.taken])}")
        if self.must_wait and self.run.end == COMPLETE:
            raise Mismatch(f"{self.name} ends, but an exchange before has no write in its trace")
        if self.run.end != UNBORN:
            self.run.registers = {name: word.value for name, word in self.first_call.registers.items()}
        return self.run

    def end(self, how: str) -> End:
        self.run.end = how
        self.run.stack = self.stack()
        return End()

    def stop(self) -> End:
        """The trace ends in the middle of what the thread does."""
        last_round = self.visits.get(self.visit()) if self.taken == self.begun else None
        if self.may_stop or last_round is None:
            return self.end(FAILED if self.may_stop else STOPPED)
        self.run.last_round = last_round
        return self.end(WAITING)

    def visit(self) -> tuple[Visit, ...]:
        """What the thread goes on with in each of its calls, at the beginning of an instruction: the instruction that
        is next, and the values that it may still read, but for counters that only let time pass."""
        places = [*(call.pc for call in self.calls[:-1]), self.instruction]
        results = [*(call.result for call in self.calls[1:]), None]
        return tuple(map(self.visit_of, self.calls, places, results))

    def visit_of(self, call: Call, pc: int, awaited: str | None) -> Visit:
        name = call.function.name
        if name not in self.live:
            self.live[name] = live_values(self.world.program, call.function)
        values = (
            (register, self.by_local(word.value))
            for register, word in call.registers.items()
            if word.value and register in self.live[name][pc] and register != awaited
        )
        return name, pc, frozenset(values)

    def by_local(self, value: int) -> int | tuple[str, int, int]:
        """An address in an own local as its name, the call that it belongs to, and the offset: in each round a loop may
        have new ones."""
        found = self.world.allocation_at(value) if value >= heap_address(self.run.thread, 0) else None
        if found is None or not found.local or found.thread != self.run.thread:
            return value
        return found.name, len(found.stack), value - found.start

    def note_visit(self) -> None:
        self.visits[self.visit()] = len(self.run.done)

    def note_failure(self, kind: str, message: str, address: int = 0, size: int = 0) -> None:
        """Of which the thread need not know yet."""
        failure = Failure(kind, message, self.run.thread, self.stack(), address, size, len(self.run.done))
        self.run.noted.append(failure)

    def demand(self, word: Word, what: str) -> None:
        """What the thread does next must not depend on an indeterminate value."""
        if word.is_undecided:
            raise self.fail(UNINITIALISED, _unset_message(what, word), *_unset_place(word))

    def demand_all(self, word: Word, what: str) -> None:
        if word.undefined:
            raise self.fail(UNINITIALISED, _unset_message(what, word), *_unset_place(word))

    def note_unset(self, what: str, word: Word) -> None:
        self.note_failure(UNINITIALISED, _unset_message(what, word), *_unset_place(word))

    def note_shown(self, address: int, size: int, value: Word, *, copy: bool) -> None:
        """Nothing is stored where others may see it of which not a bit is known."""
        everything = value.undefined & mask(8 * size) == mask(8 * size)
        if everything and not copy and self.world.is_for_others(address):
            self.note_unset("what is stored for others to see", value)

    def fail(self, kind: str, message: str, address: int = 0, size: int = 0) -> End:
        self.run.failure = Failure(kind, message, self.run.thread, self.stack(), address, size)
        return self.end(FAILED)

    # --- where we are

    @property
    def instruction(self) -> int:
        return max(0, self.calls[-1].pc - 1)

    @property
    def span(self) -> Span | None:
        return self.calls[-1].function.span(self.instruction)

    def stack(self) -> Stack:
        return tuple(Frame(call.function.name, call.function.span(max(0, call.pc - 1))) for call in self.calls)

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
        return self.is_done_here(self.peek(), kind)

    def is_done_here(self, item: TraceEvent | None, kind: str) -> bool:
        """Whether it is an event of that kind that the current instruction does."""
        if item is None or item.kind != kind or item.instruction != self.instruction:
            return False
        return item.function in ("", self.calls[-1].function.name) or item.function == self._shown_function()

    def _shown_function(self) -> str:
        """As witnesses have it."""
        return shown_function([call.function.name for call in self.calls])

    def take(self, kind: str, wanted: str) -> TraceEvent:
        if self.alone:
            raise Mismatch(f"{self.name} does {wanted}{self.where()}, which is no event according to its trace")
        item = self.peek()
        if item is None:
            raise self.stop()
        if self.taken == self.begun:
            self.note_visit()
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

    def emit(
        self,
        event: Event,
        dependencies: dict[str, frozenset[int]],
        address: Shape = 0,
        value: Shape = 0,
    ) -> int:
        found = {"ctrl": self.control, "pick-ctrl": self.picked_control, **dependencies}
        self.run.done.append(Done(event, self.instruction, found, address, value, self.stack()))
        return len(self.run.done) - 1

    def read(
        self, address: Word, size: int, order: Order, tags: frozenset[str], *, loose: bool = False
    ) -> tuple[int, Word]:
        """As a datum, the address of a `loose` read orders nothing behind the read."""
        item = self.take_access("R", address, size, None)
        if address.undefined:
            self.note_unset(POINTER, address)
        event = self.event("R", address.value, size, item.value, order, tags)
        name = "data" if loose else "addr"
        index = self.emit(event, {name: address.sources, f"pick-{name}": address.picked}, address.shape)
        initial = item.link == FROM_INITIAL
        bits, origin = self.world.unset(address.value, size) if initial else self.world.unset_write(item.link)
        word = Word(item.value, Returned((self.run.thread, index)), frozenset((index,)), frozenset(), bits, origin)
        return index, word

    def write(
        self, address: Word, size: int, value: Word, order: Order, tags: frozenset[str], *, copy: bool = False
    ) -> int:
        self.take_access("W", address, size, value.value)
        if address.undefined:
            self.note_unset(POINTER, address)
        if value.undefined:
            self.note_shown(address.value, size, value, copy=copy)
            self.world.unset_writes[self.offset + self.taken - 1] = (value.undefined & mask(8 * size), value.origin)
        event = self.event("W", address.value, size, value.value, order, tags)
        dependencies = {
            "addr": address.sources,
            "pick-addr": address.picked,
            "data": value.sources,
            "pick-data": value.picked,
        }
        return self.emit(event, dependencies, address.shape, value.shape)

    def fence(self, kind: str) -> None:
        self.take("F", f"the fence {kind}")
        name = FENCES[kind].name
        self.emit(Event("F", self.run.thread, len(self.run.done), fence=name, span=self.span), {})

    def event(self, kind: str, address: int, size: int, value: int, order: Order, tags: frozenset[str]) -> Event:
        index = len(self.run.done)
        return Event(kind, self.run.thread, index, address, size, value, order, tags, "", self.span)

    def mark(self, index: int, *, release: bool = False, renewal: bool = False) -> None:
        self.run.done[index] = replace(self.run.done[index], release=release, renewal=renewal)

    def retag(self, index: int, tag: str) -> None:
        done = self.run.done[index]
        event = replace(done.event, tags=done.event.tags | {tag})
        self.run.done[index] = replace(done, event=event)

    # --- registers and control

    def set(self, register: str | None, word: Word) -> None:
        if register is not None:
            self.calls[-1].registers[register] = word

    def value(self, expression: Expr) -> Word:
        return _EVALUATE[type(expression)](self, expression)

    def cut(self, expression: Expr, size: int) -> Word:
        word = self.value(expression)
        return word if size == 8 else apply("zext", 8 * size, word)

    def depend_on(self, condition: Word) -> None:
        self.control |= condition.sources
        self.picked_control |= condition.picked

    def go(self, label: str) -> None:
        call = self.calls[-1]
        call.pc = call.function.labels[label]

    def leave(self, result: Word) -> None:
        """Returns from a function."""
        self.end_objects([item for item in self.scoped if len(item.stack) == len(self.calls) and not item.permanent])
        if len(self.calls) == 1:
            raise self.end_thread(result)
        call = self.calls.pop()
        self.rounds = {place: index for place, index in self.rounds.items() if place[0] <= len(self.calls)}
        self.set(call.result, result)

    def end_objects(self, over: Sequence[Allocation]) -> None:
        """What nobody may access any more."""
        self.scoped = [item for item in self.scoped if item not in over]
        for item in reversed(over):
            if self.ends_alone(item):
                self.world.released[item.start] = self.stack()
            else:
                self.release(item)

    def ends_alone(self, item: Allocation) -> bool:
        """Before there are other threads, the end of an object need not be an event."""
        if self.alone:
            return True
        following = self.peek()
        is_event = self.next_is("W") and following is not None and following.address == item.header
        return not is_event and not self.taken and self.run.thread == 0 and len(self.world.starts) == 1

    def release(self, found: Allocation) -> None:
        for written in self.write_to_parts(found):
            self.mark(written, release=True)

    def write_to_parts(self, found: Allocation, *, unset: bool = False) -> Iterator[int]:
        """To the header of an object, and to those parts that the trace says; what they hold then may be `unset`."""
        yield self.write(number(found.header), HEADER_SIZE, ZERO, Order.PLAIN, frozenset())
        while self.next_is("W"):
            item = self.peek()
            if item is None or not found.contains(item.address, item.size):
                return
            content = taken(0, mask(8 * item.size) if unset else 0, item.address)
            yield self.write(number(item.address), item.size, content, Order.PLAIN, frozenset(), copy=True)

    def end_thread(self, result: Word) -> End:
        if self.spawned:
            self.fence("mfence")
            self.write(number(end_address(self.run.thread)), 8, result, Order.SEQ_CST, frozenset())
        return self.end(COMPLETE)


def _unset_message(what: str, word: Word) -> str:
    where = f": `{word.origin}`" if isinstance(word.origin, str) else ""
    return f"{what} was never set{where}"


def _unset_place(word: Word) -> tuple[int, int]:
    return (word.origin, 1) if isinstance(word.origin, int) else (0, 0)


Step = Callable[[Machine, Any], None]


# --- expressions


def _binary(machine: Machine, expression: Binary) -> Word:
    return apply(expression.op, expression.width, machine.value(expression.left), machine.value(expression.right))


def _unary(machine: Machine, expression: Unary) -> Word:
    return apply(expression.op, expression.width, machine.value(expression.operand))


def _select(machine: Machine, expression: Select) -> Word:
    condition = machine.value(expression.condition)
    chosen = machine.value(expression.then if condition.value else expression.other)
    if condition.is_undecided:
        chosen = with_bits(chosen, mask(64), condition)
    if not (condition.sources or condition.picked):
        return chosen
    return replace(chosen, picked=chosen.picked | condition.sources | condition.picked)


_EVALUATE: dict[type, Callable[[Machine, Any], Word]] = {
    Unset: lambda machine, expression: taken(0, mask(64), "a variable"),
    Const: lambda machine, expression: number(expression.value),
    Reg: lambda machine, expression: machine.calls[-1].registers.get(expression.name, ZERO),
    Address: lambda machine, expression: number(machine.places.resolve(expression)),
    Unary: _unary,
    Binary: _binary,
    Select: _select,
}
