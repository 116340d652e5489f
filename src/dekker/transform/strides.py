"""How far into its object an address leads, where that is known only up to the size of elements.

Of each register: its value is `rest` more than a multiple of `step`, counted from the start of the object that it
points into, if it is a pointer. Neither control flow nor threads are told apart, and what is read from memory is what
the points-to analysis says. Sums and products of 64 bits do not overflow, as those in addresses must not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from functools import reduce
from math import gcd
from typing import NamedTuple

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.flow import defined
from dekker.ir.instructions import Assign, Call, Instruction, Return, Spawn
from dekker.ir.program import Function
from dekker.records import dataclass
from dekker.transform.points_to import PointsTo, read_before_written
from dekker.transform.values import NUMBER

_WORD = 64
_POINTER_WIDTH = 32
_RESULT = ""


class Stride(NamedTuple):
    """`rest`, and whatever differs from it by a multiple of `step`; by 0, nothing."""

    rest: int
    step: int


ANYWHERE = Stride(0, 1)


def stride(rest: int, step: int) -> Stride:
    return Stride(rest % step if step else rest, step)


def overlap(first: Stride, first_size: int, second: Stride, second_size: int) -> bool:
    """Whether so many bytes from one place on may have some in common with those from another."""
    step = gcd(first.step, second.step)
    distance = second.rest - first.rest
    if step == 0:
        return -second_size < distance < first_size
    distance %= step
    return distance < first_size or distance + second_size > step


def _either(first: Stride, second: Stride) -> Stride:
    return stride(first.rest, gcd(first.step, second.step, first.rest - second.rest))


def _product(first: Stride, second: Stride) -> Stride:
    (a, m), (b, n) = first, second
    return stride(a * b, gcd(a * n, b * m, m * n))


class _Register(NamedTuple):
    function: str
    name: str


@dataclass(slots=True)
class Strides:
    points_to: PointsTo
    _found: dict[_Register, Stride] = field(default_factory=dict)
    _pointers: set[_Register] = field(default_factory=set)
    _loaded: dict[_Register, Stride] = field(default_factory=dict)
    _callees: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))

    def of(self, function: str, expression: Expr) -> Stride:
        found = self._evaluate(function, expression)
        return ANYWHERE if found is None else found

    def find(self) -> None:
        self._find_pointers()
        self._find_callees()
        functions = self.points_to.program.functions
        for function in functions:
            for name in read_before_written(function):
                self._include(_Register(function.name, name), Stride(0, 0))
        for thread in self.points_to.program.threads:
            for name, value in thread.registers:
                self._include(_Register(thread.function, name), self._evaluate(thread.function, value))
        while any(self._pass(function) for function in functions):
            pass

    def _find_pointers(self) -> None:
        for variable, value in self.points_to.values.items():
            offsets = [offset for base, offset in value if base != NUMBER]
            if variable.thread < 0 or not offsets:
                continue
            register = _Register(str(variable.owner), str(variable.name))
            self._pointers.add(register)
            for offset in offsets:
                place = ANYWHERE if offset is None else Stride(offset, 0)
                self._loaded[register] = _either(self._loaded.get(register, place), place)

    def _find_callees(self) -> None:
        for thread, active in self.points_to.activations.items():
            for name in active:
                for at, step in enumerate(self.points_to.program.function_by_name[name].body):
                    if isinstance(step, Call | Spawn):
                        self._callees[name, at].update(self.points_to.callees(thread, name, step))

    def _pass(self, function: Function) -> bool:
        """Whether something became known."""
        known = [
            self._include(register, value)
            for at, step in enumerate(function.body)
            for register, value in self._transfer(function, at, step)
        ]
        return any(known)

    def _transfer(self, function: Function, at: int, step: Instruction) -> Iterator[tuple[_Register, Stride | None]]:
        name = function.name
        match step:
            case Assign(dst, value):
                yield _Register(name, dst), self._evaluate(name, value)
            case Return(value) if value is not None:
                yield _Register(name, _RESULT), self._evaluate(name, value)
            case Call() | Spawn():
                for callee in self._callees[name, at]:
                    parameters = self.points_to.program.function_by_name[callee].parameters
                    for parameter, argument in zip(parameters, step.arguments, strict=False):
                        yield _Register(callee, parameter), self._evaluate(name, argument)
                    if step.dst is not None:
                        register = _Register(name, step.dst)
                        is_pointer = isinstance(step, Call) and register in self._pointers
                        yield register, self._found.get(_Register(callee, _RESULT)) if is_pointer else ANYWHERE
            case _:
                for item in defined(step):
                    if isinstance(item, str):
                        register = _Register(name, item)
                        yield register, self._loaded.get(register, ANYWHERE)

    def _include(self, register: _Register, value: Stride | None) -> bool:
        if value is None:
            return False
        old = self._found.get(register)
        new = value if old is None else _either(old, value)
        self._found[register] = new
        return new != old

    def _evaluate(self, function: str, expression: Expr) -> Stride | None:
        """None if nothing is known yet."""
        match expression:
            case Const(value):
                return Stride(value - (1 << _WORD) if value >> (_WORD - 1) else value, 0)
            case Reg(name):
                return self._found.get(_Register(function, name))
            case Address(_, offset):
                return Stride(offset, 0)
            case Unary("freeze", _, operand):
                return self._evaluate(function, operand)
            case Unary("zext" | "sext", width, operand):
                found = self._evaluate(function, operand)
                if found is None or (width >= _POINTER_WIDTH and self._may_point(function, operand)):
                    return found
                return stride(found.rest, gcd(found.step, 1 << width))
            case Binary(op, width, left, right) if width == _WORD:
                return self._binary(function, op, left, right)
            case Select(_, then, other):
                both = [self._evaluate(function, part) for part in (then, other)]
                known = [part for part in both if part is not None]
                return reduce(_either, known) if known else None
        return ANYWHERE

    def _binary(self, function: str, op: str, left: Expr, right: Expr) -> Stride | None:
        a, b = self._evaluate(function, left), self._evaluate(function, right)
        if a is None or b is None:
            return None
        moved = not self._may_point(function, right)
        numbers = moved and not self._may_point(function, left)
        if op == "add" and (moved or not self._may_point(function, left)):
            return stride(a.rest + b.rest, gcd(a.step, b.step))
        if op == "sub" and moved:
            return stride(a.rest - b.rest, gcd(a.step, b.step))
        if op == "mul" and numbers:
            return _product(a, b)
        if op == "shl" and numbers and b.step == 0 and 0 <= b.rest < _WORD:
            return _product(a, Stride(1 << b.rest, 0))
        return ANYWHERE

    def _may_point(self, function: str, expression: Expr) -> bool:
        match expression:
            case Const():
                return False
            case Reg(name):
                return _Register(function, name) in self._pointers
            case Unary(_, _, operand):
                return self._may_point(function, operand)
            case Binary(_, _, left, right):
                return self._may_point(function, left) or self._may_point(function, right)
            case Select(_, then, other):
                return self._may_point(function, then) or self._may_point(function, other)
        return True


def find_strides(points_to: PointsTo) -> Strides:
    found = Strides(points_to)
    found.find()
    return found
