"""Random C programs with threads: the run behind every violation replays, after a round trip through its JSON form."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agreement.test_replay_of_threads import check_round_trip, without_other_races
from tests.reference.engine_agreement import MODELS, read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.replay import judge, replay
from dekker.run.prepare import prepare
from dekker.run.violations import violations_of
from dekker.task import Limits, Task

pytestmark = needs_compiler

SEEDS = range(7000, 7003)


def check_all(seed: int, flavour: str, folder: Path, timeout_s: float) -> int:
    """How many witnesses were checked."""
    text = threaded_program(seed, FLAVOURS[flavour])
    program = read_program(text, folder, OBSERVED)
    return sum(check_under(model, text, program, timeout_s) for model in MODELS)


def check_under(name: str, text: str, program: Program, timeout_s: float) -> int:
    model = load_model(name)
    limits = Limits(unroll=2, timeout_s=timeout_s, counts_known_rounds=False)
    try:
        task = Task(prepare(program, model), model, limits, examples=True)
        result = rsmc.run(task)
    except UnsupportedError:
        return 0
    for trace in list(result.examples.states.values())[:3]:
        assert judge(model, replay(task.program, trace).execution).allowed, f"{text}\nunder {name}"
    found = without_other_races(list(violations_of(task, rsmc.NAME, result)))
    for violation in found:
        assert violation.witness is not None, f"{text}\nunder {name}"
        check_round_trip(violation.witness)
    return len(found)


def test_what_is_found_replays(tmp_path: Path) -> None:
    assert sum(check_all(seed, flavour, tmp_path, 0.5) for flavour in FLAVOURS for seed in SEEDS) > 20


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(8000, 8100))
def test_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    check_all(seed, flavour, tmp_path, 2)
