"""The correctness criterion of section 6.4 as a property: whatever is the first memory access of a TSO trace of the
code (sections 6.2 and 6.3) is a candidate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import NamedTuple

import pytest
from tests.reference.printed_rules import SearchState, cell_of, evaluate, names_in
from tests.unit.engines.modular.lang_texts import OneThread, file_of

from dekker.frontends.lang.syntax import (
    Assign,
    Barrier,
    Block,
    CompareExchange,
    Expression,
    If,
    Read,
    Statement,
    Variable,
    While,
    Write,
)

SLICE = 250
CAMPAIGN = 5000
MOST_TRACES = 3000


class Event(NamedTuple):
    """An instruction of a trace: `kind` is `local`, `require`, `read`, `early`, `write`, `exchange` or `barrier`.
    `shown` is what a candidate for it looks like."""

    kind: str
    registers: frozenset[str]
    cell: str
    shown: str
    number: int


def text_of(seed: int) -> str:
    """A process of up to six statements, with an if or a loop among them, and registers used again and again."""
    random = Random(seed)

    def register() -> str:
        return random.choice(("r0", "r1", "r2"))

    def variable() -> str:
        return random.choice(("x", "y", "a[0]", "a[1]", f"a[{register()} = 1]"))

    def simple() -> str:
        kinds = [
            f"{register()} := {random.randint(0, 2)}",
            f"{register()} := {register()} + 1",
            f"read: {register()} := {variable()}",
            f"write: {variable()} := {register()}",
            f"write: {variable()} := {register()}",
            "barrier",
        ]
        if random.random() < 0.15:
            place, one = variable(), register()
            return f"CMPXCHG({place} = {one} ? {place} := {register()} : {one} := {place})"
        return random.choice(kinds)

    def statement() -> str:
        draw = random.random()
        if draw < 0.15:
            return f"if({register()} = {random.randint(0, 1)}) {{ {simple()} }} else {{ {simple()} }}"
        if draw < 0.25:
            return f"i := {random.randint(1, 2)}; while(i) {{ {simple()}; i := i - 1 }}"
        return simple()

    body = "; ".join(statement() for _ in range(random.randint(2, 5)))
    everything = "r0 := r0; r1 := r1; r2 := r2"
    return f"var x = 0; var y = 0; var a[0..1] = 0; process P {{ {body}; {everything} }}"


class Undecided(Exception):
    """What comes next depends on a read."""


class Sequential:
    """The trace in program order from registers that are 0, up to the first branch that a read decides: nothing behind
    it can come first."""

    def __init__(self, text: str) -> None:
        self.events: list[Event] = []
        with suppress(Undecided):
            self.run(file_of(text).processes[0].body, SearchState())

    def add(self, kind: str, registers: frozenset[str], cell: str = "", shown: str = "") -> None:
        self.events.append(Event(kind, registers, cell, shown, len(self.events)))

    def require(self, condition: Expression, state: SearchState) -> int:
        value = evaluate(condition, state)
        if value is None:
            raise Undecided
        self.add("require", names_in(condition))
        return value

    def run(self, statement: Statement, state: SearchState) -> SearchState:
        match statement:
            case Block(statements):
                for inner in statements:
                    state = self.run(inner, state)
                return state
            case If(condition, then, other):
                branch = then if self.require(condition, state) else other
                return state if branch is None else self.run(branch, state)
            case While(condition, body):
                while self.require(condition, state):
                    state = self.run(body, state)
                return state
        return self.atomic(statement, state)

    def atomic(self, statement: Statement, state: SearchState) -> SearchState:
        match statement:
            case Assign(register, value):
                self.add("local", names_in(value) | {register})
                return state.set(register, evaluate(value, state))
            case Read(register, variable):
                cell = place(variable, state)
                self.add("read", names_in(variable.index) | {register}, cell, f"ReadMemory {cell}")
                return state.set(register, None)
            case Write(variable, value):
                cell, written = place(variable, state), evaluate(value, state)
                registers = names_in(variable.index) | names_in(value)
                self.add("write", registers, cell, f"TakeEffect {cell}={written}")
                return state
            case CompareExchange(variable, expected, desired):
                cell = place(variable, state)
                self.add("exchange", names_in(variable.index) | {expected, desired}, cell, f"UpdateMemory {cell}")
                return state.set(expected, None)
            case Barrier():
                self.add("barrier", frozenset(), "", "GoOn")
                return state
        raise AssertionError(statement)


def place(variable: Variable, state: SearchState) -> str:
    cell = cell_of(variable, state)
    if cell is None:
        raise Undecided
    return cell[0] if cell[0] != "a" else f"a[{cell[1]}]"


def swaps(first: Event, second: Event) -> Iterator[Event]:
    """What the second becomes if it may overtake the first (reorder_TSO)."""
    disjoint = not first.registers & second.registers
    if {"local", "require"} & {first.kind, second.kind}:
        if disjoint and "barrier" not in (first.kind, second.kind):
            yield second
    elif (first.kind, second.kind) == ("write", "read") and disjoint:
        if first.cell == second.cell:
            value = first.shown.partition("=")[2]
            yield second._replace(kind="early", shown=f"ReadOwn {second.cell}={value}")
        else:
            yield second
    elif (first.kind, second.kind) == ("write", "early") and disjoint:
        yield second


def first_accesses(events: list[Event]) -> set[str]:
    """Of all traces, the first instruction that is no `require`, if it is not local."""
    start = tuple(events)
    seen, waiting, found = {start}, [start], set()
    while waiting and len(seen) < MOST_TRACES:
        trace = waiting.pop()
        first = next((event for event in trace if event.kind != "require"), None)
        if first is not None and first.kind != "local":
            found.add(first.shown)
        for place in range(len(trace) - 1):
            for moved in swaps(trace[place], trace[place + 1]):
                other = (*trace[:place], moved, trace[place], *trace[place + 2 :])
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return found


def require_criterion(seed: int) -> None:
    text = text_of(seed)
    thread = OneThread(text)
    expected = {item for item in first_accesses(Sequential(text).events) if item != "GoOn"}
    assert expected <= set(thread.candidates()), f"text_of({seed}): {text}"


def test_the_first_access_of_every_trace_is_a_candidate() -> None:
    for seed in range(SLICE):
        require_criterion(seed)


@pytest.mark.slow
def test_the_first_access_of_every_trace_is_a_candidate_campaign() -> None:
    for seed in range(SLICE, SLICE + CAMPAIGN):
        require_criterion(seed)


def test_a_barrier_that_nothing_precedes_is_passed() -> None:
    """It is a candidate of its own, and the search takes it at once."""
    thread = OneThread("var x = 0; process P { barrier; read: r := x }")
    assert thread.candidates() == ("ReadMemory x",)
    thread = OneThread("var x = 0; process P { write: x := 1; barrier; read: r := x }")
    assert thread.candidates() == ("TakeEffect x=1",)


def test_the_property_is_not_empty() -> None:
    found: set[str] = set()
    for seed in range(SLICE):
        found |= {item.partition(" ")[0] for item in first_accesses(Sequential(text_of(seed)).events)}
    assert found == {"ReadMemory", "ReadOwn", "TakeEffect", "UpdateMemory", "GoOn"}
