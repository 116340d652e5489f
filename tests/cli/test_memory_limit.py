"""A limit of memory is kept by the whole process, what it prints included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.reference.peak_memory import PRINT_PEAK_MB

LENGTH = 13
LIMIT_MB = 120
CALL = """
import sys
from dekker.cli.main import run_command
code = run_command(sys.argv[1:])
"""


def reads_and_writes() -> str:
    """Ten million executions, each with a final state of its own."""
    lines = ["x = 0", "thread P0:", *(f"A{i}: x := {i + 1};" for i in range(LENGTH))]
    lines += ["thread P1:", *(f"B{i}: r{i} := x;" for i in range(LENGTH))]
    asked = " /\\ ".join(f"P1:r{i}={i}" for i in range(LENGTH))
    return "\n".join([*lines, f"exists ({asked})"]) + "\n"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_limit_of_memory_is_kept(jobs: int, tmp_path: Path) -> None:
    file = tmp_path / "many.rsmc"
    file.write_text(reads_and_writes(), encoding="utf-8")
    options = ["litmus", str(file), "--model", "sc", "--memory", str(LIMIT_MB), "--jobs", str(jobs)]
    code = CALL + PRINT_PEAK_MB + "sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "Stopped by memory" in done.stdout
    assert len(done.stdout.splitlines()) > 10_000
    assert float(done.stderr.split()[-1]) < 1.5 * LIMIT_MB  # on a busy machine the one that looks may be late
