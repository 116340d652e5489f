"""`all` runs every engine and does not let a disagreement pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import SB, SB_TEXT, without_times

from dekker.frontends.litmus import parse_litmus
from dekker.models import load_model
from dekker.result import Result
from dekker.run import engines
from dekker.source import Source
from dekker.task import Task


def task() -> Task:
    return Task(parse_litmus(Source(SB, Path(SB).read_text(encoding="utf-8"))), load_model("tso"))


def test_all_gives_the_common_answer() -> None:
    result = engines.run_all(task())
    assert (result.satisfying, result.violating) == (1, 3)
    assert without_times(dekker("litmus", SB, "--engine", "all").out) == SB_TEXT + "\n"


def test_a_disagreement_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, "rsmc", lambda task: Result(satisfying=1, violating=2))
    with pytest.raises(engines.Disagreement, match="rsmc: 1\\+2"):
        engines.run_all(task())
    assert dekker("litmus", SB, "--engine", "all").status == 2


def test_a_model_that_one_engine_cannot_run_is_left_to_the_other(tmp_path: Path) -> None:
    model = tmp_path / "mine.cat"
    model.write_text('"mine"\nacyclic po | rf | co | fr as total\n', encoding="utf-8")
    assert dekker("litmus", SB, "--model", str(model), "--engine", "all").status == 1
    assert dekker("litmus", SB, "--model", str(model), "--engine", "rsmc").status == 2
