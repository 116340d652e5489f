"""What the explorer finds in programs with calls, threads and allocation replays; what was tampered with does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st
from tests.strategies import threaded_programs

from dekker.cat.model import Model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.axiomatic.engine import Accepted, LimitReached, accepted_executions
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import DekkerError, UnsupportedError
from dekker.execution import Trace
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.replay import check_witness, judge, replay
from dekker.report.check_report import CheckViolation
from dekker.report.violation_text import run_text
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.run.violations import out_of_order, violations_of
from dekker.run.witnesses import witnessed_model, witnessed_program
from dekker.source import Source
from dekker.task import Limits, Task
from dekker.witness import Witness, from_json, to_json

MODELS = ("sc", "tso", "pso", "power", "aarch64", "riscv", "cpp20", "rc11")
LIMITS = Limits(unroll=2, timeout_s=5, max_traces=2000, counts_known_rounds=False)


def explored(program: Program, model: Model, limits: Limits = LIMITS) -> tuple[Task, Result]:
    try:
        task = Task(prepare(program, model), model, limits, examples=True)
        return task, rsmc.run(task)
    except UnsupportedError:
        assume(False)
        raise


def check_program(program: Program, model: Model) -> list[CheckViolation]:
    task, result = explored(program, model)
    for trace in result.examples.states.values():
        replayed = replay(task.program, trace)
        assert judge(model, replayed.execution).allowed, print_program(task.program)
        assert all(run.end in ("complete", "unborn") for run in replayed.runs), print_program(task.program)
        kinds = {violation.kind for violation in result.violations}
        assert {failure.kind for failure in replayed.failures} <= kinds, print_program(task.program)
    found = without_other_races(list(violations_of(task, rsmc.NAME, result)))
    for violation in found:
        witness = violation.witness
        assert witness is not None, print_program(task.program)
        check_round_trip(witness)
        event(violation.finding.kind)
    return found


def without_other_races(found: list[CheckViolation]) -> list[CheckViolation]:
    """Further races of a run are told without the run, which stands beside the first."""
    race = next((violation for violation in found if violation.finding.kind == "data race"), None)
    return [violation for violation in found if violation is race or violation.finding.kind != "data race"]


def check_round_trip(witness: Witness) -> None:
    again = from_json(to_json(witness))
    assert again == witness
    program, model = witnessed_program(again), witnessed_model(again)
    assert check_witness(again, program, model) == []
    assert run_text(again, out_of_order(model, program, again))


@settings(max_examples=60)
@given(program=threaded_programs.programs(), name=st.sampled_from(MODELS))
def test_what_is_found_replays(program: Program, name: str) -> None:
    check_program(program, load_model(name))


@pytest.mark.slow
@settings(max_examples=3000, phases=(Phase.generate,))
@given(program=threaded_programs.programs(), name=st.sampled_from(MODELS))
def test_campaign(program: Program, name: str) -> None:
    check_program(program, load_model(name))


@settings(max_examples=40)
@given(program=threaded_programs.programs(), name=st.sampled_from(MODELS))
def test_the_first_violation_is_one_of_all(program: Program, name: str) -> None:
    model = load_model(name)
    _, everything = explored(program, model)
    assume(everything.stopped_by is None)
    task, first = explored(program, model, replace(LIMITS, stop_at_first=True))
    wrong = bool(everything.violations or everything.deadlocks or everything.flags)
    assert (first.stopped_by == "violation") == wrong, print_program(task.program)
    assert first.violations.keys() <= everything.violations.keys()
    assert bool(first.violations or first.deadlocks or first.flags) == wrong


# --- the oracle, too


@settings(max_examples=30)
@given(program=threaded_programs.programs(), name=st.sampled_from(("sc", "tso", "power", "rc11")))
def test_the_oracle_means_the_same_executions(program: Program, name: str) -> None:
    """Events and relations, one by one; and the runs that it gives for what is wrong."""
    model = load_model(name)
    task = Task(prepare(program, model), model, replace(LIMITS, unroll=1, timeout_s=3, max_traces=200), examples=True)
    try:
        result = axiomatic.run(task)
        assume(result.stopped_by is None)
        for accepted in islice(accepted_executions(task), 20):
            check_same_execution(task.program, accepted)
    except (UnsupportedError, LimitReached):
        assume(False)
        raise
    for violation in without_other_races(list(violations_of(task, axiomatic.NAME, result))):
        assert violation.witness is not None, print_program(task.program)


def check_same_execution(program: Program, accepted: Accepted) -> None:
    replayed, expected = replay(program, accepted.trace()), accepted.execution()
    assert replayed.execution.events == expected.events, print_program(program)
    for name, rows in expected.relations.items():
        assert replayed.execution.relations[name] == rows, f"{name}\n{print_program(program)}"


# --- witnesses that lie


def lies(witness: Witness) -> Iterator[str]:
    """The JSON text with one thing changed that matters."""
    plain = json.loads(to_json(witness))
    for number, item in enumerate(plain["events"]):
        for key, value in (("value", item["value"] ^ 1), ("address", item["address"] + 8), ("line", item["line"] + 1)):
            if item["kind"] == "F" and key != "line":
                continue
            yield _changed(plain, number, key, value)
        yield _changed(plain, number, "function", "elsewhere")
    for key in ("claim", "alone", "threads"):
        changed = dict(plain)
        changed[key] = {
            "claim": "double free" if plain["claim"] != "double free" else "join",
            "alone": plain["alone"] + 1,
            "threads": [{**plain["threads"][0], "end": "never"}, *plain["threads"][1:]],
        }[key]
        yield json.dumps(changed)
    if plain["violation"]:
        yield json.dumps({**plain, "violation": {**plain["violation"], "message": "something else"}})
        yield json.dumps({**plain, "violation": None})
    for name in ("rf", "co", "po"):
        pairs = plain["relations"].get(name, [])
        if pairs:
            yield json.dumps({**plain, "relations": {**plain["relations"], name: pairs[1:]}})


def _changed(plain: dict[str, list[dict[str, object]]], number: int, key: str, value: object) -> str:
    events = [*plain["events"]]
    events[number] = {**events[number], key: value}
    return json.dumps({**plain, "events": events})


@settings(max_examples=25)
@given(program=threaded_programs.programs(), name=st.sampled_from(MODELS))
def test_lies_are_refused(program: Program, name: str) -> None:
    task, result = explored(program, load_model(name), replace(LIMITS, stop_at_first=True))
    found = [item.witness for item in violations_of(task, rsmc.NAME, result) if item.witness is not None]
    assume(found)
    program, model = witnessed_program(found[0]), witnessed_model(found[0])
    for text in islice(lies(found[0]), 150):
        try:
            lie = from_json(text)
            problems = check_witness(lie, program, model)
        except DekkerError:
            continue
        assert problems, text


def test_a_part_of_a_trace_is_no_violation() -> None:
    """A trace without its last event shows nothing that is wrong any more, or something else."""
    source = Source(
        "p.ir",
        "program p\narchitecture C\nobject x[4]\nfunction w() {\n  store.4 [&x] = 1 relaxed\n  return 0\n}\n"
        'function main() {\n  t = spawn &w()\n  e = join t\n  r = load.4 [&x]\n  assert r eq.32 0, "zero"\n}\n'
        "thread main runs main\n",
    )
    model = load_model("sc")
    task = Task(prepare(parse_program(source), model), model, LIMITS, examples=True)
    (trace,) = rsmc.run(task).examples.violations.values()
    assert [failure.kind for failure in replay(task.program, trace).failures] == ["assertion"]
    last = max(position for position, item in enumerate(trace) if item.thread == 0)
    shorter: Trace = tuple(
        item._replace(link=item.link - 1) if item.kind == "R" and item.link > last else item
        for position, item in enumerate(trace)
        if position != last
    )
    assert not replay(task.program, shorter).failures
