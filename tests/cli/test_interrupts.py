"""Ctrl-C at any moment ends with an answer, or with one line if there is none yet."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest
from tests.cli.calls import watched

pytest.importorskip("ziglang", reason="the compiler is not installed")

TEXT = """#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x, y;
void *f(void *a) { for (int i = 0; i < 30; i++) { atomic_fetch_add(&x, 1); atomic_store(&y, i); } return 0; }
int main(void) {
  pthread_t t[6];
  for (int i = 0; i < 6; i++) pthread_create(&t[i], 0, f, 0);
  for (int i = 0; i < 6; i++) pthread_join(t[i], 0);
  assert(x == 180);
  return 0;
}
"""
"""No engine comes to an end."""

UP = "from dekker.cli import main; import sys; sys.stderr.write('up'); sys.stderr.flush(); main()"
"""Before, Ctrl-C is a matter of Python's."""
LINE = r"\r\d+ (executions|states)"


def require_answer(folder: Path, model: str, lines: int, seconds: float, *more: str) -> None:
    """So many seconds after it has written so many lines of progress, or after Python is up."""
    file = folder / "program.c"
    file.write_text(TEXT, encoding="utf-8")
    with watched([sys.executable, "-c", UP, "check", str(file), "-m", model, *more]) as process:
        process.wait_for("up")
        process.wait_for(LINE, lines)
        time.sleep(seconds)
        outcome = process.interrupt()
    told = f"after {lines} lines and {seconds:.3f} s: {outcome}"
    assert "Traceback" not in outcome.err, told
    assert outcome.status == 3, told
    if lines == 0 and not outcome.out:
        assert "interrupted: there is no answer yet" in outcome.err, told
    else:
        assert outcome.out.startswith(f"UNKNOWN under {model}: "), told
        assert "stopped by interrupt" in outcome.out, told


@pytest.mark.parametrize("more", [(), ("--engine", "rsmc"), ("--engine", "states"), ("--jobs", "2")])
def test_what_was_covered_is_told(tmp_path: Path, more: tuple[str, ...]) -> None:
    """Also while it asks how many executions there are: on a machine that is not busy, after the fourth line."""
    for lines, seconds in ((0, 0.7), (1, 0.0), (4, 0.4), (6, 0.0)):
        require_answer(tmp_path, "power" if "states" not in more else "tso", lines, seconds, *more)


@pytest.mark.slow
def test_a_hundred_random_moments(tmp_path: Path) -> None:
    choose = random.Random(17)
    for number in range(100):
        require_answer(tmp_path, ("sc", "power", "tso")[number % 3], 0, choose.uniform(0.05, 5.0))
