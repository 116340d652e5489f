"""All paths of one thread, with unknown values for its reads.

A path is what the thread does if its branches go a certain way: its events in program order, the conditions on read
values under which it goes that way, its dependencies and its final registers. Loops are followed `unroll` times; an
await whose condition fails ends the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, singledispatch

from dekker.engines.axiomatic.terms import Symbol, Term, apply, either
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import BINARY_OPERATORS, mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
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
    Instruction,
    Jump,
    Load,
    Order,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.layout import Layout
from dekker.ir.program import Function, Program
from dekker.source import Span

NOTHING: frozenset[int] = frozenset()
MAX_CALL_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Value:
    """A term and the reads (by index in the thread) it was computed from; among them stands the write of a
    store-conditional whose status register was used. `picked` are reads that only chose between alternatives."""

    term: Term
    reads: frozenset[int] = NOTHING
    picked: frozenset[int] = NOTHING


UNSET = Value(0)


@dataclass(frozen=True, slots=True)
class PathEvent:
    """An event whose address and value may be unknown, with the reads it depends on."""

    kind: str
    address: Value = UNSET
    size: int = 0
    value: Value = UNSET
    order: Order = Order.PLAIN
    tags: frozenset[str] = frozenset()
    fence: str = ""
    control: frozenset[int] = NOTHING
    picked_control: frozenset[int] = NOTHING
    span: Span | None = field(default=None, compare=False, repr=False)
    instruction: int = -1


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a `choose` gave; `position` events of the thread come before it."""

    position: int
    instruction: int
    value: int


@dataclass(frozen=True, slots=True)
class Frame:
    function: Function
    pc: int
    registers: dict[str, Value]
    result: str | None


@dataclass(frozen=True, slots=True)
class Path:
    """`status` is `running` while the path is followed, then `complete`, `blocked` (a failed assumption), `waiting` (a
    failed await), `cut` (a loop went on beyond the bound) or `failed` (an assertion, named by `failure`).

    `rounds` says how many events there were when control last came to the target of an await, given by the depth of
    calls and the position; `last_round` is that number for the await at which the path is waiting."""

    frames: tuple[Frame, ...]
    events: tuple[PathEvent, ...] = ()
    constraints: tuple[tuple[Term, bool], ...] = ()
    updates: tuple[tuple[int, int, str], ...] = ()
    choices: tuple[Chosen, ...] = ()
    control: frozenset[int] = NOTHING
    picked_control: frozenset[int] = NOTHING
    linked: int | None = None
    loops: Mapping[tuple[str, int], int] = field(default_factory=dict)
    rounds: Mapping[tuple[int, int], int] = field(default_factory=dict)
    last_round: int = 0
    status: str = "running"
    failure: str = ""
    failure_span: Span | None = None

    @property
    def registers(self) -> dict[str, Value]:
        return self.frames[-1].registers


@dataclass(frozen=True, slots=True)
class Context:
    program: Program
    layout: Layout
    thread: int
    unroll: int
    await_targets: Mapping[str, frozenset[int]]
    """By function, the positions where rounds of awaits begin."""


def thread_paths(program: Program, layout: Layout, thread: int, unroll: int) -> Iterator[Path]:
    """Every path of the thread, whatever its reads may return."""
    start = program.threads[thread]
    registers = {
        name: Value(initial.value if isinstance(initial, Const) else layout.resolve(initial))
        for name, initial in start.registers
    }
    context = Context(program, layout, thread, unroll, _await_targets(program))
    pending = [Path((Frame(program.function_by_name[start.function], 0, registers, None),))]
    while pending:
        path = pending.pop()
        if path.status != "running":
            yield path
        else:
            pending += reversed(list(_advance(context, path)))


def _await_targets(program: Program) -> dict[str, frozenset[int]]:
    return {
        function.name: frozenset(function.labels[item.target] for item in function.body if isinstance(item, Await))
        for function in program.functions
    }


def _advance(context: Context, path: Path) -> Iterator[Path]:
    frame = path.frames[-1]
    if frame.pc in context.await_targets[frame.function.name]:
        path = replace(path, rounds={**path.rounds, (len(path.frames), frame.pc): len(path.events)})
    if frame.pc >= len(frame.function.body):
        yield _return(path, UNSET)
        return
    instruction = frame.function.body[frame.pc]
    open_choice = _open_choice(instruction, context, path)
    if open_choice is not None:
        yield from _assume(path, open_choice, True)
        yield from _assume(path, open_choice, False)
        return
    yield from _step(instruction, context, _goto(path, frame.pc + 1), frame.function.span(frame.pc))


