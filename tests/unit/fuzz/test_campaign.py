"""Campaigns of random programs: what is drawn, what is compared, and what becomes of a disagreement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.fuzz.campaign import run_programs
from dekker.fuzz.judgement import judge
from dekker.fuzz.kinds import KINDS, kind_of
from dekker.fuzz.shrink import shrink
from dekker.ir.text import parse_program, print_program
from dekker.models import load_model
from dekker.result import Result
from dekker.run import engines, transform
from dekker.source import Source
from dekker.task import Task

WITHOUT_C = tuple(kind for kind in KINDS if kind != "c")
ALL = tuple(KINDS)


@pytest.mark.parametrize("kind", WITHOUT_C)
def test_a_number_determines_its_program(kind: str) -> None:
    drawn = [KINDS[kind](seed) for seed in range(30)]
    again = [KINDS[kind](seed) for seed in range(30)]
    assert [(item.text, item.model) for item in drawn] == [(item.text, item.model) for item in again]
    assert len({item.text for item in drawn}) > 20


@pytest.mark.parametrize("kind", WITHOUT_C)
def test_programs_can_be_printed_and_read(kind: str) -> None:
    for seed in range(10):
        program = KINDS[kind](seed).program
        text = print_program(program)
        assert print_program(parse_program(Source("again.ir", text))) == text


def test_every_kind_has_its_turn() -> None:
    assert {kind_of(seed, ALL) for seed in range(5000)} == set(ALL)
    assert kind_of(3, ("lang",)) == "lang"


def test_engines_agree_on_some_programs_of_every_kind() -> None:
    coverage = run_programs(range(150), WITHOUT_C)
    assert coverage.programs == 150
    assert not coverage.problems, coverage.problems
    assert coverage.compared > 130
    assert coverage.kinds.keys() == set(WITHOUT_C)
    engines = {"axiomatic", "rsmc", "rsmc in units", "states", "states with several workers", "transform"}
    assert engines == coverage.engines.keys()


@needs_compiler
def test_c_programs_take_part() -> None:
    coverage = run_programs(range(3), ("c",))
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


def test_unknown_kinds_are_named() -> None:
    outcome = dekker("fuzz", "-n", "1", "--kinds", "plain,odd")
    assert outcome.status == 2
    assert "'odd'" in outcome.err
    assert "hint: kinds are plain" in outcome.err
