"""Steps of programs whose threads and objects come and go. They need a world: what the other threads have done.

- Starting a thread is a write to a location of the new one, behind a strong fence; the new thread begins with a read of
  it and a strong fence. It ends with a strong fence and a write of what it returns, which those that join it read
  before a strong fence.
- Every thread, and every object that is allocated anew, has addresses of its own. Freeing an object writes to a
  location before it, and to all its parts that are accessed; so does using it again.
- What decides about a call, a start, a join, an allocation or a release is a control dependency of all that follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.engines.axiomatic.path import (
    Claim,
    Context,
    Frame,
    Path,
    PathEvent,
    Scoped,
    Spawned,
    Value,
    World,
    choose,
    depend,
    emit,
    evaluate,
    fail,
    set_register,
)
from dekker.engines.axiomatic.steps import (
    HEAP_START,
    end_address,
    function_at,
    parts,
    release,
    start_address,
    step,
    synchronise,
)
from dekker.engines.axiomatic.terms import Symbol, Term
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Expr
from dekker.ir.instructions import (
    Allocate,
    Assert,
    Assume,
    Await,
    Branch,
    Call,
    Detach,
    Free,
    Instruction,
    Join,
    Measure,
    Order,
    Recycle,
    Renew,
    Spawn,
)
from dekker.ir.passes.reuse import reuses_freed_memory
from dekker.ir.program import Function
from dekker.ir.undefined import partly
from dekker.source import Span

HEAP_PER_THREAD = 1 << 32
GAP = 64


def spawned_path(context: Context, spawned: Spawned) -> Path:
    """The path of a thread that was just started; `context` is its own. Dependencies do not reach into it."""
    arguments = [Value(argument.term) for argument in spawned.arguments]
    registers = dict(zip(spawned.function.parameters, arguments, strict=False))
    path = Path((Frame(spawned.function, 0, registers, None),))
    begin = Value(start_address(spawned.thread))
    value = Value(Symbol(context.thread, 0))
    return synchronise(emit(path, PathEvent("R", begin, 8, value, Order.SEQ_CST, waits=True)))


def is_ready(context: Context, path: Path) -> bool:
    """Whether it is known how to go on: where a branch leads, what is called, whether a thread ends that is joined,
    what an object is that is used again."""
    term = deciding_term(context, path)
    if not isinstance(term, int):
        return False
    if _stands_at(path, Renew):
        return any(start == term for other in _world(context).paths for start, _ in other.objects)
    return not stands_at_join(path) or _world(context).path(term - 1).status != "running"


def deciding_term(context: Context, path: Path) -> Term:
    """The value that the next instruction needs to know; 0 if there is none."""
    frame = path.frames[-1]
    if frame.pc >= len(frame.function.body):
        return 0
    deciding = _deciding_expression(frame.function.body[frame.pc])
    return 0 if deciding is None else evaluate(deciding, path, context).term


def stands_at_join(path: Path) -> bool:
    return _stands_at(path, Join)


def _stands_at(path: Path, kind: type[Instruction]) -> bool:
    frame = path.frames[-1]
    return frame.pc < len(frame.function.body) and isinstance(frame.function.body[frame.pc], kind)


def _deciding_expression(instruction: Instruction) -> Expr | None:
    match instruction:
        case Branch(loose=True) | Assume(loose=True) | Assert(loose=True):
            return None
        case Branch(condition) | Assume(condition) | Assert(condition) | Await(condition):
            return condition
        case Call(_, function) | Spawn(_, function):
            return function
        case Join(_, thread) | Detach(thread):
            return thread
        case Allocate(_, size) | Recycle(_, size):
            return size
        case Free(address) | Measure(_, address) | Renew(address):
            return address
    return None


def _world(context: Context) -> World:
    assert context.world is not None
    return context.world


def _require_world(context: Context, what: str, span: Span | None) -> World:
    if context.world is None:
        raise UnsupportedError(f"the axiomatic engine does not handle {what} here", span)
    return context.world


def _known(context: Context, expression: Expr, path: Path, span: Span | None) -> tuple[int, Path]:
    """The value, and the path with its dependency on it."""
    value = evaluate(expression, path, context)
    if not isinstance(value.term, int):
        raise UnsupportedError("the axiomatic engine needs to know this value before it can go on", span)
    return value.term, depend(path, value)


@step.register
def _(instruction: Spawn, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    world = _require_world(context, "threads that are started", span)
    target = evaluate(instruction.function, path, context)
    function: Function | None = function_at(context, target, span)
    path = depend(path, target)
    if function is None:
        yield fail(path, "call", f"call of {target.term:#x}, which is no function", span)
        return
    arguments = tuple(evaluate(argument, path, context) for argument in instruction.arguments)
    key = context.thread, len(path.spawned)
    child = world.numbers.setdefault(key, len(context.program.threads) + len(world.numbers))
    path = emit(synchronise(path), PathEvent("W", Value(start_address(child)), 8, Value(1), Order.SEQ_CST, span=span))
    path = replace(path, spawned=(*path.spawned, Spawned(child, function, arguments)))
    yield path if instruction.dst is None else set_register(path, instruction.dst, Value(child + 1))


@step.register
def _(instruction: Join, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    """`is_ready` waits until it is clear whether the other thread ends."""
    world = _require_world(context, "joins", span)
    handle, path = _known(context, instruction.thread, path, span)
    other = world.path(handle - 1)
    claimed = _claimed(context, path, handle, span, is_join=True)
    if claimed is None:
        yield fail(path, "join", no_thread(handle), span)
        return
    path = claimed
    if other.status != "complete":
        yield replace(path, status="joining")
    else:
        index = len(path.events)
        value = Value(Symbol(context.thread, index), frozenset((index,)))
        end = Value(end_address(handle - 1))
        path = synchronise(emit(path, PathEvent("R", end, 8, value, Order.SEQ_CST, span=span, waits=True)))
        yield path if instruction.dst is None else set_register(path, instruction.dst, value)


@step.register
def _(instruction: Detach, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    """The first thread, which nobody can join, may detach itself."""
    _require_world(context, "threads that are detached", span)
    handle, path = _known(context, instruction.thread, path, span)
    if not handle and context.thread < len(context.program.threads):
        yield path
        return
    claimed = _claimed(context, path, handle or context.thread + 1, span, is_join=False)
    yield claimed or fail(path, "join", no_thread(handle), span)


def no_thread(handle: int) -> str:
    return f"{handle} is no thread that can be joined or detached"


def _claimed(context: Context, path: Path, handle: int, span: Span | None, *, is_join: bool) -> Path | None:
    """A thread is joined or detached once, and by one; whether others do it, too, is asked of the whole execution."""
    is_thread = handle > len(context.program.threads) and _world(context).path(handle - 1).status != "unborn"
    if not is_thread or any(claim.handle == handle for claim in path.claimed):
        return None
    claim = Claim(handle, span, len(path.events) + is_join, len(path.noted), is_join)
    return replace(path, claimed=(*path.claimed, claim))


@step.register
def _(instruction: Allocate, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    _require_world(context, "allocation", span)
    size, path = _known(context, instruction.size, path, span)
    if size > HEAP_PER_THREAD or path.allocated + size + 2 * GAP > HEAP_PER_THREAD:
        yield fail(path, "allocation", f"allocation of {size} bytes", span)
        return
    start = HEAP_START + context.thread * HEAP_PER_THREAD + path.allocated + GAP
    allocated = path.allocated + (size // GAP + 2) * GAP
    own = frozenset((start,)) if instruction.stack or instruction.permanent else frozenset[int]()
    objects = (*path.objects, (start, size))
    births = (*path.births, len(path.events))
    places = (*path.allocated_at, span)
    path = replace(path, objects=objects, births=births, allocated_at=places, own_objects=path.own_objects | own)
    path = replace(path, allocated=allocated)
    if not instruction.zeroed:
        path = replace(path, unset=path.unset | {start})
    if instruction.stack and not instruction.confined:
        scoped = Scoped(len(path.frames), start, instruction.permanent)
        path = replace(path, scoped=(*path.scoped, scoped))
    yield set_register(path, instruction.dst, Value(start))


def _refused_release(context: Context, path: Path, start: int, span: Span | None) -> Path | None:
    """Whether memory is free that may be allocated again is known only when the execution is (`release`)."""
    known = _world(context)
    world = replace(known, paths=(*known.paths, path))
    if not world.is_object(start):
        return fail(path, "release", f"free of {start:#x}, which is not the start of memory that was allocated", span)
    if world.is_released(start) and not reuses_freed_memory(context.program):
        return fail(path, "double free", "this memory may have been freed already", span)
    return None


@step.register
def _(instruction: Measure, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    world = _require_world(context, "the size of an object", span)
    start, path = _known(context, instruction.address, path, span)
    refused = _refused_release(context, path, start, span)
    sizes = {known: size for other in (*world.paths, path) for known, size in other.objects}
    yield refused or set_register(path, instruction.dst, Value(sizes.get(start, 0)))


@step.register
def _(instruction: Free, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    _require_world(context, "the release of memory", span)
    start, path = _known(context, instruction.address, path, span)
    if start == 0:
        yield path
        return
    yield _refused_release(context, path, start, span) or release(context, path, start)


@step.register
def _(instruction: Recycle, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    world = _require_world(context, "memory that is used again", span)
    size, path = _known(context, instruction.size, path, span)
    objects = sorted(start for start, length in world.discovered.freed if length == size)
    for start in (0, *objects):
        chosen, mark = choose(path, start)
        yield set_register(chosen, instruction.dst, Value(start, mark))


@step.register
def _(instruction: Renew, context: Context, path: Path, span: Span | None) -> Iterator[Path]:
    world = _require_world(context, "memory that is used again", span)
    start, path = _known(context, instruction.address, path, span)
    size, path = _known(context, instruction.size, path, span)
    if all((start, size) not in other.objects for other in (*world.paths, path)):
        yield replace(path, status="blocked")
        return
    for address, length in parts(world, start):
        is_unset = not instruction.zeroed and address >= start
        content = Value(partly(0, mask(8 * length) if is_unset else 0))
        path = emit(path, PathEvent("W", Value(address), length, content, span=span, renewal=True, copy=True))
    yield path
