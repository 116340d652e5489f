"""Runs another program and measures its CPU time and memory, together with the processes that it waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

KIB_PER_MB = 1024 if sys.platform != "darwin" else 1 << 20


@dataclass(frozen=True)
class Process:
    """`peak_mb` is never less than what the harness itself occupies, some 40 MB: the system counts from the fork on."""

    status: int
    output: str
    seconds: float
    peak_mb: float
    timed_out: bool = False


def run_measured(command: Sequence[str], timeout_s: float, folder: str) -> Process:
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True
        )
        expired = threading.Event()
        timer = threading.Timer(timeout_s, _expire, (expired, child.pid))
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        finally:
            timer.cancel()
            if child.returncode is None:
                _kill(child.pid)
        output.seek(0)
        text = output.read().decode("utf-8", errors="replace")
    seconds = usage.ru_utime + usage.ru_stime
    return Process(child.returncode, text, seconds, usage.ru_maxrss / KIB_PER_MB, expired.is_set())


def _expire(expired: threading.Event, group: int) -> None:
    expired.set()
    _kill(group)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
