"""A program as the numbers that the explorer reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from dekker.cat.relational import RelationalProgram
from dekker.engines.core_code import COMMON_FIELDS, DEFAULTS, Coder, Fields
from dekker.engines.rsmc.events import instruction_events
from dekker.engines.rsmc.orders import CommitOrder
from dekker.errors import UnsupportedError
from dekker.execution import BASE_SETS, INITIAL_THREAD, Event
from dekker.ir.expressions import ONE
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
    Fence,
    Free,
    Instruction,
    Join,
    Jump,
    Load,
    Measure,
    Order,
    Print,
    Recycle,
    Refuse,
    Renew,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Program
from dekker.native import Block
from dekker.records import dataclass
from dekker.source import Span

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
    Recycle: 22,
    Renew: 23,
    EndScope: 24,
    Detach: 25,
}
NO_EFFECT = Assert(ONE, "")
PAIR_BITS = {"RR": 1, "RW": 2, "WR": 4, "WW": 8}
CLASS_FIELDS = ("read_class", "write_class", "failed_class")
INSTRUCTION = DEFAULTS | dict.fromkeys(CLASS_FIELDS, 0)
FLAGS = COMMON_FIELDS.index("flags")
OWN, LOOSE, PIECE, SCOPED, LASTING, UNSET, COPY = 16, 32, 64, 128, 256, 512, 1024

EventClass = tuple[list[int], int, int, int]


_STRENGTHS = dict.fromkeys(Order, 1) | {
    Order.PLAIN: 0,
    Order.ACQUIRE_PC: 2,
    Order.ACQUIRE: 3,
    Order.ACQ_REL: 3,
    Order.SEQ_CST: 4,
}
"""Of reads: one may stand for another that is not stronger, if both or none are plain. Writes that release are as
strong as reads that acquire."""


def _strength(event: Event) -> int:
    return _STRENGTHS[Order.ACQUIRE if event.kind == "W" and event.order is Order.RELEASE else event.order]


@dataclass(kw_only=True)
class Encoder(Coder):
    """Collects the event classes of all threads, too; equal ones are shared."""

    model: RelationalProgram
    order: CommitOrder
    pieces: frozenset[tuple[str, int]] = frozenset()
    classes: list[EventClass] = field(default_factory=list)
    _known_classes: dict[Event, int] = field(default_factory=dict)

    def thread(self, program: Program, number: int, observed: Sequence[str]) -> Block:
        """`registers` then holds the thread's numbering."""
        start = program.threads[number]
        self.begin_block()
        initial = self.initial_registers(start)
        code = self._code(program.function_by_name[start.function])
        for name in observed:
            self.register(name)
        return code, len(self.registers), initial, []

    def function(self, function: Function) -> Block:
        self.begin_block()
        parameters = [self.register(name) for name in function.parameters]
        # The beginning of a thread is an event of its first instruction.
        code = self._code(function if function.body else replace(function, body=(Return(),)))
        return code, len(self.registers), [], parameters

    def _code(self, function: Function) -> list[int]:
        code: list[int] = []
        for index, instruction in enumerate(function.body):
            fields = self._instruction(instruction, function, function.span(index))
            if (function.name, index) in self.pieces:
                fields[FLAGS] |= PIECE
            code += fields
        return code

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
        flags = (
            local.before_later,
            local.after_earlier,
            local.strong_release,
            local.strong_acquire,
            local.only_full_fences,
        )
        pairs = sum(PAIR_BITS[pair] for pair in orders)
        return sets, pairs, sum(1 << i for i, flag in enumerate(flags) if flag), _strength(event)

    def initial_class(self) -> int:
        return self.event_class(Event("W", INITIAL_THREAD, 0))

    def _instruction(self, instruction: Instruction, function: Function, span: Span | None) -> list[int]:
        classes = {role: self.event_class(event) for role, event in instruction_events(instruction).items()}
        return list((INSTRUCTION | self._fields(instruction, function, span) | classes).values())

    def _fields(self, instruction: Instruction, function: Function, span: Span | None) -> Fields:
        if isinstance(instruction, Print) or (isinstance(instruction, EndScope) and instruction.confined):
            return self._fields(NO_EFFECT, function, span)
        operation = OPERATIONS.get(type(instruction))
        if operation is None:
            raise UnsupportedError(
                f"the rsmc engine does not handle the instruction '{type(instruction).__name__}'", span
            )
        found = self.common_fields(instruction, function.labels) | {"operation": operation}
        match instruction:
            case Assert(loose=True):
                found["flags"] = LOOSE
            case Store(copy=True):
                found["flags"] = COPY
            case Allocate(stack=stack, permanent=permanent, confined=confined, zeroed=zeroed):
                found["flags"] = OWN * (stack or permanent) | UNSET * (not zeroed)
                if stack and not confined:
                    found["flags"] |= SCOPED | LASTING * permanent
            case Renew(zeroed=zeroed):
                found["flags"] = UNSET * (not zeroed)
            case Load(loose=True):
                found["flags"] |= LOOSE
            case Branch(loose=True) | Assume(loose=True) if not self.order.in_order:
                found |= {"flags": LOOSE, "low": 0, "high": 1}
        return found
