"""Batches over processes that end early."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

from dekker.errors import InputError
from dekker.report.record import Record, record_error
from dekker.resources import Command
from dekker.run import batch
from dekker.run.batch import BatchOptions, run_batch
from dekker.task import Limits

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
        time.sleep(3)  # the answer travels
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def note_names(records: Iterator[Record], found: list[str]) -> None:
    for record in records:
        found.append(Path(record.file).name)  # noqa: PERF401 — what came before an exception counts


def test_an_interrupt_leaves_what_was_done_behind_a_slow_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heeds_interrupts: None
) -> None:
    monkeypatch.setattr(batch, "run_test", run_slowly)
    tests = some_tests(tmp_path)
    ender = when_others_are_done(tests, lambda: os.kill(os.getpid(), signal.SIGINT))
    found: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        note_names(run_batch(tests, BatchOptions(), 2), found)
    ender.join()
    assert found == ["a", "b", "c", "d"]


def test_the_death_of_a_process_costs_one_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "run_test", run_slowly)
    tests = some_tests(tmp_path)
    ender = when_others_are_done(tests, lambda: os.kill(int((tmp_path / SLOW).read_text()), signal.SIGKILL))
    records = list(run_batch(tests, BatchOptions(), 2))
    ender.join()
    assert [Path(record.file).name for record in records] == ["a", SLOW, "b", "c", "d"]
    assert ["was killed" in str(record.error) for record in records] == [False, True, False, False, False]


def run_deaf(test: batch.Test, options: BatchOptions, **_: object) -> Record:
    """Comes to no end, or takes ever more memory, without a look at signals."""
    if Path(test.path).name == "long":
        sum(itertools.repeat(0))
    if Path(test.path).name == "large":
        deque(itertools.count())
    return record_error(test.path, InputError("fake"))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("slow", "limits", "reason"), [("long", Limits(timeout_s=5.0), "time"), ("large", Limits(memory_mb=400), "memory")]
)
def test_a_limit_that_ends_a_process_ends_one_test(
    slow: str,
    limits: Limits,
    reason: str,
    jobs: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(batch, "_run_test", run_deaf)
    monkeypatch.setattr(Command, "is_one", True)
    if limits.memory_mb is not None:  # the processes begin as copies of this one
        limits = replace(limits, memory_mb=limits.memory_mb + getrusage(RUSAGE_SELF).ru_maxrss // 1024)
    names = ["a", slow, *(f"b{n}" for n in range(40)), slow, "c"]
    records = list(run_batch([batch.Test(name) for name in names], BatchOptions(limits=limits), jobs))
    assert [record.file for record in records] == names
    assert [record.stopped_by for record in records] == [reason if name == slow else None for name in names]
    assert [record.verdict == "Unknown" for record in records] == [name == slow for name in names]
    assert not capfd.readouterr().out


def test_a_process_that_dies_at_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "run_test", lambda test, options: os._exit(7))
    records = list(run_batch([batch.Test(str(n)) for n in range(30)], BatchOptions(), 2))
    assert [record.file for record in records] == [str(n) for n in range(30)]
    assert all("status 7" in str(record.error) for record in records)


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


FORKS = """
import os
from dekker.resources import Command
from dekker.run.supervision import supervised
from dekker.task import Limits
Command.is_one = True
def watch(times):
    for _ in range(times):
        with supervised(Limits(timeout_s=100.0, memory_mb=4000)):
            pass
for _ in range(100):
    watch(1)
    child = os.fork()
    if not child:
        watch(5)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_supervision_goes_on_in_children() -> None:
    """They inherit the state of a thread that they do not have."""
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=300)
