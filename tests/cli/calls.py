"""Calling the command line from tests."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dekker.cli.main import run_command


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str


def dekker(*arguments: str) -> Outcome:
    """In this process, because a new one for each call would take most of the time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command(list(arguments))
    assert "Traceback" not in err.getvalue()
    assert "internal error" not in err.getvalue(), err.getvalue()
    return Outcome(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def interruptible(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that heeds interrupts, which what runs in the background ignores; it does not outlive the block."""
    pipe = subprocess.PIPE
    before = _heed_interrupts  # there are no threads here that it could harm
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=before) as process:  # noqa: PLW1509
        try:
            yield process
        finally:
            process.kill()


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
