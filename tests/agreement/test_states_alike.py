"""Threads that are started alike: that they change places leaves final states, violations and deadlocks as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.states import engine as states
from dekker.fuzz.threaded_c import OBSERVED, alike_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.task import Limits, Search, Task

pytestmark = needs_compiler

MODELS = ("sc", "tso", "pso")
LIMITS = Limits(timeout_s=60)
SEARCHES = {
    "all reductions": Search(),
    "no reduction": Search(reduction=False, static_local=False, dynamic_local=False),
    "depth first": Search(depth_first=True),
}


def findings(task: Task) -> dict[str, object]:
    result = states.run(task)
    assert result.stopped_by is None
    list(violations_of(task, states.NAME, result))
    return {
        "states": set(result.states),
        "violations": {(violation.kind, violation.span) for violation in result.violations},
        "deadlocks": result.deadlocks > 0,
        "bound": result.bound,
    }


def compare(program: Program, title: str, jobs: int = 1) -> None:
    for name in MODELS:
        model = load_model(name)
        task = Task(prepare(program, model), model, LIMITS, examples=True)
        for kind, search in SEARCHES.items():
            exact, merged = (replace(task, search=replace(search, exact=exact), jobs=jobs) for exact in (True, False))
            assert findings(merged) == findings(exact), f"{title} under {name}, {kind}"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    compare(read_program(alike_program(seed), tmp_path, OBSERVED), str(seed), jobs=1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1000))
def test_campaign(seed: int, tmp_path: Path) -> None:
    program = read_program(alike_program(seed), tmp_path, OBSERVED)
    if seed % 3 == 0:
        program = replace(program, property=replace(program.property, leaks=True))
    if seed % 5 == 0:
        program = replace(program, property=replace(program.property, observed=()))
    compare(program, str(seed), jobs=1 + seed % 2)
