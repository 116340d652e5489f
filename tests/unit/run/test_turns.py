"""rsmc and states in turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.reference.job_agreement import findings
from tests.strategies.litmus_programs import programs

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.ir.program import Program
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.result import Result
from dekker.run import turns
from dekker.run.engines import run_engine
from dekker.source import Source
from dekker.task import Limits, Task

STOPS = Limits(stop_at_first=True)
ALL_OF_THEM = 40_320


def adding(n_threads: int) -> Program:
    """As many executions as permutations, and few states."""
    threads = "".join(f"thread P{number} runs P\n" for number in range(n_threads))
    text = (
        "program adding architecture none\nobject x[4]\n"
        f"function P() {{\n  r0 = rmw.add.4 [&x], 1\n}}\n{threads}observe [x].4\n"
    )
    return parse_program(Source("adding.ir", text))


def task_of(n_threads: int = 8, model: str = "tso", limits: Limits = STOPS) -> Task:
    return Task(adding(n_threads), load_model(model), limits)


def short_turns(monkeypatch: pytest.MonkeyPatch, seconds: float = 1e-3) -> None:
    monkeypatch.setattr(turns, "FIRST_TURN_S", seconds)


def test_few_states_stand_for_many_executions(monkeypatch: pytest.MonkeyPatch) -> None:
    short_turns(monkeypatch)
    name, result = run_engine(None, task_of(12))
    assert name == "states"
    assert list(result.states) == [(12,)]
    assert result.choice.startswith("rsmc had not ended after ")


def test_what_ends_in_its_first_turn_is_explored() -> None:
    name, result = run_engine(None, task_of(3))
    assert (name, result.complete_executions, result.choice) == ("rsmc", 6, "")


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_explored_twice(monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    tried = []

    def never_ends(task: Task) -> Result:
        tried.append(task.limits.timeout_s)
        return Result(stopped_by="time")

    short_turns(monkeypatch)
    monkeypatch.setattr(states, "run", never_ends)
    name, result = run_engine(None, replace(task_of(), jobs=jobs))
    assert (name, result.complete_executions, result.stopped_by) == ("rsmc", ALL_OF_THEM, None)
    assert len(tried) > 2
    assert tried == [1e-3 * 2**number for number in range(len(tried))]


@pytest.mark.parametrize("stopped_by", ["memory", None])
def test_states_is_not_tried_again_in_vain(monkeypatch: pytest.MonkeyPatch, stopped_by: str | None) -> None:
    tried = []

    def fails(task: Task) -> Result:
        tried.append(task)
        if stopped_by is None:
            raise UnsupportedError("something")
        return Result(stopped_by=stopped_by)

    short_turns(monkeypatch)
    monkeypatch.setattr(states, "run", fails)
    name, result = run_engine(None, task_of())
    assert (name, result.complete_executions, len(tried)) == ("rsmc", ALL_OF_THEM, 1)


def explored_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an execution with more events than rsmc can hold would be; to come to that takes a minute."""
    monkeypatch.setattr(rsmc, "run", lambda task: Result(stopped_by="events"))


def test_executions_that_are_too_long_are_no_matter_to_states(monkeypatch: pytest.MonkeyPatch) -> None:
    explored_too_long(monkeypatch)
    name, result = run_engine(None, task_of())
    assert (name, result.stopped_by) == ("states", None)
    assert result.choice == "an execution is too long for rsmc"
    monkeypatch.setattr(states, "run", lambda task: Result(stopped_by="memory"))
    name, result = run_engine(None, task_of())
    assert (name, result.stopped_by, result.complete_executions) == ("rsmc", "events", 0)


def test_what_was_cut_is_searched_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads change places in which both may be for ever."""
    text = "program turns architecture none\nobject x[4]\nfunction P() {\nL:\n  r0 = load.4 [&x]\n"
    text += "  store.4 [&x] = (r0 xor.32 1)\n  branch (r0 ne.32 5) -> L\n}\n"
    program = parse_program(Source("turns.ir", text + "thread P0 runs P\nthread P1 runs P\nobserve [x].4\n"))
    name, result = run_engine(None, Task(program, load_model("sc"), STOPS))
    assert (name, result.stopped_by, result.cut, result.choice.endswith("more than 2 times")) == (
        "states",
        None,
        0,
        True,
    )
    monkeypatch.setattr(states, "run", lambda task: Result(bound="something"))
    name, result = run_engine(None, Task(program, load_model("sc"), STOPS))
    assert (name, bool(result.cut)) == ("rsmc", True)


def test_an_interrupt_leaves_what_was_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    explored: list[int] = []

    def explore(task: Task) -> Result:
        result = rsmc_run(task)
        explored.append(result.statistics["complete"])
        return result

    def interrupted(task: Task) -> Result:
        if explored[-1]:
            raise KeyboardInterrupt
        return Result(stopped_by="time")

    rsmc_run = rsmc.run
    short_turns(monkeypatch)
    monkeypatch.setattr(rsmc, "run", explore)
    monkeypatch.setattr(states, "run", interrupted)
    name, result = run_engine(None, task_of(14))
    assert (name, result.stopped_by) == ("rsmc", "interrupt")
    assert result.statistics["complete"] == explored[-1] > 0


def test_an_interrupt_ends_it_where_an_execution_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    explored_too_long(monkeypatch)
    monkeypatch.setattr(states, "run", lambda task: Result(stopped_by="interrupt"))
    assert run_engine(None, task_of())[1].stopped_by == "interrupt"


def test_time_ends_both(monkeypatch: pytest.MonkeyPatch) -> None:
    short_turns(monkeypatch)
    monkeypatch.setattr(states, "run", lambda task: Result(stopped_by="time"))
    limits = replace(STOPS, timeout_s=0.02)
    name, result = run_engine(None, task_of(10, limits=limits))
    assert (name, result.stopped_by) == ("rsmc", "time")


@pytest.mark.parametrize(
    "task",
    [
        task_of(limits=Limits()),
        task_of(limits=Limits(stop_at_first=True, max_traces=10**9)),
        task_of(model="power"),
        replace(task_of(), explorer=lambda task, request: None),
    ],
)
def test_who_asks_for_executions_gets_executions(task: Task) -> None:
    assert not turns.may_take_turns(task)


def test_a_model_of_the_same_name_is_not_the_same(tmp_path: Path) -> None:
    file = tmp_path / "tso.cat"
    file.write_text('"tso"\nacyclic po | rf | co | fr as total\n', encoding="utf-8")
    assert turns.may_take_turns(task_of())
    assert not turns.may_take_turns(replace(task_of(), model=load_model(str(file))))


@settings(max_examples=60)
@given(programs())
def test_turns_make_no_difference(program: Program) -> None:
    task = Task(program, load_model("tso"), STOPS)
    exploring = turns._Exploring(turn_s=1e-6)
    while (result := rsmc.run(replace(task, explorer=exploring))).stopped_by == turns.END_OF_TURN:
        pass
    assert findings(result) == findings(rsmc.run(task))
