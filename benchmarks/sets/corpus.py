"""Folders of litmus tests: all tests of one architecture make one row.

Where an `expected.csv` with the columns test, model, positive and negative lies beside tests, the number of traces of
each must be positive + negative. Tests that the rsmc engine leaves to the oracle are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.sets.case import Case
from benchmarks.sets.request import Request
from dekker.errors import InputError
from dekker.frontends.litmus import default_model

_EXCLUSIVE = re.compile(r"\bstrex", re.IGNORECASE)
"""Instructions of ARM for which there is no commit-before order; they are left to the oracle."""

ARCHITECTURES = {name.lower(): name for name in ("PPC", "X86", "X86_64", "ARM", "AArch64", "RISCV", "C")}


def corpus_cases(request: Request) -> Iterator[Case]:
    name = request.name.removeprefix("corpus-")
    files = tuple(sorted(_by_architecture(request.corpus).get(name, ())))
    for model in request.models or (None,):
        label = f"corpus {ARCHITECTURES[name]} {len(files)}"
        if not files:
            yield Case(request.name, label, model, skipped="the corpus has no such tests")
            continue
        expected = _expected(request.corpus, model or default_model(ARCHITECTURES[name]))
        known = {file: expected[file] for file in files if file in expected}
        yield Case(request.name, label, model, files=files, expected=known)


@cache
def _by_architecture(folder: Path) -> dict[str, list[str]]:
    if not folder.is_dir():
        raise InputError(
            f"there is no folder '{folder}'", hint="--corpus or DEKKER_CORPUS name a folder of .litmus files"
        )
    found: dict[str, list[str]] = {}
    for file in folder.rglob("*.litmus"):
        text = file.read_text(encoding="utf-8", errors="replace")
        words = text.partition("\n")[0].split()
        if words and not (words[0] == "ARM" and _EXCLUSIVE.search(text)):
            found.setdefault(words[0].lower(), []).append(str(file.resolve()))
    return found


@cache
def _expected(folder: Path, model: str) -> dict[str, int]:
    found = {}
    for table in folder.rglob("expected.csv"):
        with table.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                if row["model"] == model:
                    found[str((table.parent / row["test"]).resolve())] = int(row["positive"]) + int(row["negative"])
    return found
