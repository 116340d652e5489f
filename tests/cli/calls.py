"""Calling the command line from tests."""

from __future__ import annotations

import contextlib
import io
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
