"""What docs/witnesses.md shows is what happens."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import without_times
from tests.docs.test_readme import ROOT, unindented

from dekker.witness import FORMAT, VERSION

TEXT = (ROOT / "docs" / "witnesses.md").read_text(encoding="utf-8")
SESSION = re.compile(r"^    \$ dekker (.*)\n((?:^    (?!\$).*\n|^\n(?=    (?!\$)))*)", re.MULTILINE)


def test_the_sessions_are_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    sessions = SESSION.findall(TEXT)
    assert len(sessions) == 4
    for arguments, output in sessions:
        found = without_times(dekker(*shlex.split(arguments)).out)
        assert found.strip() == unindented(output).strip(), arguments


def test_every_field_is_described(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    assert dekker("litmus", str(ROOT / "examples" / "litmus" / "dekker-x86.litmus"), "--witness", str(file)).status == 0
    content = json.loads(file.read_text(encoding="utf-8"))
    assert (content["format"], content["version"]) == (FORMAT, VERSION)
    described = set(re.findall(r"`(\w+)`", TEXT[TEXT.index("## The file") :]))
    for part in (content, content["program"], content["model"], content["events"][0]):
        assert part.keys() <= described
