"""Compares what a C program computes as a native program with what its translation computes.

Programs come from `tests.strategies.c_programs`: they leave their results in `out`. The native program runs in a
process of its own, under a time limit.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.reference.sequential import Machine, Stuck, memory_of, run
from tests.strategies.c_programs import OUT_SIZE, c_program

from dekker.frontends.c import Options, parse_c

NATIVE_FLAGS = ("-std=gnu11", "-O1", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w", "-DNATIVE")
TIME_LIMIT = 10


def difference(seed: int, folder: Path) -> str | None:
    """How the two results differ, or None. Programs that run for too long count as equal."""
    path = folder / f"random{seed}.c"
    path.write_text(c_program(seed))
    expected = native_results(path)
    if expected is None:
        return None
    program = parse_c([str(path)], Options(flags=("-std=gnu11", "-w")))
    try:
        found = translated_results(run(program))
    except Stuck:
        return None
    return None if found == expected else f"seed {seed}: native {expected}, translated {found}"


def native_results(path: Path) -> list[int] | None:
    binary = path.with_suffix(".native")
    compiler = shutil.which("gcc") or shutil.which("cc") or "cc"
    subprocess.run([compiler, *NATIVE_FLAGS, "-o", str(binary), str(path)], check=True, capture_output=True, timeout=60)
    try:
        done = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    return list(map(int, done.stdout.split()))


def translated_results(machine: Machine) -> list[int]:
    count = memory_of(machine, "out_count", 0, 4)
    return [*(memory_of(machine, "out", 8 * i, 8) for i in range(min(count, OUT_SIZE))), count]
