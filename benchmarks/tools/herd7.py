"""herd7, with its own models. It reads the litmus files that Dekker reads; many go in as one list."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.languages.assembly import Inexpressible
from benchmarks.sets.case import Case
from benchmarks.sketch import Await
from benchmarks.tools.tool import Counts, Tool

_WITNESSES = re.compile(r"^Positive: ([0-9]+) Negative: ([0-9]+)", re.MULTILINE)


def _write(case: Case, files: Sequence[str], folder: Path) -> list[str]:
    if case.sketch is not None and any(isinstance(s, Await) for thread in case.sketch.threads for s in thread):
        raise Inexpressible("has no assumptions")
    if any(file.endswith(".c") for file in files):
        raise Inexpressible("reads no programs in C")
    if len(files) == 1:
        return list(files)
    listed = folder / "tests.list"
    listed.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
    return [f"@{listed}"]


def _read(output: str) -> Counts:
    found = _WITNESSES.findall(output)
    return Counts(sum(int(positive) + int(negative) for positive, negative in found)) if found else Counts()


HERD7 = Tool(
    name="herd7",
    program="herd7",
    models={
        "sc": ("-model", "sc.cat"),
        "tso": (),
        "power": (),
        "armv7": (),
        "aarch64": (),
        "riscv": (),
        "rc11": ("-model", "rc11.cat"),
    },
    write=_write,
    read=_read,
)
