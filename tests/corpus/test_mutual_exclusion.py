"""Mutual exclusion in loops without bound: the states engine tells where fences are needed, and shows why."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from dekker.frontends.c import Options, parse_c
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check_program
from dekker.task import Limits

FILE = Path(__file__).parent / "mutual_exclusion" / "algorithms.c"
ALGORITHMS = ("spin_lock", "peterson", "dekker", "bakery", "fast_mutex", "szymanski", "burns")
LIMITS = Limits(timeout_s=120, counts_known_rounds=False, stop_at_first=True)


@cache
def program(algorithm: str, fenced: bool) -> Program:
    flags = (f"-DALGORITHM={algorithm}", *(("-DFENCED",) if fenced else ()))
    return parse_c([str(FILE)], Options(flags=flags))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_fenced_algorithms_are_safe(algorithm: str, model: str) -> None:
    report = check_program(program(algorithm, True), load_model(model), CheckOptions(engine="auto", limits=LIMITS))
    assert (report.engine, report.verdict) == ("states", Verdict.SAFE)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_without_fences(algorithm: str, model: str) -> None:
    """A spin lock needs none under TSO. What is found replays, or there would be an error."""
    report = check_program(program(algorithm, False), load_model(model), CheckOptions(engine="auto", limits=LIMITS))
    is_safe = model == "sc" or (algorithm, model) == ("spin_lock", "tso")
    assert report.verdict is (Verdict.SAFE if is_safe else Verdict.UNSAFE)
    assert all(violation.witness is not None for violation in report.violations)
