"""Which rounds of loops count against the bound.

A loop is known by its head, where backward jumps go; its body is all from which control reaches such a jump without
passing the head again. An exit is a branch in the body that may leave it. It is open if what other threads do had a say
in its condition. Rounds in which no branch depends on an event do not count. Nor do those that come past an exit which
is not open, with other values than the last time, and past no open exit: such a loop ends when its thread has counted
to the end, whatever it reads on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dekker.engines.axiomatic.terms import Term
from dekker.ir.flow import predecessors, successors
from dekker.ir.instructions import Await, Branch, Jump
from dekker.ir.program import Function, Program

Where = tuple[int, int]
"""The depth of calls and the position in the function."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often a backward jump was followed, the last time at `since`: `counted` rounds, `known` ones without branches
    that depend on events, and `reading` ones that do not count although they have some."""

    since: int
    counted: int = 1
    known: int = 0
    reading: int = 0


@dataclass(frozen=True, slots=True)
class PassedExit:
    """When an exit was last open, and when it last was not and had other `values` than before."""

    values: tuple[Term, ...] = ()
    last_open: int = 0
    last_counted: int = 0


@dataclass(frozen=True, slots=True)
class LoopHistory:
    """What a thread has done in the loops of its calls. Times are numbers of branches that it had come to."""

    now: int = 0
    last_dependent: int = 0
    rounds: Mapping[Where, Rounds] = field(default_factory=dict)
    exits: Mapping[Where, PassedExit] = field(default_factory=dict)


def passed_branch(history: LoopHistory, depends_on_events: bool) -> LoopHistory:
    now = history.now + 1
    return replace(history, now=now, last_dependent=now if depends_on_events else history.last_dependent)


def passed_exit(history: LoopHistory, where: Where, is_open: bool, values: tuple[Term, ...]) -> LoopHistory:
    """Right behind `passed_branch`. The values are what the condition was computed from, and where that was read."""
    last = history.exits.get(where, PassedExit())
    if is_open:
        found = replace(last, values=values, last_open=history.now)
    elif last.last_counted == 0 or last.values != values:
        found = replace(last, values=values, last_counted=history.now)
    else:
        found = last
    return replace(history, exits={**history.exits, where: found})


def next_round(history: LoopHistory, where: Where) -> tuple[LoopHistory, Rounds]:
    """After a backward jump, where all rounds count."""
    last = history.rounds.get(where)
    rounds = Rounds(history.now, 1 if last is None else last.counted + 1)
    return replace(history, rounds={**history.rounds, where: rounds}), rounds


def next_open_round(history: LoopHistory, where: Where, head: int, exits: frozenset[int]) -> tuple[LoopHistory, Rounds]:
    """After a backward jump in a loop with these exits; the rounds of inner loops start anew."""
    depth, pc = where
    kept = {place: item for place, item in history.rounds.items() if place[0] != depth or not head <= place[1] < pc}
    last = kept.get(where)
    if last is None:
        rounds = Rounds(history.now)
    elif history.last_dependent <= last.since:
        rounds = replace(last, since=history.now, known=last.known + 1)
    elif _is_counted(history, last, depth, exits):
        rounds = replace(last, since=history.now, counted=last.counted + 1)
    else:
        rounds = replace(last, since=history.now, reading=last.reading + 1)
    return replace(history, rounds={**kept, where: rounds}), rounds


def without_call(history: LoopHistory, depth: int) -> LoopHistory:
    return replace(
        history,
        rounds={place: item for place, item in history.rounds.items() if place[0] != depth},
        exits={place: item for place, item in history.exits.items() if place[0] != depth},
    )


def _is_counted(history: LoopHistory, last: Rounds, depth: int, exits: frozenset[int]) -> bool:
    passed = [item for place, item in history.exits.items() if place[0] == depth and place[1] in exits]
    if any(item.last_open > last.since for item in passed):
        return True
    return not any(item.last_counted > last.since for item in passed)


def loop_exits(program: Program) -> dict[str, dict[int, frozenset[int]]]:
    """By function and head of a loop, the branches that may leave it."""
    return {function.name: _loops(function) for function in program.functions}


def _loops(function: Function) -> dict[int, frozenset[int]]:
    edges: dict[int, list[int]] = {}
    for index, step in enumerate(function.body):
        if isinstance(step, Jump | Branch | Await) and function.labels[step.target] <= index:
            edges.setdefault(function.labels[step.target], []).append(index)
    if not edges:
        return {}
    leading = predecessors(function)
    return {head: _exits_of(function, _body(leading, head, ends)) for head, ends in edges.items()}


def _body(leading: list[list[int]], head: int, ends: list[int]) -> set[int]:
    body = {head}
    pending = list(ends)
    while pending:
        index = pending.pop()
        if index not in body:
            body.add(index)
            pending += leading[index]
    return body


def _exits_of(function: Function, body: set[int]) -> frozenset[int]:
    return frozenset(
        index
        for index in body
        if isinstance(function.body[index], Branch) and not body.issuperset(successors(function, index))
    )
