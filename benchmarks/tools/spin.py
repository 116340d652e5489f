"""Spin, on what stands in Promela beside a program in C: the same algorithm, by hand. It counts states, of SC.

Its CPU time includes that of the compiler of its search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.languages.assembly import Inexpressible
from benchmarks.sets.case import Case
from benchmarks.tools.tool import Counts, Tool

_STATES = re.compile(r"^\s*([0-9]+) states, stored", re.MULTILINE)
_SEARCH = ("-search", "-O2", "-m10000000")


def _write(case: Case, files: Sequence[str], folder: Path) -> list[str]:
    """What is defined for Promela goes before the search, as what follows is for the compiler of that."""
    models = [Path(file).with_suffix(".pml") for file in files if file.endswith(".c")]
    if not models or not models[0].is_file():
        raise Inexpressible("there is no such program in Promela")
    return [*case.flags, *_SEARCH, str(models[0])]


def _read(output: str) -> Counts:
    found = _STATES.search(output)
    return Counts(int(found[1])) if found else Counts()


SPIN = Tool(name="spin", program="spin", models={"sc": ()}, write=_write, read=_read)
