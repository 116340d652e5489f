"""GenMC. It compiles the program itself; its estimate of the number of executions is switched off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sets.case import Case
from benchmarks.tools.tool import Counts, Tool, program_of, write_text

_COMPLETE = re.compile(r"Number of complete executions explored: ([0-9]+)")
_BLOCKED = re.compile(r"Number of blocked executions(?: seen)?: ([0-9]+)")


def _write(case: Case, files: Sequence[str], folder: Path) -> list[str]:
    return ["--disable-estimation", "--", write_text(folder, case, program_of(case, files))]


def _read(output: str) -> Counts:
    complete, blocked = _COMPLETE.search(output), _BLOCKED.search(output)
    if complete is None:
        return Counts()
    return Counts(int(complete[1]), int(blocked[1]) if blocked else 0)


GENMC = Tool(
    name="genmc",
    program="genmc",
    models={"sc": ("--sc",), "tso": ("--tso",), "rc11": ("--rc11",)},
    write=_write,
    read=_read,
)
