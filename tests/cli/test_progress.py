"""What a person sees while a long run goes on: only on a terminal, and gone at the end."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker.cli import progress
from dekker.cli.progress import ProgressLine
from dekker.run.check import CheckOptions, check, resume
from dekker.run.estimate import Estimate
from dekker.task import EARLIER, Limits

EXAMPLES = Path(__file__).parents[2] / "examples"
FIGURE_11 = str(EXAMPLES / "rsmc" / "dekker.rsmc")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """On which lines come at once, and the estimate soon. pytest replaces what a fixture would put there."""
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    for name, value in (("FIRST_S", 0.0), ("EVERY_S", 0.0), ("ESTIMATE_AFTER_S", 0.0), ("ESTIMATE_S", 0.1)):
        monkeypatch.setattr(progress, name, value)
    return found


def test_done_rate_estimate_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_of(monkeypatch)
    options = CheckOptions("tso", limits=Limits(timeout_s=20))
    with ProgressLine() as line:
        check([FIGURE_11], options, line)
    lines = [part.strip() for part in terminal.getvalue().split("\r") if part.strip()]
    assert lines
    assert any("executions, " in part and "/s, " in part and " MB" in part for part in lines)
    assert any(" in all" in part for part in lines)
    assert terminal.getvalue().endswith("\r")


def test_states_have_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the states engine and `dekker modular` count them."""
    terminal = terminal_of(monkeypatch)
    line = ProgressLine()
    check([FIGURE_11], CheckOptions("tso", "states"), line)
    assert line.task is not None
    line({"states": 4000, "transitions": 9000})
    assert "4000 states, " in terminal.getvalue()
    assert not line.asked


def test_nothing_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_S", "EVERY_S"):
        monkeypatch.setattr(progress, name, 0.0)
    for arguments in (("check", FIGURE_11, "--model", "tso"), ("litmus", FIGURE_11, "--model", "tso", "--quiet")):
        assert dekker(*arguments).err == ""


def test_the_first_second_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Terminal()
    monkeypatch.setattr(sys, "stderr", found)
    line = ProgressLine()
    line({"complete": 3})
    assert found.getvalue() == ""


KNOWN_WELL = Estimate(3000.0, 2000.0, 4500.0, 0.0, 1000, 1500.0, True, 1.0)


def test_the_line_says_no_more_than_is_known() -> None:
    line = ProgressLine()
    line.in_all = replace(KNOWN_WELL, trusted=False)
    assert line.line({"complete": 1000}, 10.0).startswith("1000 executions, 100/s, at least 1.5 thousand in all, ")
    assert " in all" not in line.line({"complete": 2000}, 10.0)


def test_the_line_says_how_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ProgressLine()
    line.in_all = KNOWN_WELL
    text = line.line({"complete": 1000, "blocked": 7}, 10.0)
    assert text.startswith("1000 executions, 7 blocked, 100/s, about 3 thousand in all (2 thousand to 4.5 thousand), ")
    assert "about 20 s left, " in text


def test_what_was_found_earlier_is_not_fast() -> None:
    line = ProgressLine()
    line.in_all = KNOWN_WELL
    text = line.line({"complete": 1000, EARLIER: 900}, 10.0)
    assert text.startswith("1000 executions, 10/s, about 3 thousand in all ")
    assert "about 3 min left, " in text


def test_a_run_that_goes_on_says_what_was_found_earlier(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    limits = Limits(unroll=4, counts_known_rounds=False)
    check([FIGURE_11], CheckOptions("tso", limits=replace(limits, max_traces=1000), checkpoint=state))
    for limit in (1500, 100_000):
        seen: list[dict[str, int]] = []
        before = 1000 if limit == 1500 else 1500
        resume(state, CheckOptions(limits=replace(limits, max_traces=limit)), seen.append)
        assert all(counts[EARLIER] == before <= counts["complete"] <= limit for counts in seen)
    assert seen


def test_the_line_says_how_many_workers_a_cluster_has() -> None:
    assert "100/s, 3 workers, " in ProgressLine().line({"complete": 1000, "workers": 3}, 10.0)
