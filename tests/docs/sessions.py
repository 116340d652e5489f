"""Commands and their outputs in pages of Markdown, and how they are run.

In a block of code, a line `$ COMMAND` is a command, and what follows up to the next one is its output. There `…`
stands for any text in a line, and a line `…` for any lines. A command without output shows none, whatever it prints.
`$ echo $?` is the status of the command before it. A block that begins with a comment that is a file's name
(`# test_queue.py`) is saved as that file.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.cli.calls import Outcome, dekker

ROOT = Path(__file__).parents[2]
LINKED = ("examples", "src", "benchmarks")
FAULT = 2
IN_DEVELOPMENT = "-p no:cacheprovider -W ignore::pytest.PytestAssertRewriteWarning"  # of an editable installation
NAME_OF_FILE = re.compile(r"(?:#|//) ([\w-]+\.\w+)")
SHELL_MARKS = re.compile(r"[|;&<>$*]")
OF_BUILD_MACHINES = ("CI", "BUILD_NUMBER")  # pytest prints whole messages in its summary where these are set


@dataclass(frozen=True)
class Step:
    page: str
    line: int
    command: str
    output: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: $ {self.command}"


@dataclass(frozen=True)
class Saved:
    name: str
    text: str


def pages() -> list[str]:
    """Every page that people read, by its path in the repository."""
    found = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "benchmarks" / "README.md"]
    found += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")]
    names = (path.relative_to(ROOT).as_posix() for path in found)
    return sorted(name for name in names if not name.startswith("docs/reference/generated/"))


def blocks(page: str) -> Iterator[Token]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return (token for token in MarkdownIt().parse(text) if token.type in ("fence", "code_block"))


def steps(page: str) -> list[Step | Saved]:
    return [step for block in blocks(page) for step in _steps_in(page, block)]


def _steps_in(page: str, block: Token) -> Iterator[Step | Saved]:
    assert block.map is not None
    first = block.map[0] + (2 if block.type == "fence" else 1)
    lines = block.content.splitlines()
    named = NAME_OF_FILE.fullmatch(lines[0]) if lines else None
    if named is not None:
        yield Saved(named[1], block.content)
        return
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in pairwise((*starts, len(lines))):
        last = start
        while lines[last].endswith("\\"):
            last += 1
        command = " ".join(line.removesuffix("\\").strip() for line in lines[start : last + 1])
        yield Step(page, first + start, command[2:], "\n".join(lines[last + 1 : end]).strip("\n"))


class Session:
    """Runs the commands of one page, in a folder of its own that has the examples."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)

    def save(self, file: Saved) -> None:
        (self.folder / file.name).write_text(file.text, encoding="utf-8")

    def run(self, step: Step) -> Outcome:
        if step.command == "echo $?":
            return Outcome(0, f"{self.status}\n", "")
        words = [] if SHELL_MARKS.search(step.command) else shlex.split(step.command)
        outcome = dekker(*words[1:]) if words[:1] == ["dekker"] else self._in_shell(step.command)
        self.status = outcome.status
        return outcome

    def _in_shell(self, command: str) -> Outcome:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {key: value for key, value in os.environ.items() if not _changes_pytest(key)}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**kept, "PATH": path, "COLUMNS": "100", "PYTEST_ADDOPTS": IN_DEVELOPMENT},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)


def _changes_pytest(variable: str) -> bool:
    return variable.startswith("PYTEST_") or variable in OF_BUILD_MACHINES


def shows(step: Step, outcome: Outcome) -> bool:
    """Whether the page shows what the command printed."""
    if not step.output:
        return outcome.status != FAULT
    found = (outcome.out, outcome.err, outcome.out + outcome.err, outcome.err + outcome.out)
    return any(matches(step.output, text) for text in found)


def matches(shown: str, printed: str) -> bool:
    if shown.strip() == "…":
        return True
    if not re.search(r"^Time ", shown, re.MULTILINE):
        printed = re.sub(r"^Time .*\n", "", printed, flags=re.MULTILINE)
    pattern = "\n".join("\0" if line.strip() == "…" else _line(line) for line in shown.strip("\n").splitlines())
    pattern = pattern.replace("\n\0\n", r"\n(?:.*\n)*?").removesuffix("\n\0")
    if pattern.startswith("\0\n"):
        pattern = r"(?:.*\n)*?" + pattern.removeprefix("\0\n")
    ends_open = shown.strip().splitlines()[-1].strip() == "…"
    return re.fullmatch(pattern + (r"(?:\n[\s\S]*)?" if ends_open else r"\s*"), printed.strip("\n")) is not None


def _line(line: str) -> str:
    *parts, last = line.rstrip().split("…")
    return "".join(f"{re.escape(part.rstrip())} *.*" for part in parts) + re.escape(last) + r"[ \t]*"
