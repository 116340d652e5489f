"""The run as a table of threads, and what it does on narrow terminals."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.calls import dekker

import dekker as api
from dekker.cli.witness_files import run_style
from dekker.report.check_report import check_text
from dekker.report.style import RunStyle

PETERSON = Path(__file__).parents[3] / "examples" / "c" / "table1" / "peterson.c"
TABLE = RunStyle(table=True)


@pytest.fixture(scope="module")
def wrong() -> api.Result:
    return api.check(PETERSON, "tso")


def table_of(result: api.Result, width: int, style: RunStyle = TABLE) -> str:
    text = check_text(result.report, width, style)
    return text[text.index("The run that shows it") :]


def test_threads_are_columns(wrong: api.Result) -> None:
    lines = table_of(wrong, 160).split("\n")
    head = next(line for line in lines if line.startswith("thread 0: main"))
    columns = [head.index(f"thread {number}:") for number in range(3)]
    for text, column in (("#1 pthread_create", 0), ("#4 writes wants[0] = 1", 1), ("#11 writes wants[1] = 1", 2)):
        (line,) = (line for line in lines if text in line)
        assert line.index(text) == columns[column] + 5
    assert any(line.endswith("34 ! assertion") for line in lines)


@pytest.mark.parametrize("width", [90, 100, 120, 200])
def test_no_line_is_too_long_and_nothing_is_lost(wrong: api.Result, width: int) -> None:
    text = table_of(wrong, width)
    table = text[: text.index("Not in program order")]
    assert max(map(len, table.split("\n"))) <= width
    words = " ".join(table.split())
    for number in range(1, 16):
        assert words.count(f" #{number} ") == 1 + (number in (8, 11, 12)), number


def test_reads_stand_below_the_writes_that_they_see(wrong: api.Result) -> None:
    text = table_of(wrong, 200)
    assert text.index("#11 writes wants[1] = 1") < text.index("#6 reads wants[1] = 1")
    assert text.index("#8 writes inside = 0") < text.index("#15 reads inside = 0")


def test_a_narrow_terminal_has_a_list(wrong: api.Result) -> None:
    assert table_of(wrong, 70) == table_of(wrong, 70, RunStyle())


def test_colours_are_there_only_if_asked_for(wrong: api.Result) -> None:
    assert "\x1b" not in table_of(wrong, 120)
    colored = table_of(wrong, 120, RunStyle(table=True, color=True))
    assert "\x1b[33m" in colored
    assert "\x1b[1;31m  34 ! assertion" in colored


def test_which_layout_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert run_style("auto", False) == RunStyle()
    assert run_style("table", False) == RunStyle(table=True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run_style("auto", False) == RunStyle(table=True, color=True)
    assert run_style("list", False) == RunStyle(color=True)
    assert run_style("auto", True) == RunStyle(table=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert run_style("auto", False) == RunStyle(table=True)


def test_the_command_line(tmp_path: Path) -> None:
    arguments = ("check", str(PETERSON), "--model", "tso", "--no-color", "--layout")
    assert "thread 0: main" in dekker(*arguments, "table", "--witness", str(tmp_path / "w")).out
    assert "thread 0 runs main" in dekker(*arguments, "list").out
    assert "thread 0: main" in dekker("replay", str(tmp_path / "w"), "--layout", "table").out
