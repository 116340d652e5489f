"""Functions of the runtime library that are written as program text, in `library/*.ir`.

They are not called but put in place of the call, so that what they do has the position of the call in the program, and
whatever goes wrong there is reported for that line. A register whose name begins with `%` is one of the function
around; all others, and labels, get fresh names. A call of a function of the library is put in place too. `{function}`
in a message is the name that the program calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from dekker.frontends.c.lowering.expressions import binary, select, unary
from dekker.frontends.c.runtime.interface import ExternalCall
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import Assert, Assign, Await, Branch, Call, Instruction, Jump, Return
from dekker.ir.program import Function
from dekker.source import Source

FOLDER = Path(__file__).resolve().parent / "library"


def expand(call: ExternalCall, name: str, *arguments: Expr, instead: Mapping[str, str] | None = None) -> Expr:
    """Emits a function of the library; returns its value. Where it calls a function named in `instead`, another one is
    taken."""
    return _Expansion(call, instead or {}).emit(name, arguments)


def template_function(name: str) -> Function:
    return _functions_of(function_files()[name])[name]


def library() -> dict[str, Function]:
    """All functions of all files."""
    return {name: template_function(name) for name in function_files()}


@cache
def _texts() -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.ir"))}


@cache
def function_files() -> dict[str, str]:
    """In which file a function is. Programs use few of them, and reading a file takes a while."""
    return {name: file for file, text in _texts().items() for name in _HEADER.findall(text)}


@cache
def _functions_of(file: str) -> Mapping[str, Function]:
    from dekker.ir.text import parse_program  # noqa: PLC0415 — slow to load, and many programs use none

    return parse_program(Source(file, _texts()[file])).function_by_name


_HEADER = re.compile(r"^function (\w+)\(", re.MULTILINE)


_TARGETS = frozenset(("dst", "success", "status"))


class _Expansion:
    """Registers of one call of a template, under their new names."""

    def __init__(self, call: ExternalCall, instead: Mapping[str, str]) -> None:
        self.call, self.instead = call, instead
        self.values: dict[str, Expr] = {}
        self.prefix = ""

    def emit(self, name: str, arguments: tuple[Expr, ...]) -> Expr:
        emitter, function = self.call.emitter, template_function(self.instead.get(name, name))
        self.prefix = emitter.temporary()
        self.values = dict(zip(function.parameters, arguments, strict=True))
        end, result = f"{self.prefix}.%end", f"{self.prefix}.%result"
        results = {step.value for step in function.body if isinstance(step, Return)}
        for index, step in enumerate(function.body):
            self._place_labels(function, index)
            if isinstance(step, Return):
                if len(results) > 1 and step.value is not None:
                    emitter.emit(Assign(result, self._expression(step.value)))
                emitter.jump(end)
            else:
                self._step(step)
        self._place_labels(function, len(function.body))
        emitter.place(end)
        only = results.pop() if len(results) == 1 else Reg("%result")
        return Const(0) if only is None else Reg(result) if only == Reg("%result") else self._expression(only)

    def _place_labels(self, function: Function, index: int) -> None:
        for label, position in function.labels.items():
            if position == index:
                self.call.emitter.place(self._label(label))

    def _label(self, label: str) -> str:
        return f"{self.prefix}.{label}"

    def _register(self, name: str) -> str:
        return name if name.startswith("%") else f"{self.prefix}.{name}"

    def _step(self, step: Instruction) -> None:
        emitter = self.call.emitter
        match step:
            case Branch(condition, target):
                emitter.branch(self._expression(condition), self._label(target))
            case Jump(target):
                emitter.jump(self._label(target))
            case Await(condition, target):
                emitter.emit(Await(self._expression(condition), self._label(target)))
            case Assert(condition, message):
                emitter.require(self._expression(condition), message.replace("{function}", self.call.name))
            case Call(dst, Address(symbol), arguments):
                values = tuple(map(self._expression, arguments))
                value = _Expansion(self.call, self.instead).emit(symbol, values)
                if dst is not None:
                    emitter.emit(Assign(self._register(dst), value))
            case Call(dst, function, arguments):
                callee = self.call.call(self._expression(function), map(self._expression, arguments))
                emitter.emit(Call(None if dst is None else self._register(dst), *callee))
            case _:
                emitter.emit(self._renamed(step))

    def _renamed(self, step: Instruction) -> Instruction:
        changes: dict[str, Any] = {}
        for item in fields(step):
            value = getattr(step, item.name)
            if item.name in _TARGETS and value is not None:
                changes[item.name] = self._register(value)
            elif isinstance(value, Reg | Const | Address | Unary | Binary | Select):
                changes[item.name] = self._expression(value)
        return replace(step, **changes)

    def _expression(self, expression: Expr) -> Expr:
        match expression:
            case Reg(name):
                return self.values.get(name) or Reg(self._register(name))
            case Unary(op, width, operand):
                return unary(op, width, self._expression(operand))
            case Binary(op, width, left, right):
                return binary(op, width, self._expression(left), self._expression(right))
            case Select(condition, then, other):
                return select(*map(self._expression, (condition, then, other)))
        return expression
