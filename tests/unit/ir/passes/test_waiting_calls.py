"""Loops that wait by calling functions."""

from __future__ import annotations

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.ir.instructions import Await
from dekker.ir.passes import apply_passes
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.source import Source
from dekker.task import Limits, Task

WAIT_WHILE = "L:\n r = call &f(&x)\n branch r eq.32 {value} -> L"

FUNCTIONS = {
    "load": "r = load.4 [a] acquire\n return r",
    "nested call": "r = call &reading(a)\n return r",
    "inner loop": "M:\n r = load.4 [a]\n branch r eq.32 2 -> M\n return r",
    "fence": "fence sync\n r = load.4 [a]\n return r",
    "assertion": 'r = load.4 [a]\n assert r ne.32 7, "no seven"\n return r',
    "try-lock": "old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed\n return won",
    "nested try-lock": "won = call &try_lock(a)\n return won",
    "try-lock with a way round": """
        r = load.4 [a]
        branch r -> E
        old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed
        branch won eq.64 0 -> E
        return 1
      E:
        return 0""",
}
OTHER_FUNCTIONS = {
    "store": "store.4 [a] = 1\n r = load.4 [a]\n return r",
    "exchange": "r = rmw.xchg.4 [a], 1\n return r",
    "weak": "old, won = cmpxchg.4 weak [a] 0 -> 1 acquire/relaxed\n return won",
    "open load-linked": "r = load.4 exclusive [a]\n return r",
    "success is not told": "old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed\n r = load.4 [a]\n return r",
    "success is told wrongly": "old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed\n return won eq.64 0",
    "no result": "old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed\n return",
    "a call of itself": "r = load.4 [a]\n branch r -> E\n r = call &f(a)\nE:\n return r",
    "a call of no one knows what": "f = load.8 [&y]\n r = call f(a)\n return r",
    "a call that stores": "r = call &storing(a)\n return r",
}


def parse(function: str, body: str, other: str = "") -> Program:
    text = f"""
    program p architecture none
    object x[8]
    object y[8]
    function f(a) {{
    {function}
    }}
    function reading(a) {{
    r = load.4 [a]
    return r
    }}
    function storing(a) {{
    store.4 [a] = 1
    return 0
    }}
    function try_lock(a) {{
    old, won = cmpxchg.4 [a] 0 -> 1 acquire/relaxed
    return won
    }}
    function P0() {{
    {body}
    }}
    function P1() {{
    {other}
    }}
    thread P0 runs P0
    thread P1 runs P1
    observe [x].4, [y].4
    """
    program = parse_program(Source("t.ir", text))
    validate(program)
    return program


def waits(program: Program) -> bool:
    return any(isinstance(item, Await) for item in apply_passes(program).function_by_name["P0"].body)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_loop_waits_if_what_it_calls_only_reads(function: str) -> None:
    assert waits(parse(function, WAIT_WHILE.format(value=0)))


@pytest.mark.parametrize("function", OTHER_FUNCTIONS.values(), ids=OTHER_FUNCTIONS)
def test_other_calls_leave_the_loop_alone(function: str) -> None:
    assert not waits(parse(function, WAIT_WHILE.format(value=0)))


def test_a_loop_that_goes_on_after_a_success_is_left_alone() -> None:
    assert not waits(parse(FUNCTIONS["try-lock"], WAIT_WHILE.format(value=1)))
    assert not waits(parse(FUNCTIONS["nested try-lock"], WAIT_WHILE.format(value=1)))


def test_an_unused_result_tells_nothing() -> None:
    body = "L:\n call &f(&x)\n r = load.4 [&y]\n branch r eq.32 0 -> L"
    assert waits(parse(FUNCTIONS["load"], body))
    assert not waits(parse(FUNCTIONS["try-lock"], body))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("model", ["sc", "tso", "power"])
def test_the_states_are_those_of_the_loop(name: str, model: str) -> None:
    """Whether the other thread lets it go or not: if it only waits, no number of rounds makes a difference."""
    lock = "try" in name
    body = ("" if lock else "store.4 [&y] = 1\n") + WAIT_WHILE.format(value=0) + "\n store.4 [&y] = 2"
    program = parse(FUNCTIONS[name], body, "store.4 [&x] = 1\n store.4 [&y] = 3\n store.4 [&x] = 0")
    converted = apply_passes(program)
    before = axiomatic.run(Task(program, load_model(model), Limits(unroll=2)))
    after = axiomatic.run(Task(converted, load_model(model), Limits(unroll=2)))
    explored = rsmc.run(Task(converted, load_model(model), Limits(unroll=2)))
    assert set(before.states) == set(after.states) == set(explored.states)
    assert after.deadlocks == explored.deadlocks
    assert after.blocked > 0 or not explored.blocked, "where a thread waits in vain may be left out"
    assert (after.deadlocks > 0) is not lock, "without a lock the thread waits for ever if it misses the 1"


ASSERTING = {
    "of what it waits for": 'r = load.4 [&x]\n assert r ne.32 2, "two"\n branch r ne.32 3 -> L',
    "in front of it": 'r = load.4 [&x]\n assert r ne.32 2, "two"\n q = load.4 [&y]\n branch q ne.32 3 -> L',
    "behind it": 'q = load.4 [&y]\n r = load.4 [&x]\n assert r ne.32 2, "two"\n branch q ne.32 3 -> L',
    "of both": 'q = load.4 [&y]\n r = load.4 [&x]\n assert (r add.32 q) ne.32 4, "four"\n branch q ne.32 3 -> L',
    "in a function": "r = call &f(&x)\n branch r ne.32 3 -> L",
}
OTHER_THREADS = (
    "store.4 [&x] = 2\n store.4 [&x] = 3\n store.4 [&y] = 3",
    "store.4 [&y] = 2\n store.4 [&x] = 2\n store.4 [&y] = 3\n store.4 [&x] = 3",
    "store.4 [&x] = 2",
)


@pytest.mark.parametrize("loop", ASSERTING.values(), ids=ASSERTING)
@pytest.mark.parametrize("other", OTHER_THREADS)
@pytest.mark.parametrize("model", ["sc", "power"])
def test_assertions_that_fail_in_any_round_are_found(loop: str, other: str, model: str) -> None:
    program = parse('r = load.4 [a]\n assert r ne.32 2, "two"\n return r', "L:\n" + loop, other)
    assert waits(program)
    converted = apply_passes(program)
    found = [
        engine(Task(version, load_model(model), Limits(unroll=3)))
        for engine in (axiomatic.run, rsmc.run)
        for version in (program, converted)
    ]
    assert len({frozenset(violation.message for violation in result.violations) for result in found}) == 1
    assert len({frozenset(result.states) for result in found}) == 1
