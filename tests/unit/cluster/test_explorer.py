from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.agreement.test_checkpoints import racing_writes
from tests.reference.job_agreement import findings

from dekker.cluster import crew as crews
from dekker.cluster.crew import CrewLost, DeadlyWork
from dekker.cluster.explorer import CrewExplorer
from dekker.cluster.whole_tasks import in_order, run_tests
from dekker.engines.rsmc import engine as rsmc
from dekker.models import load_model
from dekker.native import EVERYTHING, Exploration, Request, Work, explorer_with
from dekker.run import batch
from dekker.run.batch import BatchOptions
from dekker.run.parts import NOTHING, put_together
from dekker.task import Limits, Task

TASK = Task(racing_writes(6), load_model("power"))


class ThreadCrew:
    """Of this process. `forgets` questions, or whatever `fails` says."""

    def __init__(self, pool: ThreadPoolExecutor, slots: int = 2) -> None:
        self.pool, self.n_slots = pool, slots
        self.forgotten = 0
        self.fails: Callable[..., bool] = lambda *arguments: False

    def slots(self) -> int:
        return self.n_slots

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        if self.fails(*arguments):
            failed: Future[Any] = Future()
            failed.set_exception(DeadlyWork("deadly"))
            return failed
        if self.forgotten > 0 and len(arguments) == 3:
            self.forgotten -= 1
            arguments = (arguments[0], f"another {arguments[1]}", None)
        return self.pool.submit(function, *arguments)


@pytest.fixture
def crew() -> Iterator[ThreadCrew]:
    with ThreadPoolExecutor(2) as pool:
        yield ThreadCrew(pool)


def explored(crew: ThreadCrew, task: Task) -> dict[str, object]:
    return findings(rsmc.run(replace(task, explorer=explorer_with(CrewExplorer(crew)))))


def test_a_crew_finds_what_one_does(crew: ThreadCrew) -> None:
    assert explored(crew, TASK) == findings(rsmc.run(TASK))


def test_workers_that_do_not_know_the_question_are_told(crew: ThreadCrew) -> None:
    crew.forgotten = 5
    assert explored(crew, TASK) == findings(rsmc.run(TASK))
    assert crew.forgotten == 0


def test_slices_make_a_whole(crew: ThreadCrew) -> None:
    """Also while the crew goes on between them, and if somebody goes on from what was left earlier."""
    n_slices = 0

    def in_slices(task: Task, request: Request) -> Exploration:
        nonlocal n_slices
        explore, found, rest = CrewExplorer(crew), NOTHING, EVERYTHING
        while True:
            if n_slices % 3 == 2:
                rest = replace(rest)  # as read from a file
            part = explore(request, Work(keeps_rest=True, slice_s=0.001, rest=rest))
            found, rest = put_together([NOTHING if part.started_again else found, part]), part.rest
            n_slices += 1
            if not rest.units:
                return found

    task = replace(TASK, program=racing_writes(8))
    assert findings(rsmc.run(replace(task, explorer=in_slices))) == findings(rsmc.run(task))
    assert n_slices > 3


def test_progress_is_that_of_all(crew: ThreadCrew) -> None:
    seen: list[dict[str, int]] = []
    explored(crew, replace(TASK, program=racing_writes(8), progress=seen.append))
    assert seen
    assert all(counts["workers"] == 2 for counts in seen)
    complete = [counts["complete"] for counts in seen]
    assert complete == sorted(complete)


def test_limits_are_those_of_the_run(crew: ThreadCrew) -> None:
    large = replace(TASK, program=racing_writes(12))
    for limits, reason in ((Limits(timeout_s=0.2), "time"), (Limits(memory_mb=1), "memory")):
        result = rsmc.run(
            replace(large, limits=limits, explorer=explorer_with(CrewExplorer(crew))),
        )
        assert result.stopped_by == reason


def test_a_crew_without_anybody_is_given_up(crew: ThreadCrew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crews, "PATIENCE_S", 0.2)
    crew.n_slots = 0
    with pytest.raises(CrewLost, match="no workers any more"):
        explored(crew, TASK)


def test_things_come_back_in_order(crew: ThreadCrew) -> None:
    items = [(item, done.result()) for item, done in in_order(crew, abs, range(-20, 0))]
    assert items == [(item, -item) for item in range(-20, 0)]
    assert list(in_order(crew, abs, [])) == []


def test_a_deadly_test_does_not_spoil_the_others(crew: ThreadCrew) -> None:
    crew.fails = lambda tests: any(test.path == "deadly.litmus" for test in tests)
    text = "X86 one\n{\n}\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n"
    tests = [batch.Test(name, text=text) for name in ("a.litmus", "deadly.litmus", "b.litmus", "c.litmus")] * 10
    records = list(run_tests(crew, tests, BatchOptions()))
    assert [record.file for record in records] == [test.path for test in tests]
    assert {record.file for record in records if record.error is not None} == {"deadly.litmus"}
    assert {record.verdict for record in records if record.error is None} == {"Ok"}
