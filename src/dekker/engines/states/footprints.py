"""Which objects code may access from some point on, as far as the text says.

Objects are bits: the first 62 global objects one each, all others bit 62, allocated objects bit 63. An address that is
computed from the address of an object is taken to stay in it, and one that comes from memory to lead anywhere. The
core checks every access against this; if one is somewhere else it starts again without footprints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from dekker.ir.expressions import Address, Binary, Expr, Reg, Select, Unary
from dekker.ir.flow import defined, predecessors
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    CompareExchange,
    EndScope,
    Exit,
    Free,
    Instruction,
    Load,
    Recycle,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Program
from dekker.records import dataclass

Footprint = tuple[int, int]
"""What is read and what is written."""

ANYTHING = (1 << 64) - 1
HEAP = 1 << 63
LAST_GLOBAL = 62


@dataclass
class Footprints:
    """For each function by name, and each position including its end: what may be accessed from there on; and what the
    instruction at a position touches."""

    future: dict[str, list[Footprint]] = field(default_factory=dict)
    touches: dict[str, list[int]] = field(default_factory=dict)


def footprints(program: Program) -> Footprints:
    values = _values(program)
    found = Footprints()
    for function in program.functions:
        found.touches[function.name] = [_touched(step, values, function.name) for step in function.body]
        found.future[function.name] = _without_calls(function, found.touches[function.name])
    calls = {function.name: _calls(function) for function in program.functions}
    arrivals = {function.name: predecessors(function) for function in program.functions}
    for function in program.functions:
        _spread(found.future[function.name], arrivals[function.name], range(len(function.body) + 1))
    changed = True
    while changed:
        changed = False
        for name, future in found.future.items():
            grown = [index for index, callee in calls[name] if _grow(future, index, _called(callee, found))]
            _spread(future, arrivals[name], grown)
            changed = changed or bool(grown)
    return found


def _calls(function: Function) -> list[tuple[int, Expr]]:
    return [(index, step.function) for index, step in enumerate(function.body) if isinstance(step, Call | Spawn)]


def _without_calls(function: Function, touches: list[int]) -> list[Footprint]:
    """What each instruction, and the end, access by themselves."""
    own = [*map(_own, function.body, touches), (0, 0)]
    if any(isinstance(step, Allocate) and step.stack for step in function.body):
        own[-1] = (0, HEAP)
        for index, step in enumerate(function.body):
            if isinstance(step, Return | Exit):
                own[index] = (0, HEAP)
    return own


def _spread(future: list[Footprint], arrivals: list[list[int]], changed: Iterable[int]) -> None:
    pending = list(changed)
    while pending:
        index = pending.pop()
        pending += [earlier for earlier in arrivals[index] if _grow(future, earlier, future[index])]


def _grow(future: list[Footprint], index: int, footprint: Footprint) -> bool:
    joined = _join(future[index], footprint)
    grows = joined != future[index]
    future[index] = joined
    return grows


def _join(first: Footprint, second: Footprint) -> Footprint:
    return first[0] | second[0], first[1] | second[1]


def _own(step: Instruction, touched: int) -> Footprint:
    match step:
        case Load():
            return touched, 0
        case Store():
            return 0, touched
        case Rmw() | CompareExchange() | StoreConditional():
            return touched, touched
        case Free() | Renew() | EndScope(confined=False):
            return 0, HEAP
        case Recycle():
            return HEAP, 0
    return 0, 0


def _called(callee: Expr, found: Footprints) -> Footprint:
    if isinstance(callee, Address) and callee.symbol in found.future and not callee.offset:
        return found.future[callee.symbol][0]
    result = (0, 0)
    for future in found.future.values():
        result = _join(result, future[0])
    return result


# --- what registers may hold


_NOWHERE = 0
_ANYWHERE = 1 << 64
"""Objects that a value may point into are bits, and this one says that it may point anywhere."""


@dataclass
class _Values:
    bits: dict[str, int]
    registers: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, function: str, register: str, value: int) -> bool:
        key = (function, register)
        before = self.registers.get(key, _NOWHERE)
        self.registers[key] = before | value
        return before | value != before

    def of(self, expression: Expr, function: str) -> int:
        match expression:
            case Address(symbol):
                return self.bits.get(symbol, 0)
            case Reg(name):
                return self.registers.get((function, name), _NOWHERE)
            case Unary(_, _, operand):
                return self.of(operand, function)
            case Binary(_, _, left, right):
                both = self.of(left, function) | self.of(right, function)
                return both & ANYTHING or both
            case Select(_, then, other):
                return self.of(then, function) | self.of(other, function)
        return _NOWHERE


def _values(program: Program) -> _Values:
    objects = enumerate(item.name for item in program.objects)
    values = _Values({name: 1 << min(number, LAST_GLOBAL) for number, name in objects})
    for thread in program.threads:
        for name, value in thread.registers:
            values.add(thread.function, name, values.of(value, thread.function))
    for name in taken_functions(program):
        for parameter in program.function_by_name[name].parameters:
            values.add(name, parameter, _ANYWHERE)
    flows = [flow for function in program.functions for flow in _flows(function, program, values)]
    changed = True
    while changed:
        changed = False
        for source, given, target, register in flows:
            changed = values.add(target, register, values.of(given, source)) or changed
    return values


def _flows(function: Function, program: Program, values: _Values) -> Iterator[tuple[str, Expr, str, str]]:
    """Where values go: a function, an expression there, and a register of this or another function. What comes from
    elsewhere is added at once."""
    for step in function.body:
        match step:
            case Assign(dst, value):
                yield function.name, value, function.name, dst
            case Allocate(dst) | Recycle(dst):
                values.add(function.name, dst, HEAP)
            case _:
                for register in defined(step):
                    if isinstance(register, str):
                        values.add(function.name, register, _ANYWHERE)
        if isinstance(step, Call | Spawn) and isinstance(step.function, Address):
            callee = program.function_by_name.get(step.function.symbol)
            parameters = callee.parameters if callee is not None else ()
            for parameter, argument in zip(parameters, step.arguments, strict=False):
                yield function.name, argument, step.function.symbol, parameter


def taken_functions(program: Program) -> set[str]:
    """Functions that may be called from anywhere: their address is more than the target of a call."""
    names = set(program.function_by_name)
    found = {
        cell.value.symbol for item in program.objects for cell in item.cells if isinstance(cell.value, Address)
    } & names
    for function in program.functions:
        for step in function.body:
            for item in step.__slots__:
                if item != "function" or not isinstance(step, Call | Spawn):
                    found |= _symbols(getattr(step, item)) & names
    return found


def _symbols(value: object) -> set[str]:
    match value:
        case Address(symbol):
            return {symbol}
        case Unary(_, _, operand):
            return _symbols(operand)
        case Binary(_, _, left, right):
            return _symbols(left) | _symbols(right)
        case Select(condition, then, other):
            return _symbols(condition) | _symbols(then) | _symbols(other)
        case tuple():
            return set[str]().union(*map(_symbols, value))
    return set()


def _touched(step: Instruction, values: _Values, function: str) -> int:
    if not isinstance(step, Load | Store | StoreConditional | Rmw | CompareExchange):
        return ANYTHING
    found = values.of(step.address, function)
    return ANYTHING if found & _ANYWHERE or not found else found
