"""Following the code of a function with what is known of its registers, without running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from dekker.ir.expressions import Expr
from dekker.ir.flow import defined, successors
from dekker.ir.instructions import (
    Assign,
    Await,
    Branch,
    CompareExchange,
    Instruction,
    Rmw,
    StoreConditional,
)
from dekker.ir.passes.symbolic import Copy, Known, evaluate, truncated
from dekker.ir.program import Function

MOST_STEPS = 2000

Knowledge = dict[str, Known]


class Step(NamedTuple):
    """Control goes from one instruction to another, or ends at it (`following` is None). `known` holds before."""

    position: int
    known: Knowledge
    following: int | None


def follow(
    function: Function,
    start: int,
    known: Knowledge,
    inside: Callable[[int], bool],
    *,
    nothing_succeeds: bool = False,
    once: bool = False,
) -> list[Step] | None:
    """All steps that control may take from `start` on while it is `inside`; None if they are too many. With
    `nothing_succeeds`, those that it may take as long as no conditional write on the way succeeds; with `once`, those
    until it comes to `start` again."""
    pending = [(start, known)] if inside(start) else []
    steps: list[Step] = []
    seen: set[tuple[int, frozenset[tuple[str, Known]]]] = set()
    while pending:
        index, known = pending.pop()
        state = (index, frozenset(known.items()))
        if state in seen:
            continue
        seen.add(state)
        if len(seen) > MOST_STEPS:
            return None
        steps += [Step(index, known, following) for following in _following(function, index, known)]
        after = _after(function.body[index], known, nothing_succeeds)
        further = (step for step in _following(function, index, known) if step is not None and inside(step))
        pending += [(step, after) for step in further if not (once and step == start)]
    return steps


def value(expression: Expr, known: Knowledge) -> Known:
    """Registers of which nothing is known hold what they held where following began."""
    return evaluate(expression, partial(_register, known))


def after_conditional_write(instruction: Instruction, known: Knowledge, succeeded: bool) -> Knowledge:
    """What is known behind a conditional write, if it is known how it went: a compare-exchange, a store-conditional, or
    an exchange, which fails if it finds what it writes."""
    results: Knowledge = {}
    if isinstance(instruction, StoreConditional):
        results[instruction.status] = 0 if succeeded else 1
    elif isinstance(instruction, Rmw) and instruction.dst is not None:
        found = truncated(value(instruction.operand, known), 8 * instruction.size)
        results[instruction.dst] = None if succeeded else found
    elif isinstance(instruction, CompareExchange):
        expected = truncated(value(instruction.expected, known), 8 * instruction.size)
        if instruction.dst is not None:
            results[instruction.dst] = expected if succeeded else None
        if instruction.success is not None:
            results[instruction.success] = int(succeeded)
    return {**known, **results}


def _register(known: Knowledge, name: str) -> Known:
    return known[name] if name in known else Copy(name, 64)


def _after(instruction: Instruction, known: Knowledge, nothing_succeeds: bool) -> Knowledge:
    if isinstance(instruction, Assign):
        return {**known, instruction.dst: value(instruction.value, known)}
    conditional = isinstance(instruction, CompareExchange | StoreConditional) or (
        isinstance(instruction, Rmw) and instruction.op == "xchg"
    )
    if nothing_succeeds and conditional:
        return after_conditional_write(instruction, known, succeeded=False)
    return {**known, **dict.fromkeys(item for item in defined(instruction) if isinstance(item, str))}


def _following(function: Function, index: int, known: Knowledge) -> Sequence[int | None]:
    """Where control may go, as far as what is known decides it."""
    instruction = function.body[index]
    possible = successors(function, index)
    if not isinstance(instruction, Branch | Await):
        return possible or (None,)
    decided = value(instruction.condition, known)
    if not isinstance(decided, int):
        return possible
    jumps = bool(decided) == isinstance(instruction, Branch)
    return possible[1:] if jumps else possible[:1]
