"""The rsmc engine finds the final states that the oracle finds, each in as many traces, on random programs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, PLAIN_ACCESSES, Flavour, programs

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.errors import UnsupportedError
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.models import load_model
from dekker.task import Limits, Task

EXAMPLES = 40
CAMPAIGN_EXAMPLES = 1500

FLAVOURS = {
    "plain": PLAIN_ACCESSES,
    "updates": HARDWARE,
    "annotated": ANNOTATED,
    "c11": C11,
    "c11 without updates": replace(C11, updates=False),
}
CASES = [
    *((model, flavour) for model in COMMIT_ORDERS for flavour in ("plain", "updates") if model != "rc11"),
    *((model, "annotated") for model in ("aarch64", "riscv")),
    *(("rc11", flavour) for flavour in ("c11", "c11 without updates")),
]


def compare(program: Program, model_name: str) -> None:
    model = load_model(model_name)
    try:
        found = rsmc.run(Task(program, model))
    except UnsupportedError:
        assume(False)
    expected = axiomatic.run(Task(program, model, Limits(timeout_s=30)))
    assume(expected.stopped_by is None)
    assert found.states == expected.states, print_program(program)
    assert found.flags.keys() == expected.flags.keys(), print_program(program)
    assert (found.satisfying, found.violating) == (expected.satisfying, expected.violating)


def draw_program(data: st.DataObject, flavour: Flavour) -> Program:
    return data.draw(programs(flavour))


@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_rsmc_agrees_with_the_oracle(model: str, flavour: str, data: st.DataObject) -> None:
    compare(draw_program(data, FLAVOURS[flavour]), model)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_rsmc_agrees_with_the_oracle_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    compare(draw_program(data, FLAVOURS[flavour]), model)
