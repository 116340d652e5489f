"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import SB, without_times

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

SESSION = re.compile(r"^    \$ dekker (.*)\n((?:^(?:    (?!\$).*)?\n)+)", re.MULTILINE)


def unindented(block: str) -> str:
    return re.sub(r"^    ", "", block, flags=re.MULTILINE)


def test_the_example_is_the_file() -> None:
    text = Path(SB).read_text(encoding="utf-8")
    assert text in unindented(README)


def test_the_outputs_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    sessions = SESSION.findall(README)
    assert len(sessions) == 4
    for arguments, output in sessions:
        assert without_times(dekker(*shlex.split(arguments)).out).strip() == unindented(output).strip()


def test_the_layout_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text[text.index("    src/dekker/") : text.index("    tests/")]
    names = re.findall(r"^      ([\w/.]+(?: [\w]+\.py)*)", block, flags=re.MULTILINE)
    assert len(names) > 8
    for name in " ".join(names).split():
        assert (ROOT / "src" / "dekker" / name).exists(), name
