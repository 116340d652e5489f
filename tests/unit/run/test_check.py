"""What there is to say of a check that a limit ends where no engine looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dekker.errors import LimitReached
from dekker.result import Verdict
from dekker.run import check as module

EXAMPLE = Path(__file__).parents[3] / "examples" / "litmus" / "dekker-x86.litmus"


def _ends(*_: object) -> None:
    raise LimitReached("time")


@pytest.mark.parametrize(("where", "model"), [("check_program", "tso"), ("read_program", "its model")])
def test_the_model_is_named_once_the_program_is_read(monkeypatch: pytest.MonkeyPatch, where: str, model: str) -> None:
    monkeypatch.setattr(module, where, _ends)
    report = module.check((str(EXAMPLE),), module.CheckOptions())
    assert (report.model, report.verdict, report.result.stopped_by) == (model, Verdict.UNKNOWN, "time")
