"""Models are ordered as theory says: what a stronger one allows, a weaker one allows too."""

from __future__ import annotations

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, programs

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.engine import LimitReached, accepted_executions
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.task import Limits, Task

STRONGER_WEAKER = [
    ("sc", "ibm370"),
    ("ibm370", "tso"),
    ("tso", "pso"),
    ("pso", "rmo"),
    ("pso", "power"),
    ("pso", "armv7"),
    ("pso", "aarch64"),
    ("pso", "riscv"),
]
EXAMPLES = 15
CAMPAIGN_EXAMPLES = 3000
LONGEST_S = 5


def execution_keys(program: Program, model: str) -> set[object]:
    """One key per execution. Final registers take part, because a failed store-conditional leaves no event."""
    task = Task(program, load_model(model), Limits(timeout_s=LONGEST_S))
    try:
        return {
            (
                accepted.structure.events,
                _registers(accepted.structure),
                tuple(accepted.structure.rf),
                tuple(accepted.co),
            )
            for accepted in accepted_executions(task)
        }
    except LimitReached:
        reject()


def _registers(structure: Structure) -> tuple[tuple[tuple[str, int], ...], ...]:
    return tuple(
        tuple((name, structure.final_value(value)) for name, value in sorted(path.registers.items()))
        for path in structure.paths
    )


def check_inclusion(program: Program, stronger: str, weaker: str) -> None:
    strong, weak = execution_keys(program, stronger), execution_keys(program, weaker)
    assert strong <= weak
    assert strong, "every program has at least one execution"


@pytest.mark.parametrize(("stronger", "weaker"), STRONGER_WEAKER)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_hardware_models_are_ordered(stronger: str, weaker: str, data: st.DataObject) -> None:
    check_inclusion(data.draw(programs(HARDWARE)), stronger, weaker)


@pytest.mark.parametrize(("left", "right"), [("tso", "ghb-tso"), ("pso", "ghb-pso")])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_models_in_two_frameworks_are_equal(left: str, right: str, data: st.DataObject) -> None:
    program = data.draw(programs(HARDWARE))
    assert execution_keys(program, left) == execution_keys(program, right)


@settings(max_examples=EXAMPLES)
@given(programs(ANNOTATED))
def test_sc_allows_no_more_than_models_with_annotations(program: Program) -> None:
    for weaker in ("aarch64", "riscv"):
        check_inclusion(program, "sc", weaker)


@settings(max_examples=EXAMPLES)
@given(programs(C11))
def test_models_of_c_grow(program: Program) -> None:
    check_inclusion(program, "sc", "rc11")
    check_inclusion(program, "rc11", "cpp20")


@pytest.mark.slow
@pytest.mark.parametrize(("stronger", "weaker"), STRONGER_WEAKER)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_hardware_models_are_ordered_campaign(stronger: str, weaker: str, data: st.DataObject) -> None:
    check_inclusion(data.draw(programs(HARDWARE)), stronger, weaker)
