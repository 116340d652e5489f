"""Programs in which the delays of a model are spelled out: run under SC, they do what the program does under the model.

Every access becomes a call of the abstract machine (`machine/machine.c`), which performs it at once or, if it is one of
those to be delayed, perhaps later. A read that is delayed is bound to one of the values that it may return (prophecy);
the machine gives up runs in which it turns out to return another. Where reads are delayed, registers are accompanied by
the delayed reads that they depend on: `dk.n.r` for what orders accesses that use the register r, and on POWER `dk.g.r`
for what its value rests on, so that no value justifies itself.

- A loop that only waits goes round once.
- Threads begin and end with all their accesses performed, as if behind a strong fence. A thread that exists from the
  start ends without; the last one of them performs what is left.
- An assertion fails only once all that was guessed is confirmed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.fences import FENCES
from dekker.ir.flow import defined, used
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    Allocate,
    Assert,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Print,
    Refuse,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import RegisterValue, observables
from dekker.source import Span
from dekker.transform.events import AccessPoint
from dekker.transform.machine import FEATURES, SLOT_COUNT, Size, machine_for
from dekker.transform.open_reads import open_reads
from dekker.transform.possible_values import MOST_VALUES, ValueSets
from dekker.transform.sizes import comes_back, executions, started_functions

MODELS = tuple(FEATURES)
DEFAULT_BUFFER = 2
MOST_STARTED = 4
"""Threads that a place in a loop is taken to start."""

SELF, CONTROL, CONTROL_FENCED, GROUNDS = "dk.self", "dk.control", "dk.isync", "dk.grounds"
RESULT_NEEDS, RESULT_GROUNDS = "dk.n.", "dk.g."
RETURNED = "dk_returned"
_ORDER_BITS = {"RR": 1, "RW": 2, "WR": 4, "WW": 8}
_NONE = Const(0)


@dataclass(frozen=True)
class Instrumented:
    """`size` is the room for delayed accesses; it is not `enough` if a run may want more. No `size`: nothing is
    delayed, and the program is as it was."""

    program: Program
    size: Size | None
    enough: bool = True


def instrument(
    program: Program, model: str, delayed: frozenset[AccessPoint], buffer: int | None = None, *, always: bool = False
) -> Instrumented:
    """`program` is as engines run it under the model, one of `MODELS`. `buffer` bounds the reads and the writes that
    each thread can delay, where the text does not. With `always`, accesses go through the machine even if there is
    nothing to delay."""
    reads = "DK_READS" in FEATURES[model]
    points = frozenset(point for point in delayed if _can_be_delayed(program, point, reads=reads))
    if not points and not always:
        return Instrumented(program, None)
    _refuse_names(program)
    size, enough = _size(program, model, points, DEFAULT_BUFFER if buffer is None else buffer)
    values = ValueSets(program) if reads else None
    outer = _Outer(program, model, points, size, values)
    objects, functions = machine_for(model, size)
    changed = tuple(_Rewriting(outer, function).run() for function in program.functions)
    starts = tuple(_start(arity, outer) for arity in sorted(outer.arities))
    returned = (Object(RETURNED, 8 * len(outer.returned) * size.threads),) if outer.returned else ()
    result = replace(
        program,
        objects=(*program.objects, *objects, *returned),
        functions=(*changed, *starts, *functions),
        threads=tuple(_with_number(outer, thread, number) for number, thread in enumerate(program.threads)),
    )
    return Instrumented(result, size, enough)


def _can_be_delayed(program: Program, point: AccessPoint, *, reads: bool) -> bool:
    step = program.function_by_name[point.function].body[point.index]
    return isinstance(step, Store) or (reads and isinstance(step, Load))


def _with_number(outer: _Outer, thread: Thread, number: int) -> Thread:
    parameters = outer.program.function_by_name[thread.function].parameters
    shadows = (shadow for parameter in parameters for shadow in outer.shadows(parameter))
    hidden = ((name, _NONE) for name in (*outer.hidden_parameters[1:], *shadows))
    return replace(thread, registers=(*thread.registers, (SELF, Const(number)), *hidden))


def _refuse_names(program: Program) -> None:
    names = {*program.object_by_name, *program.function_by_name}
    taken = next((name for name in sorted(names) if name.startswith(("dk_", "dk."))), None)
    if taken is not None:
        raise UnsupportedError(
            f"the program uses the name '{taken}', and those that begin with dk_ are of the abstract machine",
            hint="rename it, or use another engine",
        )


# --- how much room there is


def _size(program: Program, model: str, points: frozenset[AccessPoint], buffer: int) -> tuple[Size, bool]:
    roots = started_functions(program)

    def most(kinds: tuple[type[Any], ...], among: frozenset[AccessPoint] | None) -> float:
        def weight(name: str, index: int, step: Instruction) -> float:
            return isinstance(step, kinds) and (among is None or AccessPoint(name, index) in among)

        found = executions(program, weight)
        return max((found[name] for name in roots), default=0)

    n_reads = most((Load,), points)
    keeps_grounds = bool(n_reads) and "DK_NON_ATOMIC" in FEATURES[model]
    n_writes = most((Store,), None if keeps_grounds else points)
    threads = _thread_count(program)
    reads, writes = (int(count) if count < inf else max(buffer, 1) for count in (n_reads, max(n_writes, 1)))
    while threads * (reads + writes) > SLOT_COUNT and (reads > 1 or writes > 1):
        reads, writes = (reads - 1, writes) if reads > writes else (reads, writes - 1)
    threads = min(threads, SLOT_COUNT // (reads + writes))
    return Size(len(program.threads), threads, reads, writes), reads >= n_reads and writes >= n_writes


def _thread_count(program: Program) -> int:
    roots = {thread.function for thread in program.threads}
    count = len(program.threads)
    for function in program.functions:
        for index, step in enumerate(function.body):
            if isinstance(step, Spawn):
                once = function.name in roots and not comes_back(function, index)
                count += 1 if once else MOST_STARTED
    return count


# --- one function


@dataclass
class _Outer:
    """What all functions share. `arities`: threads are started with so many arguments."""

    program: Program
    model: str
    points: frozenset[AccessPoint]
    size: Size
    values: ValueSets | None
    arities: set[int] = field(default_factory=set)

    @property
    def reads(self) -> bool:
        return self.values is not None

    @property
    def grounds(self) -> bool:
        return "DK_NON_ATOMIC" in FEATURES[self.model]

    @cached_property
    def shown(self) -> frozenset[str]:
        """Registers of which the property speaks, of whatever thread."""
        prop = self.program.property
        formulas = [prop.filter] if prop.filter is not None else []
        formulas += [prop.condition.formula] if prop.condition is not None else []
        wanted = {*prop.observed, *(item for formula in formulas for item in observables(formula))}
        return frozenset(item.register for item in wanted if isinstance(item, RegisterValue))

    @property
    def hidden_parameters(self) -> tuple[str, ...]:
        """Of every function, in front of its own."""
        tracked = (CONTROL, CONTROL_FENCED) if self.reads else ()
        return (SELF, *tracked, *((GROUNDS,) if self.grounds else ()))

    @property
    def returned(self) -> tuple[str, ...]:
        """What a function hands back besides its result, in cells of the thread."""
        if not self.reads:
            return ()
        return (*self.hidden_parameters[1:], RESULT_NEEDS, *((RESULT_GROUNDS,) if self.grounds else ()))

    def shadows(self, register: str) -> tuple[str, ...]:
        """The registers that accompany one."""
        return ((_needs(register),) if self.reads else ()) + ((_grounds(register),) if self.grounds else ())


def _needs(register: str) -> str:
    return f"dk.n.{register}"


def _grounds(register: str) -> str:
    return f"dk.g.{register}"


def _open(register: str) -> str:
    """Holds the slot of the delayed read that the register stands for, plus 1; or 0."""
    return f"dk.o.{register}"


def _or(*masks: Expr) -> Expr:
    result: Expr = _NONE
    for item in masks:
        if item not in (_NONE, result):
            result = item if result == _NONE else Binary("or", 64, result, item)
    return result


@dataclass
class _Rewriting:
    """The function as far as it is rewritten."""

    outer: _Outer
    function: Function
    body: list[Instruction] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    span: Span | None = None
    index: int = 0
    n_labels: int = 0

    def run(self) -> Function:
        function, starts = self.function, []
        self.is_root = any(thread.function == function.name for thread in self.outer.program.threads)
        self.tracked = _tracked(function) if self.outer.reads else frozenset()
        self.open_reads = open_reads(function, self.outer.points) if self.outer.reads else []
        for index, step in enumerate(function.body):
            starts.append(len(self.body))
            self.index, self.span = index, function.span(index)
            for name in sorted(self._open_at(index) & {str(item) for item in used(step)}):
                self.settle(name)
            if not isinstance(step, _IN_SECTIONS) or self._goes_back(step):
                self.call("dk_close")
            _REWRITES.get(type(step), _Rewriting.emit)(self, step)
        starts.append(len(self.body))
        self.index = len(function.body)
        self.leave(None)
        labels = {label: starts[index] for label, index in function.labels.items()} | self.labels
        parameters = [*self.outer.hidden_parameters]
        for name in function.parameters:
            parameters += [name, *self.outer.shadows(name)]
        return Function(function.name, tuple(parameters), tuple(self.body), labels, tuple(self.spans))

    def _goes_back(self, step: Instruction) -> bool:
        return isinstance(step, Jump | Branch) and self.function.labels[step.target] <= self.index

    def _open_at(self, index: int) -> set[str]:
        """Registers that may stand for a read that is still delayed."""
        return set(self.open_reads[index]) if self.open_reads else set()

    # output

    def emit(self, *steps: Instruction) -> None:
        self.body += steps
        self.spans += [self.span] * len(steps)

    def label(self) -> str:
        self.n_labels += 1
        return f"dk.L{self.n_labels}"

    def place(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def call(self, name: str, *arguments: Expr | str, dst: str | None = None) -> None:
        given = (Reg(item) if isinstance(item, str) else item for item in arguments)
        self.emit(Call(dst, Address(name), tuple(given)))

    # dependencies

    def mask(self, expression: Expr, shadow: Callable[[str], str]) -> Expr:
        match expression:
            case Reg(name):
                return Reg(shadow(name)) if name in self.tracked else _NONE
            case Unary(_, _, operand):
                return self.mask(operand, shadow)
            case Binary(_, _, left, right):
                return _or(self.mask(left, shadow), self.mask(right, shadow))
            case Select(condition, then, other):
                chosen, left = self.mask(then, shadow), self.mask(other, shadow)
                either = chosen if chosen == left else Select(condition, chosen, left)
                return _or(self.mask(condition, shadow), either)
        return _NONE

    def needs(self, *expressions: Expr) -> Expr:
        return _or(*(self.mask(item, _needs) for item in expressions)) if self.outer.reads else _NONE

    def grounds(self, *expressions: Expr) -> Expr:
        """Of an access: those of its address and value, and of all branches before."""
        if not self.outer.grounds:
            return _NONE
        return _or(*(self.mask(item, _grounds) for item in expressions))

    def set_shadows(self, register: str | None, needs: Expr, grounds: Expr) -> None:
        if register in self.tracked and register is not None:
            masks = (needs, grounds)
            self.emit(*(Assign(name, item) for name, item in zip(self.outer.shadows(register), masks, strict=False)))

    def depend(self, condition: Expr) -> None:
        """What follows is behind a branch on the condition."""
        needs, grounds = self.needs(condition), self.grounds(condition)
        if needs != _NONE:
            self.emit(Assign(CONTROL, _or(Reg(CONTROL), needs)))
        if grounds != _NONE:
            self.emit(Assign(GROUNDS, _or(Reg(GROUNDS), grounds)))

    def refuse(self, what: str, hint: str = "use --engine rsmc or --engine axiomatic") -> UnsupportedError:
        return UnsupportedError(f"the transformation does not handle {what}", self.span, hint)

    # instructions

    def assign(self, step: Assign) -> None:
        needs, grounds = self.needs(step.value), self.grounds(step.value)
        self.emit(step)
        self.set_shadows(step.dst, needs, grounds)

    def load(self, step: Load) -> None:
        if step.exclusive:
            raise self.refuse("load-linked and store-conditional")
        size, needs, grounds = Const(step.size), self.needs(step.address), self.grounds(step.address)
        if self.outer.grounds:
            needs = _or(needs, Reg(CONTROL_FENCED))
        raw = "dk.value" if step.signed else step.dst
        point = AccessPoint(self.function.name, self.index)
        if self.outer.values is None or point not in self.outer.points:
            self._load_now(step, raw, size, needs, grounds)
            return
        now, later, done = self.label(), self.label(), self.label()
        nowhere = Const(self.outer.size.slots)
        self.emit(Choose("dk.later", 0, 1), Branch(Reg("dk.later"), later))
        self.place(now)
        self._load_now(step, raw, size, needs, grounds)
        self.emit(Assign(_open(step.dst), _NONE), Jump(done))
        self.place(later)
        self.call("dk_read_later", SELF, step.address, size, needs, grounds, dst="dk.slot")
        self.emit(Branch(Binary("eq", 64, Reg("dk.slot"), nowhere), now))
        bit = Binary("shl", 64, Const(1), Reg("dk.slot"))
        self.set_shadows(step.dst, bit, _or(bit, grounds))
        self.emit(Assign(_open(step.dst), Binary("add", 64, Reg("dk.slot"), Const(1))))
        self.place(done)

    def _load_now(self, step: Load, raw: str, size: Expr, needs: Expr, grounds: Expr) -> None:
        self.call("dk_read", SELF, step.address, size, needs, grounds, dst=raw)
        if self.outer.grounds and step.dst in self.tracked:
            last = Binary("add", 64, Address("dk_last_grounds"), Binary("mul", 64, Reg(SELF), Const(8)))
            self.emit(Load(_grounds(step.dst), last, 8))
        if self.outer.reads and step.dst in self.tracked:
            self.emit(Assign(_needs(step.dst), _NONE))
        self._finish_load(step, raw)

    def settle(self, register: str) -> None:
        """The register is used: if it stands for a read that is still delayed, that is bound to a value now."""
        loads = [self.function.body[index] for index in sorted(self.open_reads[self.index][register])]
        first = loads[0]
        assert isinstance(first, Load)
        settled, guess, known = self.label(), self.label(), self.label()
        slot = Binary("sub", 64, Reg(_open(register)), Const(1))
        self.emit(Branch(Binary("eq", 64, Reg(_open(register)), _NONE), settled))
        self.call("dk_is_open", slot, dst="dk.value")
        self.emit(Branch(Reg("dk.value"), guess))
        self.call("dk_result", slot, dst="dk.value")
        self.emit(Jump(known))
        self.place(guess)
        self._guess(self._possible(register), "dk.value")
        self.call("dk_bind", slot, "dk.value")
        self.place(known)
        self.call("dk_pause")
        self.emit(Assign(_open(register), _NONE))
        self._finish_load(replace(first, dst=register), "dk.value")
        self.place(settled)

    def wait(self, register: str) -> None:
        """The value of the register is shown at the end."""
        settled = self.label()
        first = self.function.body[min(self.open_reads[self.index][register])]
        assert isinstance(first, Load)
        self.emit(Branch(Binary("eq", 64, Reg(_open(register)), _NONE), settled))
        self.call("dk_wait_for_read", Binary("sub", 64, Reg(_open(register)), Const(1)), dst="dk.value")
        self._finish_load(first, "dk.value")
        self.place(settled)

    def _finish_load(self, step: Load, raw: str) -> None:
        if step.signed and step.size < 8:
            self.emit(Assign(step.dst, Unary("sext", 8 * step.size, Reg(raw))))
        elif raw != step.dst:
            self.emit(Assign(step.dst, Reg(raw)))

    def _possible(self, register: str) -> list[int]:
        assert self.outer.values is not None
        found = set[int]()
        for index in self.open_reads[self.index][register]:
            values = self.outer.values.reads.get((self.function.name, index), frozenset())
            if values is None:
                raise UnsupportedError(
                    "the transformation does not handle a delayed read whose value is used, unless it is known which "
                    f"few values it may return (at most {MOST_VALUES})",
                    self.function.span(index),
                    "it is not known for numbers that a loop computes, for pointers to allocated memory, and if "
                    "something is written through a pointer of which nothing is known; use --engine rsmc",
                )
            found |= values
        return sorted(found)

    def _guess(self, values: list[int], dst: str) -> None:
        chosen: Expr = Const(values[-1]) if values else _NONE
        for number, value in reversed(list(enumerate(values[:-1]))):
            chosen = Select(Binary("eq", 64, Reg("dk.choice"), Const(number)), Const(value), chosen)
        if len(values) > 1:
            self.emit(Choose("dk.choice", 0, len(values) - 1))
        self.emit(Assign(dst, chosen))

    def store(self, step: Store) -> None:
        may_delay = AccessPoint(self.function.name, self.index) in self.outer.points
        value = step.value if step.size == 8 else Unary("zext", 8 * step.size, step.value)
        needs = self.needs(step.address, step.value)
        decided: Expr = Reg(CONTROL) if self.outer.reads else _NONE
        grounds = self.grounds(step.address, step.value)
        if self.outer.grounds:
            grounds = _or(grounds, Reg(GROUNDS))
        arguments = (step.address, Const(step.size), value, needs, decided, grounds, Const(int(may_delay)))
        self.call("dk_write", SELF, *arguments)

    def update(self, step: Rmw | CompareExchange) -> None:
        """It is a fence as well, except on POWER."""
        if self.outer.grounds:
            raise self.refuse("updates under power")
        expressions = (step.operand,) if isinstance(step, Rmw) else (step.expected, step.desired)
        needs = self.needs(step.address, *expressions)
        if self.outer.reads:
            needs = _or(needs, Reg(CONTROL))
        self.call("dk_before_update", SELF, step.address, Const(step.size), needs)
        self.emit(step)
        self.call("dk_pause")
        for name in defined(step):
            self.set_shadows(str(name), _NONE, _NONE)

    def store_conditional(self, step: StoreConditional) -> None:
        raise self.refuse("load-linked and store-conditional")

    def fence(self, step: Fence) -> None:
        orders = FENCES[step.kind].orders
        bits = sum(_ORDER_BITS[pair] for pair in orders)
        if self.outer.model == "tso":
            bits &= _ORDER_BITS["WR"]
        if bits:
            self.call("dk_fence", SELF, Const(bits))
        if self.outer.reads and FENCES[step.kind].tag in ("ISYNC", "ISB") and self.outer.grounds:
            self.emit(Assign(CONTROL_FENCED, Reg(CONTROL)))

    def branch(self, step: Branch) -> None:
        self.depend(step.condition)
        self.emit(step)

    def assume(self, step: Assume | Await) -> None:
        self.depend(step.condition)
        self.emit(Assume(step.condition))

    def check(self, step: Assert) -> None:
        if not step.loose:
            self.depend(step.condition)
        if self.outer.reads:
            holds = self.label()
            self.emit(Branch(step.condition, holds))
            self.call("dk_confirm")
            self.place(holds)
        self.emit(step)

    def refuse_there(self, step: Refuse) -> None:
        if self.outer.reads:
            self.call("dk_confirm")
        self.emit(step)

    def call_function(self, step: Call) -> None:
        self.depend(step.function)
        self.emit(replace(step, arguments=self._passed(step.arguments)))
        if self.outer.returned:
            self.call("dk_resume")
            self.emit(*(Load(name, self._cell(name), 8) for name in self.outer.returned))
            self.call("dk_pause")
            self.set_shadows(step.dst, Reg(RESULT_NEEDS), Reg(RESULT_GROUNDS))

    def _hand_back(self, value: Expr | None) -> None:
        if not self.outer.returned:
            return
        result = _NONE if value is None else value
        masks = {RESULT_NEEDS: self.needs(result), RESULT_GROUNDS: self.grounds(result)}
        self.call("dk_resume")
        for name in self.outer.returned:
            self.emit(Store(self._cell(name), masks.get(name, Reg(name)), 8))
        self.call("dk_pause")

    def _cell(self, name: str) -> Expr:
        row = Binary("mul", 64, Reg(SELF), Const(8 * len(self.outer.returned)))
        return Binary("add", 64, Address(RETURNED, 8 * self.outer.returned.index(name)), row)

    def _passed(self, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
        given: list[Expr] = [Reg(name) for name in self.outer.hidden_parameters]
        for argument in arguments:
            masks = (self.needs(argument), self.grounds(argument))
            given += [argument, *masks[: len(self.outer.shadows(""))]]
        return tuple(given)

    def spawn(self, step: Spawn) -> None:
        self.depend(step.function)
        self.outer.arities.add(len(step.arguments))
        room = self.label()
        self.call("dk_drain", SELF)
        self.call("dk_new_thread", dst="dk.number")
        self.emit(
            Branch(Binary("ult", 64, Reg("dk.number"), Const(self.outer.size.threads)), room),
            Refuse(f"the transformation has room for {self.outer.size.threads} threads that are started, not for more"),
        )
        self.place(room)
        start = Address(_start_name(len(step.arguments)))
        self.emit(Spawn(step.dst, start, (step.function, Reg("dk.number"), *step.arguments)))
        self.set_shadows(step.dst, _NONE, _NONE)

    def join(self, step: Join) -> None:
        self.depend(step.thread)
        self.emit(step)
        self.set_shadows(step.dst, _NONE, _NONE)
        self.call("dk_fence", SELF, Const(15))

    def release(self, step: Free | Measure) -> None:
        if self.outer.reads:
            raise self.refuse("the release of memory under rmo and power")
        self.call("dk_drain", SELF)
        self.emit(step)

    def allocate(self, step: Allocate) -> None:
        self.depend(step.size)
        self.emit(step)
        self.set_shadows(step.dst, _NONE, _NONE)

    def choose(self, step: Choose) -> None:
        self.emit(step)
        self.set_shadows(step.dst, _NONE, _NONE)

    def section(self, step: AtomicBegin | AtomicEnd) -> None:
        raise self.refuse("sections in which no other thread takes a step")

    def exit(self, step: Exit) -> None:
        if step.everything:
            if self.is_root:
                self.show()
            self.call("dk_finish" if self.outer.program.property.condition is not None else "dk_confirm")
        else:
            self._end_thread()
        self.emit(step)

    def _end_thread(self) -> None:
        started, end = self.label(), self.label()
        self.emit(Branch(Binary("uge", 64, Reg(SELF), Const(len(self.outer.program.threads))), started))
        if self.is_root:
            self.show()
        self._leave_first_threads(end)
        self.place(started)
        self.call("dk_drain", SELF)
        self.place(end)

    def _leave_first_threads(self, end: str) -> None:
        """The last of the threads that exist from the start performs what is left."""
        self.call("dk_leave", SELF, dst="dk.last")
        self.emit(Branch(Binary("eq", 64, Reg("dk.last"), _NONE), end))
        self.call("dk_finish")
        self.emit(Jump(end))

    def show(self) -> None:
        """Registers of which the property speaks get their values."""
        for name in sorted(self._open_at(self.index) & self.outer.shown):
            self.wait(name)

    def give_back(self, step: Return) -> None:
        self.leave(step.value)

    def leave(self, value: Expr | None) -> None:
        """The end of the function. Threads that exist from the start end with it; the last performs what is left."""
        for index, step in enumerate(self.function.body):
            if isinstance(step, Allocate) and step.stack and not comes_back(self.function, index):
                self.call("dk_discard", step.dst, step.size)
        if self.is_root:
            end = self.label()
            self.show()
            self._leave_first_threads(end)
            self.place(end)
        else:
            self._hand_back(value)
        self.emit(Return(value))


def _tracked(function: Function) -> frozenset[str]:
    """Registers whose value may have to do with what was read."""
    found = set(function.parameters)
    size = -1
    while size != len(found):
        size = len(found)
        for step in function.body:
            if isinstance(step, (*MEMORY_ACCESSES, Call)) or used(step) & found:
                found |= {str(name) for name in defined(step) if isinstance(name, str)}
    return frozenset(found)


_IN_SECTIONS = (*MEMORY_ACCESSES, Assign, Assume, Await, Branch, Call, Choose, Fence, Jump, Print, Return)
"""All that can follow in a section that is paused. Others may wait, or need no machine."""

_REWRITES: dict[type[Any], Callable[[_Rewriting, Any], None]] = {
    Assign: _Rewriting.assign,
    Load: _Rewriting.load,
    Store: _Rewriting.store,
    StoreConditional: _Rewriting.store_conditional,
    Rmw: _Rewriting.update,
    CompareExchange: _Rewriting.update,
    Fence: _Rewriting.fence,
    Branch: _Rewriting.branch,
    Assume: _Rewriting.assume,
    Await: _Rewriting.assume,
    Assert: _Rewriting.check,
    Refuse: _Rewriting.refuse_there,
    Call: _Rewriting.call_function,
    Spawn: _Rewriting.spawn,
    Join: _Rewriting.join,
    Free: _Rewriting.release,
    Measure: _Rewriting.release,
    Allocate: _Rewriting.allocate,
    Choose: _Rewriting.choose,
    AtomicBegin: _Rewriting.section,
    AtomicEnd: _Rewriting.section,
    Exit: _Rewriting.exit,
    Return: _Rewriting.give_back,
}


# --- threads that are started


def _start_name(arity: int) -> str:
    return f"dk_start_{arity}"


def _start(arity: int, outer: _Outer) -> Function:
    """Runs a function as a thread."""
    arguments = tuple(f"a{number}" for number in range(arity))
    given: list[Expr] = [Reg("number"), *(_NONE for _ in outer.hidden_parameters[1:])]
    for argument in arguments:
        given += [Reg(argument), *(_NONE for _ in outer.shadows(""))]
    body = (
        Call("result", Reg("function"), tuple(given)),
        Call(None, Address("dk_drain"), (Reg("number"),)),
        Return(Reg("result")),
    )
    return Function(_start_name(arity), ("function", "number", *arguments), body)
