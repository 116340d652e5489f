"""The oracle's SC, TSO and PSO reach exactly the final states of the textbook store-buffer machines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference.store_buffers import Buffers, explore
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, Flavour, programs

from dekker.engines.axiomatic.engine import run
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.task import Task

# Full, one for each pair of accesses, some of several pairs, and one of none.
FENCES = ("mfence", "stbar", "membar.storeload", "fence.w.rw", "lwsync", "dmb.ld", "isync")
FLAVOURS = {
    "updates": replace(HARDWARE, fences=FENCES),
    "accesses": replace(PLAIN_ACCESSES, fences=FENCES),
}
EXAMPLES = 150
CAMPAIGN_EXAMPLES = 3000


def check_agreement(program: Program, buffers: Buffers) -> None:
    axiomatic = run(Task(program, load_model(buffers.value)))
    assert set(axiomatic.states) == explore(program, buffers).final


@pytest.mark.parametrize("buffers", Buffers)
@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_final_states(flavour: Flavour, buffers: Buffers, data: st.DataObject) -> None:
    check_agreement(data.draw(programs(flavour)), buffers)


@pytest.mark.slow
@pytest.mark.parametrize("buffers", Buffers)
@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_final_states_campaign(flavour: Flavour, buffers: Buffers, data: st.DataObject) -> None:
    check_agreement(data.draw(programs(flavour)), buffers)
