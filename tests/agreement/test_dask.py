"""A real cluster of processes: it finds what one explorer finds, also while its workers, or the command, are killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.agreement.test_checkpoints import (
    COMMAND,
    answer,
    check_command,
    killed_at_random,
    racing_file,
    racing_writes,
)
from tests.agreement.test_cluster import RELEASES, THREE_LOCKS
from tests.cli.calls import dekker, interruptible
from tests.reference.job_agreement import findings
from tests.unit.frontends.c.programs import needs_compiler

import dekker as api
from dekker.cluster.explorer import CrewExplorer
from dekker.engines.rsmc import engine as rsmc
from dekker.fuzz.campaign import Coverage, Extent, campaign
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.native import explorer_with
from dekker.run.batch import BatchOptions, find_tests, run_batch
from dekker.run.checkpoint import read_checkpoint
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

from dekker.cluster import dask_cluster  # noqa: E402 — needs Dask
from dekker.cluster.dask_cluster import DaskCrew, dask_crew  # noqa: E402
from dekker.cluster.whole_tasks import run_tests  # noqa: E402

OWN_MODEL = "own sc\nacyclic po | rf | co | fr as order\n"
FORBIDS_THE_START = f"{OWN_MODEL}empty IW as none\n"
KILLS = 3


def local_cluster(n_workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a cluster of two processes that stay."""
    with local_cluster(2) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def crew(address: str) -> Iterator[DaskCrew]:
    with dask_crew(address) as found:
        yield found


def explored_by(crew: DaskCrew, task: Task) -> dict[str, object]:
    return findings(rsmc.run(replace(task, explorer=explorer_with(CrewExplorer(crew)))))


# --- the same answers


@pytest.mark.parametrize(("text", "model"), [(THREE_LOCKS, "power"), (RELEASES, "rc11")])
def test_explorations_agree(text: str, model: str, crew: DaskCrew) -> None:
    task = Task(prepare(parse_program(Source("p.ir", text)), load_model(model)), load_model(model), examples=True)
    assert explored_by(crew, task) == findings(rsmc.run(task))


def test_a_larger_exploration_agrees(crew: DaskCrew) -> None:
    task = Task(racing_writes(8), load_model("power"))
    assert explored_by(crew, task) == findings(rsmc.run(task))


def test_a_limit_of_traces_is_exact(crew: DaskCrew) -> None:
    task = Task(racing_writes(6), load_model("power"))
    n_all = rsmc.run(task).complete_executions
    for limit in (1, 7, n_all - 1, n_all, n_all + 1):
        limited = replace(task, limits=Limits(max_traces=limit))
        alone = rsmc.run(limited)
        found = rsmc.run(replace(limited, explorer=explorer_with(CrewExplorer(crew))))
        assert (found.complete_executions, found.stopped_by) == (alone.complete_executions, alone.stopped_by), limit


def test_checks_say_the_same(address: str) -> None:
    """With a violation that ends the search, one that need not be the same as that of one explorer."""
    for arguments in (
        ("check", "examples/rsmc/dekker.rsmc", "--keep-going"),
        ("check", "examples/litmus/dekker-x86.litmus"),
    ):
        alone, together = dekker(*arguments), dekker(*arguments, "--cluster", address)
        assert (together.status, together.out) == (alone.status, alone.out)


def test_refusals_are_the_same(address: str, tmp_path: Path) -> None:
    model = tmp_path / "own.cat"
    model.write_text(FORBIDS_THE_START)
    arguments = ("check", "examples/litmus/dekker-x86.litmus", "-m", str(model), "--engine", "rsmc")
    alone, together = dekker(*arguments), dekker(*arguments, "--cluster", address)
    assert alone.status == together.status == 2
    assert "the model forbids a fence or an initial write" in alone.err
    assert together.err == alone.err


@needs_compiler
def test_a_violation_ends_the_search(address: str) -> None:
    alone = dekker("check", "examples/pgsql/workers.c", "--model", "power")
    together = dekker("check", "examples/pgsql/workers.c", "--model", "power", "--cluster", address)
    assert together.status == alone.status == 1
    assert together.out.startswith("UNSAFE under power")