def _open_choice(instruction: Instruction, context: Context, path: Path) -> Term | None:
    """The condition of a selection that the path has not decided. A value depends on the reads of the chosen
    alternative only, so the path splits there, without a control dependency."""
    for choice in _selections(instruction):
        term = _evaluate(choice.condition, path, context.layout).term
        if _decided(term, path) is None:
            return term
    return None


def _decided(term: Term, path: Path) -> bool | None:
    if isinstance(term, int):
        return bool(term)
    return next((expected for known, expected in path.constraints if known == term), None)


@lru_cache(maxsize=4096)
def _selections(instruction: Instruction) -> tuple[Select, ...]:
    """All selections in the expressions of an instruction, inner ones first."""
    values = [getattr(instruction, item.name) for item in fields(instruction)]
    flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return tuple(choice for item in flat for choice in _inner_selections(item))


def _inner_selections(expression: object) -> Iterator[Select]:
    match expression:
        case Unary(_, _, operand):
            yield from _inner_selections(operand)
        case Binary(_, _, left, right):
            yield from _inner_selections(left)
            yield from _inner_selections(right)
        case Select(condition, then, other):
            for part in (condition, then, other):
                yield from _inner_selections(part)
            yield expression


@singledispatch
def _step(instruction: object, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    """All continuations of the path over one instruction; `path` already stands behind it."""
    raise UnsupportedError(
        f"the axiomatic engine does not handle the instruction '{type(instruction).__name__}'",
        span,
        "it covers programs with a fixed set of threads and global memory only",
    )


@_step.register
def _(instruction: Assign, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield _set(path, instruction.dst, _evaluate(instruction.value, path, context.layout))


@_step.register
def _(instruction: Load, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    address = _evaluate(instruction.address, path, context.layout)
    tags = frozenset(("X",)) if instruction.exclusive else frozenset[str]()
    loaded = _read_value(context, index)
    path = _emit(path, PathEvent("R", address, instruction.size, loaded, instruction.order, tags, span=span))
    if instruction.exclusive:
        path = replace(path, linked=index)
    if instruction.signed:
        loaded = Value(_sign_extend(loaded.term, 8 * instruction.size), loaded.reads)
    yield _set(path, instruction.dst, loaded)


@_step.register
def _(instruction: Store, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    address = _evaluate(instruction.address, path, context.layout)
    value = _truncate(_evaluate(instruction.value, path, context.layout), instruction.size)
    yield _emit(path, PathEvent("W", address, instruction.size, value, instruction.order, span=span))


@_step.register
def _(instruction: StoreConditional, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    address = _evaluate(instruction.address, path, context.layout)
    value = _truncate(_evaluate(instruction.value, path, context.layout), instruction.size)
    linked = path.linked
    path = replace(path, linked=None)
    if linked is not None:
        same_place = apply("eq", 64, address.term, path.events[linked].address.term)
        yield from _succeed_conditionally(instruction, path, linked, address, value, same_place, span)
    yield _set(path, instruction.status, Value(1))


def _succeed_conditionally(
    instruction: StoreConditional,
    path: Path,
    linked: int,
    address: Value,
    value: Value,
    same_place: Term,
    span: Span | None,
) -> Iterator[Path]:
    tags = frozenset(("X", "RMW"))
    load = path.events[linked]
    events = (*path.events[:linked], replace(load, tags=load.tags | {"RMW"}), *path.events[linked + 1 :])
    for continued in _assume(replace(path, events=events), same_place, True):
        event = PathEvent("W", address, instruction.size, value, instruction.order, tags, span=span)
        written = _emit(continued, event)
        written = replace(written, updates=(*written.updates, (linked, len(events), "lxsx")))
        yield _set(written, instruction.status, Value(0, frozenset((len(events),))))


@_step.register
def _(instruction: Rmw, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    address = _evaluate(instruction.address, path, context.layout)
    operand = _truncate(_evaluate(instruction.operand, path, context.layout), instruction.size)
    old = _read_value(context, index)
    tags = frozenset(("AMO", "RMW")) | (frozenset(("NORET",)) if instruction.dst is None else frozenset())
    path = _emit(path, PathEvent("R", address, instruction.size, old, instruction.order, tags, span=span))
    new = _combine(instruction.op, 8 * instruction.size, old, operand)
    path = _emit(path, PathEvent("W", address, instruction.size, new, instruction.order, tags, span=span))
    path = replace(path, updates=(*path.updates, (index, index + 1, "amo")))
    yield path if instruction.dst is None else _set(path, instruction.dst, old)


@_step.register
def _(instruction: CompareExchange, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    size = instruction.size
    address = _evaluate(instruction.address, path, context.layout)
    expected = _truncate(_evaluate(instruction.expected, path, context.layout), size)
    desired = _truncate(_evaluate(instruction.desired, path, context.layout), size)
    old = _read_value(context, index)
    equal = apply("eq", 8 * size, old.term, expected.term)
    reads = old.reads | expected.reads
    # Whether there is a write at all depends on what was read and on what was expected.
    desired = Value(desired.term, desired.reads, desired.picked | expected.picked | reads)

    def finish(after: Path, succeeded: int) -> Path:
        after = _set(after, instruction.dst, old)
        if instruction.success is None:
            return after
        return _set(after, instruction.success, Value(succeeded, reads, expected.picked))

    for continued in _assume(path, equal, True):
        tags = frozenset(("AMO", "RMW"))
        after = _emit(continued, PathEvent("R", address, size, old, instruction.order, tags, span=span))
        after = _emit(after, PathEvent("W", address, size, desired, instruction.order, tags, span=span))
        yield finish(replace(after, updates=(*after.updates, (index, index + 1, "amo"))), 1)
    for continued in (path,) if instruction.weak else _assume(path, equal, False):
        tags = frozenset(("AMO",))
        yield finish(
            _emit(continued, PathEvent("R", address, size, old, instruction.failure_order, tags, span=span)), 0
        )


@_step.register
def _(instruction: Fence, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield _emit(path, PathEvent("F", fence=FENCES[instruction.kind].name, span=span))


@_step.register
def _(instruction: Jump, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield _jump(context, path, instruction.target)


@_step.register
def _(instruction: Branch, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = _evaluate(instruction.condition, path, context.layout)
    path = replace(path, control=path.control | condition.reads, picked_control=path.picked_control | condition.picked)
    yield from _assume(path, condition.term, False)
    for taken in _assume(path, condition.term, True):
        yield _jump(context, taken, instruction.target)


@_step.register
def _(instruction: Assume, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = _evaluate(instruction.condition, path, context.layout)
    path = replace(path, control=path.control | condition.reads, picked_control=path.picked_control | condition.picked)
    yield from _assume(path, condition.term, True)
    for failed in _assume(path, condition.term, False):
        yield replace(failed, status="blocked")


@_step.register
def _(instruction: Await, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = _evaluate(instruction.condition, path, context.layout)
    path = replace(path, control=path.control | condition.reads, picked_control=path.picked_control | condition.picked)
    yield from _assume(path, condition.term, True)
    target = path.frames[-1].function.labels[instruction.target]
    for failed in _assume(path, condition.term, False):
        yield replace(failed, status="waiting", last_round=failed.rounds.get((len(failed.frames), target), 0))


@_step.register
def _(instruction: Assert, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = _evaluate(instruction.condition, path, context.layout)
    if not instruction.loose:
        control, picked = path.control | condition.reads, path.picked_control | condition.picked
        path = replace(path, control=control, picked_control=picked)
    yield from _assume(path, condition.term, True)
    for failed in _assume(path, condition.term, False):
        yield replace(failed, status="failed", failure=instruction.message, failure_span=span)


@_step.register
def _(instruction: Choose, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    for number in range(instruction.low, instruction.high + 1):
        chosen = Chosen(len(path.events), path.frames[-1].pc - 1, number & mask(64))
        yield _set(replace(path, choices=(*path.choices, chosen)), instruction.dst, Value(chosen.value))


@_step.register
def _(instruction: Call, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    function = _callee(instruction.function, context, span)
    if len(path.frames) >= MAX_CALL_DEPTH:
        yield replace(path, status="cut")
        return
    arguments = [_evaluate(argument, path, context.layout) for argument in instruction.arguments]
    registers = dict(zip(function.parameters, arguments, strict=False))
    yield replace(path, frames=(*path.frames, Frame(function, 0, registers, instruction.dst)))


def _callee(expression: Expr, context: Context, span: Span | None) -> Function:
    if isinstance(expression, Address) and expression.symbol in context.program.function_by_name:
        return context.program.function_by_name[expression.symbol]
    raise UnsupportedError("the axiomatic engine handles direct calls only", span)


@_step.register
def _(instruction: Return, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    value = UNSET if instruction.value is None else _evaluate(instruction.value, path, context.layout)
    yield _return(path, value)


@_step.register
def _(instruction: Exit, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    if instruction.everything:
        raise UnsupportedError("the axiomatic engine does not handle an exit of the whole program", span)
    yield replace(path, status="complete")


def _goto(path: Path, pc: int) -> Path:
    return replace(path, frames=(*path.frames[:-1], replace(path.frames[-1], pc=pc)))


def _jump(context: Context, path: Path, label: str) -> Path:
    """A jump backwards counts against the bound; `path` stands behind the jump."""
    frame = path.frames[-1]
    target = frame.function.labels[label]
    if target >= frame.pc:
        return _goto(path, target)
    key = (frame.function.name, frame.pc - 1)
    rounds = path.loops.get(key, 0) + 1
    if rounds > context.unroll:
        return replace(path, status="cut")
    return _goto(replace(path, loops={**path.loops, key: rounds}), target)


def _return(path: Path, value: Value) -> Path:
    if len(path.frames) == 1:
        return replace(path, status="complete")
    result = path.frames[-1].result
    path = replace(path, frames=path.frames[:-1])
    return path if result is None else _set(path, result, value)


def _set(path: Path, register: str, value: Value) -> Path:
    frame = path.frames[-1]
    registers = {**frame.registers, register: value}
    return replace(path, frames=(*path.frames[:-1], replace(frame, registers=registers)))


def _emit(path: Path, event: PathEvent) -> Path:
    instruction = path.frames[-1].pc - 1
    event = replace(event, control=path.control, picked_control=path.picked_control, instruction=instruction)
    return replace(path, events=(*path.events, event))


def _assume(path: Path, term: Term, expected: bool) -> Iterator[Path]:
    """The path under the condition that the term is (not) 0, if that can be."""
    if isinstance(term, int):
        if bool(term) == expected:
            yield path
    elif (term, not expected) not in path.constraints:
        yield replace(path, constraints=(*path.constraints, (term, expected)))


def _read_value(context: Context, index: int) -> Value:
    return Value(Symbol(context.thread, index), frozenset((index,)))


def _evaluate(expression: Expr, path: Path, layout: Layout) -> Value:
    match expression:
        case Const(value):
            return Value(value)
        case Reg(name):
            return path.registers.get(name, UNSET)
        case Address():
            return Value(layout.resolve(expression))
        case Unary(op, width, operand):
            inner = _evaluate(operand, path, layout)
            return Value(apply(op, width, inner.term), inner.reads, inner.picked)
        case Binary(op, width, left, right):
            first, second = _evaluate(left, path, layout), _evaluate(right, path, layout)
            term = apply(op, width, first.term, second.term)
            return Value(term, first.reads | second.reads, first.picked | second.picked)
        case Select(condition, then, other):
            choice = _evaluate(condition, path, layout)
            chosen = _evaluate(then if _decided(choice.term, path) else other, path, layout)
            return Value(chosen.term, chosen.reads, choice.reads | choice.picked | chosen.picked)


def _truncate(value: Value, size: int) -> Value:
    return value if size == 8 else Value(apply("zext", 8 * size, value.term), value.reads, value.picked)


def _sign_extend(term: Term, width: int) -> Term:
    return apply("sext", width, term) if width < 64 else term


def _combine(op: str, width: int, old: Value, operand: Value) -> Value:
    """What a read-modify-write stores. An exchange does not depend on what it read."""
    if op == "xchg":
        return operand
    reads, picked = old.reads | operand.reads, operand.picked
    if op in BINARY_OPERATORS:
        return Value(apply(op, width, old.term, operand.term), reads, picked)
    if op == "nand":
        return Value(apply("not", width, apply("and", width, old.term, operand.term)), reads, picked)
    comparison = {"max": "sge", "min": "sle", "umax": "uge", "umin": "ule"}[op]
    keep_old = apply(comparison, width, old.term, operand.term)
    return Value(either(keep_old, old.term, operand.term), reads, picked)
