"""Which rounds of loops count against the bound.

A loop is known by its head, where backward jumps go; its body is all from which control reaches such a jump without
passing the head again. An exit is a branch in the body that may leave it. It is open if it depends on something that
was read or chosen since the loop was entered and in which other threads that are running may have a say. Rounds in
which no branch depends on an event do not count. Nor do those that come past an exit which is not open, with other
values than the last time, and past no open exit: such a loop ends when its thread has counted to the end, whatever it
reads on the way. Where a round comes past no exit at all, the branches inside stand for the exits. An open exit that
leads to nothing but a failed assertion is none. Nor does a thread count to the end by numbers that grow this way or
that, depending on choices in the loop, be they in registers or in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace

from dekker.engines.axiomatic.terms import Term
from dekker.ir.expressions import Address, Const, registers
from dekker.ir.flow import defined, predecessors, successors
from dekker.ir.instructions import (
    Assert,
    Assign,
    Await,
    Branch,
    Call,
    CompareExchange,
    Exit,
    Instruction,
    Jump,
    Refuse,
    Return,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function, Program
from dekker.records import dataclass

_WRITING = (Store, StoreConditional, Rmw, CompareExchange, Call)

Where = tuple[int, int]
"""The depth of calls and the head of a loop."""


@dataclass(frozen=True, slots=True)
class Entered:
    """How many events and choices a thread had when it entered a loop."""

    events: int = 0
    choices: int = 0


@dataclass(frozen=True, slots=True)
class Rounds:
    """How often the head of a loop was come back to, the last time at `since`: `counted` rounds, `known` ones without
    branches that depend on events, and `reading` ones that do not count although they have some. The last exit was at
    `last_exit`, and the last open one at `last_open`."""

    entered: Entered = Entered()
    since: int = 0
    last_open: int = 0
    last_exit: int = 0
    counted: int = 0
    known: int = 0
    reading: int = 0


@dataclass(frozen=True, slots=True)
class PassedExit:
    """At `last_counted` it was not open, and had other `values` than before. A branch that `stays` is no exit."""

    values: tuple[Term, ...]
    last_counted: int = 0
    stays: bool = False


@dataclass(frozen=True, slots=True)
class LoopHistory:
    """What a thread has done in the loops of its calls. Times are numbers of branches that it had come to. `exits` by
    loop and branch; choices in the loop had a say in how the `chosen` ones are computed, and in how the
    `chosen_branches` there go."""

    now: int = 0
    last_dependent: int = 0
    rounds: Mapping[Where, Rounds] = field(default_factory=dict)
    exits: Mapping[tuple[Where, int], PassedExit] = field(default_factory=dict)
    chosen: frozenset[tuple[Where, int]] = frozenset()
    chosen_branches: frozenset[tuple[Where, int]] = frozenset()
    goes_round: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """`exits` by branch: whether the branch only leaves the loop for a failed assertion. `staying` are the other
    branches inside, if a round may come past no exit. `steered` by branch: branches of these two kinds whose numbers
    are computed one way or another depending on how the branch goes. If any depends on what the loop reads, `deciding`
    are the branches that decide whether a round comes to a write or a call, by its place; `calling` those of calls."""

    body: frozenset[int]
    exits: Mapping[int, bool]
    staying: frozenset[int]
    steered: Mapping[int, frozenset[int]]
    deciding: Mapping[int, frozenset[int]]
    calling: frozenset[int]


Loops = Mapping[int, Loop]
"""Of a function, by head."""


def arrived(history: LoopHistory, where: Where, entered: Entered) -> LoopHistory:
    """Control has come to a head: from outside, unless it has just gone round."""
    if history.goes_round:
        return replace(history, goes_round=False)
    return replace(
        history,
        rounds={**history.rounds, where: Rounds(entered, history.now)},
        exits={key: item for key, item in history.exits.items() if key[0] != where},
        chosen=frozenset(key for key in history.chosen if key[0] != where),
        chosen_branches=frozenset(key for key in history.chosen_branches if key[0] != where),
    )


def passed_branch(history: LoopHistory, depends_on_events: bool) -> LoopHistory:
    now = history.now + 1
    return replace(history, now=now, last_dependent=now if depends_on_events else history.last_dependent)


def entered_before(history: LoopHistory, where: Where, entered: Entered) -> LoopHistory:
    """Right behind `passed_branch`: if the thread did not come by the head, it has entered the loop just now."""
    if where in history.rounds:
        return history
    return replace(history, rounds={**history.rounds, where: Rounds(entered, history.now - 1)})


def passed_exit(history: LoopHistory, where: Where, pc: int, is_open: bool, values: tuple[Term, ...]) -> LoopHistory:
    """Right behind `passed_branch`, for each loop that the branch at `pc` may leave. The values are what the condition
    was computed from, and where that was read."""
    rounds = replace(history.rounds[where], last_exit=history.now)
    if is_open:
        rounds = replace(rounds, last_open=history.now)
    history = replace(history, rounds={**history.rounds, where: rounds})
    return _passed(history, where, pc, is_open, PassedExit(values))


def went_on(history: LoopHistory, where: Where, pc: int, is_open: bool, values: tuple[Term, ...]) -> LoopHistory:
    """The same for a branch that stays in the loop, where a round may come past no exit."""
    return _passed(history, where, pc, is_open, PassedExit(values, stays=True))


def _passed(history: LoopHistory, where: Where, pc: int, is_open: bool, found: PassedExit) -> LoopHistory:
    last = history.exits.get((where, pc))
    is_new = not is_open and (last is None or last.values != found.values)
    counted = history.now if is_new else 0 if last is None else last.last_counted
    return replace(history, exits={**history.exits, (where, pc): replace(found, last_counted=counted)})


def chosen_exit(history: LoopHistory, where: Where, pc: int) -> LoopHistory:
    """A choice in the loop has a say in how the condition of its branch at `pc` is computed."""
    return replace(history, chosen=history.chosen | {(where, pc)})


def chosen_exit_late(history: LoopHistory, where: Where, pc: int) -> LoopHistory:
    """The same, if that turns out when what was written in the last round is read. That round counts then."""
    if (where, pc) in history.chosen:
        return history
    last = history.rounds[where]
    rounds = {**history.rounds, where: replace(last, counted=last.counted + 1)}
    return chosen_exit(replace(history, rounds=rounds), where, pc)


def chosen_branch(history: LoopHistory, where: Where, pc: int) -> LoopHistory:
    """A branch in the loop depends on a choice there."""
    return replace(history, chosen_branches=history.chosen_branches | {(where, pc)})


def decides_write(history: LoopHistory, where: Where, loop: Loop, place: int | None) -> bool:
    """Has a choice in the loop a say in whether a round comes to a write there, or to a call if it has no place?"""
    deciding = loop.calling if place is None else loop.deciding.get(place, frozenset())
    return any((where, pc) in history.chosen_branches for pc in deciding)


def next_round(history: LoopHistory, where: Where) -> tuple[LoopHistory, Rounds]:
    """After a backward jump, where all rounds count."""
    last = history.rounds.get(where, Rounds())
    rounds = replace(last, counted=last.counted + 1)
    return replace(history, rounds={**history.rounds, where: rounds}), rounds


def next_open_round(history: LoopHistory, where: Where, loop: Loop, entered: Entered) -> tuple[LoopHistory, Rounds]:
    """After a backward jump; the rounds of loops inside start anew. If the thread did not enter the loop by its head,
    it does so now."""
    depth, head = where
    kept = {
        place: item
        for place, item in history.rounds.items()
        if place[0] != depth or place[1] <= head or place[1] not in loop.body
    }
    last = kept.get(where)
    if last is None:
        rounds = Rounds(entered, history.now)
        return replace(history, rounds={**kept, where: rounds}, goes_round=True), rounds
    rounds = replace(last, since=history.now)
    if last.last_open > last.since or not _counts_to_end(history, where, last):
        rounds = replace(rounds, counted=last.counted + 1)
    elif history.last_dependent <= last.since:
        rounds = replace(rounds, known=last.known + 1)
    else:
        rounds = replace(rounds, reading=last.reading + 1)
    return replace(history, rounds={**kept, where: rounds}, goes_round=True), rounds


def _counts_to_end(history: LoopHistory, where: Where, last: Rounds) -> bool:
    passed = (item for key, item in history.exits.items() if key[0] == where and key not in history.chosen)
    return any(item.last_counted > last.since and (not item.stays or last.last_exit <= last.since) for item in passed)


def without_call(history: LoopHistory, depth: int) -> LoopHistory:
    return replace(
        history,
        rounds={place: item for place, item in history.rounds.items() if place[0] != depth},
        exits={key: item for key, item in history.exits.items() if key[0][0] != depth},
        chosen=frozenset(key for key in history.chosen if key[0][0] != depth),
        chosen_branches=frozenset(key for key in history.chosen_branches if key[0][0] != depth),
    )


def program_loops(program: Program) -> dict[str, Loops]:
    """By function."""
    failing = _Failing(program)
    return {function.name: _loops(function, failing) for function in program.functions}


class _Failing:
    """Where all ways lead to a failed assertion."""

    def __init__(self, program: Program) -> None:
        self.functions = program.function_by_name
        self.found: dict[str, set[int]] = {}

    def places(self, function: Function) -> set[int]:
        if function.name in self.found:
            return self.found[function.name]
        fails = self.found[function.name] = set()
        is_new = True
        while is_new:
            more = {pc for pc in range(len(function.body)) if pc not in fails and self._fails_at(function, pc, fails)}
            is_new = bool(more)
            fails |= more
        return fails

    def _fails_at(self, function: Function, pc: int, fails: set[int]) -> bool:
        match function.body[pc]:
            case Assert(Const(0)):
                return True
            case Call(_, Address(name, 0)) if name in self.functions and 0 in self.places(self.functions[name]):
                return True
            case Return() | Exit() | Refuse():
                return False
        return fails.issuperset(successors(function, pc))


def _loops(function: Function, failing: _Failing) -> Loops:
    edges: dict[int, list[int]] = {}
    for index, step in enumerate(function.body):
        if isinstance(step, Jump | Branch | Await) and function.labels[step.target] <= index:
            edges.setdefault(function.labels[step.target], []).append(index)
    if not edges:
        return {}
    leading, fails = predecessors(function), failing.places(function)
    return {head: _loop(function, leading, fails, head, ends) for head, ends in edges.items()}


def _loop(function: Function, leading: list[list[int]], fails: set[int], head: int, ends: list[int]) -> Loop:
    body = frozenset({head} | _leading_to(leading, head, ends))
    exits = _exits_of(function, body, fails)
    branches = {index for index in body if isinstance(function.body[index], Branch)}
    may_stay = not all(exits.values()) and head in _leading_to(leading, head, ends, exits.keys())
    staying = frozenset(branches - exits.keys() if may_stay else ())
    steered: dict[int, frozenset[int]] = {}

    def deciding(place: int) -> frozenset[int]:
        before, past = _leading_to(leading, head, [place]), _leading_to(leading, head, ends, {place})
        return frozenset(branches & before & past)

    asks_memory = False
    for asked in (*exits, *staying):
        for definition in _definitions(function, body, asked):
            asks_memory = asks_memory or not isinstance(function.body[definition], Assign)
            for branch in deciding(definition):
                steered[branch] = steered.get(branch, frozenset()) | {asked}
    places = [index for index in body if asks_memory and isinstance(function.body[index], _WRITING)]
    writes = {index: deciding(index) for index in places}
    calls = (writes[index] for index in places if isinstance(function.body[index], Call))
    return Loop(body, exits, staying, steered, writes, frozenset().union(*calls))


def _leading_to(
    leading: list[list[int]], head: int, places: Sequence[int], without: Set[int] = frozenset()
) -> set[int]:
    """All from which control comes to one of these places without passing the head before, or one of `without`."""
    found = set[int]()
    pending = list(places)
    while pending:
        index = pending.pop()
        if index not in found and index not in without:
            found.add(index)
            pending += leading[index] if index != head else []
    return found


def _exits_of(function: Function, body: frozenset[int], fails: set[int]) -> dict[int, bool]:
    branches = (index for index in body if isinstance(function.body[index], Branch))
    outside = {index: set(successors(function, index)) - body for index in branches}
    return {index: fails.issuperset(places) for index, places in outside.items() if places}


def _definitions(function: Function, body: frozenset[int], leaving: int) -> list[int]:
    """Where numbers are computed in the loop that the exit depends on, other than by memory."""
    step = function.body[leaving]
    assert isinstance(step, Branch)
    names = set(registers(step.condition))
    while True:
        found = [index for index in body if not names.isdisjoint(defined(function.body[index]))]
        used = {name for index in found for name in _used(function.body[index])}
        if used <= names:
            return found
        names |= used


def _used(step: Instruction) -> frozenset[str]:
    return registers(step.value) if isinstance(step, Assign) else frozenset()
