"""One function of a program, with its accesses turned into calls of the abstract machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, is_unset, registers
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
    Detach,
    EndScope,
    Exit,
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Print,
    Recycle,
    Refuse,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.passes.compile_atomics import C11
from dekker.ir.program import Function, Program
from dekker.ir.property import RegisterValue, observables
from dekker.records import dataclass
from dekker.source import Span
from dekker.transform.events import AccessPoint
from dekker.transform.machine import FEATURES, Size
from dekker.transform.open_reads import open_reads
from dekker.transform.possible_values import MOST_VALUES, ValueSets
from dekker.transform.sizes import comes_back, passes

SELF, CONTROL, CONTROL_FENCED, GROUNDS = "dk.self", "dk.control", "dk.isync", "dk.grounds"
RESULT_NEEDS, RESULT_GROUNDS = "dk.n.", "dk.g."
FIRST_PAGE = 4096
RETURNED, OLD = "dk_returned", "dk.old"
_ORDER_BITS = {"RR": 1, "RW": 2, "WR": 4, "WW": 8}
NONE = Const(0)


def start_name(arity: int) -> str:
    return f"dk_start_{arity}"


@dataclass
class Outer:
    """What all functions share. `arities`: threads are started with so many arguments. `has_all_threads`: there cannot
    be more than there is room for. `may_be_undefined`: values may be indeterminate, and that is looked at."""

    program: Program
    model: str
    points: frozenset[AccessPoint]
    size: Size
    values: ValueSets | None
    has_all_threads: bool
    may_be_undefined: bool
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
    result: Expr = NONE
    for item in masks:
        if item not in (NONE, result):
            result = item if result == NONE else Binary("or", 64, result, item)
    return result


@dataclass
class Rewriting:
    """The function as far as it is rewritten."""

    outer: Outer
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
        self.variables = {it.dst for it in function.body if isinstance(it, Allocate) and it.stack}
        self.tracked = _tracked(function) if self.outer.reads else frozenset()
        self.open_reads = open_reads(function, self.outer.points) if self.outer.reads else []
        for index, step in enumerate(function.body):
            starts.append(len(self.body))
            self.index, self.span = index, function.span(index)
            for name in sorted(self._open_at(index) & {str(item) for item in used(step)}):
                self.settle_used(name)
            if not isinstance(step, _IN_SECTIONS):
                self.call("dk_close")
            elif self._goes_round_alone(step):
                self.call("dk_turn")
            _REWRITES.get(type(step), Rewriting.emit)(self, step)
        starts.append(len(self.body))
        self.index = len(function.body)
        self.leave(None)
        labels = {label: starts[index] for label, index in function.labels.items()} | self.labels
        parameters = [*self.outer.hidden_parameters]
        for name in function.parameters:
            parameters += [name, *self.outer.shadows(name)]
        return Function(function.name, tuple(parameters), tuple(self.body), labels, tuple(self.spans))

    def _goes_round_alone(self, step: Instruction) -> bool:
        """It goes back to where it may come from without an access. One that is delayed is no step of its own, but
        there is no room for many."""
        if not isinstance(step, Jump | Branch) or self.function.labels[step.target] > self.index:
            return False
        return passes(self.function, self.function.labels[step.target], self.index, _STEPS)

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
                return Reg(shadow(name)) if name in self.tracked else NONE
            case Unary(_, _, operand):
                return self.mask(operand, shadow)
            case Binary(_, _, left, right):
                return _or(self.mask(left, shadow), self.mask(right, shadow))
            case Select(condition, then, other):
                chosen, left = self.mask(then, shadow), self.mask(other, shadow)
                either = chosen if chosen == left else Select(condition, chosen, left)
                return _or(self.mask(condition, shadow), either)
        return NONE

    def needs(self, *expressions: Expr) -> Expr:
        return _or(*(self.mask(item, _needs) for item in expressions)) if self.outer.reads else NONE

    def grounds(self, *expressions: Expr) -> Expr:
        """Of an access: those of its address and value, and of all branches before."""
        if not self.outer.grounds:
            return NONE
        return _or(*(self.mask(item, _grounds) for item in expressions))

    def set_shadows(self, register: str | None, needs: Expr, grounds: Expr) -> None:
        if register in self.tracked and register is not None:
            masks = (needs, grounds)
            self.emit(*(Assign(name, item) for name, item in zip(self.outer.shadows(register), masks, strict=False)))

    def depend(self, condition: Expr) -> None:
        """What follows is behind a branch on the condition."""
        needs, grounds = self.needs(condition), self.grounds(condition)
        if needs != NONE:
            self.emit(Assign(CONTROL, _or(Reg(CONTROL), needs)))
        if grounds != NONE:
            self.emit(Assign(GROUNDS, _or(Reg(GROUNDS), grounds)))

    def refuse(self, what: str, hint: str = "use --engine rsmc or --engine axiomatic") -> UnsupportedError:
        return UnsupportedError(f"the transformation does not handle {what}", self.span, hint)

    # instructions

    def assign(self, step: Assign) -> None:
        self.set_shadows(step.dst, self.needs(step.value), self.grounds(step.value))
        self.emit(step)

    def load(self, step: Load) -> None:
        if step.exclusive and not self.outer.grounds:
            raise self.refuse("load-linked and store-conditional except under power")
        self._read(step, linked=step.exclusive)

    def _read(self, step: Load, *, linked: bool) -> None:
        """`linked`: it waits for its store-conditional, or for the write of its update."""
        self._probe(step.address, step.size)
        size, needs, grounds = Const(step.size), self.needs(step.address), self.grounds(step.address)
        if self.outer.grounds:
            needs = _or(needs, Reg(CONTROL_FENCED))
        nowhere = Const(self.outer.size.slots)
        if linked:
            self.emit(Assign("dk.place", step.address))
            step = replace(step, address=Reg("dk.place"))
        if not self._is_delayed() or self.outer.values is None:
            self._load_now(step, size, needs, grounds, linked=linked)
            return
        now, later, done = self.label(), self.label(), self.label()
        self.emit(Choose("dk.later", 0, 1), Branch(Reg("dk.later"), later))
        self.place(now)
        self._load_now(step, size, needs, grounds, linked=linked)
        self.emit(Assign(_open(step.dst), NONE), Jump(done))
        self.place(later)
        self.call("dk_read_later", SELF, step.address, size, needs, grounds, dst="dk.slot")
        self.emit(Branch(Binary("eq", 64, Reg("dk.slot"), nowhere), now))
        if linked:
            self.call("dk_link_to", SELF, step.address, "dk.slot")
        bit = Binary("shl", 64, Const(1), Reg("dk.slot"))
        self.set_shadows(step.dst, bit, _or(bit, grounds))
        self.emit(Assign(_open(step.dst), Binary("add", 64, Reg("dk.slot"), Const(1))))
        self.place(done)

    def _is_delayed(self) -> bool:
        return AccessPoint(self.function.name, self.index) in self.outer.points

    def _load_now(self, step: Load, size: Expr, needs: Expr, grounds: Expr, *, linked: bool) -> None:
        raw = "dk.value" if step.signed else step.dst
        self.call("dk_read", SELF, step.address, size, needs, grounds, dst=raw)
        if self.outer.grounds and step.dst in self.tracked:
            last = Binary("add", 64, Address("dk_last_grounds"), Binary("mul", 64, Reg(SELF), Const(8)))
            self.emit(Load(_grounds(step.dst), last, 8))
        if self.outer.reads and step.dst in self.tracked:
            self.emit(Assign(_needs(step.dst), NONE))
        if linked:
            self.call("dk_link_to", SELF, step.address, Const(self.outer.size.slots))
        self._finish_load(step, raw)

    def settle_used(self, register: str) -> None:
        places = self.open_reads[self.index][register]
        loads = [step for index in sorted(places) if isinstance(step := self.function.body[index], Load)]
        if len({(step.size, step.signed) for step in loads}) > 1:
            raise self.refuse("a register that stands for one of several delayed reads of different sizes")
        self.settle(replace(loads[0], dst=register), places)

    def settle(self, load: Load, places: Iterable[int]) -> None:
        """The register is used: if it stands for a read that is still delayed, that is bound to a value now."""
        register = load.dst
        settled, guess, known = self.label(), self.label(), self.label()
        slot = Binary("sub", 64, Reg(_open(register)), Const(1))
        self.emit(Branch(Binary("eq", 64, Reg(_open(register)), NONE), settled))
        self.call("dk_is_open", slot, dst="dk.value")
        self.emit(Branch(Reg("dk.value"), guess))
        self.call("dk_result", slot, dst="dk.value")
        self.emit(Jump(known))
        self.place(guess)
        self._guess(self._possible(places), "dk.value")
        self.call("dk_bind", slot, "dk.value")
        self.place(known)
        self.call("dk_pause")
        self.emit(Assign(_open(register), NONE))
        self._finish_load(load, "dk.value")
        self.place(settled)

    def wait(self, register: str) -> None:
        """The value of the register is shown at the end."""
        settled = self.label()
        first = self.function.body[min(self.open_reads[self.index][register])]
        assert isinstance(first, Load)
        self.emit(Branch(Binary("eq", 64, Reg(_open(register)), NONE), settled))
        self.call("dk_wait_for_read", Binary("sub", 64, Reg(_open(register)), Const(1)), dst="dk.value")
        self._finish_load(first, "dk.value")
        self.place(settled)

    def _finish_load(self, step: Load, raw: str) -> None:
        if step.signed and step.size < 8:
            self.emit(Assign(step.dst, Unary("sext", 8 * step.size, Reg(raw))))
        elif raw != step.dst:
            self.emit(Assign(step.dst, Reg(raw)))

    def _possible(self, places: Iterable[int]) -> list[int]:
        assert self.outer.values is not None
        found = set[int]()
        for index in places:
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
        chosen: Expr = Const(values[-1]) if values else NONE
        for number, value in reversed(list(enumerate(values[:-1]))):
            chosen = Select(Binary("eq", 64, Reg("dk.choice"), Const(number)), Const(value), chosen)
        if len(values) > 1:
            self.emit(Choose("dk.choice", 0, len(values) - 1))
        self.emit(Assign(dst, chosen))

    def _probe(self, address: Expr, size: int) -> None:
        """So that a pointer to nowhere is an error of this place, not of the machine. Where reads are delayed it may
        rest on guesses: then null pointers are followed only once these are confirmed."""
        if isinstance(address, Address) or self.outer.program.architecture != C11:
            return
        if not self.outer.reads:
            self.emit(Load("dk.probe", address, size))
            return
        pointer = self.label()
        self.emit(Branch(Binary("uge", 64, address, Const(FIRST_PAGE)), pointer))
        self.call("dk_confirm")
        self.place(pointer)

    def store(self, step: Store) -> None:
        self._probe(step.address, step.size)
        if self.outer.may_be_undefined and not step.copy:
            self._demand_some_bit(step)
        self._write("dk_write", step, self.needs(step.address, step.value), self.grounds(step.address, step.value))

    def _demand_some_bit(self, step: Store) -> None:
        """What is stored for others to see must not be indeterminate, and the machine does not look at it. The
        condition is true wherever a bit of the value is known: of that bit, the value or its complement is 1."""
        is_number = isinstance(step.value, Const | Address) and not is_unset(step.value)
        if is_number or registers(step.address) & self.variables:
            return
        width = 8 * step.size
        parts = (step.value, Unary("not", width, step.value))
        self.emit(Assume(_or(*(Binary("ne", width, part, NONE) for part in parts))))

    def _write(
        self, function: str, step: Store | StoreConditional, needs: Expr, grounds: Expr, dst: str | None = None
    ) -> None:
        value = step.value if step.size == 8 else Unary("zext", 8 * step.size, step.value)
        decided: Expr = Reg(CONTROL) if self.outer.reads else NONE
        if self.outer.grounds:
            grounds = _or(grounds, Reg(GROUNDS))
        may_delay = Const(int(self._is_delayed()))
        arguments = (step.address, Const(step.size), value, needs, decided, grounds, may_delay)
        self.call(function, SELF, *arguments, dst=dst)

    def update(self, step: Rmw | CompareExchange) -> None:
        """It is a fence as well, except on POWER."""
        if self.outer.grounds:
            self._linked_update(step)
            return
        expressions = (step.operand,) if isinstance(step, Rmw) else (step.expected, step.desired)
        needs = self.needs(step.address, *expressions)
        if self.outer.reads:
            needs = _or(needs, Reg(CONTROL))
        self.call("dk_before_update", SELF, step.address, Const(step.size), needs)
        self.emit(step)
        self.call("dk_pause")
        for name in defined(step):
            self.set_shadows(str(name), NONE, NONE)

    def _linked_update(self, step: Rmw | CompareExchange) -> None:
        """A load-linked, and a store-conditional that succeeds."""
        old = Reg(OLD)
        load = Load(OLD, step.address, step.size)
        self.emit(Assign("dk.where", step.address))
        place_needs, place_grounds = self.needs(step.address), self.grounds(step.address)
        self.emit(Assign("dk.where.n", place_needs), Assign("dk.where.g", place_grounds))
        self._read(load, linked=True)
        if self._is_delayed():
            self.settle(load, (self.index,))
        if isinstance(step, Rmw):
            value = new_value(step.op, 8 * step.size, old, step.operand)
            self._write_linked(step, value, (value,))
        else:
            self._exchange(step, old)
        if step.dst is not None:
            self.set_shadows(step.dst, Reg(_needs(OLD)), Reg(_grounds(OLD)))
            self.emit(Assign(step.dst, old))

    def _exchange(self, step: CompareExchange, old: Expr) -> None:
        width = 8 * step.size
        failed, done = self.label(), self.label()
        equal = Binary("eq", width, old, step.expected)
        self.emit(Assign("dk.equal", equal))
        if step.weak:
            self.emit(
                Choose("dk.choice", 0, 1), Assign("dk.equal", Binary("and", 64, Reg("dk.equal"), Reg("dk.choice")))
            )
        self.emit(Branch(Binary("eq", 64, Reg("dk.equal"), NONE), failed))
        self._write_linked(step, step.desired, (step.desired, old, step.expected))
        self.emit(Jump(done))
        self.place(failed)
        self.call("dk_unlink", SELF)
        self.place(done)
        if step.success is not None:
            self.set_shadows(step.success, self.needs(old, step.expected), self.grounds(old, step.expected))
            self.emit(Assign(step.success, Reg("dk.equal")))

    def _write_linked(self, step: Rmw | CompareExchange, value: Expr, used_in_value: tuple[Expr, ...]) -> None:
        write = Store(Reg("dk.where"), value, step.size)
        needs = _or(Reg("dk.where.n"), self.needs(*used_in_value))
        self._write("dk_write_linked", write, needs, _or(Reg("dk.where.g"), self.grounds(*used_in_value)))

    def store_conditional(self, step: StoreConditional) -> None:
        if not self.outer.grounds:
            raise self.refuse("load-linked and store-conditional except under power")
        needs, grounds = self.needs(step.address, step.value), self.grounds(step.address, step.value)
        self._write("dk_store_conditional", step, needs, grounds, dst=step.status)
        self.set_shadows(step.status, NONE, NONE)

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
        if not step.loose:
            self.depend(step.condition)
        self.emit(step)

    def assume(self, step: Assume | Await) -> None:
        if isinstance(step, Await) or not step.loose:
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
        result = NONE if value is None else value
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
        self.call("dk_drain", SELF)
        self.call("dk_new_thread", dst="dk.number")
        if not self.outer.has_all_threads:
            self._refuse_more_threads()
        start = Address(start_name(len(step.arguments)))
        self.emit(Spawn(step.dst, start, (step.function, Reg("dk.number"), *step.arguments)))
        self.set_shadows(step.dst, NONE, NONE)

    def _refuse_more_threads(self) -> None:
        size, room = self.outer.size, self.label()
        self.emit(
            Branch(Binary("ult", 64, Reg("dk.number"), Const(size.threads)), room),
            Refuse(f"the transformation has room for {size.threads - size.first} threads that are started"),
        )
        self.place(room)

    def join(self, step: Join) -> None:
        self.depend(step.thread)
        self.emit(step)
        self.set_shadows(step.dst, NONE, NONE)
        self.call("dk_fence", SELF, Const(15))

    def detach(self, step: Detach) -> None:
        self.depend(step.thread)
        self.emit(step)

    def release(self, step: Free | Measure) -> None:
        if self.outer.reads:
            raise self.refuse("the release of memory under rmo and power")
        self.call("dk_drain", SELF)
        self.emit(step)

    def end_scope(self, step: EndScope) -> None:
        """What is still to be stored in the variable never is."""
        sizes = [it.size for it in self.function.body if isinstance(it, Allocate) and it.dst == step.dst]
        for size in sizes[:1]:
            self.call("dk_discard", step.dst, size)
        self.emit(step)
        self.set_shadows(step.dst, NONE, NONE)

    def allocate(self, step: Allocate) -> None:
        self.depend(step.size)
        self.emit(step)
        self.set_shadows(step.dst, NONE, NONE)

    def recycle(self, step: Recycle) -> None:
        raise self.refuse("memory that is allocated again after it was freed (--reuse)")

    def choose(self, step: Choose) -> None:
        self.emit(step)
        self.set_shadows(step.dst, NONE, NONE)

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
        self.emit(Branch(Binary("eq", 64, Reg("dk.last"), NONE), end))
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


def new_value(op: str, width: int, old: Expr, operand: Expr) -> Expr:
    """What a read-modify-write stores."""
    if op == "xchg":
        return operand
    if op == "nand":
        return Unary("not", width, Binary("and", width, old, operand))
    comparisons = {"max": "sge", "min": "sle", "umax": "uge", "umin": "ule"}
    if op in comparisons:
        return Select(Binary(comparisons[op], width, old, operand), old, operand)
    return Binary(op, width, old, operand)


def _tracked(function: Function) -> frozenset[str]:
    """Registers whose value may have to do with what was read."""
    found = {OLD, *function.parameters}
    size = -1
    while size != len(found):
        size = len(found)
        for step in function.body:
            if isinstance(step, (*MEMORY_ACCESSES, Call)) or used(step) & found:
                found |= {str(name) for name in defined(step) if isinstance(name, str)}
    return frozenset(found)


_IN_SECTIONS = (*MEMORY_ACCESSES, Assign, Assume, Await, Branch, Call, Choose, Fence, Jump, Print, Return)
"""All that can follow in a section that is paused. Others may wait, or need no machine."""

_STEPS = (Load, Store, Rmw, CompareExchange)
"""Accesses that let others take steps first, unless they are delayed."""

_REWRITES: dict[type[Any], Callable[[Rewriting, Any], None]] = {
    Assign: Rewriting.assign,
    Load: Rewriting.load,
    Store: Rewriting.store,
    StoreConditional: Rewriting.store_conditional,
    Rmw: Rewriting.update,
    CompareExchange: Rewriting.update,
    Fence: Rewriting.fence,
    Branch: Rewriting.branch,
    Assume: Rewriting.assume,
    Await: Rewriting.assume,
    Assert: Rewriting.check,
    Refuse: Rewriting.refuse_there,
    Call: Rewriting.call_function,
    Spawn: Rewriting.spawn,
    Join: Rewriting.join,
    Free: Rewriting.release,
    Detach: Rewriting.detach,
    EndScope: Rewriting.end_scope,
    Measure: Rewriting.release,
    Allocate: Rewriting.allocate,
    Choose: Rewriting.choose,
    Recycle: Rewriting.recycle,
    AtomicBegin: Rewriting.section,
    AtomicEnd: Rewriting.section,
    Exit: Rewriting.exit,
    Return: Rewriting.give_back,
}
