"""The code of a class of threads in the form that candidates are selected from.

A step is one of a dozen kinds over registers by number. `Stop` marks a place that a property can see: capture, which
takes many local steps at once, does not run past it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any

from dekker.engines.modular.identity import SELF, guarded
from dekker.engines.modular.inlining import inline
from dekker.errors import UnsupportedError
from dekker.ir import instructions as ir
from dekker.ir.arithmetic import RMW_OPERATORS, mask, signed
from dekker.ir.expressions import (
    ALL_BINARY_OPERATORS,
    ALL_UNARY_OPERATORS,
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
)
from dekker.ir.expressions import registers as registers_in
from dekker.ir.fences import FENCES
from dekker.ir.layout import Layout
from dekker.ir.program import Program
from dekker.ir.thread_classes import ThreadClass
from dekker.records import dataclass
from dekker.source import Span

Registers = tuple[int, ...]
Value = Callable[[Registers], int]


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    register: int
    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    register: int
    address: Value
    size: int
    extend: Callable[[int], int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    address: Value
    value: Value
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """CMPXCHG, and the read-modify-writes of C. `outcomes` maps registers and the old value to what may become of them:
    the new value, or None if nothing is written, and the new registers."""

    address: Value
    size: int
    outcomes: Callable[[Registers, int], tuple[tuple[int | None, Registers], ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Barrier:
    """Everything before it takes effect before everything behind it."""


@dataclass(frozen=True, slots=True, eq=False)
class PartialBarrier:
    """Keeps writes before it in front of later writes, or in front of later reads, but not both."""

    before_writes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Jump:
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    condition: Value
    target: int


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    register: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    condition: Value
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Assume:
    condition: Value


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """A place that the property can see."""


@dataclass(frozen=True, slots=True, eq=False)
class End:
    pass


Step = (
    Assign
    | Read
    | Write
    | Update
    | Barrier
    | PartialBarrier
    | Jump
    | Branch
    | Choice
    | Check
    | Assume
    | Refused
    | Stop
    | End
)


@dataclass(frozen=True, slots=True)
class Visible:
    """What the property can see of a class. A register of `registers_at_labels` is looked at only where the thread is
    at a label or has ended, one of `registers` everywhere. `left_labels`: it matters, too, if a thread is not there."""

    labels: frozenset[str] = frozenset()
    registers: frozenset[str] = frozenset()
    registers_at_labels: frozenset[str] = frozenset()
    left_labels: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Code:
    """`labels` are the positions of stops; `uses` and `changes` are registers as bit sets, by position."""

    name: str
    steps: tuple[Step, ...]
    spans: tuple[Span | None, ...]
    registers: Mapping[str, int]
    initial: Registers
    labels: Mapping[str, int]
    uses: tuple[int, ...]
    changes: tuple[int, ...]
    always_live: int
    live: tuple[int, ...] = field(default=(), repr=False)

    def successors(self, at: int) -> tuple[int, ...]:
        return _successors(self.steps[at], at)


def compile_class(program: Program, layout: Layout, item: ThreadClass, visible: Visible) -> Code:
    function = program.function_by_name[item.function]
    body = inline(program, function)
    if any(name == SELF for name, _ in item.registers):
        body = guarded(body)
    body.steps.append(ir.Jump("%end of thread"))
    body.spans.append(None)
    missing = visible.labels - body.labels.keys()
    if missing:
        raise UnsupportedError(f"there is no label `{min(missing)}` in `{item.function}`")
    return _Compiler(layout, item, visible).compile(body.steps, body.spans, body.targets)


@dataclass(slots=True)
class _Compiler:
    layout: Layout
    item: ThreadClass
    visible: Visible
    registers: dict[str, int] = field(default_factory=dict)

    def compile(
        self,
        steps: list[ir.Instruction],
        spans: list[Span | None],
        targets: dict[str, int],
    ) -> Code:
        # Every register has its number before the first closure over registers is made.
        for name in (*self.visible.registers, *self.visible.registers_at_labels, *(n for n, _ in self.item.registers)):
            self.slot(name)
        at, stops = self._places(steps, targets)
        looked_at = self._bits(self.visible.registers_at_labels)
        out: list[Step] = []
        out_spans: list[Span | None] = []
        uses: list[int] = []
        changes: list[int] = []
        for index, step in enumerate(steps):
            is_last = index == len(steps) - 1
            out += [Stop()] * stops[index]
            out.append(End() if is_last else _COMPILERS[type(step)](self, step, at))
            out_spans += [spans[index]] * (stops[index] + 1)
            uses += [looked_at] * stops[index] + [looked_at if is_last else self._bits(_used(step))]
            changes += [0] * stops[index] + [0 if is_last else self._bits(_changed(step))]
        always = self._bits(self.visible.registers)
        return Code(
            self.item.name,
            tuple(out),
            tuple(out_spans),
            self.registers,
            self._initial(),
            {name: at[name] for name in self.visible.labels},
            tuple(uses),
            tuple(changes),
            always,
            _liveness(out, uses, changes, always),
        )

    def _places(self, steps: list[ir.Instruction], targets: dict[str, int]) -> tuple[dict[str, int], list[int]]:
        """Where each label is when stops are put in, and how many stops stand before each step. Of labels at one step,
        each has its own stop, in their order: who jumps to a later one is not at an earlier one."""
        at_step: dict[int, list[str]] = {}
        for name, index in targets.items():
            at_step.setdefault(index, []).append(name)
        at: dict[str, int] = {}
        stops = []
        position = 0
        for index, step in enumerate(steps):
            count = 0
            for name in at_step.get(index, ()):
                at[name] = position + count
                count += (name in self.visible.labels) + (name in self.visible.left_labels)
            if not count and _changed(step) & self.visible.registers and not isinstance(step, _STOPS_ANYWAY):
                count = 1
            stops.append(count)
            position += count + 1
        return at, stops

    def _initial(self) -> Registers:
        values = [0] * len(self.registers)
        for name, value in self.item.registers:
            values[self.registers[name]] = value.value if isinstance(value, Const) else self.layout.resolve(value)
        return tuple(values)

    def slot(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def _bits(self, names: Collection[str]) -> int:
        return sum(1 << self.slot(name) for name in set(names))

    def value(self, expression: Expr) -> Value:
        match expression:
            case Const(value):
                return lambda registers: value
            case Address():
                address = self.layout.resolve(expression)
                return lambda registers: address
            case Reg(name):
                slot = self.slot(name)
                return lambda registers: registers[slot]
            case Unary(op, width, operand):
                return _unary(op, width, self.value(operand))
            case Binary(op, width, left, right):
                return _binary(op, width, self.value(left), self.value(right))
            case Select(condition, then, other):
                parts = self.value(condition), self.value(then), self.value(other)
                return lambda registers: (parts[1] if parts[0](registers) else parts[2])(registers)


def _unary(op: str, width: int, operand: Value) -> Value:
    compute, bits = ALL_UNARY_OPERATORS[op], mask(width)
    return lambda registers: compute(width, operand(registers) & bits)


def _binary(op: str, width: int, left: Value, right: Value) -> Value:
    compute, bits = ALL_BINARY_OPERATORS[op], mask(width)
    return lambda registers: compute(width, left(registers) & bits, right(registers) & bits)


# --- one compiler for each kind of instruction

Targets = Mapping[str, int]


def _assign(compiler: _Compiler, step: ir.Assign, at: Targets) -> Step:
    return Assign(compiler.slot(step.dst), compiler.value(step.value))


def _load(compiler: _Compiler, step: ir.Load, at: Targets) -> Step:
    width = 8 * step.size
    extend = (lambda value: signed(width, value) & mask(64)) if step.signed else None
    return Read(compiler.slot(step.dst), compiler.value(step.address), step.size, extend)


def _store(compiler: _Compiler, step: ir.Store, at: Targets) -> Step:
    bits, value = mask(8 * step.size), compiler.value(step.value)
    return Write(compiler.value(step.address), lambda registers: value(registers) & bits, step.size)


def _rmw(compiler: _Compiler, step: ir.Rmw, at: Targets) -> Step:
    width, operand, compute = 8 * step.size, compiler.value(step.operand), RMW_OPERATORS[step.op]
    slot = None if step.dst is None else compiler.slot(step.dst)

    def outcomes(registers: Registers, old: int) -> tuple[tuple[int | None, Registers], ...]:
        new = compute(width, old, operand(registers) & mask(width)) & mask(width)
        return ((new, registers if slot is None else changed(registers, slot, old)),)

    return Update(compiler.value(step.address), step.size, outcomes)


def _compare_exchange(compiler: _Compiler, step: ir.CompareExchange, at: Targets) -> Step:
    bits, weak = mask(8 * step.size), step.weak
    expected, desired = compiler.value(step.expected), compiler.value(step.desired)
    old_slot = None if step.dst is None else compiler.slot(step.dst)
    won_slot = None if step.success is None else compiler.slot(step.success)

    def result(registers: Registers, old: int, won: int) -> Registers:
        registers = registers if old_slot is None else changed(registers, old_slot, old)
        return registers if won_slot is None else changed(registers, won_slot, won)

    def outcomes(registers: Registers, old: int) -> tuple[tuple[int | None, Registers], ...]:
        lost = (None, result(registers, old, 0))
        if old != expected(registers) & bits:
            return (lost,)
        won = (desired(registers) & bits, result(registers, old, 1))
        return (won, lost) if weak else (won,)

    return Update(compiler.value(step.address), step.size, outcomes)


def changed(registers: Registers, slot: int, value: int) -> Registers:
    return (*registers[:slot], value, *registers[slot + 1 :])


def _fence(compiler: _Compiler, step: ir.Fence, at: Targets) -> Step:
    orders = FENCES[step.kind].orders
    if {"WR", "WW"} <= orders:
        return Barrier()
    if orders & {"WR", "WW"}:
        return PartialBarrier("WW" in orders)
    return Jump(-1)


def _jump(compiler: _Compiler, step: ir.Jump, at: Targets) -> Step:
    return Jump(at[step.target])


def _branch(compiler: _Compiler, step: ir.Branch, at: Targets) -> Step:
    return Branch(compiler.value(step.condition), at[step.target])


def _choose(compiler: _Compiler, step: ir.Choose, at: Targets) -> Step:
    values = tuple(value & mask(64) for value in range(step.low, step.high + 1))
    return Choice(compiler.slot(step.dst), values)


def _assert(compiler: _Compiler, step: ir.Assert, at: Targets) -> Step:
    return Check(compiler.value(step.condition), step.message)


def _assume(compiler: _Compiler, step: ir.Assume, at: Targets) -> Step:
    return Assume(compiler.value(step.condition))


def _refuse(compiler: _Compiler, step: ir.Refuse, at: Targets) -> Step:
    return Refused(step.message)


_COMPILERS: dict[type, Callable[[_Compiler, Any, Targets], Step]] = {
    ir.Assign: _assign,
    ir.Load: _load,
    ir.Store: _store,
    ir.Rmw: _rmw,
    ir.CompareExchange: _compare_exchange,
    ir.Fence: _fence,
    ir.Jump: _jump,
    ir.Branch: _branch,
    ir.Choose: _choose,
    ir.Assert: _assert,
    ir.Assume: _assume,
    ir.Refuse: _refuse,
}


_STOPS_ANYWAY = (ir.Load, ir.Rmw, ir.CompareExchange, ir.Choose)


# --- which registers matter where


def _used(step: ir.Instruction) -> frozenset[str]:
    match step:
        case ir.Assign(_, value):
            return registers_in(value)
        case ir.Load(_, address):
            return registers_in(address)
        case ir.Store(address, value):
            return registers_in(address) | registers_in(value)
        case ir.Rmw(_, _, address, operand):
            return registers_in(address) | registers_in(operand)
        case ir.CompareExchange(_, _, address, expected, desired):
            return registers_in(address) | registers_in(expected) | registers_in(desired)
        case ir.Branch(condition) | ir.Assert(condition) | ir.Assume(condition):
            return registers_in(condition)
    return frozenset()


def _changed(step: ir.Instruction) -> frozenset[str]:
    match step:
        case ir.Assign(dst) | ir.Load(dst) | ir.Choose(dst):
            return frozenset((dst,))
        case ir.Rmw(dst):
            return frozenset(() if dst is None else (dst,))
        case ir.CompareExchange(dst, success):
            return frozenset(name for name in (dst, success) if name is not None)
    return frozenset()


def _successors(step: Step, at: int) -> tuple[int, ...]:
    match step:
        case Jump(target):
            return (at + 1 if target < 0 else target,)
        case Branch(_, target):
            return (at + 1, target)
        case End() | Refused():
            return ()
    return (at + 1,)


def _liveness(steps: list[Step], uses: list[int], changes: list[int], always: int) -> tuple[int, ...]:
    live = [always] * len(steps)
    moving = True
    while moving:
        moving = False
        for at in range(len(steps) - 1, -1, -1):
            after = always
            for successor in _successors(steps[at], at):
                after |= live[successor]
            now = (after & ~changes[at]) | uses[at] | always
            if now != live[at]:
                live[at] = now
                moving = True
    return tuple(live)
