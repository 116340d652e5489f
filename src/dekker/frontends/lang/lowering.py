"""From the syntax of Lang to the functions of the common representation: one function for each process or class.

Variables are objects of 8 bytes, arrays have 8 bytes for each element. An index that is not a number is asserted to be
in the range of its array. `barrier` is a full fence, CMPXCHG an update that is a full fence even if it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import Any

from dekker.frontends.lang.operators import LOGICAL, OPERATORS, SIZE, WIDTH
from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    Check,
    Choose,
    CompareExchange,
    Expression,
    Global,
    If,
    Labelled,
    LangFile,
    Num,
    Process,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)
from dekker.ir import instructions as ir
from dekker.ir.expressions import ZERO, Address, Binary, Const, Expr, Reg
from dekker.ir.program import Cell, Function, Object
from dekker.ir.shapes import ArrayShape
from dekker.records import dataclass
from dekker.source import Span

AT = "%at"
"""The register that says where a thread chose to stop: 0 nowhere, else the number of the label, or `ELSEWHERE`."""
ELSEWHERE = (1 << 64) - 1
END = "%end"


@dataclass(frozen=True, slots=True)
class Stops:
    """Where a thread may stop for good, so that final states show what is reachable on the way: at the `labels`, which
    have numbers, before it changes one of the `registers`, and before it reads."""

    labels: Mapping[str, int] = field(default_factory=dict)
    registers: Collection[str] = ()


def lower_process(process: Process, variables: Mapping[str, Global], stops: Stops | None = None) -> Function:
    emitter = _Emitter(variables, stops)
    emitter.statement(process.body)
    emitter.labels[END] = len(emitter.body)
    return Function(process.name, (), tuple(emitter.body), emitter.labels, tuple(emitter.spans))


def lower_globals(file: LangFile) -> tuple[Object, ...]:
    return tuple(_object(item) for item in file.globals)


def _object(item: Global) -> Object:
    values = [value + (item.versions or 0) for value in item.values]
    cells = tuple(Cell(SIZE * place, SIZE, value & (1 << WIDTH) - 1) for place, value in enumerate(values) if value)
    shape = None if item.low is None else ArrayShape(len(item.values), SIZE)
    return Object(item.name, SIZE * len(item.values), cells, shape=shape)


@dataclass(slots=True)
class _Emitter:
    variables: Mapping[str, Global]
    stops: Stops | None = None
    body: list[ir.Instruction] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    n_fresh: int = 0

    def emit(self, instruction: ir.Instruction, span: Span | None) -> None:
        self.body.append(instruction)
        self.spans.append(span)

    def fresh(self) -> str:
        self.n_fresh += 1
        return f"%{self.n_fresh}"

    def here(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def statement(self, statement: Statement) -> None:
        _EMITTERS[type(statement)](self, statement)

    def may_stop(self, number: int, span: Span | None) -> None:
        """Both ways are followed: the thread stops here, or goes on."""
        go_on, chosen = self.fresh(), "%stop"
        self.emit(ir.Choose(chosen, 0, 1), span)
        self.emit(ir.Branch(Binary("eq", WIDTH, Reg(chosen), ZERO), go_on), span)
        self.emit(ir.Assign(AT, Const(number)), span)
        self.emit(ir.Jump(END), span)
        self.here(go_on)

    def may_stop_before(self, span: Span | None, changed: str | None) -> None:
        if self.stops is not None and (changed is None or changed in self.stops.registers):
            self.may_stop(ELSEWHERE, span)

    def place(self, variable: Variable, span: Span | None) -> Expr:
        item = self.variables[variable.name]
        if item.low is None or variable.index is None:
            return Address(variable.name)
        if isinstance(variable.index, Num):
            return Address(variable.name, SIZE * (variable.index.value - item.low))
        index = lower_expression(variable.index)
        in_range = _both(_compare("sge", index, item.low), _compare("sle", index, item.high))
        message = f"the index is in the range {item.low}..{item.high} of `{variable.name}`"
        self.emit(ir.Assert(in_range, f"{message}: it is not"), span)
        if item.low:
            index = Binary("sub", WIDTH, index, Const(item.low))
        return Binary("add", WIDTH, Address(variable.name), Binary("mul", WIDTH, index, Const(SIZE)))


def _compare(op: str, left: Expr, right: int) -> Expr:
    return Binary(op, WIDTH, left, Const(right))


def _both(left: Expr, right: Expr) -> Expr:
    return Binary("and", WIDTH, left, right)


def lower_expression(expression: Expression) -> Expr:
    match expression:
        case Num(value):
            return Const(value)
        case Register(name):
            return Reg(name)
        case Apply("not", (operand,)):
            return Binary("eq", WIDTH, lower_expression(operand), ZERO)
        case Apply("-", (operand,)):
            return Binary("sub", WIDTH, ZERO, lower_expression(operand))
        case Apply(mark, (left, right)):
            sides = [lower_expression(left), lower_expression(right)]
            if mark in LOGICAL:
                sides = [Binary("ne", WIDTH, side, ZERO) for side in sides]
            return Binary(OPERATORS[mark], WIDTH, sides[0], sides[1])
    raise AssertionError(expression)


def _assign(emitter: _Emitter, statement: Assign) -> None:
    emitter.may_stop_before(statement.span, statement.register)
    emitter.emit(ir.Assign(statement.register, lower_expression(statement.value)), statement.span)


def _choose(emitter: _Emitter, statement: Choose) -> None:
    emitter.may_stop_before(statement.span, statement.register)
    emitter.emit(ir.Choose(statement.register, statement.low, statement.high), statement.span)


def _read(emitter: _Emitter, statement: Read) -> None:
    emitter.may_stop_before(statement.span, None)
    place = emitter.place(statement.variable, statement.span)
    emitter.emit(ir.Load(statement.register, place, SIZE), statement.span)


def _write(emitter: _Emitter, statement: Write) -> None:
    place = emitter.place(statement.variable, statement.span)
    emitter.emit(ir.Store(place, lower_expression(statement.value), SIZE), statement.span)


def _compare_exchange(emitter: _Emitter, statement: CompareExchange) -> None:
    emitter.may_stop_before(statement.span, None)
    place = emitter.place(statement.variable, statement.span)
    expected, desired = Reg(statement.expected), Reg(statement.desired)
    emitter.emit(ir.CompareExchange(statement.expected, None, place, expected, desired, SIZE), statement.span)


def _barrier(emitter: _Emitter, statement: Barrier) -> None:
    emitter.emit(ir.Fence("mfence"), statement.span)


def _check(emitter: _Emitter, statement: Check) -> None:
    condition = lower_expression(statement.condition)
    if statement.is_assumption:
        emitter.emit(ir.Assume(condition), statement.span)
    else:
        text = "" if statement.span is None else f" `{statement.span.text}`"
        emitter.emit(ir.Assert(condition, f"the assertion{text} fails"), statement.span)


def _labelled(emitter: _Emitter, statement: Labelled) -> None:
    emitter.here(statement.label)
    if emitter.stops is not None and statement.label in emitter.stops.labels:
        emitter.may_stop(emitter.stops.labels[statement.label], statement.span)
    emitter.statement(statement.body)


def _if(emitter: _Emitter, statement: If) -> None:
    other, end = emitter.fresh(), emitter.fresh()
    condition = lower_expression(statement.condition)
    emitter.emit(ir.Branch(Binary("eq", WIDTH, condition, ZERO), other), statement.span)
    emitter.statement(statement.then)
    if statement.other is not None:
        emitter.emit(ir.Jump(end), statement.span)
    emitter.here(other)
    if statement.other is not None:
        emitter.statement(statement.other)
        emitter.here(end)


def _while(emitter: _Emitter, statement: While) -> None:
    again, end = emitter.fresh(), emitter.fresh()
    emitter.here(again)
    condition = lower_expression(statement.condition)
    emitter.emit(ir.Branch(Binary("eq", WIDTH, condition, ZERO), end), statement.span)
    emitter.statement(statement.body)
    emitter.emit(ir.Jump(again), statement.span)
    emitter.here(end)


def _block(emitter: _Emitter, statement: Block) -> None:
    for inner in statement.statements:
        emitter.statement(inner)


_EMITTERS: dict[type, Callable[[_Emitter, Any], None]] = {
    Assign: _assign,
    Choose: _choose,
    Read: _read,
    Write: _write,
    CompareExchange: _compare_exchange,
    Barrier: _barrier,
    Check: _check,
    Labelled: _labelled,
    If: _if,
    While: _while,
    Block: _block,
}
