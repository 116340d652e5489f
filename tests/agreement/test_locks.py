"""Acquisitions of locks: one that another comes before is put off, and nothing is lost or found twice by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

import dekker
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.fuzz.locks import MODELS, locks_program
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

ROOT = Path(__file__).parents[2]
LIMITS = Limits(unroll=1, timeout_s=5)
ORACLE_LIMITS = Limits(unroll=1, timeout_s=0.5)


def answer(result: Result) -> object:
    told = sorted({(violation.kind, str(violation.span)) for violation in result.violations})
    return sorted(result.states.items()), told, result.deadlocks


def explored(program: Program, model: str, pick_seed: int = 0) -> Result:
    return rsmc.run(Task(program, load_model(model), LIMITS, pick_seed=pick_seed))


@pytest.mark.parametrize("model", MODELS)
def test_random_locks_agree_with_the_oracle(model: str) -> None:
    compared = 0
    for seed in range(40):
        program = prepare(locks_program(seed), load_model(model))
        expected = axiomatic.run(Task(program, load_model(model), ORACLE_LIMITS))
        if expected.stopped_by is None:
            compared += 1
            for pick_seed in (0, seed + 1):
                assert answer(explored(program, model, pick_seed)) == answer(expected), print_program(program)
    assert compared > 10


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "cpp20", "rc11"])
def test_what_is_committed_first_makes_no_difference_to_random_locks(model: str) -> None:
    for seed in range(200, 260):
        program = prepare(locks_program(seed), load_model(model))
        found = explored(program, model)
        in_another_order = explored(program, model, seed)
        if found.stopped_by is None and in_another_order.stopped_by is None:
            assert answer(in_another_order) == answer(found), print_program(program)


def locks_in_chains() -> Program:
    """The last thread finds `l` held by a store, and then by an update that took the place of the store."""
    lock, unlock = (
        "{0}:\nr{0}, s{0} = cmpxchg.4 [&{1}] {2} -> 1 acquire/relaxed\nawait s{0} ne.32 0 -> {0}",
        "[&{}] = {}",
    )
    first = [lock.format("a", "l", 0), "store.4 [&x] = 2", "store.4 " + unlock.format("l", 0)]
    second = [lock.format("a", "m", 0), "store.4 " + unlock.format("l", 1)]
    third = [lock.format("a", "m", 0), "store.4 " + unlock.format("m", 0), lock.format("b", "l", 1)]
    third += ["store.4 " + unlock.format("m", 0), "store.4 " + unlock.format("l", 0)]
    functions = "".join(
        f"function t{i}() {{\n" + "\n".join(body) + "\n}\n" for i, body in enumerate((first, second, third))
    )
    text = "program test\narchitecture C\nobject x[4]\nobject l[4]\nobject m[4]\n" + functions
    text += "thread t0 runs t0\nthread t1 runs t1\nthread t2 runs t2\nobserve [x].4, [l].4\n"
    return parse_program(Source("test.ir", text))


@pytest.mark.parametrize("model", ["sc", "tso", "rc11"])
def test_a_lock_that_others_store_to_is_found_once(model: str) -> None:
    program = locks_in_chains()
    assert answer(explored(program, model)) == answer(axiomatic.run(Task(program, load_model(model))))


@needs_compiler
@pytest.mark.parametrize(
    ("file", "flags", "executions"),
    [
        ("benchmarks/gallery/mutex.c", ("-DN=4",), 24),
        ("benchmarks/gallery/mutex.c", ("-DN=3", "-DOPERATIONS=2"), 90),
        ("benchmarks/gallery/ticket.c", ("-DN=4",), 24),
        ("examples/c/table1/indexer.c", ("-DTHREADS=13",), 64),
    ],
)
def test_locks_are_not_explored_as_failures(file: str, flags: tuple[str, ...], executions: int) -> None:
    for model in ("sc", "rc11"):
        found = dekker.check(ROOT / file, model=model, engine="rsmc", flags=flags, keep_going=True)
        assert (found.executions, found.blocked) == (executions, 0)


ACQUIRE = "{0}:\nr{0}, s{0} = cmpxchg.4 [&{1}] {2} -> {3} acquire/relaxed\nawait s{0} ne.32 0 -> {0}\n"
THREE_WAITERS = {
    # If the second thread's store to `y` comes last, its update cannot read any more what that of the first thread has
    # read. It would have waited with that, too.
    "what an update reads may be forbidden later": (
        "store.4 [&l] = 1 relaxed\n" + ACQUIRE.format("a", "l", 0, 2) + "store.4 [&y] = 1 relaxed\n",
        "store.4 [&y] = 1 relaxed\n" + ACQUIRE.format("a", "l", 1, 1),
        ACQUIRE.format("a", "l", 0, 1) + "store.4 [&l] = 0 release\n",
    ),
    # The last store to `l` may come behind two turns, of which the later one was put off and is over. Another thread
    # waits for ever.
    "what was put off has had its turn": (
        ACQUIRE.format("a", "l", 0, 1) + "store.4 [&l] = 0 release\n",
        ACQUIRE.format("a", "l", 0, 1)
        + "store.4 [&l] = 0 release\nb:\nr = load.4 [&y] relaxed\nawait r eq.32 9 -> b\n",
        ACQUIRE.format("a", "m", 0, 1) + "store.4 [&l] = 5 release\n",
    ),
}


@pytest.mark.parametrize(("name", "deadlocks"), [*zip(THREE_WAITERS, (5, 9), strict=True)])
@pytest.mark.parametrize("model", ["sc", "ibm370", "tso", "pso", "cpp20", "rc11"])
def test_each_way_to_wait_for_ever_is_counted_once(name: str, deadlocks: int, model: str) -> None:
    functions = "".join(f"function t{i}() {{\n{body}}}\n" for i, body in enumerate(THREE_WAITERS[name]))
    text = "program test\narchitecture C\nobject y[4]\nobject l[4]\nobject m[4]\n" + functions
    text += "thread t0 runs t0\nthread t1 runs t1\nthread t2 runs t2\nobserve [y].4, [l].4\n"
    program = prepare(parse_program(Source("test.ir", text)), load_model(model))
    expected = axiomatic.run(Task(program, load_model(model), LIMITS))
    assert expected.deadlocks == deadlocks
    for pick_seed in range(4):
        assert answer(explored(program, model, pick_seed)) == answer(expected)


TURN = (
    "A:\nr = load.4 exclusive [&{0}]\nawait r ne.32 1 -> A\ns = store-conditional.4 [&{0}] = 1\nbranch s ne.32 0 -> A\n"
)
ONLY_DEADLOCK = (
    TURN.format("l") + "store.4 [&z] = 1\nstore.4 [&l] = 0\n",
    TURN.format("l") + "q = load.4 [&z]\nstore.4 [&l] = 0\nbranch q eq.32 1 -> end\n"
    "B:\nt = load.4 [&l]\nawait t eq.32 0 -> B\nend:\n",
    TURN.format("m") + "store.4 [&l] = 5\n",
)


@pytest.mark.parametrize("model", ["sc", "ibm370", "tso"])
def test_the_only_deadlock_is_found_behind_a_turn_that_was_put_off(model: str) -> None:
    """The second thread has its turn before the first, and the third stores last."""
    functions = "".join(f"function t{i}() {{\n{body}}}\n" for i, body in enumerate(ONLY_DEADLOCK))
    text = "program test\narchitecture none\nobject l[4]\nobject m[4]\nobject z[4]\n" + functions
    text += "thread t0 runs t0\nthread t1 runs t1\nthread t2 runs t2\nobserve [l].4\n"
    program = prepare(parse_program(Source("test.ir", text)), load_model(model))
    for pick_seed in range(4):
        assert explored(program, model, pick_seed).deadlocks == 1
    assert axiomatic.run(Task(program, load_model(model), LIMITS)).deadlocks == 1


LINKED = "A:\nr = load.4 exclusive [&{0}]\nbranch r ne.32 0 -> A\n"
WAITING_FOR_UPDATES = {
    "halves apart": (LINKED.format("x"), LINKED.format("x") + "q = load.4 [&x]\ns = store-conditional.4 [&x] = 1\n"),
    "another place": (
        LINKED.format("y") + "s = store-conditional.4 [&x] = 1\nbranch s ne.32 0 -> A\n",
        LINKED.format("y") + "s = store-conditional.4 [&y] = 1\n",
    ),
}


@pytest.mark.parametrize("bodies", WAITING_FOR_UPDATES.values(), ids=WAITING_FOR_UPDATES.keys())
@pytest.mark.parametrize("model", ["sc", "ibm370", "tso", "pso", "power", "aarch64", "riscv"])
def test_threads_that_wait_for_ever_because_of_an_update_are_counted_once(bodies: tuple[str, str], model: str) -> None:
    functions = "".join(f"function P{i}() {{\n{body}}}\n" for i, body in enumerate(bodies))
    text = f"program test\narchitecture none\nobject x[4]\nobject y[4]\n{functions}"
    text += "thread P0 runs P0\nthread P1 runs P1\nobserve 0:r, 1:r, [x].4, [y].4\n"
    program = prepare(parse_program(Source("test", text)), load_model(model))
    expected = axiomatic.run(Task(program, load_model(model), LIMITS))
    assert expected.deadlocks
    assert answer(explored(program, model)) == answer(expected)
