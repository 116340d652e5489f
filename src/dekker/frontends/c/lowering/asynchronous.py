"""Threads that begin in the middle of a function (`__CPROVER_ASYNC_1: statement`).

`__dekker_async` is first a call of `%async`. Then the function is copied: the copy begins behind that call, with the
registers that are live there as its parameters, and runs as the new thread. So a thread has copies of the local
variables of the function that starts it, except those whose addresses are taken: these they share.

What the call returns is known in each, and so is where control goes. What it never comes to is left out: otherwise
whoever looks at the text alone would see a thread that starts itself again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dekker.ir.expressions import ONE, ZERO, Address, Reg
from dekker.ir.flow import defined, live_at_starts, successors, used
from dekker.ir.instructions import Assign, Await, Branch, Call, Instruction, Jump, Spawn
from dekker.ir.passes.symbolic import evaluate
from dekker.ir.program import Function
from dekker.source import Span

THREAD_COPY = "%async"
"""In the name of a copy, behind that of the function."""
MARK = Address(THREAD_COPY)


def split_threads(functions: dict[str, Function], own_object: Sequence[Instruction], own: str) -> dict[str, Function]:
    """The functions without calls of `%async`, and their copies. `own_object` makes the object of a new thread, which
    the register `own` points at."""
    found: dict[str, Function] = {}
    for name, function in functions.items():
        places = [index for index, step in enumerate(function.body) if is_mark(step)]
        if not places:
            found[name] = function
            continue
        spawning = _spawning(function, places, own)
        found[name] = _reached(spawning)
        for number, place in enumerate(places):
            found[_copy_name(name, number)] = _reached(_copy(spawning, number, place, own_object, own))
    return found


def is_mark(step: Instruction) -> bool:
    return isinstance(step, Call) and step.function == MARK


def _copy_name(function: str, number: int) -> str:
    return f"{function}{THREAD_COPY}{number}"


def _spawning(function: Function, places: Sequence[int], own: str) -> Function:
    """Each mark becomes a spawn and the assignment of 0, so positions behind it move by one."""
    live = live_at_starts(function, frozenset())
    body: list[Instruction] = []
    spans: list[Span | None] = []
    starts: list[int] = []
    for index, step in enumerate(function.body):
        starts.append(len(body))
        if index in places:
            assert isinstance(step, Call)
            registers = _parameters(live[index + 1], step.dst, own)
            name = _copy_name(function.name, places.index(index))
            body += (Spawn(None, Address(name), tuple(map(Reg, registers))), Assign(step.dst or "%started", ZERO))
        else:
            body.append(step)
        spans += [function.span(index)] * (len(body) - len(spans))
    starts.append(len(body))
    labels = {label: starts[index] for label, index in function.labels.items()}
    return Function(function.name, function.parameters, tuple(body), labels, tuple(spans))


def _parameters(live: frozenset[object], result: str | None, own: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in live if isinstance(name, str) and name not in (result, own)))


def _copy(function: Function, number: int, place: int, own_object: Sequence[Instruction], own: str) -> Function:
    """`place` is that of the mark before the ones in front of it became two instructions each."""
    at = place + number
    spawn, result = function.body[at], function.body[at + 1]
    assert isinstance(spawn, Spawn)
    assert isinstance(result, Assign)
    entry = f"%thread{number}"
    needs_own = any(own in used(step) for step in function.body)
    before = (*(own_object if needs_own else ()), Assign(result.dst, ONE), Jump(entry))
    labels = {label: index + len(before) for label, index in function.labels.items()}
    labels[entry] = at + 2 + len(before)
    parameters = tuple(argument.name for argument in spawn.arguments if isinstance(argument, Reg))
    spans = (function.span(at),) * len(before)
    return replace(
        function,
        name=_copy_name(function.name, number),
        parameters=parameters,
        body=(*before, *function.body),
        labels=labels,
        spans=(*spans, *function.spans),
    )


_Numbers = dict[str, int]
"""Registers whose values are known."""


def _reached(function: Function) -> Function:
    """Without what control never comes to."""
    known = _numbers_at(function)
    body: list[Instruction] = []
    spans: list[Span | None] = []
    starts: list[int] = []
    for index, step in enumerate(function.body):
        starts.append(len(body))
        if index not in known:
            continue
        taken = _is_taken(step, known[index])
        if taken is not False:
            body.append(Jump(step.target) if taken and isinstance(step, Branch) else step)
            spans.append(function.span(index))
    starts.append(len(body))
    targets = {step.target for step in body if isinstance(step, Jump | Branch | Await)}
    labels = {label: starts[index] for label, index in function.labels.items() if label in targets}
    return replace(function, body=tuple(body), labels=labels, spans=tuple(spans))


def _numbers_at(function: Function) -> dict[int, _Numbers]:
    """At each instruction that control comes to."""
    found: dict[int, _Numbers] = {0: {}}
    pending = [0]
    while pending:
        index = pending.pop()
        if index == len(function.body):
            continue
        step, known = function.body[index], found[index]
        after = _after(step, known)
        taken = _is_taken(step, known)
        targets = successors(function, index)
        for target in targets if taken is None else targets[taken : taken + 1]:
            before = found.get(target)
            both = after if before is None else dict(before.items() & after.items())
            if both != before:
                found[target] = both
                pending.append(target)
    return found


def _is_taken(step: Instruction, known: _Numbers) -> bool | None:
    """Whether the branch is taken; None if that is not known, or it is no branch."""
    decided = evaluate(step.condition, known.get) if isinstance(step, Branch) else None
    return bool(decided) if isinstance(decided, int) else None


def _after(step: Instruction, known: _Numbers) -> _Numbers:
    overwritten = defined(step)
    after = {name: number for name, number in known.items() if name not in overwritten}
    number = evaluate(step.value, known.get) if isinstance(step, Assign) else None
    if isinstance(step, Assign) and isinstance(number, int):
        after[step.dst] = number
    return after
