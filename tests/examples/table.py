"""The tables of verdicts in the READMEs of the examples: what the tests check is what people read there.

A row names a program and the options it is checked with; those in front of `--` are Dekker's, the others the
compiler's. The cell of a model is

- `safe`, perhaps with the number of complete executions,
- `bound`, the same within the bound for loops,
- `unknown`, where no execution comes to its end,
- the kinds of violations, or
- `–` where there is nothing to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "examples" / "c" / "README.md", ROOT / "examples" / "cpp" / "README.md")
NOTHING = "–"
NOT_VIOLATED = {"safe": "SAFE", "bound": "SAFE_WITHIN_BOUND", "unknown": "UNKNOWN"}

_HEAD = ("program", "options")
_LINK = re.compile(r"\[.*\]\((.*)\)")


@dataclass(frozen=True)
class Expectation:
    program: Path
    options: tuple[str, ...]
    flags: tuple[str, ...]
    model: str
    verdict: str
    executions: int | None = None
    kinds: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        return " ".join((self.program.name, *self.options, *self.flags, self.model))


def expectations(document: Path) -> Iterator[Expectation]:
    models: list[str] = []
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if tuple(cells[:2]) == _HEAD:
            models = cells[2:]
        elif models and cells and set(line) - set("|-: "):
            yield from _row(document.parent, cells, models)
        elif not cells:
            models = []


def _row(folder: Path, cells: list[str], models: list[str]) -> Iterator[Expectation]:
    link = _LINK.fullmatch(cells[0])
    assert link is not None, f"{cells[0]} is no link to a program"
    assert len(cells) == len(models) + 2, f"{cells} has not a cell for each of {models}"
    words = cells[1].strip("`").split()
    own = words[: words.index("--")] if "--" in words else []
    flags = [word for word in words[len(own) :] if word != "--"]
    for model, cell in zip(models, cells[2:], strict=True):
        if cell != NOTHING:
            verdict, executions, kinds = _cell(cell)
            yield Expectation(folder / link[1], tuple(own), tuple(flags), model, verdict, executions, kinds)


def _cell(cell: str) -> tuple[str, int | None, frozenset[str]]:
    word, *count = cell.split()
    if word in NOT_VIOLATED:
        return NOT_VIOLATED[word], int(count[0]) if count else None, frozenset()
    return "UNSAFE", None, frozenset(kind.strip() for kind in cell.strip("*").split(","))
