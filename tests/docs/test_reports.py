"""What docs/reports.md says is what happens, and its picture is the one that is drawn."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.docs.test_readme import ROOT

from dekker.report.html.fences_page import MOST_DRAWN
from dekker.report.html.litmus_page import MOST_CHARACTERS
from dekker.report.picture.view import OTHER, RELATIONS

pytest.importorskip("ziglang", reason="the compiler is not installed")

TEXT = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^    \$ dekker (.*)$", TEXT, re.MULTILINE)


def test_there_are_calls() -> None:
    assert len(CALLS) == 7


@pytest.mark.parametrize("call", CALLS)
def test_the_calls_write_their_files(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(call)
    assert dekker(*arguments).status in (0, 1)
    (written,) = (tmp_path / name for name in arguments if name.endswith((".svg", ".html")))
    assert written.stat().st_size > 1000
    kept = ROOT / "docs" / "pictures" / written.name
    if kept.exists():
        assert written.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_every_relation_is_described() -> None:
    described = set(re.findall(r"`([a-z]+)`", TEXT[TEXT.index("| edge |") : TEXT.index("A small arrow")]))
    assert described == set(RELATIONS) - {OTHER}


def test_bounds_are_those_of_the_code() -> None:
    assert f"at most {MOST_DRAWN} of them" in TEXT
    assert f"{MOST_CHARACTERS // 1_000_000} million characters" in TEXT
