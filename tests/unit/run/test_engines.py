"""`all` runs every engine and does not let a disagreement pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.cli.test_litmus import EXAMPLES, SB, SB_TEXT, without_times

from dekker.frontends.litmus import parse_litmus
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.result import Result, Violation
from dekker.run import engines
from dekker.source import Source
from dekker.task import Limits, Task

LB = str(EXAMPLES / "load-buffering-riscv.litmus")


def task() -> Task:
    return Task(parse_litmus(Source(SB, Path(SB).read_text(encoding="utf-8"))), load_model("tso"))


def test_all_gives_the_common_answer() -> None:
    result = engines.run_all(task())
    assert (result.satisfying, result.violating) == (1, 3)
    assert without_times(dekker("litmus", SB, "--engine", "all").out) == SB_TEXT + "\n"


def test_a_disagreement_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, "rsmc", lambda task: Result(satisfying=1, violating=2))
    with pytest.raises(engines.Disagreement, match="rsmc: 1\\+2"):
        engines.run_all(task())
    assert dekker("litmus", SB, "--engine", "all").status == 2


@pytest.mark.parametrize(
    "found",
    [
        Result(violations={Violation("assertion", "fails"): None}, stopped_by="time"),
        Result(states={(7, 7): 1}, stopped_by="time"),
        Result(deadlocks=1, stopped_by="time"),
    ],
)
def test_what_a_stopped_engine_found_must_be_there(monkeypatch: pytest.MonkeyPatch, found: Result) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, "rsmc", lambda task: found)
    with pytest.raises(engines.Disagreement):
        engines.run_all(task())
    monkeypatch.setitem(engines.SINGLE_ENGINES, "rsmc", lambda task: Result(stopped_by="time"))
    assert engines.run_all(task()).stopped_by == "time"


@pytest.mark.parametrize("name", ["rsmc", "states"])
def test_what_one_engine_finds_wrong_is_wrong(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    wrong = Result(violations={Violation("assertion", "fails"): None}, statistics={"states": 1})
    given: dict[str, float | None] = {}

    def stopped(task: Task) -> Result:
        given["time"] = task.limits.timeout_s
        return Result(stopped_by="time")

    for engine in engines.SINGLE_ENGINES:
        monkeypatch.setitem(engines.SINGLE_ENGINES, engine, (lambda task: wrong) if engine == name else stopped)
    limited = task()
    result = engines.run_all(replace(limited, limits=replace(limited.limits, timeout_s=30)))
    assert result.violations
    assert result.stopped_by == "time"
    assert result.bound == f"not finished: {', '.join(e for e in engines.SINGLE_ENGINES if e != name)}"
    assert given["time"] is not None
    assert 0 < given["time"] <= 30


def test_a_model_that_one_engine_cannot_run_is_left_to_the_other(tmp_path: Path) -> None:
    """This one lets values come out of thin air, so there is no order to commit in."""
    model = tmp_path / "mine.cat"
    model.write_text('"mine"\nacyclic po-loc | rf | co | fr as coherence\n', encoding="utf-8")
    refused = dekker("litmus", LB, "--model", str(model), "--engine", "rsmc")
    assert refused.status == 2
    assert "no acyclic check holds both reads-from between threads and" in refused.err
    for arguments in ((), ("--engine", "all")):
        assert "Sometimes 1 3" in dekker("litmus", LB, "--model", str(model), *arguments).out


def test_a_user_model_with_an_order_that_can_be_shown_runs_on_rsmc(tmp_path: Path) -> None:
    model = tmp_path / "tso.cat"
    model.write_text('"not the built-in tso"\nacyclic po | rf | co | fr as total\n', encoding="utf-8")
    found = dekker("litmus", SB, "--model", str(model), "--json", "-", "-q")
    record = json.loads(found.out)
    assert (record["engine"], record["observation"]) == ("rsmc", "Never")
    assert found.status == 1


OVERTAKEN = """
program overtaken architecture none
object x[4] object y[4] object z[4]
function left() {
  a = load.4 [&x]
  zero = a xor.64 a
  b = load.4 [&y add.64 zero]
  store.4 [&z] = 1
}
function right() {
  c = load.4 [&z]
  store.4 [&x] = c
}
thread left runs left
thread right runs right
observe 0:a, 1:c
"""


@pytest.mark.parametrize("engine", [None, "auto"])
def test_what_the_explorer_would_have_to_guess_is_left_to_the_oracle(engine: str | None) -> None:
    program = parse_program(Source("overtaken.ir", OVERTAKEN))
    name, result = engines.run_engine(engine, Task(program, load_model("rmo")))
    assert name == "axiomatic"
    assert (1, 1) in result.states
    assert "the access of line 7" in result.choice


STARTED = """
program "load buffering" architecture none
object x[4] object y[4] object a[4] object b[4]
function left() {
  r0 = load.4 [&x]
  store.4 [&y] = 1
  store.4 [&a] = r0
}
function right() {
  r0 = load.4 [&y]
  store.4 [&x] = 1
  store.4 [&b] = r0
}
function main() {
  s = spawn &left()
  t = spawn &right()
  join s
  join t
}
thread main runs main
observe [a].4, [b].4
"""


def test_commit_orders_know_what_started_threads_do() -> None:
    """Load buffering, which the model allows and no order of commits that rsmc can derive."""
    program = parse_program(Source("started.ir", STARTED))
    name, result = engines.run_engine(None, Task(program, load_model("ghb-power")))
    assert name == "axiomatic"
    assert (1, 1) in result.states


def test_the_oracle_has_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []

    def oracle(task: Task) -> Result:
        seen.append(task.limits.timeout_s)
        return Result()

    clock = iter((100.0, 107.0))
    monkeypatch.setattr(engines, "monotonic", lambda: next(clock))
    monkeypatch.setattr(engines, "run_oracle", oracle)
    program = parse_program(Source("overtaken.ir", OVERTAKEN))
    engines.run_engine(None, Task(program, load_model("rmo"), Limits(timeout_s=10)))
    assert seen == pytest.approx([3], abs=0.1)
