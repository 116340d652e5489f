"""Batches over processes that end early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dekker.errors import InputError
from dekker.report.record import Record, record_error
from dekker.run import batch
from dekker.run.batch import BatchOptions, run_batch

SLOW = "slow"
SB = str(Path(__file__).parents[3] / "examples" / "litmus" / "dekker-x86.litmus")


def run_slowly(test: batch.Test, options: BatchOptions) -> Record:
    """Tests are files to write; the slow one comes to no end."""
    if Path(test.path).name == SLOW:
        Path(test.path).write_text(str(os.getpid()))
        time.sleep(600)
    Path(test.path).write_text("done")
    return record_error(test.path, InputError("fake"))


def some_tests(folder: Path) -> list[batch.Test]:
    return [batch.Test(str(folder / name)) for name in ("a", SLOW, "b", "c", "d")]


def when_others_are_done(tests: list[batch.Test], act: Callable[[], None]) -> threading.Thread:
    def wait() -> None:
        while not all(Path(test.path).exists() for test in tests):
            time.sleep(0.05)
        time.sleep(0.5)  # the answer travels
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def note_names(records: Iterator[Record], found: list[str]) -> None:
    for record in records:
        found.append(Path(record.file).name)  # noqa: PERF401 — what came before an exception counts


@pytest.mark.parametrize("ending", ["interrupt", "death"])
def test_what_was_done_behind_a_slow_test_is_reported(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heeds_interrupts: None
) -> None:
    monkeypatch.setattr(batch, "run_test", run_slowly)
    tests = some_tests(tmp_path)

    def end() -> None:
        if ending == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        else:
            os.kill(int((tmp_path / SLOW).read_text()), signal.SIGKILL)

    ender = when_others_are_done(tests, end)
    found: list[str] = []
    with pytest.raises(KeyboardInterrupt if ending == "interrupt" else InputError):
        note_names(run_batch(tests, BatchOptions(), 2), found)
    ender.join()
    assert found == ["a", "b", "c", "d"]


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_reader_that_goes_away_ends_it_quietly(jobs: str) -> None:
    command = [sys.executable, "-m", "dekker", "litmus", *[SB] * 200, "--jobs", jobs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


SLEEPERS = """
import os, time
from dekker.run.processes import worker_processes
with worker_processes(3) as pool:
    for pid in {pool.submit(os.getpid).result() for _ in range(30)} | set(pool._processes):
        print(pid, flush=True)
    print("all", flush=True)
    for _ in range(3):
        pool.submit(time.sleep, 600)
    time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_workers_end_with_their_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPERS], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(line) for line in iter(process.stdout.readline, "all\n")]
        assert len(pids) == 3
        assert all(map(is_alive, pids))
        process.kill()
    deadline = time.monotonic() + 30
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))
