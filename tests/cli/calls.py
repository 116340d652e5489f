"""Calling the command line from tests."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dekker.cli.main import run_command

LONG_S = 300.0
"""On a busy machine. What takes longer hangs."""


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


@dataclass
class Watched:
    """A process that heeds interrupts, with a terminal for stderr: what it has written so far."""

    process: subprocess.Popen[bytes]
    readers: list[threading.Thread] = field(default_factory=list)
    parts: dict[int, bytes] = field(default_factory=dict)

    def read(self, descriptor: int) -> None:
        self.parts[descriptor] = b""
        self.readers.append(threading.Thread(target=self._read, args=(descriptor,)))
        self.readers[-1].start()

    def _read(self, descriptor: int) -> None:
        with contextlib.suppress(OSError):  # the other end of a terminal is closed
            while part := os.read(descriptor, 65536):
                self.parts[descriptor] += part

    def written(self) -> str:
        return "".join(part.decode(errors="replace") for part in self.parts.values())

    def wait_for(self, pattern: str, times: int = 1) -> None:
        deadline = time.monotonic() + LONG_S
        while len(re.findall(pattern, self.written())) < times:
            assert self.process.poll() is None, f"it ended before: {self.written()[-500:]}"
            assert time.monotonic() < deadline, f"nothing like {pattern!r}: {self.written()[-500:]}"
            time.sleep(0.01)

    def interrupt(self) -> Outcome:
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(LONG_S)
        for reader in self.readers:
            reader.join()
        out, err = (part.decode(errors="replace") for part in self.parts.values())
        return Outcome(status, out, err)


@contextlib.contextmanager
def watched(command: Sequence[str]) -> Iterator[Watched]:
    """It does not outlive the block."""
    terminal, theirs = pty.openpty()
    before = _heed_interrupts
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=unbuffered, preexec_fn=before) as process:  # noqa: PLW1509
        os.close(theirs)
        assert process.stdout is not None
        seen = Watched(process)
        seen.read(process.stdout.fileno())
        seen.read(terminal)
        try:
            yield seen
        finally:
            process.kill()
            for reader in seen.readers:
                reader.join()
            os.close(terminal)