@needs_compiler
def test_comparisons_say_the_same(address: str) -> None:
    for engine in ("rsmc", "states"):
        arguments = ("compare", "examples/c/table1/peterson.c", "-m", "sc,tso", "--engine", engine, "--keep-going")
        answers = [json.loads(dekker(*arguments, "--json", "-", *more).out) for more in ((), ("--cluster", address))]
        rows = [[(row["model"], row["verdict"], row["stats"]) for row in found["models"]] for found in answers]
        counted = [[(m, v, {k: s.get(k) for k in ("complete", "blocked")}) for m, v, s in part] for part in rows]
        assert counted[0] == counted[1], engine


def without_time(text: str) -> list[dict[str, object]]:
    records = [json.loads(line) for line in text.splitlines()]
    return [{key: value for key, value in record.items() if key not in ("time_s", "stats")} for record in records]


def test_batches_say_the_same(address: str, tmp_path: Path) -> None:
    """Workers see neither the tests nor the model: they are started elsewhere, and texts travel."""
    model = tmp_path / "own.cat"
    model.write_text(OWN_MODEL)
    broken = tmp_path / "broken.litmus"
    broken.write_text("X86 broken\n{\n")
    for more in ((), ("-m", str(model)), ("--engine", "axiomatic", "--explain")):
        arguments = ("litmus", "examples/litmus", str(broken), str(tmp_path / "missing.litmus"), "--json", "-", *more)
        alone, together = dekker(*arguments), dekker(*arguments, "--cluster", address)
        assert together.status == alone.status == 2
        assert without_time(together.out) == without_time(alone.out)


def test_one_test_is_explored_by_all(address: str) -> None:
    alone = dekker("litmus", "examples/rsmc/dekker.rsmc", "--json", "-")
    together = dekker("litmus", "examples/rsmc/dekker.rsmc", "--json", "-", "--cluster", address)
    assert without_time(together.out) == without_time(alone.out)


def covered(coverage: Coverage) -> tuple[object, ...]:
    """What does not depend on how fast it was: engines have a limit of time."""
    return coverage.programs, coverage.numbers, coverage.kinds, coverage.models, coverage.problems


def test_campaigns_cover_the_same(crew: DaskCrew) -> None:
    extent, kinds = Extent(3, 30), ("plain", "litmus", "rsmc")
    alone, together = Coverage(), Coverage()
    assert campaign(extent, kinds, 1, alone)
    assert campaign(extent, kinds, 1, together, crew=crew)
    assert covered(together) == covered(alone)


def test_all_probe(address: str) -> None:
    outcome = dekker("check", "examples/litmus/dekker-x86.litmus", "--estimate", "--timeout", "1", "--cluster", address)
    assert outcome.out.startswith("about 4 complete executions")


def test_the_api_asks_a_cluster(address: str) -> None:
    assert api.check("examples/rsmc/dekker.rsmc", cluster=address, keep_going=True).executions == 184759
    found = api.litmus(["examples/litmus"], cluster=address)
    assert [item.verdict for item in found] == [item.verdict for item in api.litmus(["examples/litmus"])]


# --- faults


@contextmanager
def scheduler_process(ready: Connection) -> Iterator[multiprocessing.Process]:
    """A cluster in a process of its own, with all it has."""
    process = multiprocessing.get_context("spawn").Process(target=_schedule, args=(ready,))
    process.start()
    try:
        yield process  # type: ignore[misc]
    finally:
        process.kill()
        process.join()


def _schedule(ready: Connection) -> None:
    with local_cluster(1) as cluster:
        ready.send(cluster.scheduler_address)
        time.sleep(600)


@contextmanager
def workers_killed(crew: DaskCrew, kills: int, seed: int) -> Iterator[list[int]]:
    """Kills so many workers at random moments; each is started again by its nanny. Which were killed."""
    chosen, killed, is_over = random.Random(seed), list[int](), threading.Event()

    def kill() -> None:
        while len(killed) < kills and not is_over.wait(chosen.uniform(0.1, 1.0)):
            pids = [pid for pid in crew.run_everywhere(os.getpid) if pid not in killed]
            if pids:
                victim = chosen.choice(pids)
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield killed
    finally:
        is_over.set()
        killer.join()


