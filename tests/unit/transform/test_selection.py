"""No execution of a model is lost by a selection of delays, judged by definitions that share no code with it."""

from __future__ import annotations

import random

import pytest
from tests.unit.transform.frameworks import Judge, sample

from dekker.errors import UnsupportedError
from dekker.ir.text import print_program
from dekker.transform.selection import Strategy, select

MODELS = ("tso", "pso", "rmo", "power")


def require_nothing_lost(model: str, seeds: range) -> None:
    for seed in seeds:
        program = sample(random.Random(f"{model}{seed}"), model)
        judge = Judge(program, model)
        chosen = {strategy: select(program.program, model, strategy).delayed for strategy in Strategy}
        for rf, coherence in judge.executions():
            for strategy, delayed in chosen.items():
                assert judge.survives(rf, coherence, delayed), (
                    f"seed {seed}: {strategy} loses an execution of\n{print_program(program.program)}"
                )


@pytest.mark.parametrize("model", MODELS)
def test_no_execution_is_lost(model: str) -> None:
    require_nothing_lost(model, range(150))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_no_execution_is_lost_in_many_programs(model: str) -> None:
    require_nothing_lost(model, range(1000, 6000))


def test_executions_would_be_lost_without_delays() -> None:
    """The judge is able to object."""
    judges = (Judge(sample(random.Random(f"tso{seed}"), "tso"), "tso") for seed in range(60))
    lost = [judge for judge in judges if not all(judge.survives(rf, co, frozenset()) for rf, co in judge.executions())]
    assert len(lost) > 3


def test_weighted_delays_least() -> None:
    totals = dict.fromkeys(Strategy, 0)
    for seed in range(100):
        program = sample(random.Random(f"rmo{seed}"), "rmo").program
        for strategy in Strategy:
            totals[strategy] += len(select(program, "rmo", strategy).delayed)
    assert totals[Strategy.WEIGHTED] < totals[Strategy.ALL_PAIRS] < totals[Strategy.EVERY_ACCESS]
    assert totals[Strategy.WEIGHTED] <= totals[Strategy.ONE_PER_CYCLE]


def test_models_without_fixed_pairs_are_refused() -> None:
    program = sample(random.Random(1), "tso").program
    with pytest.raises(UnsupportedError, match="rc11"):
        select(program, "rc11", Strategy.WEIGHTED)
