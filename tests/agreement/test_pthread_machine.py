"""Random pthread programs: engines find what an independent machine finds, under SC and TSO."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from tests.reference.pthread_comparison import campaign, compile_programs, run_engine
from tests.reference.pthread_machine import (
    AFTER_FREE,
    ASSERTION,
    DANGLING,
    DEADLOCK,
    DOUBLE_FREE,
    MISUSE,
    NULL,
    UNINITIALISED,
    explore,
)
from tests.reference.pthread_syntax import (
    AddressOf,
    Assert,
    Assume,
    BarrierWait,
    Body,
    Broadcast,
    CompareExchange,
    Create,
    Declare,
    Expression,
    For,
    Free,
    If,
    Join,
    Leak,
    Let,
    Local,
    Lock,
    Malloc,
    Op,
    Program,
    Read,
    Return,
    Scope,
    Signal,
    Spin,
    Statement,
    Store,
    TimedWait,
    TryLock,
    Unlock,
    Wait,
    While,
    program_text,
    smaller_programs,
)
from tests.strategies.random_pthread_programs import FLAVOURS, random_pthread_program
from tests.unit.frontends.c.programs import needs_compiler

X, Y, V, W, SHARED = (AddressOf(name) for name in ("x", "y", "v", "w", "shared"))
A, P = Local("a"), Local("p1")


def of_threads(*threads: Body, before: Body = (), after: Body = ()) -> Program:
    """They run side by side; what they return is in `out0` and `out1`."""
    numbers = range(1, len(threads) + 1)
    starts = tuple(Create(number) for number in numbers)
    ends: tuple[Statement, ...] = ()
    for number in numbers:
        ends += (Join(f"r{number}", number), Store(AddressOf(f"out{number - 1}"), Local(f"r{number}")))
    return Program(((*before, *starts, *ends, *after), *threads))


def outputs(program: Program, model: str, *, reuse: bool = False) -> set[tuple[int, int]]:
    return {(values[4], values[5]) for values in explore(program, model, reuse=reuse).final}


def wrong(*threads: Body, model: str = "sc", before: Body = (), after: Body = ()) -> set[str]:
    return explore(of_threads(*threads, before=before, after=after), model).wrong


def read(place: Expression) -> Read:
    return Read(place, "relaxed")


# --- the machine


def test_a_store_may_be_delayed_under_tso_alone() -> None:
    ways = [(Store(a, 1, "relaxed"), Return(read(b))) for a, b in ((X, Y), (Y, X))]
    assert (0, 0) not in outputs(of_threads(*ways), "sc")
    assert (0, 0) in outputs(of_threads(*ways), "tso")
    strong = [(Store(a, 1, "seq_cst"), Return(read(b))) for a, b in ((X, Y), (Y, X))]
    assert (0, 0) not in outputs(of_threads(*strong), "tso")


def test_an_unlock_is_a_store_that_may_be_delayed() -> None:
    ways = [(Lock(m), Store(a, 1), Unlock(m), Return(Read(b))) for m, a, b in (("m", V, W), ("n", W, V))]
    assert (0, 0) in outputs(of_threads(*ways), "tso")
    same = [(Lock("m"), Store(a, 1), Let("a", Read(b)), Unlock("m"), Return(A)) for a, b in ((V, W), (W, V))]
    assert outputs(of_threads(*same), "tso") == {(0, 1), (1, 0)}


@pytest.mark.parametrize("model", ["sc", "tso"])
def test_a_wait_ends_of_itself_any_number_of_times(model: str) -> None:
    """The signal comes after all that is counted."""
    counting = Store(W, Op("+", Read(W), 1))
    ready = Op("==", Read(V), 0)
    waiter = (Lock("m"), While(ready, (Wait("c", "m"), If(Op("<", Read(W), 3), (counting,)))), Unlock("m"))
    signaller = (Lock("m"), Store(V, 1), Let("a", Read(W)), Unlock("m"), Signal("c"), Return(A))
    assert outputs(of_threads(waiter, signaller), model) == {(0, n) for n in range(4)}


def test_without_a_signal_a_wait_may_go_on_for_ever() -> None:
    waiter = (Lock("m"), Wait("c", "m"), Unlock("m"), Return(1))
    assert wrong(waiter) == {DEADLOCK}
    assert outputs(of_threads(waiter), "sc") == {(1, 0)}


def test_a_signal_ends_one_wait_and_a_broadcast_all() -> None:
    waiter = (Lock("m"), Store(V, Op("+", Read(V), 1)), Wait("c", "m"), Unlock("m"))
    both = (Spin(Y, "==", 1), Lock("m"), Assume(Op("==", Read(V), 2)), Unlock("m"))
    begin = (Store(Y, 1, "relaxed"),)
    assert DEADLOCK in wrong(waiter, waiter, (*both, Signal("c")), before=begin)
    assert DEADLOCK not in wrong(waiter, waiter, (*both, Broadcast("c")), before=begin)


@pytest.mark.parametrize("model", ["sc", "tso"])
def test_the_time_of_a_wait_may_be_up_while_another_thread_holds_the_mutex(model: str) -> None:
    waiter = (Lock("m"), If(Op("==", Read(V), 0), (TimedWait("a", "c", "m"),)), Let("b", Read(V)), Unlock("m"))
    result = Return(Op("+", Op("*", A, 2), Local("b")))
    program = of_threads((*waiter, result), (Lock("m"), Store(V, 1), Signal("c"), Unlock("m")))
    assert outputs(program, model) == {(n, 0) for n in range(4)}


def test_a_wait_whose_time_is_up_may_consume_a_signal() -> None:
    arrived = Store(V, Op("+", Read(V), 1))
    timed = (Lock("m"), arrived, TimedWait("a", "c", "m"), Unlock("m"), Assume(Op("==", A, 1)))
    patient = (Lock("m"), arrived, Wait("c", "m"), Unlock("m"))
    signaller = (Lock("m"), Assume(Op("==", Read(V), 2)), Signal("c"), Unlock("m"))
    assert DEADLOCK in wrong(timed, patient, signaller)


def test_a_barrier_waits_for_all_and_begins_again() -> None:
    body = (BarrierWait("bar"), Store(V, 1), BarrierWait("bar"), Return(Read(V)))
    program = of_threads(body, (BarrierWait("bar"), BarrierWait("bar"), Return(Read(V))))
    assert outputs(Program(program.threads, barriers=(("bar", 2),)), "tso") == {(1, 1)}
    assert explore(Program(program.threads, barriers=(("bar", 3),)), "sc").wrong == {DEADLOCK}


def test_what_goes_wrong_has_a_name() -> None:
    publish = (Malloc("p1"), Store(P, 1), Store(SHARED, P, "relaxed"))
    take = Let("p1", Read(SHARED, "relaxed"))
    assert wrong((Unlock("m"),)) == {MISUSE}
    assert wrong((Lock("m"), Lock("m"))) == {DEADLOCK}
    assert wrong((Assert(Op("==", Read(V), 1)),)) == {ASSERTION}
    assert wrong((take, Let("a", Read(P)))) == {NULL}
    assert wrong((take, Free(P)), (take, Let("a", Read(P))), before=publish) == {AFTER_FREE}
    assert wrong((take, Free(P)), (take, Free(P)), before=publish) == {DOUBLE_FREE}
    assert wrong((Leak("p1", 1), Let("a", Read(P)))) == {DANGLING}
    own = (Declare("d1", 1), Store(SHARED, AddressOf("d1"), "relaxed"))
    assert wrong(own, after=(take, Let("a", Read(P)))) == {DANGLING}
    assert wrong((Scope(own), take, Let("a", Read(P)))) == {DANGLING}
    assert wrong((Scope((*own, take, Let("a", Read(P)))),)) == set()
    assert wrong((Malloc("p1"), If(Read(P), ()))) == {UNINITIALISED}
    assert wrong((Malloc("p1"), Let("a", Read(P)))) == set()


def test_an_assumption_leaves_runs_out() -> None:
    assert outputs(of_threads((Assume(Op("==", read(X), 1)), Return(1)), (Store(X, 1, "relaxed"),)), "sc") == {(1, 0)}
    assert not wrong((Assume(0), Assert(0)))


def test_a_weak_exchange_may_fail_where_it_is_no_instruction() -> None:
    once = (Let("e1", 0), CompareExchange("ok", X, "e1", 1, weak=True), Return(Local("ok")))
    assert outputs(of_threads(once), "sc") == {(0, 0), (1, 0)}
    assert outputs(of_threads(once), "tso") == {(1, 0)}


def test_an_attempt_to_lock_does_not_wait() -> None:
    once = (TryLock("got", "m"), Return(Local("got")))
    assert outputs(of_threads(once, once), "sc") == {(0, 1), (1, 0)}


def test_freed_addresses_come_back_if_asked_for() -> None:
    again = (Malloc("p1"), Free(P), Malloc("p2"), Return(Op("==", P, Local("p2"))))
    assert outputs(of_threads(again), "sc") == {(0, 0)}
    assert outputs(of_threads(again), "sc", reuse=True) == {(0, 0), (1, 0)}


def test_loops_end_and_go_on() -> None:
    body = (For("i", 5, (If(Op("==", Local("i"), 3), (Return(Local("i")),)),)),)
    assert outputs(of_threads(body), "sc") == {(3, 0)}


# --- programs


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_number_determines_its_program(flavour: str) -> None:
    drawn = [random_pthread_program(seed, flavour) for seed in range(20)]
    assert drawn == [random_pthread_program(seed, flavour) for seed in range(20)]
    assert len({program_text(program) for program in drawn}) > 15


def test_smaller_programs_are_smaller() -> None:
    program = random_pthread_program(1, "mixed")
    while smaller := next(smaller_programs(program), None):
        assert len(repr(smaller)) < len(repr(program))
        program = smaller
    assert not any(program.threads)


@needs_compiler
def test_programs_of_one_file_do_not_meet() -> None:
    programs = [of_threads((Store(V, n), Return(n))) for n in range(3)]
    for n, compiled in enumerate(compile_programs(programs)):
        answer = run_engine("rsmc", compiled, "sc")
        assert answer is not None
        assert {value for state in answer.final for value in state} <= {0, n}


# --- engines


def run_campaign(seeds: range, flavours: Sequence[str]) -> Counter[str]:
    """How many answers there were, by engine."""
    answers: Counter[str] = Counter()
    for seed, flavour, program, coverage in campaign(seeds, flavours):
        assert not coverage.problems, f"{flavour} {seed}: {coverage.problems}\n{program_text(program)}"
        answers += coverage.answers
    return answers


@needs_compiler
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_engines_agree_with_the_machine(flavour: str) -> None:
    answers = run_campaign(range(25), (flavour,))
    assert answers["rsmc"] > 30
    assert answers["states"] > 30


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 21_000, 1000))
def test_campaign(start: int) -> None:
    run_campaign(range(start, start + 1000), tuple(FLAVOURS))