def explore_with_deaths(writes: int, kills: int, seed: int) -> None:
    task = Task(racing_writes(writes), load_model("power"))
    expected = findings(rsmc.run(task))
    with dask_crew("local:3") as crew, workers_killed(crew, kills, seed) as killed:
        while len(killed) < kills:
            assert explored_by(crew, task) == expected


def test_workers_that_are_killed_lose_nothing() -> None:
    explore_with_deaths(9, KILLS, 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_workers_that_are_killed_lose_nothing_campaign(seed: int) -> None:
    explore_with_deaths(12, 15, seed)


def test_tests_of_workers_that_are_killed_are_run_again() -> None:
    tests = find_tests(["examples/litmus"]) * 30
    options = BatchOptions()
    expected = [record.outcomes for record in run_batch(tests, options, 1)]
    with dask_crew("local:2") as crew, workers_killed(crew, 2, 5) as killed:
        while len(killed) < 2:
            assert [record.outcomes for record in run_tests(crew, tests, options)] == expected


def test_a_command_that_is_killed_goes_on(tmp_path: Path, address: str) -> None:
    file, state = racing_file(tmp_path, 10), tmp_path / "state"
    chosen = random.Random(3)
    command = [*check_command(file, "power", state), "--cluster", address]
    for _ in range(2):
        if not killed_at_random(command, state, chosen):
            break
        command = [*COMMAND, "resume", str(state), "--cluster", address]
    expected = answer("check", str(file), "-m", "power", "--keep-going")
    assert answer("resume", str(state), "--cluster", address) == expected
    assert answer("resume", str(state)) == expected


def test_a_checkpoint_of_a_cluster_goes_on_without(tmp_path: Path, address: str) -> None:
    file, state = racing_file(tmp_path, 9), tmp_path / "state"
    arguments = ("check", str(file), "-m", "power", "--keep-going")
    expected = answer(*arguments)
    for first, second in (((), ("--cluster", address)), (("--cluster", address), ())):
        dekker(*arguments, "--checkpoint", str(state), "--max-traces", "1000", *first)
        assert answer("resume", str(state), *second) == expected


def test_an_interrupt_says_what_was_covered(tmp_path: Path, address: str) -> None:
    file, state = racing_file(tmp_path, 13), tmp_path / "state"
    with interruptible([*check_command(file, "power", state), "--cluster", address]) as process:
        while process.poll() is None and not state.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    assert "stopped by interrupt" in out
    assert read_checkpoint(state).progress.rest.units


def test_a_result_that_is_fetched_while_the_client_closes_arrives(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the thread that fetches it waits forever, and the process for that thread."""
    fetching, fetch = threading.Event(), distributed.Future.result

    def slow_fetch(future: Any, timeout: float) -> Any:
        fetching.set()
        time.sleep(0.5)
        return fetch(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", slow_fetch)
    with dask_crew(address) as crew:
        promise = crew.submit(int, "7")
        assert fetching.wait(60)
    assert promise.result(timeout=60) == 7


def test_a_result_that_never_arrives_keeps_nobody_from_ending(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As happens if it is cancelled while it is fetched: Dask asks for it, is told that it is not there, and waits."""
    fetching = threading.Event()

    def fetch_in_vain(future: Any, timeout: float | None = None) -> Any:
        fetching.set()
        time.sleep(3600 if timeout is None else timeout)
        raise TimeoutError

    monkeypatch.setattr(distributed.Future, "result", fetch_in_vain)
    with dask_crew(address) as crew:
        promise = crew.submit(int, "7")
        assert fetching.wait(60)
        promise.cancel()
    assert promise.cancelled()


def test_an_interrupt_while_a_local_cluster_starts_is_heeded(
    monkeypatch: pytest.MonkeyPatch, heeds_interrupts: None
) -> None:
    """By this process, when the cluster is there to be closed; those that are started ignore it."""
    closed: list[bool] = []
    blocked: list[str] = []

    class Starting:
        def __init__(self, **_: object) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
            command = [COMMAND[0], "-c", code]
            starter = threading.Thread(target=lambda: blocked.append(subprocess.check_output(command, text=True)))
            starter.start()
            starter.join()

        def __enter__(self) -> Starting:
            return self

        def __exit__(self, *_: object) -> None:
            closed.append(True)

    monkeypatch.setattr(distributed, "LocalCluster", Starting)
    with pytest.raises(KeyboardInterrupt), dask_crew("local:1"):
        pass
    assert closed == [True]
    assert blocked == ["True\n"]


def test_workers_of_a_local_cluster_leave_interrupts_to_us() -> None:
    with dask_crew("local:2") as crew:
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        for pid in crew.run_everywhere(os.getpid):
            os.kill(pid, signal.SIGINT)
        assert crew.run_everywhere(lambda: signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])) == [
            True,
            True,
        ]


