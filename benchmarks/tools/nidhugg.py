"""Nidhugg, through its driver `nidhuggc`, whose CPU time includes that of the compiler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.languages.assembly import Inexpressible
from benchmarks.languages.c import THREADS
from benchmarks.sets.case import Case
from benchmarks.sketch import AtomicIncrement, CompareAndIncrement, TryLock
from benchmarks.tools.tool import Counts, Tool, program_of, rephrased, write_text

WITHOUT_UPDATES = ("power", "armv7")
ASSEMBLY_FENCES = {
    "power": rephrased(
        THREADS,
        full_fence='__asm__ volatile ("sync" ::: "memory");',
        light_fence='__asm__ volatile ("lwsync" ::: "memory");',
    ),
    "armv7": rephrased(
        THREADS,
        full_fence='__asm__ volatile ("dmb" ::: "memory");',
        light_fence='__asm__ volatile ("dmb" ::: "memory");',
    ),
}
"""It rejects the fences of C11 under these models."""

_TRACES = re.compile(r"^\s*Trace count: ([0-9]+)", re.MULTILINE)
_BLOCKED = re.compile(r"([0-9]+) (?:sleepset|assume|await)[ -]blocked|blocked trace count: ([0-9]+)", re.IGNORECASE)


def _write(case: Case, files: Sequence[str], folder: Path) -> list[str]:
    statements = [statement for thread in case.sketch.threads for statement in thread] if case.sketch else []
    updates = any(isinstance(s, AtomicIncrement | CompareAndIncrement | TryLock) for s in statements)
    if updates and case.model in WITHOUT_UPDATES:
        raise Inexpressible(f"has no read-modify-writes under {case.model}")
    text = program_of(case, files, ASSEMBLY_FENCES.get(case.model or "", THREADS))
    return [write_text(folder, case, text)]


def _read(output: str) -> Counts:
    traces = _TRACES.search(output)
    blocked = [int(first or second) for first, second in _BLOCKED.findall(output)]
    return Counts(int(traces[1]) if traces else None, sum(blocked) if traces else None)


NIDHUGG = Tool(
    name="nidhugg",
    program="nidhuggc",
    models={
        "sc": ("--", "--sc"),
        "tso": ("--", "--tso"),
        "pso": ("--", "--pso"),
        "power": ("--", "--power"),
        "armv7": ("--", "--arm"),
    },
    write=_write,
    read=_read,
)
