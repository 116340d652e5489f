"""Programs in which the delays of a model are spelled out: run under SC, they do what the program does under the model.

Every access becomes a call of the abstract machine (`machine/machine.c`), which performs it at once or, if it is one of
those to be delayed, perhaps later. A read that is delayed is bound to one of the values that it may return (prophecy);
the machine gives up runs in which it turns out to return another. Where reads are delayed, registers are accompanied by
the delayed reads that they depend on: `dk.n.r` for what orders accesses that use the register r, and on POWER `dk.g.r`
for what its value rests on, so that no value justifies itself.

- A loop that only waits goes round once.
- Threads begin and end with all their accesses performed, as if behind a strong fence. A thread that exists from the
  start ends without; the last one of them performs what is left.
- An assertion fails only once all that was guessed is confirmed.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Const, Expr, Reg
from dekker.ir.instructions import (
    Call,
    CompareExchange,
    Instruction,
    Load,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.unset import may_be_undefined
from dekker.records import dataclass
from dekker.transform.events import AccessPoint, instruction_at
from dekker.transform.machine import FEATURES, SLOT_COUNT, Size, machine_for
from dekker.transform.possible_values import ValueSets
from dekker.transform.rewriting import NONE, RETURNED, SELF, Outer, Rewriting, start_name
from dekker.transform.sizes import comes_back, executions, started_functions

MODELS = tuple(FEATURES)
DEFAULT_BUFFER = 2
_READING, _WRITING = (Load, Rmw, CompareExchange), (Store, StoreConditional, Rmw, CompareExchange)
MOST_STARTED = 6
"""Threads that a place in a loop is taken to start."""


@dataclass(frozen=True)
class Instrumented:
    """`size` is the room for delayed accesses; it is not `enough` if a run may want more. No `size`: nothing is
    delayed, and the program is as it was, which is not `enough` if there is something to delay."""

    program: Program
    size: Size | None
    enough: bool = True


def instrument(
    program: Program, model: str, delayed: frozenset[AccessPoint], buffer: int | None = None, *, always: bool = False
) -> Instrumented:
    """`program` is as engines run it under the model, one of `MODELS`. `buffer` bounds the reads and the writes that
    each thread can delay; without it there is room for all that the text knows of, and for a few in loops. With
    `always`, accesses go through the machine even if there is nothing to delay, and nothing is said of indeterminate
    values."""
    reads = "DK_READS" in FEATURES[model]
    kinds = _delayable(model)
    wanted = frozenset(point for point in delayed if isinstance(instruction_at(program, point), kinds))
    points = frozenset[AccessPoint]() if buffer == 0 else wanted
    if not points and not always:
        return Instrumented(program, None, points == wanted)
    _refuse_names(program)
    size, enough = _size(program, model, points, buffer)
    values = ValueSets(program) if reads else None
    outer = Outer(
        program,
        model,
        points,
        size,
        values,
        has_all_threads=_thread_count(program) == (size.threads, True),
        may_be_undefined=not always and may_be_undefined(program),
    )
    objects, functions = machine_for(model, size)
    changed = tuple(Rewriting(outer, function).run() for function in program.functions)
    starts = tuple(_start(arity, outer) for arity in sorted(outer.arities))
    returned = (Object(RETURNED, 8 * len(outer.returned) * size.threads),) if outer.returned else ()
    result = replace(
        program,
        objects=(*program.objects, *objects, *returned),
        functions=(*changed, *starts, *functions),
        threads=tuple(_with_number(outer, thread, number) for number, thread in enumerate(program.threads)),
    )
    return Instrumented(result, size, enough and points == wanted)


def _delayable(model: str) -> tuple[type[Any], ...]:
    """On POWER an update is no fence, and its halves are delayed, too."""
    if "DK_NON_ATOMIC" in FEATURES[model]:
        return (*_READING, *_WRITING)
    return (Store, Load) if "DK_READS" in FEATURES[model] else (Store,)


def _with_number(outer: Outer, thread: Thread, number: int) -> Thread:
    parameters = outer.program.function_by_name[thread.function].parameters
    shadows = (shadow for parameter in parameters for shadow in outer.shadows(parameter))
    hidden = ((name, NONE) for name in (*outer.hidden_parameters[1:], *shadows))
    return replace(thread, registers=(*thread.registers, (SELF, Const(number)), *hidden))


def _refuse_names(program: Program) -> None:
    names = {*program.object_by_name, *program.function_by_name}
    taken = next((name for name in sorted(names) if name.startswith(("dk_", "dk."))), None)
    if taken is not None:
        raise UnsupportedError(
            f"the program uses the name '{taken}', and those that begin with dk_ are of the abstract machine",
            hint="rename it, or use another engine",
        )


# --- how much room there is


def _size(program: Program, model: str, points: frozenset[AccessPoint], buffer: int | None) -> tuple[Size, bool]:
    roots = started_functions(program)

    def most(kinds: tuple[type[Any], ...], among: frozenset[AccessPoint] | None) -> float:
        def weight(name: str, index: int, step: Instruction) -> float:
            return isinstance(step, kinds) and (among is None or AccessPoint(name, index) in among)

        found = executions(program, weight)
        return max((found[name] for name in roots), default=0)

    n_reads = most(_READING, points)
    keeps_grounds = bool(n_reads) and "DK_NON_ATOMIC" in FEATURES[model]
    n_writes = most(_WRITING, None if keeps_grounds else points)
    threads, _ = _thread_count(program)
    most_here = inf if buffer is None else max(buffer, 1)
    reads, writes = (_room(min(count, most_here)) for count in (n_reads, max(n_writes, 1)))
    while threads * (reads + writes) > SLOT_COUNT and (reads > 1 or writes > 1):
        reads, writes = (reads - 1, writes) if reads > writes else (reads, writes - 1)
    threads = min(threads, SLOT_COUNT // (reads + writes))
    return Size(len(program.threads), threads, reads, writes), reads >= n_reads and writes >= n_writes


def _room(count: float) -> int:
    return int(count) if count < inf else DEFAULT_BUFFER


def _thread_count(program: Program) -> tuple[int, bool]:
    """How many threads there is room for, and whether there cannot be more."""
    roots = {thread.function for thread in program.threads}
    count, are_all = len(program.threads), True
    for function in program.functions:
        for index, step in enumerate(function.body):
            if isinstance(step, Spawn):
                once = function.name in roots and not comes_back(function, index)
                count += 1 if once else MOST_STARTED
                are_all = are_all and once
    return count, are_all


# --- threads that are started


def _start(arity: int, outer: Outer) -> Function:
    """Runs a function as a thread."""
    arguments = tuple(f"a{number}" for number in range(arity))
    given: list[Expr] = [Reg("number"), *(NONE for _ in outer.hidden_parameters[1:])]
    for argument in arguments:
        given += [Reg(argument), *(NONE for _ in outer.shadows(""))]
    body = (
        Call("result", Reg("function"), tuple(given)),
        Call(None, Address("dk_drain"), (Reg("number"),)),
        Return(Reg("result")),
    )
    return Function(start_name(arity), ("function", "number", *arguments), body)