def test_a_scheduler_that_dies_ends_the_command(tmp_path: Path) -> None:
    """With an error, and a checkpoint to go on from."""
    file, state = racing_file(tmp_path, 13), tmp_path / "state"
    ready, asked = multiprocessing.Pipe()
    with scheduler_process(ready) as scheduler:
        command = [*check_command(file, "power", state), "--cluster", asked.recv()]
        with interruptible(command) as process:
            while process.poll() is None and not state.exists():
                time.sleep(0.05)
            scheduler.kill()
            _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "went away" in err
    assert "Traceback" not in err
    assert read_checkpoint(state).progress.rest.units


def test_a_timeout_ends_the_search(tmp_path: Path, address: str) -> None:
    file = racing_file(tmp_path, 13)
    outcome = dekker("check", str(file), "-m", "power", "--keep-going", "--timeout", "1", "--cluster", address)
    assert "stopped by time" in outcome.out


# --- what can be wrong with a cluster


def test_nobody_is_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.5)
    for wrong in ("tcp://127.0.0.1:9", "nonsense:there"):
        outcome = dekker("check", "examples/rsmc/dekker.rsmc", "--cluster", wrong)
        assert outcome.status == 2
        assert f"there is no Dask scheduler at '{wrong}'" in outcome.err


def test_there_are_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "WORKERS_S", 0.5)
    with local_cluster(0) as cluster:
        outcome = dekker("check", "examples/rsmc/dekker.rsmc", "--cluster", cluster.scheduler_address)
    assert outcome.status == 2
    assert "has no workers" in outcome.err


def test_workers_have_another_version(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "dekker_version", lambda: "9.9")
    outcome = dekker("check", "examples/rsmc/dekker.rsmc", "--cluster", address)
    assert outcome.status == 2
    assert "a worker of the cluster has Dekker 0" in outcome.err


def test_workers_have_no_dekker() -> None:
    code = (
        "import sys; sys.modules['dekker'] = None\n"
        "from distributed.cli.dask_worker import main\n"
        "main([sys.argv[1], '--no-nanny', '--no-dashboard'])"
    )
    with local_cluster(0) as cluster:
        command = [COMMAND[0], "-c", code, cluster.scheduler_address]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
            try:
                with distributed.Client(cluster) as client:
                    client.wait_for_workers(1)
                outcome = dekker("check", "examples/rsmc/dekker.rsmc", "--cluster", cluster.scheduler_address)
            finally:
                worker.kill()
    assert outcome.status == 2
    assert "cannot load Dekker" in outcome.err


def test_only_one_engine_explores_on_a_cluster(address: str) -> None:
    outcome = dekker("check", "examples/litmus/dekker-x86.litmus", "--engine", "states", "--cluster", address)
    assert outcome.status == 2
    assert "the engine states does not explore on a cluster" in outcome.err


def test_there_is_no_dask() -> None:
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from dekker.cli.main import main\n"
        "main(['check', 'examples/rsmc/dekker.rsmc', '--cluster', 'local'])"
    )
    done = subprocess.run([COMMAND[0], "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'dekker[cluster]'" in done.stderr


def test_a_local_cluster_has_a_number_of_workers() -> None:
    outcome = dekker("check", "examples/rsmc/dekker.rsmc", "--cluster", "local:many")
    assert outcome.status == 2
    assert "'local:many' is no cluster" in outcome.err
