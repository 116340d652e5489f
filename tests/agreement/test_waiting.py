"""Loops that wait, turned into awaits: the final states are those of the loops, engines agree on all counts, and what
is called a deadlock is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.reference import store_buffers
from tests.reference.store_buffers import Buffers
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, PLAIN_ACCESSES, Flavour
from tests.strategies.waiting_programs import waiting_programs

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.errors import UnsupportedError
from dekker.ir.instructions import Branch, Jump, Rmw
from dekker.ir.passes.waiting import wait_in_loops
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.models import OF_C, load_model, model_names
from dekker.result import Result
from dekker.run.prepare import QUIET_EXCHANGES
from dekker.task import Limits, Task

EXAMPLES = 10
CAMPAIGN_EXAMPLES = 1000
TIMEOUT_S = 1
ROUNDS = 1
CAMPAIGN_ROUNDS = 3

FLAVOURS = {
    "plain": replace(PLAIN_ACCESSES, max_total=6),
    "updates": replace(HARDWARE, max_total=6),
    "annotated": replace(ANNOTATED, max_total=6),
    "c11": replace(C11, max_total=6),
}
CASES = [
    *((model, flavour) for model in model_names() for flavour in ("plain", "updates") if model not in OF_C),
    *((model, "annotated") for model in ("aarch64", "riscv")),
    *((model, "c11") for model in OF_C),
]
QUIET_CASES = [(model, flavour) for model, flavour in CASES if model in QUIET_EXCHANGES and flavour != "plain"]
QUIET_ROUNDS = 2
QUIET_EXAMPLES = 3
SLOW = (HealthCheck.filter_too_much, HealthCheck.too_slow)
# One that orders everything, one for each pair of accesses.
MACHINE_FENCES = ("mfence", "membar.loadload", "membar.loadstore", "membar.storeload", "stbar")


def oracle(program: Program, model: str, rounds: int = ROUNDS) -> Result:
    result = axiomatic.run(Task(program, load_model(model), Limits(rounds, TIMEOUT_S)))
    assume(result.stopped_by is None)
    return result


def has_loops(program: Program) -> bool:
    return any(
        isinstance(instruction, Jump | Branch) and function.labels[instruction.target] <= index
        for function in program.functions
        for index, instruction in enumerate(function.body)
    )


def has_quiet_exchanges(program: Program) -> bool:
    return any(isinstance(step, Rmw) and step.quiet for function in program.functions for step in function.body)


def converted(data: st.DataObject, flavour: Flavour) -> tuple[Program, Program]:
    """A program in which something was converted, before and after."""
    program = data.draw(waiting_programs(flavour))
    changed = wait_in_loops(program)
    assume(changed != program)
    validate(changed)
    return program, changed


def with_quiet_exchanges(data: st.DataObject, flavour: str, model: str) -> tuple[Program, Program]:
    program = data.draw(waiting_programs(replace(FLAVOURS[flavour], max_total=5), locks=True))
    changed = wait_in_loops(program, quiet_exchanges=True, data_races=model in OF_C)
    assume(changed != program)
    validate(changed)
    return program, changed


def check_states(program: Program, changed: Program, model: str, rounds: int = ROUNDS) -> None:
    """Whatever the bound for loops is, it leaves the same states, because no state needs a failed round."""
    after, before = oracle(changed, model, rounds), oracle(program, model, rounds)
    assert after.states.keys() == before.states.keys(), print_program(program)
    assert after.flags.keys() >= before.flags.keys(), print_program(program)
    assert has_loops(changed) or has_quiet_exchanges(changed) or after.cut == 0


def check_machine(program: Program, changed: Program, buffers: Buffers) -> None:
    found = oracle(changed, buffers.value)
    assert found.states.keys() == store_buffers.explore(program, buffers).final, print_program(program)
    assert (found.deadlocks > 0) == store_buffers.may_hang(program, buffers), print_program(program)


def check_engines(changed: Program, model: str) -> None:
    try:
        found = rsmc.run(Task(changed, load_model(model), Limits(ROUNDS)))
    except UnsupportedError:
        assume(False)
    expected = oracle(changed, model)
    text = print_program(changed)
    assert found.states == expected.states, text
    # Executions in which a thread waits are not told apart by what it sees meanwhile.
    # Nor is a store-conditional seen to fail if all that follows is another attempt.
    # A run in which nobody stores any more may end as blocked before another thread comes to the bound.
    assert expected.blocked > 0 or expected.cut > 0 or found.blocked == 0, text
    assert (found.cut > 0) == (expected.cut > 0), text
    assert found.deadlocks == expected.deadlocks, text
    assert found.flags.keys() == expected.flags.keys(), text


@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_awaits_keep_final_states(model: str, flavour: str, data: st.DataObject) -> None:
    check_states(*converted(data, FLAVOURS[flavour]), model)


@pytest.mark.parametrize(("model", "flavour"), QUIET_CASES)
@settings(max_examples=QUIET_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_quiet_exchanges_keep_final_states(model: str, flavour: str, data: st.DataObject) -> None:
    check_states(*with_quiet_exchanges(data, flavour, model), model, QUIET_ROUNDS)


@pytest.mark.parametrize(("model", "flavour"), QUIET_CASES)
@settings(max_examples=QUIET_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_rsmc_runs_quiet_exchanges_as_the_oracle_does(model: str, flavour: str, data: st.DataObject) -> None:
    check_engines(with_quiet_exchanges(data, flavour, model)[1], model)


@pytest.mark.parametrize("buffers", Buffers)
@settings(max_examples=2 * EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_awaits_do_what_machines_do(buffers: Buffers, data: st.DataObject) -> None:
    program, changed = converted(data, replace(FLAVOURS["updates"], fences=MACHINE_FENCES))
    assume(not has_loops(changed))
    check_machine(program, changed, buffers)


@pytest.mark.parametrize(("model", "flavour"), [(model, flavour) for model, flavour in CASES if model in COMMIT_ORDERS])
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_rsmc_waits_as_the_oracle_does(model: str, flavour: str, data: st.DataObject) -> None:
    check_engines(converted(data, FLAVOURS[flavour])[1], model)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_awaits_keep_final_states_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    check_states(*converted(data, FLAVOURS[flavour]), model, CAMPAIGN_ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), QUIET_CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_quiet_exchanges_keep_final_states_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    check_states(*with_quiet_exchanges(data, flavour, model), model, QUIET_ROUNDS)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), QUIET_CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_rsmc_runs_quiet_exchanges_as_the_oracle_does_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    check_engines(with_quiet_exchanges(data, flavour, model)[1], model)


@pytest.mark.slow
@pytest.mark.parametrize("buffers", Buffers)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_awaits_do_what_machines_do_campaign(buffers: Buffers, data: st.DataObject) -> None:
    program, changed = converted(data, replace(FLAVOURS["updates"], fences=MACHINE_FENCES))
    assume(not has_loops(changed))
    check_machine(program, changed, buffers)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), [(model, flavour) for model, flavour in CASES if model in COMMIT_ORDERS])
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=SLOW)
@given(data=st.data())
def test_rsmc_waits_as_the_oracle_does_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    check_engines(converted(data, FLAVOURS[flavour])[1], model)
