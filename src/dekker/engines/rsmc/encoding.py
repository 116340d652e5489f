"""A program as the numbers that the explorer reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dekker.cat.relational import RelationalProgram
from dekker.engines.rsmc.events import instruction_events
from dekker.engines.rsmc.orders import CommitOrder
from dekker.errors import UnsupportedError
from dekker.execution import BASE_SETS, INITIAL_THREAD, Event
from dekker.ir.arithmetic import RMW_OPERATORS, mask
from dekker.ir.expressions import (
    ALL_BINARY_OPERATORS,
    ALL_UNARY_OPERATORS,
    ONE,
    Address,
    Binary,
    Const,
    Expr,
    Reg,
    Select,
    Unary,
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
from dekker.native import Block
from dekker.source import Span

NONE = -1
OPERATIONS = {
    Assign: 0,
    Load: 1,
    Store: 2,
    StoreConditional: 3,
    Rmw: 4,
    CompareExchange: 5,
    Fence: 6,
    Jump: 7,
    Branch: 8,
    Assume: 9,
    Assert: 10,
    Choose: 11,
    Exit: 12,
    Await: 13,
    Call: 14,
    Return: 15,
    Spawn: 16,
    Join: 17,
    Allocate: 18,
    Free: 19,
    Measure: 20,
    Refuse: 21,
}
NO_EFFECT = {"operation": OPERATIONS[Assert]}
"""With a condition that holds."""
CONSTANT, REGISTER, UNARY, BINARY, SELECT = range(5)
UNARY_CODES = {name: code for code, name in enumerate(ALL_UNARY_OPERATORS)}
BINARY_CODES = {name: code for code, name in enumerate(ALL_BINARY_OPERATORS)}
UPDATE_CODES = {name: code for code, name in enumerate(RMW_OPERATORS)}
PAIR_BITS = {"RR": 1, "RW": 2, "WR": 4, "WW": 8}

FIELDS = (
    "operation destination success address value expected size update flags target read_class write_class "
    "failed_class low high first_argument n_arguments"
).split()
DEFAULTS = dict.fromkeys(FIELDS, 0) | dict.fromkeys(("destination", "success", "address", "value", "expected"), NONE)
SIGNED, EXCLUSIVE, WEAK, OWN, PROGRAM, LOOSE, PIECE = 1, 2, 4, 8, 16, 32, 64

EventClass = tuple[list[int], int, int]


@dataclass
class Encoder:
    """Collects the expressions and event classes of all threads; equal ones are shared."""

    layout: Layout
    model: RelationalProgram
    order: CommitOrder
    pieces: frozenset[tuple[str, int]] = frozenset()
    expressions: list[list[int]] = field(default_factory=list)
    classes: list[EventClass] = field(default_factory=list)
    _known_expressions: dict[tuple[int, ...], int] = field(default_factory=dict)
    _known_classes: dict[Event, int] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    blocks: dict[str, int] = field(default_factory=dict)
    """Numbers of the functions that can be called."""
    arguments: list[int] = field(default_factory=list)

    def thread(self, program: Program, number: int, observed: Sequence[str]) -> Block:
        """`registers` then holds the thread's numbering."""
        start = program.threads[number]
        function = program.function_by_name[start.function]
        self._begin_block()
        initial = [
            (self.register(name), value.value if isinstance(value, Const) else self.layout.resolve(value))
            for name, value in start.registers
        ]
        code = self._code(function)
        for name in observed:
            self.register(name)
        return code, len(self.registers), initial, []

    def function(self, function: Function) -> Block:
        self._begin_block()
        parameters = [self.register(name) for name in function.parameters]
        code = self._code(function)
        return code, len(self.registers), [], parameters

    def _begin_block(self) -> None:
        self.registers = {}
        self._known_expressions = {}

    def _code(self, function: Function) -> list[int]:
        code: list[int] = []
        for index, instruction in enumerate(function.body):
            fields = self._instruction(instruction, function, function.span(index))
            if (function.name, index) in self.pieces:
                fields[FIELDS.index("flags")] |= PIECE
            code += fields
        return code

    def register(self, name: str) -> int:
        return self.registers.setdefault(name, len(self.registers))

    def event_class(self, event: Event) -> int:
        number = self._known_classes.get(event)
        if number is None:
            content = self._class_of(event)
            if content not in self.classes:
                self.classes.append(content)
            number = self._known_classes[event] = self.classes.index(content)
        return number

    def _class_of(self, event: Event) -> EventClass:
        sets = [i for i, item in enumerate(self.model.inputs) if item.kind == "set" and BASE_SETS[item.name](event)]
        orders = self.order.fence_pairs(event) if event.kind == "F" else ()
        local = self.order.local(event)
        flags = (local.before_later, local.after_earlier, local.strong_release, local.strong_acquire)
        return sets, sum(PAIR_BITS[pair] for pair in orders), sum(1 << i for i, flag in enumerate(flags) if flag)

    def initial_class(self) -> int:
        return self.event_class(Event("W", INITIAL_THREAD, 0))

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
                return [*self._postfix(operand), UNARY, UNARY_CODES[op], width, 0]
            case Binary(op, width, left, right):
                return [*self._postfix(left), *self._postfix(right), BINARY, BINARY_CODES[op], width, 0]
            case Select(condition, then, other):
                alternatives = [*self._postfix(then), *self._postfix(other)]
                return [*self._postfix(condition), *alternatives, SELECT, 0, 0, 0]

    def _instruction(self, instruction: Instruction, function: Function, span: Span | None) -> list[int]:
        classes = {role: self.event_class(event) for role, event in instruction_events(instruction).items()}
        return list((DEFAULTS | self._fields(instruction, function, span) | classes).values())

    def _fields(self, instruction: Instruction, function: Function, span: Span | None) -> dict[str, int]:
        operation = OPERATIONS.get(type(instruction), NONE)
        match instruction:
            case Assign(dst, value):
                found = {"destination": self.register(dst), "value": self.expression(value)}
            case Load(dst, address, size, _, signed, exclusive):
                flags = SIGNED * signed + EXCLUSIVE * exclusive
                found = self._access(address, size) | {"destination": self.register(dst), "flags": flags}
            case Store(address, value, size):
                found = self._access(address, size) | {"value": self.expression(value)}
            case StoreConditional(status, address, value, size):
                found = self._access(address, size) | {
                    "destination": self.register(status),
                    "value": self.expression(value),
                }
            case Rmw(dst, op, address, operand, size):
                found = self._access(address, size) | {
                    "destination": NONE if dst is None else self.register(dst),
                    "value": self.expression(operand),
                    "update": UPDATE_CODES[op],
                }
            case CompareExchange():
                found = self._compare_exchange(instruction)
            case Fence():
                found = {}
            case Jump(target):
                found = {"target": function.labels[target]}
            case Branch(condition, target) | Await(condition, target):
                found = {"value": self.expression(condition), "target": function.labels[target]}
            case Assume(condition):
                found = {"value": self.expression(condition)}
            case Assert(condition, _, loose):
                found = {"value": self.expression(condition), "flags": LOOSE * loose}
            case Refuse():
                found = {}
            case Print():
                return NO_EFFECT | {"value": self.expression(ONE)}
            case Choose(dst, low, high):
                found = {"destination": self.register(dst), "low": low, "high": high}
            case Exit(everything):
                found = {"flags": PROGRAM * everything}
            case Return(value):
                found = {} if value is None else {"value": self.expression(value)}
            case Call(dst, callee, arguments) | Spawn(dst, callee, arguments):
                found = self._call(dst, callee, arguments)
            case Join(dst, thread):
                found = self._destination(dst) | {"value": self.expression(thread)}
            case Allocate(dst, size, _, _, stack, permanent):
                flags = OWN * (stack or permanent)
                found = {"destination": self.register(dst), "value": self.expression(size), "flags": flags}
            case Measure(dst, address):
                found = {"destination": self.register(dst), "value": self.expression(address)}
            case Free(address):
                found = {"value": self.expression(address)}
            case _:
                raise UnsupportedError(
                    f"the rsmc engine does not handle the instruction '{type(instruction).__name__}'", span
                )
        return {"operation": operation, **found}

    def _destination(self, dst: str | None) -> dict[str, int]:
        return {} if dst is None else {"destination": self.register(dst)}

    def _call(self, dst: str | None, callee: Expr, arguments: Sequence[Expr]) -> dict[str, int]:
        direct = self.blocks.get(callee.symbol) if isinstance(callee, Address) and not callee.offset else None
        first = len(self.arguments)
        self.arguments += [self.expression(argument) for argument in arguments]
        return self._destination(dst) | {
            "value": self.expression(callee),
            "target": NONE if direct is None else direct,
            "first_argument": first,
            "n_arguments": len(arguments),
        }

    def _access(self, address: Expr, size: int) -> dict[str, int]:
        return {"address": self.expression(address), "size": size}

    def _compare_exchange(self, instruction: CompareExchange) -> dict[str, int]:
        return self._access(instruction.address, instruction.size) | {
            "destination": self.register(instruction.dst),
            "success": NONE if instruction.success is None else self.register(instruction.success),
            "value": self.expression(instruction.desired),
            "expected": self.expression(instruction.expected),
            "flags": WEAK * instruction.weak,
        }


def encode_observables(
    observed: tuple[Observable, ...], registers: list[dict[str, int]], layout: Layout
) -> list[tuple[int, int, int, int]]:
    return [
        (item.thread, registers[item.thread][item.register], 0, 0)
        if isinstance(item, RegisterValue)
        else (NONE, 0, (layout.starts[item.symbol] + item.offset) & mask(64), item.size)
        for item in observed
    ]
