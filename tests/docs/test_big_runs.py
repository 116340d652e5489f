"""What docs/big-runs.md shows is what happens."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import without_times
from tests.docs.test_readme import ROOT, unindented
from tests.docs.test_witnesses import SESSION

TEXT = (ROOT / "docs" / "big-runs.md").read_text(encoding="utf-8")


def test_the_sessions_are_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    sessions = SESSION.findall(TEXT)
    assert len(sessions) == 4
    for arguments, output in sessions:
        found = without_times(dekker(*shlex.split(arguments)).out).strip()
        wanted, _, cut = unindented(output).strip().partition(" …")
        assert found == wanted or (not cut and "…" in output and found.startswith(wanted)), arguments
