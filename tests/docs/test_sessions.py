"""Every command in the pages is run, and prints what the pages show."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from tests.cli.calls import Outcome
from tests.docs.sessions import ROOT, Saved, Session, Step, blocks, matches, pages, shows, steps

from dekker.cli.main import VERBS
from dekker.cli.main import dekker as command_line

pytest.importorskip("ziglang", reason="the compiler is not installed")

# What a page tells people to type and a test cannot do: it would need a network, or would run this test again.
NOT_RUN = {
    "python3 -m venv .venv": "sets up the environment that the tests run in",
    ". .venv/bin/activate": "the same",
    "pip install . pytest": "the same",
    "pip install .": "the same",
    "pip install 'dekker[cluster]'": "the same",
    "make demo": "tests/docs/test_readme.py looks at its commands",
    "make test": "runs this test",
    "make docs": "tests/docs/test_site.py builds the site",
}
COMMAND = re.compile(r"(?:dekker|python3?|pytest|make|pip|git|cd|\.)\s")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}[A-Z0-9]*\b|…")
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
PAGES = [page for page in pages() if steps(page)]


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_is_shown(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    session = Session(tmp_path)
    for step in steps(page):
        if isinstance(step, Saved):
            session.save(step)
            continue
        outcome = session.run(step)
        assert shows(step, outcome), f"{step}\nstatus {outcome.status}\n{outcome.out}{outcome.err}"
    for picture in PICTURES:
        drawn = tmp_path / picture.name
        assert not drawn.exists() or drawn.read_text(encoding="utf-8") == picture.read_text(encoding="utf-8"), picture


def test_every_picture_is_drawn_by_a_page() -> None:
    calls = " ".join(step.command for page in PAGES for step in steps(page) if isinstance(step, Step))
    assert {picture.name for picture in PICTURES} <= set(calls.split())


@pytest.mark.parametrize("page", pages())
def test_no_command_is_left_out(page: str) -> None:
    """Without a prompt there are outlines, with a placeholder, lists of commands, and what is known not to be run."""
    for block in blocks(page):
        lines = block.content.splitlines()
        if any(line.startswith("$ ") for line in lines):
            continue
        for line in filter(COMMAND.match, lines):
            told = line.split("#")[0].strip()
            assert told in NOT_RUN or PLACEHOLDER.search(told) or _is_listed(told), f"{page}: {line}"


@pytest.mark.parametrize("page", pages())
def test_commands_in_the_text_exist(page: str) -> None:
    for span in re.findall(r"`dekker ([a-z]+\b[^`]*)`", (ROOT / page).read_text(encoding="utf-8")):
        verb, *words = span.split()
        assert verb in VERBS, f"{page}: dekker {span}"
        known = {name for parameter in _command(verb).params for name in parameter.opts}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-") and word != "-"} <= known, f"{page}: dekker {span}"


def _is_listed(line: str) -> bool:
    """In a list of commands, each with what it does: `make bench     measures`."""
    command, _, about = line.partition("  ")
    program, *words = command.split()
    if not about:
        return False
    if program == "python":
        return words[0] == "-m" and (ROOT / f"{words[1].replace('.', '/')}.py").exists()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return len(words) == 1 and (words[0] in VERBS if program == "dekker" else f"\n{words[0]}:" in makefile)


def _command(verb: str) -> click.Command:
    found = command_line.get_command(click.Context(command_line), verb)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nb\nc\n", False),
        ("a\n…", "a\nb\nc\n", True),
        ("a\n…", "a\n", True),
        ("a\n…", "ab\n", False),
        ("…", "a\nb\n", True),
        ("a\n…\nc", "a\nb\nb\nc\n", True),
        ("a\n…\nc", "a\nc\n", True),
        ("a\n…\nc", "a\nb\n", False),
        ("…\nc", "a\nb\nc\n", True),
        ("took … s", "took 3.2 s\n", True),
        ("took … s", "took 3.2 s\nmore\n", False),
        ("a b", "a\nTime t 0.01\n", False),
        ("a\nb", "a\nTime t 0.01\nb\n", True),
    ],
)
def test_ellipses(shown: str, printed: str, expected: bool) -> None:
    assert matches(shown, printed) is expected


def test_a_command_at_fault_must_show_its_error() -> None:
    step = Step("page.md", 1, "dekker check nothing.c", "")
    assert not shows(step, Outcome(2, "", "error"))
    assert shows(step, Outcome(1, "UNSAFE", ""))
