"""Which objects code may access from some point on, as far as the text says.

Objects are bits: the first 62 global objects one each, all others bit 62, allocated objects bit 63. An address that is
computed from the address of an object is taken to stay in it, and one that comes from memory to lead anywhere. The
core checks every access against this; if one is somewhere else it starts again without footprints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dekker.ir.expressions import Address, Binary, Expr, Reg, Select, Unary
from dekker.ir.flow import defined, predecessors
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    CompareExchange,
    Exit,
    Free,
    Instruction,
    Load,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Program

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
        found.future[function.name] = [(0, 0)] * (len(function.body) + 1)
    arrivals = {function.name: predecessors(function) for function in program.functions}
    changed = True
    while changed:
        spread = [_spread(function, found, arrivals[function.name]) for function in program.functions]
        changed = any(spread)
    return found


def _spread(function: Function, found: Footprints, arrivals: list[list[int]]) -> bool:
    future = found.future[function.name]
    own = [_own(step, found, found.touches[function.name][index]) for index, step in enumerate(function.body)]
    if any(isinstance(step, Allocate) and step.stack for step in function.body):
        ends = [index for index, step in enumerate(function.body) if isinstance(step, Return | Exit)]
        for index in ends:
            own[index] = (0, HEAP)
        own.append((0, HEAP))
    changed = False
    pending = list(range(len(future)))
    for index, footprint in enumerate(own):
        joined = _join(future[index], footprint)
        changed = changed or joined != future[index]
        future[index] = joined
    while pending:
        index = pending.pop()
        for earlier in arrivals[index]:
            joined = _join(future[earlier], future[index])
            if joined != future[earlier]:
                future[earlier] = joined
                pending.append(earlier)
                changed = True
    return changed


def _join(first: Footprint, second: Footprint) -> Footprint:
    return first[0] | second[0], first[1] | second[1]


def _own(step: Instruction, found: Footprints, touched: int) -> Footprint:
    match step:
        case Load():
            return touched, 0
        case Store():
            return 0, touched
        case Rmw() | CompareExchange() | StoreConditional():
            return touched, touched
        case Free():
            return 0, HEAP
        case Call(function=callee) | Spawn(function=callee):
            return _called(callee, found)
    return 0, 0


def _called(callee: Expr, found: Footprints) -> Footprint:
    if isinstance(callee, Address) and callee.symbol in found.future and not callee.offset:
        return found.future[callee.symbol][0]
    result = (0, 0)
    for future in found.future.values():
        result = _join(result, future[0])
    return result


# --- what registers may hold


@dataclass(frozen=True, slots=True)
class _Pointees:
    """Objects that a value may point into; `unknown` if it may point anywhere."""

    objects: int = 0
    unknown: bool = False

    def __or__(self, other: _Pointees) -> _Pointees:
        return _Pointees(self.objects | other.objects, self.unknown or other.unknown)


_NOWHERE = _Pointees()
_ANYWHERE = _Pointees(0, unknown=True)


@dataclass
class _Values:
    bits: dict[str, int]
    registers: dict[tuple[str, str], _Pointees] = field(default_factory=dict)

    def add(self, function: str, register: str, value: _Pointees) -> bool:
        key = (function, register)
        before = self.registers.get(key, _NOWHERE)
        self.registers[key] = before | value
        return self.registers[key] != before

    def of(self, expression: Expr, function: str) -> _Pointees:
        match expression:
            case Address(symbol):
                return _Pointees(self.bits.get(symbol, 0))
            case Reg(name):
                return self.registers.get((function, name), _NOWHERE)
            case Unary(_, _, operand):
                return self.of(operand, function)
            case Binary(_, _, left, right):
                both = self.of(left, function) | self.of(right, function)
                return _Pointees(both.objects) if both.objects else both
            case Select(_, then, other):
                return self.of(then, function) | self.of(other, function)
        return _NOWHERE


def _values(program: Program) -> _Values:
    objects = enumerate(item.name for item in program.objects)
    values = _Values({name: 1 << min(number, LAST_GLOBAL) for number, name in objects})
    for thread in program.threads:
        for name, value in thread.registers:
            values.add(thread.function, name, values.of(value, thread.function))
    for name in _taken(program):
        for parameter in program.function_by_name[name].parameters:
            values.add(name, parameter, _ANYWHERE)
    changed = [True]
    while any(changed):
        changed = [_flow(function, program, values) for function in program.functions]
    return values


def _flow(function: Function, program: Program, values: _Values) -> bool:
    changed = False
    for step in function.body:
        for register, value in _definitions(step, function.name, values):
            changed = values.add(function.name, register, value) or changed
        if isinstance(step, Call | Spawn) and isinstance(step.function, Address):
            callee = program.function_by_name.get(step.function.symbol)
            parameters = callee.parameters if callee is not None else ()
            for parameter, argument in zip(parameters, step.arguments, strict=False):
                given = values.of(argument, function.name)
                changed = values.add(step.function.symbol, parameter, given) or changed
    return changed


def _definitions(step: Instruction, function: str, values: _Values) -> Iterator[tuple[str, _Pointees]]:
    match step:
        case Assign(dst, value):
            yield dst, values.of(value, function)
        case Allocate(dst):
            yield dst, _Pointees(HEAP)
        case _:
            for register in defined(step):
                if isinstance(register, str):
                    yield register, _ANYWHERE


def _taken(program: Program) -> set[str]:
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
    return ANYTHING if found.unknown or not found.objects else found.objects
