"""The oracle reaches exactly the final states of operational machines: store buffers for SC, TSO and PSO, out-of-order
execution for RMO."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference import out_of_order, store_buffers
from tests.strategies.critical_cycles import critical_cycles
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, programs

from dekker.engines.axiomatic.engine import run
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.task import Task

# One that orders everything, one for each pair of accesses, some for several pairs, and one that orders nothing.
FENCES = (
    "mfence",
    "membar.loadload",
    "membar.loadstore",
    "membar.storeload",
    "stbar",
    "fence.w.rw",
    "lwsync",
    "isync",
)
PROGRAMS = {
    "random": programs(replace(PLAIN_ACCESSES, fences=FENCES, max_total=7)),
    "random-updates": programs(replace(HARDWARE, fences=FENCES, max_total=7)),
    "cycles": critical_cycles(FENCES, updates=False),
    "cycles-updates": critical_cycles(FENCES),
}
MODELS = ("sc", "tso", "pso", "rmo")
EXAMPLES = 100
CAMPAIGN_EXAMPLES = 5000


def final_states(program: Program, model: str) -> set[tuple[int, ...]]:
    if model == "rmo":
        return out_of_order.explore(program)
    return store_buffers.explore(program, store_buffers.Buffers(model)).final


def check_agreement(program: Program, model: str) -> None:
    assert set(run(Task(program, load_model(model))).states) == final_states(program, model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_final_states(kind: str, model: str, data: st.DataObject) -> None:
    check_agreement(data.draw(PROGRAMS[kind]), model)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_final_states_campaign(kind: str, model: str, data: st.DataObject) -> None:
    check_agreement(data.draw(PROGRAMS[kind]), model)
