"""Runs another program to its end, and never leaves it behind.

The program and what it starts are a group of processes of their own. The group is killed when whoever waits for the
program leaves with an exception. It is also killed when this process dies, however that happens: a shell in the group
waits for the end of a pipe that only this process keeps open.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from dekker.errors import InputError
from dekker.records import dataclass

GUARDED = """
exec 3<&0 </dev/null
"$@" 3<&- &
program=$!
{ read gone <&3; kill -KILL 0; } >/dev/null 2>&1 &
guard=$!
wait $program
status=$?
kill -KILL $guard
wait $guard 2>/dev/null
exit $status
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """`messages` is what the program wrote to stderr."""

    status: int
    messages: str


def run_program(command: Sequence[str], environment: Mapping[str, str]) -> Finished:
    """`InputError` if there is no such program."""
    if shutil.which(command[0]) is None:
        raise InputError(f"{command[0]}: there is no such program", hint="name a clang with --cc")
    with subprocess.Popen(
        ["/bin/sh", "-c", GUARDED, "sh", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            messages = process.stderr.read()
            return Finished(process.wait(), messages)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
