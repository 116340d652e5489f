"""Random C programs with threads: both engines find the same violations, deadlocks, final states and counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reference.engine_agreement import MODELS, compare, read_program
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.axiomatic import growth
from dekker.fuzz.threaded_c import FLAVOURS, OBSERVED, threaded_program

pytestmark = needs_compiler


def compare_all(seed: int, flavour: str, folder: Path, timeout_s: float) -> int:
    """How many models there was an answer for from both engines."""
    text = threaded_program(seed, FLAVOURS[flavour])
    program = read_program(text, folder, OBSERVED)
    compared = 0
    for model in MODELS:
        outcome = compare(program, model, timeout_s)
        assert outcome.difference is None, f"{text}\nunder {outcome.difference}"
        compared += outcome.skipped is None
    return compared


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_engines_agree(flavour: str, tmp_path: Path) -> None:
    assert sum(compare_all(seed, flavour, tmp_path, 0.3) for seed in range(3)) > 0


@pytest.mark.parametrize("flavour", ["plain", "heap", "updates"])
def test_what_the_only_thread_does_need_not_be_events(
    flavour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle takes them for events here, the core does not."""
    monkeypatch.setattr(growth, "run_alone", lambda context, path, memory: (path, memory))
    assert sum(compare_all(seed, flavour, tmp_path, 0.3) for seed in range(50, 52)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_campaign(flavour: str, seed: int, tmp_path: Path) -> None:
    compare_all(seed, flavour, tmp_path, 5)
