"""What ARCHITECTURE.md says is where exists, and `make demo` runs what the README shows."""

from __future__ import annotations

import re
from pathlib import Path

from dekker.cli.main import VERBS

ROOT = Path(__file__).parents[2]


def test_the_demo_is_the_example_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    demo = makefile[makefile.index("\ndemo:") : makefile.index("\ntest:")]
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    programs = re.findall(r"dekker (?:check|fences) (\S+)", demo)
    assert len(programs) == 3
    for program in programs:
        assert program in shown, program


def test_every_command_is_listed() -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^    dekker ([a-z]+)", shown, flags=re.MULTILINE)) == set(VERBS)


def test_the_layout_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = text[text.index("    src/dekker/") : text.index("    tests/")]
    names = re.findall(r"^      ([\w/.]+(?: [\w]+\.py)*)", block, flags=re.MULTILINE)
    assert len(names) > 8
    for name in " ".join(names).split():
        assert (ROOT / "src" / "dekker" / name).exists(), name
