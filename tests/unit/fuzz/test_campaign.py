"""Campaigns of random programs: what is drawn, what is compared, and what becomes of a disagreement."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

from dekker.cli.fuzz import coverage_text
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.fuzz import campaign as campaigns
from dekker.fuzz.campaign import Coverage, Extent, campaign, run_programs
from dekker.fuzz.judgement import Judgement, judge
from dekker.fuzz.kinds import KINDS, Drawn, kind_of
from dekker.fuzz.shrink import shrink
from dekker.fuzz.transformed import run_transformed
from dekker.ir.expressions import Const
from dekker.ir.instructions import Assert
from dekker.ir.program import Function
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.result import Result
from dekker.run import engines, transform
from dekker.source import Source
from dekker.task import Limits, Task

WITHOUT_C = tuple(name for name, kind in KINDS.items() if not kind.compiled)
COMPILED = tuple(name for name, kind in KINDS.items() if kind.compiled)
ALL = tuple(KINDS)


@pytest.mark.parametrize("kind", WITHOUT_C)
def test_a_number_determines_its_program(kind: str) -> None:
    drawn = [KINDS[kind].draw(seed) for seed in range(30)]
    again = [KINDS[kind].draw(seed) for seed in range(30)]
    assert [(item.text, item.model) for item in drawn] == [(item.text, item.model) for item in again]
    assert len({item.text for item in drawn}) > 20


@pytest.mark.parametrize("kind", WITHOUT_C)
def test_programs_can_be_printed_and_read(kind: str) -> None:
    for seed in range(10):
        program = KINDS[kind].draw(seed).program
        text = print_program(program)
        assert print_program(parse_program(Source("again.ir", text))) == text


def test_every_kind_has_its_turn() -> None:
    assert {kind_of(seed, ALL) for seed in range(50_000)} == set(ALL)
    assert kind_of(3, ("lang",)) == "lang"


def test_engines_agree_on_some_programs_of_every_kind() -> None:
    coverage = run_programs(range(150), WITHOUT_C)
    assert coverage.programs == 150
    assert not coverage.problems, coverage.problems
    assert coverage.compared > 130
    assert coverage.kinds.keys() == set(WITHOUT_C)
    assert coverage.engines.keys() == {
        *("axiomatic", "rsmc", "states", "transform"),
        *("rsmc in units", "rsmc in another order"),
        *("states with several workers", "states with threads that change places"),
    }


@needs_compiler
@pytest.mark.parametrize("kind", COMPILED)
def test_c_programs_take_part(kind: str) -> None:
    coverage = run_programs(range(3), (kind,))
    assert coverage.programs == 3
    assert not coverage.problems


def without_a_state(task: Task) -> Result:
    """As an engine would be that loses what programs end with that write 3 to x."""
    found = rsmc.run(task)
    kept = {state: count for state, count in found.states.items() if state[-1] != 3}
    return replace(found, states=kept)


WRONG = """\
program wrong
architecture none
object x[8]
function P0() {
  r0 = load.4 [&x]
  store.4 [&x] = 3
  r1 = load.4 [&x]
}
function P1() {
  store.4 [&x] = 7
  r0 = load.4 [&x]
  store.4 [&x] = 2
}
thread P0 runs P0
thread P1 runs P1
observe [x].4
"""


def test_a_disagreement_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, rsmc.NAME, without_a_state)

    def is_wrong(text: str) -> bool:
        return "disagree" in judge(parse_program(Source("x.ir", text)), "sc", 0).problem

    assert is_wrong(WRONG)
    small = shrink(WRONG, is_wrong, 30)
    assert [line.strip() for line in small.splitlines() if line.startswith("  ")] == ["store.4 [&x] = 3"]


def test_a_twin_goes_wrong_in_the_same_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = parse_program(Source("x.ir", WRONG.replace("architecture none", "architecture C")))
    right = parse_program(Source("x.ir", WRONG.replace("architecture none", "architecture C").replace("7", "5")))
    assert not judge(wrong, "sc", 0, twin=right).problem
    failing = replace(right, functions=(*right.functions[:-1], _with_a_failure(right.functions[-1])))
    assert "twin" in judge(wrong, "sc", 0, twin=failing).problem
    drawn = Drawn(wrong, WRONG, ".ir", "sc", failing)
    monkeypatch.setitem(KINDS, "plain", replace(KINDS["plain"], draw=lambda seed: drawn))
    (problem,) = run_programs(range(1), ("plain",)).problems
    assert problem.small == print_program(wrong)


def _with_a_failure(function: Function) -> Function:
    return replace(function, body=(*function.body, Assert(Const(0), "")), spans=())


@needs_compiler
def test_programs_about_what_is_set_have_twins_on_the_heap() -> None:
    drawn = [KINDS["lifetimes"].draw(seed) for seed in range(6)]
    assert any(item.twin for item in drawn)
    assert all((item.twin is not None) == ("keep->" in item.text) for item in drawn)


def test_an_attempt_that_is_no_program_is_not_smaller() -> None:
    assert shrink("a\n  keep\n  drop\n", lambda text: "keep" in text, 5) == "a\n  keep\n"
    assert shrink("a\n  x = 17\n", lambda text: "x =" in text, 5) == "a\n  x = 1\n"
    assert shrink("a\n  x\n", lambda text: False, 5) == "a\n  x\n"


def delays_nothing(task: Task) -> Result:
    """As the transformation would be if it selected no access."""
    return states.run(replace(task, model=load_model("sc")))


@pytest.mark.parametrize("model", ["ghb-power", "ghb-rmo"])
def test_what_the_transformation_loses_is_found(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transform, "run", delays_nothing)
    assert "disagree" in judge(parse_program(Source("x.ir", STORE_BUFFERING)), model, 0).problem


STORE_BUFFERING = """\
program sb
architecture none
object x[8]
object y[8]
function P0() {
  store.4 [&x] = 1
  r0 = load.4 [&y]
}
function P1() {
  store.4 [&y] = 1
  r0 = load.4 [&x]
}
thread P0 runs P0
thread P1 runs P1
observe 0:r0, 1:r0
"""


EXCHANGING = """
program "exchanging"
architecture C
object lock[4] align 4
object p[4] align 4
function main() {
  %1 = spawn &lock_and_store(1)
  %2 = spawn &lock_and_store(2)
  join %2
  exit everything 0
}
function lock_and_store(argument) {
again:
  %1 = rmw.xchg.4 [&lock], 1 release
  branch %1 -> again
  %2 = load.4 [&p]
  store.4 [&p] = (%2 add.32 1)
  store.4 [&lock] = 0
}
thread main runs main
observe [p].4
"""


def test_the_program_may_end_while_exchanges_wait() -> None:
    turns = [seed for seed in range(200) if run_transformed_in(EXCHANGING, seed)]
    assert turns
    assert not judge(parse_program(Source("x.ir", EXCHANGING)), "tso", turns[0]).problem


def run_transformed_in(text: str, seed: int) -> bool:
    program = parse_program(Source("x.ir", text))
    return run_transformed(program, load_model("tso"), Limits(1), seed) is not None


def crash(task: Task) -> Result:
    raise ZeroDivisionError


def test_a_crash_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, rsmc.NAME, crash)
    assert "ZeroDivisionError" in judge(parse_program(Source("x.ir", WRONG)), "sc", 0).problem


def test_the_command_says_what_was_covered(tmp_path: Path) -> None:
    folder = tmp_path / "found"
    outcome = dekker("fuzz", "-n", "40", "--seed", "100", "--kinds", "plain,rsmc", "--out", str(folder))
    assert outcome.status == 0
    assert outcome.out.startswith("40 programs (numbers 100 to 139)")
    assert "disagreements: 0" in outcome.out
    assert not folder.exists()


def test_the_command_saves_what_engines_disagree_about(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(engines.SINGLE_ENGINES, rsmc.NAME, crash)
    outcome = dekker("fuzz", "-n", "2", "--kinds", "plain", "--jobs", "1", "--out", str(tmp_path))
    assert outcome.status == 1
    assert "disagreements: 2" in outcome.out
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".ir", ".ir", ".ir", ".ir", ".json", ".json"]


def plain_after(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    """Plain programs, each of which is drawn after something else was done."""
    plain = KINDS["plain"]

    def acted(seed: int) -> Drawn:
        act(seed)
        return plain.draw(seed)

    monkeypatch.setitem(KINDS, "plain", replace(plain, draw=acted))


def test_what_was_found_before_a_worker_is_killed_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def end_at_60(seed: int) -> None:
        if seed == 60:
            while not list(tmp_path.glob("plain-3-*.json")):
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)

    plain_after(monkeypatch, end_at_60)
    monkeypatch.setattr(campaigns, "judge", lambda _, model, seed, twin: Judgement(problem="odd" if seed == 3 else ""))
    monkeypatch.setattr(campaigns, "shrink", lambda text, still_wrong, seconds: text)
    outcome = dekker("fuzz", "-n", "100", "--kinds", "plain", "--jobs", "2", "--out", str(tmp_path))
    assert outcome.status == 2
    assert "a worker process was killed" in outcome.err
    assert "(numbers 0 to " in outcome.out
    assert "disagreements: 1" in outcome.out


def test_a_limit_of_time_is_one_of_programs_that_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_after(monkeypatch, lambda seed: time.sleep(1.2))
    coverage = Coverage()
    assert campaign(Extent(0, None, 2.0), ("plain",), 2, coverage)
    assert 1 <= coverage.programs <= 6
    assert sum(map(len, coverage.numbers)) == coverage.programs


def test_what_does_not_begin_in_time_has_another_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "CHUNK_S", 1e-9)
    coverage, parts = Coverage(), list[int]()
    assert campaign(Extent(7, 30), ("plain",), 2, coverage, lambda so_far: parts.append(so_far.programs))
    assert parts == list(range(1, 31))
    assert coverage.numbers == [range(7, 37)]


def test_gaps_in_what_was_covered_are_shown() -> None:
    coverage = Coverage()
    for start, stop in ((25, 50), (0, 10), (60, 61), (50, 55)):
        coverage.add(Coverage(stop - start, [range(start, stop)]))
    assert coverage_text(coverage, 1.0).startswith("41 programs (numbers 0 to 9, 25 to 54, 60 to 60), ")


@pytest.mark.parametrize("seed", [1 << 62, (1 << 62) + 1, 1 << 64])
def test_numbers_that_are_too_large_are_refused(seed: int) -> None:
    outcome = dekker("fuzz", "-n", "20", "--kinds", ",".join(WITHOUT_C), "--seed", str(seed))
    assert outcome.status == (0 if seed == 1 << 62 else 2)


def test_unknown_kinds_are_named() -> None:
    outcome = dekker("fuzz", "-n", "1", "--kinds", "plain,odd")
    assert outcome.status == 2
    assert "'odd'" in outcome.err
    assert "hint: kinds are plain" in outcome.err
