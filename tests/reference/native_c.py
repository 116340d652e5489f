"""Compares what a C program computes as a native program with what its translation computes, run by the reference
interpreter and by the rsmc engine.

Programs come from `tests.strategies.c_programs`: they leave their results in `out`. The native program runs in a
process of its own, under a time limit.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from tests.reference.sequential import Machine, Stuck, memory_of, run
from tests.strategies.c_programs import OUT_SIZE, c_program

from dekker.engines.rsmc import engine
from dekker.errors import UnsupportedError
from dekker.frontends.c import Options, parse_c
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue
from dekker.models import load_model
from dekker.task import Limits, Task

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
    if found != expected:
        return f"seed {seed}: native {expected}, translated {found}"
    explored = explored_results(program)
    return None if explored in (None, expected) else f"seed {seed}: native {expected}, explored {explored}"


def explored_results(program: Program) -> list[int] | None:
    """What the rsmc engine finds; None if it cannot run the program, or would run for too long."""
    observed = (*(MemoryValue("out", 8 * index, 8) for index in range(OUT_SIZE)), MemoryValue("out_count", 0, 4))
    program = replace(program, property=replace(program.property, observed=observed))
    limits = Limits(unroll=4, timeout_s=TIME_LIMIT, counts_known_rounds=False)
    try:
        result = engine.run(Task(program, load_model("sc"), limits))
    except UnsupportedError:
        return None
    if result.cut or result.stopped_by is not None:
        return None
    assert not result.violations, result.violations
    (state,) = result.states
    return [*state[: min(state[-1], OUT_SIZE)], state[-1]]


def native_results(path: Path) -> list[int] | None:
    binary = path.with_suffix(".native")
    compiler = shutil.which("gcc") or shutil.which("cc") or "cc"
    subprocess.run(
        [compiler, *NATIVE_FLAGS, "-o", str(binary), str(path)], check=True, capture_output=True, timeout=300
    )
    try:
        done = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    return list(map(int, done.stdout.split()))


def translated_results(machine: Machine) -> list[int]:
    count = memory_of(machine, "out_count", 0, 4)
    return [*(memory_of(machine, "out", 8 * i, 8) for i in range(min(count, OUT_SIZE))), count]
