"""What instructions do in a replay: calls, threads, objects, output.

The one that starts a thread writes to a location of the new thread, which begins by reading that; it ends by writing to
another one, which is read by those that join it. Fences go before these writes and after these reads. Freeing an object
writes to a header in front of it and to all its parts that any execution accesses, and so does using it again. What
decides how to go on, such as
what is called, joined or freed, controls everything behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Expr
from dekker.ir.flow import begins_alone
from dekker.ir.instructions import (
    Allocate,
    Call,
    Detach,
    EndScope,
    Exit,
    Free,
    Join,
    Measure,
    Order,
    Print,
    Recycle,
    Refuse,
    Renew,
    Return,
    Spawn,
)
from dekker.ir.layout import (
    ALLOCATION_GAP,
    HEAP_PER_THREAD,
    end_address,
    heap_address,
    heap_use,
    start_address,
    thread_at,
)
from dekker.ir.program import Function
from dekker.replay.frames import note_function
from dekker.replay.machine import BLOCKED, ENDED, WAITING, Machine, Mismatch, NotYet, Printed, Step
from dekker.replay.machine import Call as Frame
from dekker.replay.words import ZERO, Word, number, taken
from dekker.replay.world import Allocation, Claim, Start

MAX_CALLS = 1_000
TOO_DEEP = "calls are nested too deeply"
DOUBLE_FREE = "this memory may have been freed already"

# --- calls


def _call(machine: Machine, instruction: Call) -> None:
    function = _callee(machine, instruction.function)
    if len(machine.calls) > MAX_CALLS:
        raise machine.fail("call", TOO_DEEP)
    arguments = _values(machine, instruction.arguments)
    registers = dict(zip(function.parameters, arguments, strict=False))
    machine.calls.append(Frame(function, registers, instruction.dst))
    note_function(machine.world, machine.run.thread, function)


def _callee(machine: Machine, expression: Expr) -> Function:
    direct = expression.symbol if isinstance(expression, Address) and not expression.offset else None
    word = machine.value(expression)
    machine.demand_all(word, "what is called")
    machine.depend_on(word)
    address = word.value
    function = machine.world.program.function_by_name.get(direct) if direct is not None else None
    function = function or machine.world.function_at(address)
    if function is None:
        raise machine.fail("call", f"call of {address:#x}, which is no function", address)
    return function


def _deciding(machine: Machine, expression: Expr) -> int:
    word = machine.value(expression)
    machine.demand_all(word, "what decides here")
    machine.depend_on(word)
    return word.value


def _values(machine: Machine, expressions: Sequence[Expr]) -> list[Word]:
    return [machine.value(expression) for expression in expressions]


def _return(machine: Machine, instruction: Return) -> None:
    machine.leave(ZERO if instruction.value is None else machine.value(instruction.value))


def _exit(machine: Machine, instruction: Exit) -> None:
    if instruction.everything:
        raise machine.end(ENDED)
    machine.end_objects(machine.scoped)
    raise machine.end_thread(ZERO)


def _refuse(machine: Machine, instruction: Refuse) -> None:
    raise UnsupportedError(instruction.message, machine.span)


# --- threads


def _spawn(machine: Machine, instruction: Spawn) -> None:
    function = _callee(machine, instruction.function)
    given = _values(machine, instruction.arguments)
    arguments = tuple(taken(word.value, word.undefined, word.origin) for word in given)
    machine.fence("mfence")
    item = machine.peek()
    child = thread_at(item.address) if item is not None and item.kind == "W" else None
    if item is None:
        machine.take("W", "the start of a thread")
    if child is None or item is None or item.address != start_address(child):
        raise Mismatch(f"{machine.name} starts a thread{machine.where()}, its trace has something else")
    if child in machine.world.starts:
        raise Mismatch(f"{machine.name} starts thread {child}{machine.where()}, which exists already")
    machine.write(number(item.address), 8, number(1), Order.SEQ_CST, frozenset())
    machine.world.starts[child] = Start(function, arguments, machine.run.thread, machine.stack())
    machine.set(instruction.dst, number(child + 1))


def _join(machine: Machine, instruction: Join) -> None:
    handle = _deciding(machine, instruction.thread)
    _require_thread(machine, handle)
    if machine.peek() is None:
        _claim(machine, handle, is_join=True)
        machine.run.waits_for = handle - 1
        raise machine.end(WAITING)
    _, word = machine.read(number(end_address(handle - 1)), 8, Order.SEQ_CST, frozenset())
    _claim(machine, handle, is_join=True)
    machine.fence("mfence")
    machine.set(instruction.dst, word)


def _detach(machine: Machine, instruction: Detach) -> None:
    thread = machine.run.thread
    handle = _deciding(machine, instruction.thread) or thread + 1
    if handle == thread + 1 and machine.world.starts[thread].parent < 0:
        return
    _require_thread(machine, handle)
    _claim(machine, handle, is_join=False)


def _require_thread(machine: Machine, handle: int) -> None:
    """One that this one has not joined or detached."""
    start = machine.world.starts.get(handle - 1)
    if start is None or start.parent < 0:
        if machine.patient:
            raise NotYet
        raise machine.fail("join", f"{handle} is no thread that can be joined or detached", handle)
    if (machine.run.thread, handle) in machine.world.claims:
        raise machine.fail("join", joined_twice(handle), handle)


def joined_twice(handle: int) -> str:
    return f"thread {handle - 1} is joined or detached twice"


def _claim(machine: Machine, handle: int, *, is_join: bool) -> None:
    """Whether others join or detach it, too, is asked when all have been run."""
    run = machine.run
    machine.world.claims[run.thread, handle] = Claim(machine.stack(), len(run.done), len(run.noted), is_join)


# --- objects


def _allocate(machine: Machine, instruction: Allocate) -> None:
    size = _deciding(machine, instruction.size)
    if size > HEAP_PER_THREAD or machine.heap_used + size + 2 * ALLOCATION_GAP > HEAP_PER_THREAD:
        raise machine.fail("allocation", f"allocation of {size} bytes", size)
    start = heap_address(machine.run.thread, machine.heap_used)
    machine.heap_used += heap_use(size)
    found = machine.world.allocations[start] = Allocation(
        start,
        size,
        machine.run.thread,
        instruction.dst,
        machine.stack(),
        len(machine.run.done),
        instruction.zeroed,
        instruction.stack,
        instruction.permanent,
    )
    if found.local and not instruction.confined:
        machine.scoped.append(found)
    machine.set(instruction.dst, number(start))


def _releasable(machine: Machine, address: int) -> Allocation:
    found = machine.world.allocations.get(address)
    if found is None and machine.patient and not machine.alone:
        raise NotYet
    if found is None or found.local or found.permanent:
        message = f"free of {address:#x}, which is not the start of memory that was allocated"
        raise machine.fail("release", message, address)
    if address in machine.world.released and not machine.world.reuses:
        raise machine.fail("double free", DOUBLE_FREE, found.header)
    return found


def _measure(machine: Machine, instruction: Measure) -> None:
    found = _releasable(machine, _deciding(machine, instruction.address))
    machine.set(instruction.dst, number(found.size))


def _free_alone(machine: Machine, instruction: Free) -> None:
    address = _deciding(machine, instruction.address)
    if address:
        found = _releasable(machine, address)
        if address in machine.world.released:
            raise machine.fail("double free", DOUBLE_FREE, found.header)
        machine.world.released[found.start] = machine.stack()


def _free(machine: Machine, instruction: Free) -> None:
    address = _deciding(machine, instruction.address)
    if address == 0:
        return
    machine.release(_releasable(machine, address))


def _end_scope(machine: Machine, instruction: EndScope) -> None:
    start = machine.value(instruction.address).value
    machine.set(instruction.dst, ZERO)
    machine.end_objects([item for item in machine.scoped if item.start == start])


def _recycle(machine: Machine, instruction: Recycle) -> None:
    """Before other threads exist it is an event only if something was freed that it could be."""
    size = _deciding(machine, instruction.size)
    chosen = 0 if _has_no_choice(machine, size) else machine.take("C", "the choice of a freed object").value
    machine.set(instruction.dst, number(chosen))


def _has_no_choice(machine: Machine, size: int) -> bool:
    world = machine.world
    is_first = machine.run.thread == 0 and machine.taken == 0 and begins_alone(world.program)
    return is_first and all(world.allocations[start].size != size for start in world.released)


def _renew(machine: Machine, instruction: Renew) -> None:
    address, size = _deciding(machine, instruction.address), _deciding(machine, instruction.size)
    found = machine.world.allocations.get(address)
    if found is None and machine.patient:
        raise NotYet
    if found is None or found.local or found.permanent or found.size != size:
        raise machine.end(BLOCKED)
    renewed = replace(found, thread=machine.run.thread, stack=machine.stack(), zeroed=instruction.zeroed)
    machine.world.renewals.setdefault(address, []).append(renewed)
    for written in machine.write_to_parts(found, unset=not instruction.zeroed):
        machine.mark(written, renewal=True)


# --- output


def _print(machine: Machine, instruction: Print) -> None:
    values = tuple(word.value for word in _values(machine, instruction.arguments))
    machine.run.printed.append(Printed(len(machine.run.done), instruction.text, values, machine.stack()))


RUNTIME_STEPS: dict[type, Step] = {
    Call: _call,
    Return: _return,
    Exit: _exit,
    Spawn: _spawn,
    Join: _join,
    Detach: _detach,
    Allocate: _allocate,
    Free: _free,
    EndScope: _end_scope,
    Measure: _measure,
    Recycle: _recycle,
    Renew: _renew,
    Refuse: _refuse,
    Print: _print,
}

RUNTIME_STEPS_ALONE: dict[type, Step] = {Free: _free_alone}
