"""Programs in C with threads that are started and waited for: the transformation against the states engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.fuzz.transformed import ENDS_OF_COMPARISON
from dekker.ir.program import Program
from dekker.ir.property import Condition, Quantifier, Truth
from dekker.models import load_model
from dekker.result import Result
from dekker.run import transform
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task

pytestmark = needs_compiler

MODELS = ("tso", "pso")
SELECTIONS = ("weighted", "every-access")
"""Most of the programs have no critical cycle, so that the first would leave them as they are."""
LIMITS = Limits(timeout_s=20, counts_known_rounds=False)
WAITING = "threads that wait for ever are not looked for"
"""A thread that still waits when main ends is one of them."""
ANY_STATE = Condition(Quantifier.EXISTS, Truth(True))


def compared(seed: int, flavour: str, folder: Path, selections: tuple[str, ...] = SELECTIONS) -> int:
    """How often the program was compared: not where it is outside of the framework, or takes too long."""
    program = read_program(threaded_program(seed, FLAVOURS[flavour]), folder, OBSERVED)
    runs = [(model, selection) for model in MODELS for selection in selections]
    return sum(_agrees(program, *run, f"{flavour} {seed} under {' '.join(run)}") for run in runs)


def _agrees(program: Program, name: str, selection: str, title: str) -> bool:
    model = load_model(name)
    asked = replace(program, property=replace(program.property, condition=ANY_STATE))
    task = Task(prepare(asked, model, reduce_updates=False), model, LIMITS, search=Search(buffer=8, select=selection))
    try:
        found = transform.run(task)
    except UnsupportedError:
        return False
    searched = states.run(replace(task, search=Search(buffer=32)))
    if found.stopped_by is not None or searched.stopped_by is not None or "--buffer" in found.bound:
        return False
    assert _goes_wrong(found) == _goes_wrong(searched), title
    if not _goes_wrong(found).isdisjoint(ENDS_OF_COMPARISON):
        return True  # what threads do beyond that, when its access was delayed, is followed by one of them only
    assert set(found.states) <= set(searched.states), title
    assert set(found.states) == set(searched.states) or WAITING in found.bound, title
    return True


def _goes_wrong(result: Result) -> set[str]:
    """What a delayed access does wrong has no place."""
    return {violation.kind for violation in result.violations}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_random_programs(flavour: str, tmp_path: Path) -> None:
    assert sum(compared(seed, flavour, tmp_path) for seed in range(4)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_campaign(flavour: str, tmp_path: Path) -> None:
    assert sum(compared(seed, flavour, tmp_path) for seed in range(100, 300)) > 20
