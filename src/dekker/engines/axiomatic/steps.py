"""What one instruction adds to a path: every way to go on behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache, singledispatch

from dekker.engines.axiomatic.own_values import is_chosen, is_since, own_places, own_writes
from dekker.engines.axiomatic.path import (
    UNSET,
    Context,
    Failure,
    Frame,
    LooseCheck,
    Path,
    PathEvent,
    Scoped,
    Value,
    World,
    assume,
    choose,
    decided,
    depend,
    emit,
    evaluate,
    fail,
    goto,
    jump,
    set_register,
)
from dekker.engines.axiomatic.rounds import (
    Entered,
    LoopHistory,
    Where,
    arrived,
    chosen_branch,
    chosen_exit,
    chosen_exit_late,
    decides_write,
    entered_before,
    passed_branch,
    passed_exit,
    went_on,
    without_call,
)
from dekker.engines.axiomatic.terms import Symbol, Term, apply, either
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import BINARY_OPERATORS, mask
from dekker.ir.expressions import Binary, Reg, Select, Unary, registers
from dekker.ir.fences import FENCES
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
    Refuse,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function
from dekker.ir.undefined import is_undecided, undefined_bits
from dekker.source import Span

DEEPEST_CALL = 1000
SYNCHRONISATION_FENCE = "mfence"
UNSUPPORTED = "unsupported"
UNINITIALISED = "uninitialised"
HEAP_START = 1 << 40
SYNCHRONISATION_START = 1 << 48
HEADER_SIZE = 8


def at_head(context: Context, path: Path) -> Path:
    """The path before its next instruction, which may be the head of a loop."""
    frame = path.frames[-1]
    if context.limits.counts_known_rounds or frame.pc not in context.loops[frame.function.name]:
        return path
    entered = Entered(len(path.events), len(path.choices))
    return replace(path, loops=arrived(path.loops, (len(path.frames), frame.pc), entered))


def advance(context: Context, path: Path) -> Iterator[Path]:
    """The path behind its next instruction."""
    frame = path.frames[-1]
    if frame.pc in context.await_targets[frame.function.name]:
        path = replace(path, rounds={**path.rounds, (len(path.frames), frame.pc): len(path.events)})
    if frame.pc >= len(frame.function.body):
        yield _return(context, path, UNSET)
        return
    instruction = frame.function.body[frame.pc]
    open_choice = _open_choice(instruction, context, path)
    if open_choice is not None:
        yield from assume(path, open_choice, True)
        yield from assume(path, open_choice, False)
        return
    path = at_head(context, path)
    behind, span = goto(path, frame.pc + 1), frame.function.span(frame.pc)
    if _decides_on_undefined(instruction, context, path):
        yield fail(behind, UNINITIALISED, "the value was never set", span)
        return
    yield from step(instruction, context, behind, span)


def _decides_on_undefined(instruction: Instruction, context: Context, path: Path) -> bool:
    """Whether what happens next depends on an indeterminate value, as far as that is known by now."""
    match instruction:
        case Branch(condition) | Assume(condition) | Assert(condition) | Await(condition):
            return is_undecided(evaluate(condition, path, context).term)
        case Call(_, value) | Spawn(_, value) | Join(_, value) | Detach(value):
            return undefined_bits(evaluate(value, path, context).term) != 0
        case Allocate(_, value) | Free(value) | Measure(_, value):
            return undefined_bits(evaluate(value, path, context).term) != 0
    return False


def _open_choice(instruction: Instruction, context: Context, path: Path) -> Term | None:
    """The condition of a selection that the path has not decided. A value depends on the reads of the chosen
    alternative only, so the path splits there, without a control dependency."""
    for choice in _selections(instruction):
        term = evaluate(choice.condition, path, context).term
        if decided(term, path) is None:
            return term
    return None


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
def step(instruction: object, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    """All continuations of the path over one instruction; `path` already stands behind it."""
    raise UnsupportedError(
        f"the axiomatic engine does not handle the instruction '{type(instruction).__name__}'",
        span,
    )


@step.register
def _(instruction: Assign, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield set_register(path, instruction.dst, evaluate(instruction.value, path, context))


@step.register
def _(instruction: Load, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    address = evaluate(instruction.address, path, context)
    tags = frozenset(("X",)) if instruction.exclusive else frozenset[str]()
    loaded = _read_value(context, index)
    event = PathEvent("R", address, instruction.size, loaded, instruction.order, tags, span=span)
    path = emit(path, replace(event, loose=instruction.loose))
    if instruction.exclusive:
        path = replace(path, linked=index)
    if instruction.signed:
        loaded = Value(_sign_extend(loaded.term, 8 * instruction.size), loaded.reads)
    yield set_register(path, instruction.dst, loaded)


@step.register
def _(instruction: Store, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    address = evaluate(instruction.address, path, context)
    value = _truncate(evaluate(instruction.value, path, context), instruction.size)
    event = PathEvent("W", address, instruction.size, value, instruction.order, span=span, copy=instruction.copy)
    yield emit(path, event)


@step.register
def _(instruction: StoreConditional, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    address = evaluate(instruction.address, path, context)
    value = _truncate(evaluate(instruction.value, path, context), instruction.size)
    linked = path.linked
    path = replace(path, linked=None)
    if linked is None:
        yield set_register(path, instruction.status, Value(1))
        return
    same_place = apply("eq", 64, address.term, path.events[linked].address.term)
    chosen, mark = choose(path, None)
    for succeeded in _succeed_conditionally(instruction, chosen, linked, address, value, same_place, span):
        status = Value(0, mark | {len(chosen.events)})
        yield set_register(succeeded, instruction.status, status)
    yield set_register(chosen, instruction.status, Value(1, mark))


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
    for continued in assume(replace(path, events=events), same_place, True):
        event = PathEvent("W", address, instruction.size, value, instruction.order, tags, span=span)
        written = emit(continued, event)
        yield replace(written, updates=(*written.updates, (linked, len(events), "lxsx")))


def _update_tags(instruction: Rmw | CompareExchange) -> frozenset[str]:
    return frozenset(("AMO", "NORET") if instruction.dst is None else ("AMO",))


@step.register
def _(instruction: Rmw, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    address = evaluate(instruction.address, path, context)
    operand = _truncate(evaluate(instruction.operand, path, context), instruction.size)
    old = _read_value(context, index)
    if instruction.quiet:
        is_there = apply("eq", 8 * instruction.size, old.term, operand.term)
        for quiet in assume(path, is_there, True):
            tags = frozenset(("AMO", "QUIET"))
            read = PathEvent("R", address, instruction.size, old, instruction.order, tags, span=span)
            after = emit(quiet, read)
            yield after if instruction.dst is None else set_register(after, instruction.dst, old)
        changing = next(assume(path, is_there, False), None)
        if changing is None:
            return
        path = changing
    tags = _update_tags(instruction) | {"RMW"}
    read = PathEvent("R", address, instruction.size, old, instruction.order, tags, span=span)
    path = emit(path, read)
    new = _combine(instruction.op, 8 * instruction.size, old, operand)
    path = emit(path, PathEvent("W", address, instruction.size, new, instruction.order, tags, span=span))
    path = replace(path, updates=(*path.updates, (index, index + 1, "amo")))
    yield path if instruction.dst is None else set_register(path, instruction.dst, old)


@step.register
def _(instruction: CompareExchange, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    index = len(path.events)
    size = instruction.size
    address = evaluate(instruction.address, path, context)
    expected = _truncate(evaluate(instruction.expected, path, context), size)
    desired = _truncate(evaluate(instruction.desired, path, context), size)
    old = _read_value(context, index)
    equal, weak = apply("eq", 8 * size, old.term, expected.term), instruction.weak
    reads = old.reads | expected.reads
    # Whether there is a write at all depends on what was read and on what was expected.
    desired = Value(desired.term, desired.reads, desired.picked | expected.picked | reads)

    def finish(after: Path, succeeded: int) -> Path:
        after = after if instruction.dst is None else set_register(after, instruction.dst, old)
        if instruction.success is None:
            return after
        return set_register(after, instruction.success, Value(succeeded, reads, expected.picked))

    for continued in assume(path, equal, True):
        tags = _update_tags(instruction) | {"RMW"}
        read = PathEvent("R", address, size, old, instruction.order, tags, span=span, compared=expected, weak=weak)
        after = emit(continued, read)
        after = emit(after, PathEvent("W", address, size, desired, instruction.order, tags, span=span))
        yield finish(replace(after, updates=(*after.updates, (index, index + 1, "amo"))), 1)
    for continued in (path,) if weak else assume(path, equal, False):
        tags = _update_tags(instruction)
        order = instruction.failure_order
        read = PathEvent("R", address, size, old, order, tags, span=span, compared=expected, weak=weak)
        yield finish(emit(continued, read), 0)


@step.register
def _(instruction: Fence, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield emit(path, PathEvent("F", fence=FENCES[instruction.kind].name, span=span))


@step.register
def _(instruction: Jump, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield jump(context, path, instruction.target)


@step.register
def _(instruction: Branch, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = evaluate(instruction.condition, path, context)
    if not context.limits.counts_known_rounds:
        path = _passed(instruction, condition, context, path)
    path = _asked(instruction, condition, path, span)
    yield from assume(path, condition.term, False)
    for taken in assume(path, condition.term, True):
        yield jump(context, taken, instruction.target)


def _asked(instruction: Branch | Assume | Assert, condition: Value, path: Path, span: Span | None) -> Path:
    if not instruction.loose:
        return depend(path, condition)
    if isinstance(condition.term, int):
        return path
    check = LooseCheck(condition.term, span, len(path.events))
    return replace(path, loose_checks=(*path.loose_checks, check))


def _passed(branch: Branch, condition: Value, context: Context, path: Path) -> Path:
    """Remembers what the branch means for the loops that it is in."""
    frame = path.frames[-1]
    pc, depth = frame.pc - 1, len(path.frames)
    reads = condition.reads | condition.picked
    history = passed_branch(path.loops, bool(reads))
    values = tuple(evaluate(Reg(name), path, context).term for name in sorted(registers(branch.condition)))
    now = Entered(len(path.events), len(path.choices))
    loops = context.loops[frame.function.name]
    for head, loop in loops.items():
        is_asked = pc in loop.exits or pc in loop.staying
        is_around = bool(loop.deciding) and pc in loop.body
        if not is_asked and not (reads and (is_around or pc in loop.steered)):
            continue
        where = depth, head
        history = entered_before(history, where, now)
        entered = history.rounds[where].entered
        if is_asked:
            places = own_places(context, path, reads, entered)
            found = (*values, *(places or ()))
            if pc in loop.staying:
                history = went_on(history, where, pc, places is None, found)
            elif places is not None or not loop.exits[pc]:
                history = passed_exit(history, where, pc, places is None, found)
            if places and _is_chosen_in_memory(context, path, history, where, reads):
                history = chosen_exit_late(history, where, pc)
        if any(is_chosen(path, read) and is_since(read, entered) for read in reads):
            for leaving in loop.steered.get(pc, ()):
                history = chosen_exit(history, where, leaving)
            if is_around:
                history = chosen_branch(history, where, pc)
    return replace(path, loops=history)


def _is_chosen_in_memory(
    context: Context, path: Path, history: LoopHistory, where: Where, reads: frozenset[int]
) -> bool:
    """Was something that the condition of an exit was computed from written in the loop, where a choice decides whether
    it is?"""
    function = path.frames[-1].function.name
    loop = context.loops[function][where[1]]
    if not any(key[0] == where for key in history.chosen_branches):
        return False
    written = own_writes(context, path, reads, history.rounds[where].entered)
    places = (event.instruction if event.function == function else None for event in written)
    return any(decides_write(history, where, loop, place) for place in places)


@step.register
def _(instruction: Assume, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = evaluate(instruction.condition, path, context)
    path = _asked(instruction, condition, path, span)
    yield from assume(path, condition.term, True)
    for failed in assume(path, condition.term, False):
        yield replace(failed, status="blocked")


@step.register
def _(instruction: Await, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = evaluate(instruction.condition, path, context)
    path = depend(path, condition)
    yield from assume(path, condition.term, True)
    target = path.frames[-1].function.labels[instruction.target]
    for failed in assume(path, condition.term, False):
        start = failed.rounds.get((len(failed.frames), target), 0)
        if any(event.kind == "W" and "RMW" in event.tags for event in failed.events[start:]):
            yield jump(context, failed, instruction.target)
        else:
            yield replace(failed, status="waiting", last_round=start)


@step.register
def _(instruction: Assert, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    condition = evaluate(instruction.condition, path, context)
    path = _asked(instruction, condition, path, span)
    yield from assume(path, condition.term, True)
    for failed in assume(path, condition.term, False):
        yield fail(failed, "assertion", instruction.message, span)
        if instruction.loose and not isinstance(condition.term, int):
            failure = Failure("assertion", instruction.message, span, len(failed.events))
            yield replace(failed, noted=(*failed.noted, failure))


@step.register
def _(instruction: Refuse, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield fail(path, UNSUPPORTED, instruction.message, span)


@step.register
def _(instruction: Print, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    yield path


@step.register
def _(instruction: Choose, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    for number in range(instruction.low, instruction.high + 1):
        chosen, mark = choose(path, number & mask(64))
        yield set_register(chosen, instruction.dst, Value(number & mask(64), mark))


@step.register
def _(instruction: Call, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    target = evaluate(instruction.function, path, context)
    function = function_at(context, target, span)
    path = depend(path, target)
    if function is None:
        yield fail(path, "call", f"call of {target.term:#x}, which is no function", span)
        return
    if len(path.frames) > DEEPEST_CALL:
        yield fail(path, "call", "calls are nested too deeply", span)
        return
    arguments = [evaluate(argument, path, context) for argument in instruction.arguments]
    registers = dict(zip(function.parameters, arguments, strict=False))
    yield replace(path, frames=(*path.frames, Frame(function, 0, registers, instruction.dst)))


def function_at(context: Context, target: Value, span: Span | None) -> Function | None:
    """The function with that address, which must be known."""
    if not isinstance(target.term, int):
        raise UnsupportedError("the axiomatic engine needs to know which function is called", span)
    place = context.layout.locate(target.term)
    return context.program.function_by_name.get(place.symbol) if place is not None and place.offset == 0 else None


@step.register
def _(instruction: Return, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    value = UNSET if instruction.value is None else evaluate(instruction.value, path, context)
    yield _return(context, path, value)


@step.register
def _(instruction: Exit, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    """After an exit of the whole program the others run on, as they could have done before; but nobody sees its thread
    end."""
    if instruction.everything:
        yield replace(path, status="ended")
    else:
        yield end_thread(context, _end_objects(context, path, path.scoped), UNSET)


@step.register
def _(instruction: EndScope, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    start = evaluate(instruction.address, path, context).term
    over = () if instruction.confined else tuple(item for item in path.scoped if item.start == start)
    yield set_register(_end_objects(context, path, over), instruction.dst, UNSET)


def _end_objects(context: Context, path: Path, over: Sequence[Scoped]) -> Path:
    path = replace(path, scoped=tuple(item for item in path.scoped if item not in over))
    for item in reversed(over):
        path = release(context, path, item.start)
    return path


def release(context: Context, path: Path, start: int) -> Path:
    """Nobody may access the object any more."""
    if path.is_alone:
        return replace(path, released=path.released | {start})
    assert context.world is not None
    frame = path.frames[-1]
    span = frame.function.span(frame.pc - 1)
    for address, size in parts(context.world, start):
        path = emit(path, PathEvent("W", Value(address), size, Value(0), span=span, release=True))
    return path


def parts(world: World, start: int) -> list[tuple[int, int]]:
    """What is written when an object is freed, and when it is used again."""
    fields = sorted(world.discovered.fields.get(start, frozenset()))
    return [(header_of(start), HEADER_SIZE), *((start + offset, size) for offset, size in fields)]


def header_of(start: int) -> int:
    """In the gap before an object: written by all that free it, and by nothing else."""
    return start - 16


def _return(context: Context, path: Path, value: Value) -> Path:
    depth = len(path.frames)
    path = _end_objects(context, path, [item for item in path.scoped if item.depth == depth and not item.lasting])
    if depth == 1:
        return end_thread(context, path, value)
    result = path.frames[-1].result
    path = replace(path, frames=path.frames[:-1], loops=without_call(path.loops, depth))
    return path if result is None else set_register(path, result, value)


def start_address(thread: int) -> int:
    return SYNCHRONISATION_START + 16 * thread


def end_address(thread: int) -> int:
    return start_address(thread) + 8


def synchronise(path: Path) -> Path:
    """A strong fence: threads begin and end with one."""
    return emit(path, PathEvent("F", fence=SYNCHRONISATION_FENCE))


def end_thread(context: Context, path: Path, value: Value) -> Path:
    """A thread that was started writes what it returns, for those that join it."""
    if context.thread >= len(context.program.threads):
        end = PathEvent("W", Value(end_address(context.thread)), 8, value, Order.SEQ_CST)
        path = emit(synchronise(path), end)
    return replace(path, status="complete")


def _read_value(context: Context, index: int) -> Value:
    return Value(Symbol(context.thread, index), frozenset((index,)))


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
