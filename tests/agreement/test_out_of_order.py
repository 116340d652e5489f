"""The oracle's RMO reaches exactly the final states of an out-of-order machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference.out_of_order import explore
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, Flavour, programs

from dekker.engines.axiomatic.engine import run
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.task import Task

# Full, one for each pair of accesses, some of several pairs, and one of none.
FENCES = ("mfence", "stbar", "membar.storeload", "membar.loadload", "membar.loadstore", "fence.w.rw", "lwsync", "isync")
FLAVOURS = {
    "updates": replace(HARDWARE, fences=FENCES),
    "accesses": replace(PLAIN_ACCESSES, fences=FENCES),
}
EXAMPLES = 150
CAMPAIGN_EXAMPLES = 5000


def check_agreement(program: Program) -> None:
    assert set(run(Task(program, load_model("rmo"))).states) == explore(program)


@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_final_states(flavour: Flavour, data: st.DataObject) -> None:
    check_agreement(data.draw(programs(flavour)))


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_final_states_campaign(flavour: Flavour, data: st.DataObject) -> None:
    check_agreement(data.draw(programs(flavour)))
