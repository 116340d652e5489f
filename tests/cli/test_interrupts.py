"""Ctrl-C at any moment ends with an answer, or with one line if there is none yet."""

from __future__ import annotations

import os
import pty
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ziglang", reason="the compiler is not installed")

TEXT = """#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x, y;
void *f(void *a) { for (int i = 0; i < 6; i++) { atomic_fetch_add(&x, 1); atomic_store(&y, i); } return 0; }
int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, f, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(x == 24 || BROKEN);
  return 0;
}
"""


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


UP = "from dekker.cli import main; import sys; sys.stderr.write('up'); sys.stderr.flush(); main()"
"""Before, Ctrl-C is a matter of Python's."""


def interrupted(arguments: list[str], seconds: float) -> tuple[int, str, str]:
    """Status, stdout, and what a terminal shows of stderr; so many seconds after Python is up."""
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-c", UP, *arguments]
    before = _heed_interrupts
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, preexec_fn=before) as process:  # noqa: PLW1509
        os.close(theirs)
        assert os.read(terminal, 2) == b"up"
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        shown = []
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown.append(part)
        out = process.stdout.read()
        status = process.wait(60)
    os.close(terminal)
    return status, out, b"".join(shown).decode(errors="replace")


def require_answer(folder: Path, model: str, seconds: float, *more: str) -> None:
    file = folder / "program.c"
    file.write_text(TEXT, encoding="utf-8")
    status, out, err = interrupted(["check", str(file), "-m", model, *more, "--", "-DBROKEN=1"], seconds)
    told = f"after {seconds:.3f} s: {status} {out!r} {err!r}"
    assert "Traceback" not in err, told
    assert status == 3, told
    if not out:
        assert "interrupted: there is no answer yet" in err, told
    else:
        assert out.startswith(f"UNKNOWN under {model}: "), told
        assert "stopped by interrupt" in out, told


@pytest.mark.parametrize("more", [(), ("--engine", "rsmc"), ("--engine", "states"), ("--jobs", "2")])
def test_what_was_covered_is_told(tmp_path: Path, more: tuple[str, ...]) -> None:
    for seconds in (0.7, 2.2, 2.8):
        require_answer(tmp_path, "power" if "states" not in more else "tso", seconds, *more)


@pytest.mark.slow
def test_a_hundred_random_moments(tmp_path: Path) -> None:
    choose = random.Random(17)
    for number in range(100):
        require_answer(tmp_path, ("sc", "power", "tso")[number % 3], choose.uniform(0.05, 5.0))
