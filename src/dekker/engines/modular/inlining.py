"""The code of a class of threads as one body without calls, and the refusal of what is not finite."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.expressions import ZERO, Address, Binary, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Allocate,
    Assign,
    AtomicBegin,
    AtomicEnd,
    Await,
    Branch,
    Call,
    Detach,
    EndScope,
    Exit,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Print,
    Recycle,
    Return,
    Spawn,
    StoreConditional,
)
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.source import Span

DEEPEST_CALL = 30
MOST_INSTRUCTIONS = 20_000
END = "%end of thread"

_NEW_OBJECT = "a thread allocates memory here, and this engine needs all memory to exist from the start"
_REFUSED: dict[type, tuple[str, str]] = {
    Allocate: (_NEW_OBJECT, "use global variables in the place of the heap and of locals whose address is taken"),
    EndScope: (_NEW_OBJECT, "use global variables in the place of locals whose address is taken"),
    Free: ("memory is released here, and this engine has no heap", "use global variables in the place of the heap"),
    Measure: ("this asks for the size of allocated memory", "use global variables in the place of the heap"),
    Recycle: (_NEW_OBJECT, "use global variables in the place of the heap"),
    Spawn: ("a thread of a class starts another thread here", "only `main` starts threads"),
    Detach: ("a thread of a class detaches another here", "only `main` detaches threads"),
    Join: ("a thread of a class waits here for the end of another", "only `main` joins threads"),
    AtomicBegin: ("this begins an atomic section of several instructions", "use compare-exchange"),
    AtomicEnd: ("this ends an atomic section of several instructions", "use compare-exchange"),
    StoreConditional: ("this is a store-conditional", "use compare-exchange"),
}


@dataclass(slots=True)
class Body:
    """Instructions without calls and returns. `labels` are those of the function itself, `targets` those of jumps."""

    steps: list[Instruction] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)


def inline(program: Program, function: Function) -> Body:
    inliner = _Inliner(program, Body())
    inliner.function(function, "", (), END)
    inliner.body.targets[END] = len(inliner.body.steps)
    return inliner.body


def refuse(step: Instruction, span: Span | None) -> None:
    found = _REFUSED.get(type(step))
    if found is not None:
        raise UnsupportedError(found[0], span, found[1])
    if isinstance(step, Load) and step.exclusive:
        raise UnsupportedError("this is a load-linked", span, "use compare-exchange")


@dataclass(slots=True)
class _Inliner:
    program: Program
    body: Body
    n_calls: int = 0

    def emit(self, step: Instruction, span: Span | None) -> None:
        refuse(step, span)
        if len(self.body.steps) >= MOST_INSTRUCTIONS:
            message = f"the code of a thread has more than {MOST_INSTRUCTIONS} instructions when calls are expanded"
            raise UnsupportedError(message, span)
        self.body.steps.append(step)
        self.body.spans.append(span)

    def function(self, function: Function, prefix: str, calls: tuple[str, ...], end: str) -> None:
        at_label: dict[int, list[str]] = {}
        for label, position in function.labels.items():
            at_label.setdefault(position, []).append(label)
        for index in range(len(function.body) + 1):
            for label in at_label.get(index, ()):
                self.body.targets[prefix + label] = len(self.body.steps)
                if not prefix:
                    self.body.labels[label] = len(self.body.steps)
            if index < len(function.body):
                self._step(function.body[index], function.span(index), prefix, (*calls, function.name), end)

    def _step(self, step: Instruction, span: Span | None, prefix: str, calls: tuple[str, ...], end: str) -> None:
        step = _renamed(step, prefix)
        match step:
            case Call():
                self._call(step, span, calls)
            case Return(value):
                if value is not None and prefix:
                    self.emit(Assign(f"{prefix}%result", value), span)
                self.emit(Jump(end), span)
            case Exit():
                self.emit(Jump(END), span)
            case Print():
                pass
            case Jump(target):
                self.emit(Jump(prefix + target), span)
            case Branch(condition, target):
                self.emit(Branch(condition, prefix + target), span)
            case Await(condition, target):
                self.emit(Branch(Binary("eq", 64, condition, ZERO), prefix + target), span)
            case _:
                self.emit(step, span)

    def _call(self, call: Call, span: Span | None, calls: tuple[str, ...]) -> None:
        callee = self._callee(call, span)
        if callee.name in calls:
            raise UnsupportedError(f"the function `{callee.name}` calls itself", span, "write it as a loop")
        if len(calls) >= DEEPEST_CALL:
            raise UnsupportedError(f"calls nest deeper than {DEEPEST_CALL}", span)
        self.n_calls += 1
        prefix = f"{callee.name}%{self.n_calls}/"
        for name, argument in zip(callee.parameters, call.arguments, strict=True):
            self.emit(Assign(prefix + name, argument), span)
        for name in sorted(registers_of(callee) - set(callee.parameters)):
            self.emit(Assign(prefix + name, ZERO), span)
        end = f"{prefix}%end"
        self.function(callee, prefix, calls, end)
        self.body.targets[end] = len(self.body.steps)
        if call.dst is not None:
            self.emit(Assign(call.dst, Reg(f"{prefix}%result")), span)

    def _callee(self, call: Call, span: Span | None) -> Function:
        known = self.program.function_by_name
        if isinstance(call.function, Address) and call.function.symbol in known:
            return known[call.function.symbol]
        raise UnsupportedError("this calls a function through a pointer", span, "name the function")


def registers_of(function: Function) -> set[str]:
    """All that its instructions name."""
    found: set[str] = set()
    for step in function.body:
        found.update(_names(step))
    return found


_REGISTER_FIELDS = frozenset(("dst", "success", "status"))


def used_registers(step: Instruction) -> Iterator[str]:
    """Those that its expressions read."""
    for item in fields(step):
        if item.name not in _REGISTER_FIELDS:
            yield from _registers(getattr(step, item.name))


def _names(step: Instruction) -> Iterator[str]:
    for item in fields(step):
        value = getattr(step, item.name)
        if item.name in _REGISTER_FIELDS:
            if isinstance(value, str):
                yield value
        else:
            yield from _registers(value)


def _registers(value: object) -> Iterator[str]:
    match value:
        case Reg(name):
            yield name
        case Unary(_, _, operand):
            yield from _registers(operand)
        case Binary(_, _, left, right):
            yield from _registers(left)
            yield from _registers(right)
        case Select(condition, then, other):
            for part in (condition, then, other):
                yield from _registers(part)
        case tuple():
            for part in value:
                yield from _registers(part)


def _renamed(step: Instruction, prefix: str) -> Instruction:
    """The same instruction on registers of an expanded call."""
    if not prefix:
        return step
    changed: dict[str, Any] = {}
    for item in fields(step):
        value = getattr(step, item.name)
        if item.name in _REGISTER_FIELDS and isinstance(value, str) and not isinstance(step, Exit):
            changed[item.name] = prefix + value
        elif isinstance(value, Reg | Unary | Binary | Select):
            changed[item.name] = map_registers(value, lambda name: Reg(prefix + name))
        elif isinstance(value, tuple):
            changed[item.name] = tuple(map_registers(part, lambda name: Reg(prefix + name)) for part in value)
    return replace(step, **changed) if changed else step


def map_registers(expression: Expr, change: Callable[[str], Expr]) -> Expr:
    match expression:
        case Reg(name):
            return change(name)
        case Unary(op, width, operand):
            return Unary(op, width, map_registers(operand, change))
        case Binary(op, width, left, right):
            return Binary(op, width, map_registers(left, change), map_registers(right, change))
        case Select(condition, then, other):
            parts = [map_registers(part, change) for part in (condition, then, other)]
            return Select(*parts)
    return expression
