"""What a person waits for: measured in processor time, because other work may go on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_check import RELAXED, STORE_BUFFERING
from tests.unit.frontends.c.programs import from_c

from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_files
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

pytest.importorskip("ziglang", reason="the compiler is not installed")

MOST_SECONDS = 0.5
FIGURE_11 = Path(__file__).parents[2] / "examples" / "rsmc" / "dekker.rsmc"
FIGURE_11_IN_C = """#include <pthread.h>
volatile int x, y, z;
#define FIVE z = 1; z = 1; z = 1; z = 1; z = 1;
void *P(void *unused) { x = 1; if (y != 1) { FIVE FIVE } return 0; }
void *Q(void *unused) { y = 1; if (x != 1) { FIVE FIVE } return 0; }
int main(void) {
  pthread_t p, q;
  pthread_create(&p, 0, P, 0);
  pthread_create(&q, 0, Q, 0);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return 0;
}
"""


def seconds_of(folder: Path, *arguments: str) -> float:
    """Of a new process and the compiler that it starts, with the byte code that an installation has."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run(
        [sys.executable, "-m", "dekker", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert finished.returncode == 1, finished.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_small_c_program_is_answered_in_half_a_second(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(STORE_BUFFERING, encoding="utf-8")
    arguments = ("check", str(file), "--model", "power", "--", RELAXED)
    assert any(seconds_of(tmp_path, *arguments) < MOST_SECONDS for _ in range(8))


@pytest.mark.parametrize("model", ["tso", "power"])
def test_figure_11_takes_as_many_steps_in_c(tmp_path: Path, model: str) -> None:
    known = load_model(model)
    litmus, c = (
        rsmc.run(Task(prepare(program, known), known, Limits(counts_known_rounds=False)))
        for program in (parse_files([str(FIGURE_11)]), from_c(tmp_path, FIGURE_11_IN_C))
    )
    assert litmus.complete_executions == c.complete_executions == 184_759
    assert c.statistics["commits"] < 1.1 * litmus.statistics["commits"]
