"""Programs as the numbers that all engines in the core read: expressions, registers, fields of instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from dekker.ir.arithmetic import RMW_OPERATORS, mask
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
    Unset,
)
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assign,
    Assume,
    Await,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Detach,
    EndScope,
    Exit,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Recycle,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout
from dekker.ir.program import Program, Thread
from dekker.ir.property import Observable, RegisterValue
from dekker.records import dataclass

NONE = -1
CONSTANT, REGISTER, UNARY, BINARY, SELECT = range(5)
UNARY_CODES = {name: code for code, name in enumerate(ALL_UNARY_OPERATORS)}
BINARY_CODES = {name: code for code, name in enumerate(ALL_BINARY_OPERATORS)}
UPDATE_CODES = {name: code for code, name in enumerate(RMW_OPERATORS)}
SIGNED, EXCLUSIVE, WEAK, PROGRAM = 1, 2, 4, 8
QUIET = 1 << 16
"""Flags of instructions; an engine has others, from 16 on."""

COMMON_FIELDS = (
    "operation destination success address value expected size update flags target low high first_argument n_arguments"
).split()
DEFAULTS = dict.fromkeys(COMMON_FIELDS, 0) | dict.fromkeys(
    ("destination", "success", "address", "value", "expected"), NONE
)

Fields = dict[str, int]


@dataclass
class Coder:
    """Collects the expressions of all threads; equal ones of a thread are shared. `registers` is the numbering of the
    thread or function at hand, `blocks` are the numbers of functions that can be called."""

    layout: Layout
    expressions: list[list[int]] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=dict)
    arguments: list[int] = field(default_factory=list)
    _known_expressions: dict[tuple[int, ...], int] = field(default_factory=dict)

    def begin_block(self) -> None:
        self.registers = {}
        self._known_expressions = {}

    def initial_registers(self, thread: Thread) -> list[tuple[int, int]]:
        return [
            (self.register(name), value.value if isinstance(value, Const) else self.layout.resolve(value))
            for name, value in thread.registers
        ]

    def register(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def expression(self, expression: Expr) -> int:
        code = tuple(self._postfix(expression))
        number = self._known_expressions.get(code)
        if number is None:
            number = self._known_expressions[code] = len(self.expressions)
            self.expressions.append(list(code))
        return number

    def _postfix(self, expression: Expr) -> list[int]:
        match expression:
            case Unset():
                return [CONSTANT, 1, 0, 0]
            case Const(value):
                return [CONSTANT, 0, 0, value]
            case Reg(name):
                return [REGISTER, 0, 0, self.register(name)]
            case Address():
                return [CONSTANT, 0, 0, self.layout.resolve(expression)]
            case Unary(op, width, operand):
                return [*self._postfix(operand), UNARY, UNARY_CODES[op], width, 0]
            case Binary(op, width, left, right):
                return [*self._postfix(left), *self._postfix(right), BINARY, BINARY_CODES[op], width, 0]
            case Select(condition, then, other):
                alternatives = [*self._postfix(then), *self._postfix(other)]
                return [*self._postfix(condition), *alternatives, SELECT, 0, 0, 0]

    def common_fields(self, step: Instruction, labels: Mapping[str, int]) -> Fields:
        """What the instruction says, without what it means to one engine."""
        encode = _FIELDS.get(type(step))
        fields = encode(self, step) if encode is not None else {}
        return fields | ({"target": labels[step.target]} if isinstance(step, Jump | Branch | Await) else {})

    def destination(self, dst: str | None) -> Fields:
        return {} if dst is None else {"destination": self.register(dst)}

    def access(self, step: Load | Store | StoreConditional | Rmw | CompareExchange) -> Fields:
        return {"address": self.expression(step.address), "size": step.size}


def initial_bytes(program: Program, places: Layout) -> list[tuple[int, int]]:
    found = []
    for item in program.objects:
        start = places.starts[item.name]
        for cell in item.cells:
            value = places.resolve(cell.value) if isinstance(cell.value, Address) else cell.value
            found += [(start + cell.offset + i, value >> 8 * i & 0xFF) for i in range(cell.size)]
    return [(address, byte) for address, byte in found if byte]


def object_ranges(program: Program, places: Layout) -> list[tuple[int, int]]:
    return [(places.starts[item.name], max(1, item.size)) for item in program.objects]


def encode_observables(
    observed: Sequence[Observable], registers: list[dict[str, int]], places: Layout
) -> list[tuple[int, int, int, int]]:
    return [
        (item.thread, registers[item.thread][item.register], 0, 0)
        if isinstance(item, RegisterValue)
        else (NONE, 0, (places.starts[item.symbol] + item.offset) & mask(64), item.size)
        for item in observed
    ]


def signed(bits: int) -> int:
    """A pattern of 64 bits as the number that it is to the core."""
    return bits - (1 << 64) if bits >> 63 else bits


# --- the fields of instructions


def _load(coder: Coder, step: Load) -> Fields:
    flags = SIGNED * step.signed + EXCLUSIVE * step.exclusive
    return coder.access(step) | coder.destination(step.dst) | {"flags": flags}


def _store_conditional(coder: Coder, step: StoreConditional) -> Fields:
    return coder.access(step) | coder.destination(step.status) | {"value": coder.expression(step.value)}


def _update(coder: Coder, step: Rmw) -> Fields:
    fields = {"value": coder.expression(step.operand), "update": UPDATE_CODES[step.op], "flags": QUIET * step.quiet}
    return coder.access(step) | coder.destination(step.dst) | fields


def _compare_exchange(coder: Coder, step: CompareExchange) -> Fields:
    fields = {
        "success": NONE if step.success is None else coder.register(step.success),
        "value": coder.expression(step.desired),
        "expected": coder.expression(step.expected),
        "flags": WEAK * step.weak,
    }
    return coder.access(step) | coder.destination(step.dst) | fields


def _choose(coder: Coder, step: Choose) -> Fields:
    low = signed(step.low & mask(64))
    return coder.destination(step.dst) | {"low": low, "high": low + step.high - step.low}


def _call(coder: Coder, step: Call | Spawn) -> Fields:
    callee = step.function
    direct = coder.blocks.get(callee.symbol) if isinstance(callee, Address) and not callee.offset else None
    first = len(coder.arguments)
    coder.arguments += [coder.expression(argument) for argument in step.arguments]
    return coder.destination(step.dst) | {
        "value": coder.expression(callee),
        "target": NONE if direct is None else direct,
        "first_argument": first,
        "n_arguments": len(step.arguments),
    }


def _condition(coder: Coder, step: Branch | Await | Assume | Assert) -> Fields:
    return {"value": coder.expression(step.condition)}


_FIELDS: dict[type[Instruction], Callable[[Coder, Any], Fields]] = {
    Assign: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.value)},
    Load: _load,
    Store: lambda coder, step: coder.access(step) | {"value": coder.expression(step.value)},
    StoreConditional: _store_conditional,
    Rmw: _update,
    CompareExchange: _compare_exchange,
    **dict.fromkeys((Branch, Await, Assume, Assert), _condition),
    Choose: _choose,
    Exit: lambda coder, step: {"flags": PROGRAM * step.everything},
    Return: lambda coder, step: {} if step.value is None else {"value": coder.expression(step.value)},
    Call: _call,
    Spawn: _call,
    Detach: lambda coder, step: {"value": coder.expression(step.thread)},
    Join: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.thread)},
    Allocate: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.size)},
    EndScope: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.address)},
    Measure: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.address)},
    Recycle: lambda coder, step: coder.destination(step.dst) | {"value": coder.expression(step.size)},
    Renew: lambda coder, step: {
        "value": coder.expression(step.address),
        "expected": coder.expression(step.size),
    },
    Free: lambda coder, step: {"value": coder.expression(step.address)},
}
