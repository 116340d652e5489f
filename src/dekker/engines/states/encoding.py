"""A program as the numbers that the explicit-state search reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from dekker.engines.states.footprints import ANYTHING, Footprint, Footprints, footprints
from dekker.engines.states.locality import local_allocations
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import BINARY_OPERATORS, RMW_OPERATORS, UNARY_OPERATORS, mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.fences import FENCES
from dekker.ir.flow import Hidden, live_at_starts
from dekker.ir.instructions import (
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
from dekker.ir.layout import Layout
from dekker.ir.program import Function, Program
from dekker.ir.property import Observable, RegisterValue

NONE = -1
OPERATIONS: tuple[type[Instruction], ...] = (
    *(Assign, Load, Store, StoreConditional, Rmw, CompareExchange, Fence, Jump, Branch, Assume, Assert, Choose, Exit),
    *(Await, Call, Return, Spawn, Join, Allocate, Free, AtomicBegin, AtomicEnd, Print, Refuse, Measure),
)
CONSTANT, REGISTER, UNARY, BINARY, SELECT = range(5)
UNARY_CODES = {name: code for code, name in enumerate(UNARY_OPERATORS)}
BINARY_CODES = {name: code for code, name in enumerate(BINARY_OPERATORS)}
UPDATE_CODES = {name: code for code, name in enumerate(RMW_OPERATORS)}
NO_FENCE, FLUSH, BEFORE_STORES, BEFORE_LOADS = range(4)
SIGNED, EXCLUSIVE, WEAK, STACK, LOCAL, PROGRAM = 1, 2, 4, 8, 16, 32

FIELDS = (
    "operation destination success address value expected size update flags fence target low high first_argument "
    "n_arguments touches"
).split()
DEFAULTS = dict.fromkeys(FIELDS, 0) | dict.fromkeys(("destination", "success", "address", "value", "expected"), NONE)

Fields = dict[str, int]
Block = tuple[list[int], int, list[tuple[int, int]], list[int], list[list[int]], list[Footprint]]


def encode(
    program: Program, places: Layout, observed: Sequence[Observable], *, pso: bool, static_local: bool
) -> tuple[Any, ...]:
    """The argument of the native search."""
    encoder = _Encoder(program, places, footprints(program), pso, static_local)
    encoder.blocks = {item.name: len(program.threads) + number for number, item in enumerate(program.functions)}
    threads, registers = [], []
    for number in range(len(program.threads)):
        wanted = [item.register for item in observed if isinstance(item, RegisterValue) and item.thread == number]
        threads.append(encoder.thread(number, wanted))
        registers.append(encoder.registers)
    functions = [encoder.function(item) for item in program.functions]
    return (
        threads,
        functions,
        encoder.expressions,
        encoder.arguments,
        [(places.starts[name], number) for name, number in encoder.blocks.items()],
        _initial_bytes(program, places),
        [(places.starts[item.name], max(1, item.size)) for item in program.objects],
        _observables(observed, registers, places),
        _alike(program, observed),
    )


@dataclass
class _Encoder:
    """Collects the expressions of all threads; equal ones are shared."""

    program: Program
    layout: Layout
    footprints: Footprints
    pso: bool
    static_local: bool
    expressions: list[list[int]] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=dict)
    arguments: list[int] = field(default_factory=list)
    current: Function | None = None
    _known_expressions: dict[tuple[int, ...], int] = field(default_factory=dict)

    def thread(self, number: int, observed: Collection[str]) -> Block:
        """`registers` then holds the thread's numbering."""
        start = self.program.threads[number]
        self._begin_block()
        initial = [
            (self.register(name), value.value if isinstance(value, Const) else self.layout.resolve(value))
            for name, value in start.registers
        ]
        for name in observed:
            self.register(name)
        return self._block(self.program.function_by_name[start.function], initial, [], frozenset(observed))

    def function(self, function: Function) -> Block:
        self._begin_block()
        return self._block(function, [], [self.register(name) for name in function.parameters], frozenset())

    def _begin_block(self) -> None:
        self.registers = {}
        self._known_expressions = {}

    def _block(
        self, function: Function, initial: list[tuple[int, int]], parameters: list[int], live: frozenset[str]
    ) -> Block:
        self.current = function
        local = local_allocations(function) if self.static_local else frozenset()
        code: list[int] = []
        for index, step in enumerate(function.body):
            code += self._instruction(step, index, is_local=index in local)
        dead = [self._dead(names) for names in live_at_starts(function, live)]
        return code, len(self.registers), initial, parameters, dead, self.footprints.future[function.name]

    def _dead(self, live: Collection[object]) -> list[int]:
        found = [number for name, number in self.registers.items() if name not in live]
        return found if Hidden.LINK in live else [*found, len(self.registers)]

    def register(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def target(self, label: str) -> int:
        assert self.current is not None
        return self.current.labels[label]

    def expression(self, expression: Expr) -> int:
        code = tuple(self._postfix(expression))
        number = self._known_expressions.get(code)
        if number is None:
            number = self._known_expressions[code] = len(self.expressions)
            self.expressions.append(list(code))
        return number

    def _postfix(self, expression: Expr) -> list[int]:
        match expression:
            case Const(value):
                return [CONSTANT, 0, 0, value]
            case Reg(name):
                return [REGISTER, 0, 0, self.register(name)]
            case Address():
                return [CONSTANT, 0, 0, self.layout.resolve(expression)]
            case Unary(op, width, operand):
                return [*self._postfix(operand), UNARY, _code(UNARY_CODES, op), width, 0]
            case Binary(op, width, left, right):
                return [*self._postfix(left), *self._postfix(right), BINARY, _code(BINARY_CODES, op), width, 0]
            case Select(condition, then, other):
                alternatives = [*self._postfix(then), *self._postfix(other)]
                return [*self._postfix(condition), *alternatives, SELECT, 0, 0, 0]

    def _instruction(self, step: Instruction, index: int, *, is_local: bool) -> list[int]:
        assert self.current is not None
        touches = self.footprints.touches[self.current.name][index]
        fields = DEFAULTS | _FIELDS[type(step)](self, step) | {"touches": _signed(touches)}
        fields["operation"] = OPERATIONS.index(type(step))
        fields["flags"] |= LOCAL * is_local
        return list(fields.values())

    def destination(self, dst: str | None) -> Fields:
        return {} if dst is None else {"destination": self.register(dst)}

    def access(self, step: Load | Store | StoreConditional | Rmw | CompareExchange) -> Fields:
        return {"address": self.expression(step.address), "size": step.size}


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _code(codes: dict[str, int], operator: str) -> int:
    if operator not in codes:
        raise UnsupportedError(f"the states engine does not handle the operator '{operator}' (floating point)")
    return codes[operator]


# --- the fields of instructions


def _load(e: _Encoder, step: Load) -> Fields:
    return e.access(step) | e.destination(step.dst) | {"flags": SIGNED * step.signed + EXCLUSIVE * step.exclusive}


def _compare_exchange(e: _Encoder, step: CompareExchange) -> Fields:
    return (
        e.access(step)
        | e.destination(step.dst)
        | {
            "success": NONE if step.success is None else e.register(step.success),
            "value": e.expression(step.desired),
            "expected": e.expression(step.expected),
            "flags": WEAK * step.weak,
        }
    )


def _fence(e: _Encoder, step: Fence) -> Fields:
    """Loads are done in order and at once, so only what a fence says about earlier stores matters. What keeps them
    before loads under TSO, where stores stay in order anyway, may as well write them."""
    orders = FENCES[step.kind].orders
    if "WR" in orders:
        return {"fence": BEFORE_LOADS if e.pso and "WW" not in orders else FLUSH}
    return {"fence": BEFORE_STORES if e.pso and "WW" in orders else NO_FENCE}


def _conditional_jump(e: _Encoder, step: Branch | Await) -> Fields:
    return {"value": e.expression(step.condition), "target": e.target(step.target)}


def _call(e: _Encoder, step: Call | Spawn) -> Fields:
    callee = step.function
    direct = e.blocks.get(callee.symbol) if isinstance(callee, Address) and not callee.offset else None
    numbers = [e.expression(argument) for argument in step.arguments]
    first = len(e.arguments)
    e.arguments += numbers
    return e.destination(step.dst) | {
        "value": e.expression(callee),
        "target": NONE if direct is None else direct,
        "first_argument": first,
        "n_arguments": len(numbers),
    }


_FIELDS: dict[type[Instruction], Callable[[_Encoder, Any], Fields]] = {
    Assign: lambda e, step: e.destination(step.dst) | {"value": e.expression(step.value)},
    Load: _load,
    Store: lambda e, step: e.access(step) | {"value": e.expression(step.value)},
    StoreConditional: lambda e, step: e.access(step) | e.destination(step.status) | {"value": e.expression(step.value)},
    Rmw: lambda e, step: (
        e.access(step)
        | e.destination(step.dst)
        | {"value": e.expression(step.operand), "update": UPDATE_CODES[step.op]}
    ),
    CompareExchange: _compare_exchange,
    Fence: _fence,
    Jump: lambda e, step: {"target": e.target(step.target)},
    Branch: _conditional_jump,
    Await: _conditional_jump,
    Assume: lambda e, step: {"value": e.expression(step.condition)},
    Assert: lambda e, step: {"value": e.expression(step.condition), "flags": WEAK * is_limit(step)},
    Choose: lambda e, step: e.destination(step.dst) | {"low": _signed(step.low & ANYTHING), "high": _high(step)},
    Exit: lambda e, step: {"flags": PROGRAM * step.everything},
    Return: lambda e, step: {} if step.value is None else {"value": e.expression(step.value)},
    Call: _call,
    Spawn: _call,
    Join: lambda e, step: e.destination(step.dst) | {"value": e.expression(step.thread)},
    Allocate: lambda e, step: e.destination(step.dst) | {"value": e.expression(step.size), "flags": STACK * step.stack},
    Free: lambda e, step: {"value": e.expression(step.address)},
    AtomicBegin: lambda e, step: {},
    AtomicEnd: lambda e, step: {},
    Print: lambda e, step: {},
    Refuse: lambda e, step: {},
    Measure: lambda e, step: e.destination(step.dst) | {"value": e.expression(step.address)},
}


def is_limit(step: Assert) -> bool:
    """Whether it is the runtime library that cannot go on, not the program that is wrong."""
    return step.message.endswith(" not supported")


def _high(step: Choose) -> int:
    return _signed(step.low & ANYTHING) + (step.high - step.low)


# --- the rest of a program


def _initial_bytes(program: Program, places: Layout) -> list[tuple[int, int]]:
    found = []
    for item in program.objects:
        start = places.starts[item.name]
        for cell in item.cells:
            value = places.resolve(cell.value) if isinstance(cell.value, Address) else cell.value
            found += [(start + cell.offset + i, value >> 8 * i & 0xFF) for i in range(cell.size)]
    return [(address, byte) for address, byte in found if byte]


def _observables(
    observed: Sequence[Observable], registers: list[dict[str, int]], places: Layout
) -> list[tuple[int, int, int, int]]:
    return [
        (item.thread, registers[item.thread][item.register], 0, 0)
        if isinstance(item, RegisterValue)
        else (NONE, 0, (places.starts[item.symbol] + item.offset) & mask(64), item.size)
        for item in observed
    ]


def _alike(program: Program, observed: Sequence[Observable]) -> list[int]:
    """For each thread the first that does the same; threads whose registers are shown are like no other."""
    shown = {item.thread for item in observed if isinstance(item, RegisterValue)}
    first: dict[object, int] = {}
    found = []
    for number, thread in enumerate(program.threads):
        key = number if number in shown else (thread.function, thread.registers)
        found.append(first.setdefault(key, number))
    return found
