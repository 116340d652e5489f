"""What docs/explain.md and docs/formats.md show is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.docs.test_readme import ROOT, unindented
from tests.docs.test_witnesses import SESSION

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("explain", "formats")}


@pytest.mark.parametrize(("page", "count"), [("explain", 2), ("formats", 2)])
def test_the_sessions_are_real(page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    sessions = SESSION.findall(PAGES[page])
    assert len(sessions) == count
    for arguments, output in sessions:
        assert dekker(*shlex.split(arguments)).out.strip() == unindented(output).strip(), arguments


def test_the_options_exist() -> None:
    helps = "".join(dekker(verb, "--help").out for verb in ("check", "compare", "litmus", "explain", "show"))
    for text in PAGES.values():
        for option in set(re.findall(r"--[a-z][a-z-]+", text)):
            assert option in helps, option
