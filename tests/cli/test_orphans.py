"""However a command ends, no process that it started goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

LONG_S = 300.0
PROGRAM = "int main(void) { return 0; }\n"
COMPILER = """#!/bin/sh
# As zig does, it starts another process, which does the work.
sh -c 'echo $$ >> {pids}; {work}' &
echo $$ >> {pids}
wait
"""
SLEEPS = "while :; do sleep 1; done"
GROWS = "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done"
DEAF = 'trap "" INT TERM HUP; ' + SLEEPS


def compiler(folder: Path, work: str) -> str:
    file = folder / "slow-cc"
    file.write_text(COMPILER.format(pids=folder / "pids", work=work), encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def heed_signals() -> None:
    """Who starts the tests in the background may have told them to ignore some."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(folder: Path, work: str, *options: str) -> subprocess.Popen[str]:
    source = folder / "main.c"
    source.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "dekker", "check", str(source), "--cc", compiler(folder, work), *options]
    pipe, before = subprocess.PIPE, heed_signals
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=before)  # noqa: PLW1509


def becomes(question: Callable[[], bool]) -> bool:
    end = time.monotonic() + LONG_S
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def started(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def assert_none_is_left(folder: Path) -> None:
    processes = started(folder)
    assert len(processes) == 2
    assert becomes(lambda: not any(map(is_alive, processes))), processes


@pytest.mark.parametrize("work", [SLEEPS, DEAF])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_signals(number: int, work: str, tmp_path: Path) -> None:
    command = start(tmp_path, work)
    assert becomes(lambda: len(started(tmp_path)) == 2)
    os.kill(command.pid, number)
    command.communicate(timeout=LONG_S)
    assert_none_is_left(tmp_path)


@pytest.mark.parametrize("work", [SLEEPS, DEAF])
def test_a_limit_of_time(work: str, tmp_path: Path) -> None:
    command = start(tmp_path, work, "--timeout", "8")
    output, _ = command.communicate(timeout=LONG_S)
    assert command.returncode == 3
    assert "stopped by time" in output
    assert_none_is_left(tmp_path)


def test_a_limit_of_memory(tmp_path: Path) -> None:
    command = start(tmp_path, GROWS, "--memory", "300")
    output, _ = command.communicate(timeout=LONG_S)
    assert command.returncode == 3
    assert "stopped by memory" in output
    assert_none_is_left(tmp_path)


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_command(number: int, engine: str, tmp_path: Path) -> None:
    writes, reads = (f"A{n}: x := {n};" for n in range(1, 20)), (f"B{n}: r{n} := x;" for n in range(1, 20))
    text = "\n".join(["x = 0", "thread P0:", *writes, "thread P1:", *reads, "exists (P1:r1=0)\n"])
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.rsmc").write_text(text, encoding="utf-8")
    arguments = ["litmus", str(tmp_path), "--model", "sc", "--engine", engine, "--jobs", "2"]
    words = [sys.executable, "-m", "dekker", *arguments]
    command = subprocess.Popen(words, stdout=subprocess.DEVNULL, preexec_fn=heed_signals)  # noqa: PLW1509
    assert becomes(lambda: len(children(command.pid)) == 2)
    workers = children(command.pid)
    time.sleep(1)
    os.kill(command.pid, number)
    command.wait(LONG_S)
    assert becomes(lambda: not any(map(is_alive, workers))), workers


def children(process: int) -> list[int]:
    return [int(word) for file in Path(f"/proc/{process}/task").glob("*/children") for word in file.read_text().split()]
