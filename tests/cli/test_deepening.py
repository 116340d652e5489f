"""The default bound on loops: 1, then 2, then 4 rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker import check
from dekker.cat.model import Model
from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_files
from dekker.models import load_model
from dekker.result import Result
from dekker.run.check import CheckOptions, check_limits, check_program
from dekker.run.deepening import deepened
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

pytest.importorskip("ziglang", reason="the compiler is not installed")

TEXT = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x, seen;
void *f(void *a) {
  for (int n = 0; atomic_load(&x) != 7 && n < 100; n++) {
    if (n == BAD) atomic_store(&seen, 1);
    atomic_fetch_add(&x, 1);
  }
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, f, 0);
  int v = 0;
  while (atomic_load(&x) == v && v < 100) v++;
  assert(!atomic_load(&seen));
  return 0;
}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "loops.c"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


def unroll_of(file: str, round_: int, *arguments: str) -> tuple[str, int]:
    outcome = dekker("check", file, "-m", "sc", "--json", "-", *arguments, "--", f"-DBAD={round_}")
    answer = json.loads(outcome.out)
    return answer["verdict"], answer["bounds"]["unroll"]


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize(("round_", "unroll"), [(0, 1), (2, 1), (3, 2), (4, 4)])
def test_the_first_bound_that_shows_it_is_the_last(file: str, engine: str, round_: int, unroll: int) -> None:
    assert unroll_of(file, round_, "--engine", engine) == ("UNSAFE", unroll)


def test_a_given_bound_stands_alone(file: str) -> None:
    assert unroll_of(file, 3, "--unroll", "1", "--engine", "rsmc") == ("UNKNOWN", 1)
    assert unroll_of(file, 0, "--unroll", "4", "--engine", "rsmc") == ("UNSAFE", 4)


def test_what_is_explored_to_the_end_is_explored_with_the_largest(file: str) -> None:
    assert unroll_of(file, 0, "--keep-going") == ("UNSAFE", 4)
    assert unroll_of(file, 0, "--engine", "all") == ("UNSAFE", 4)


def test_beyond_the_largest_states_are_searched(file: str) -> None:
    outcome = dekker("check", file, "-m", "sc", "--", "-DBAD=9")
    assert "rsmc would have cut loops that go round more than 4 times" in outcome.out
    assert outcome.status == 0


def test_the_api_and_comparisons_deepen_too(file: str) -> None:
    assert check(file, "sc", engine="rsmc", flags=["-DBAD=9"]).bound.startswith("loops go round at most 4 times")
    row = dekker("compare", file, "-m", "sc", "--engine", "rsmc", "--", "-DBAD=9").out
    assert "within --unroll 4" in row


def task_of(file: str, round_: int, limits: Limits) -> tuple[Task, Model]:
    model = load_model("sc")
    program = prepare(parse_files([file], (f"-DBAD={round_}",)), model)
    return Task(program, model, limits), model


def test_counts_are_those_of_the_last_bound(file: str) -> None:
    task, _ = task_of(file, 9, check_limits())
    found = deepened(rsmc.run, task)
    alone, _ = task_of(file, 9, check_limits(4))
    expected = rsmc.run(alone)
    assert (found.cut, found.blocked, found.rounds) == (expected.cut, expected.blocked, 4)


def test_one_run_where_nothing_is_cut() -> None:
    file = "examples/c/table1/peterson.c"
    asked: list[int] = []

    def run(task: Task) -> Result:
        asked.append(task.limits.unroll)
        return rsmc.run(task)

    model = load_model("sc")
    deepened(run, Task(prepare(parse_files([file]), model), model, check_limits()))
    assert asked == [1]
    report = check_program(parse_files([file]), model, CheckOptions())
    assert report.limits.unroll == 4


@pytest.mark.parametrize("reason", ["time", "memory", "interrupt"])
def test_a_limit_says_what_was_covered(file: str, reason: str) -> None:
    task, _ = task_of(file, 9, check_limits())

    def run(asked: Task) -> Result:
        return Result(stopped_by=reason) if asked.limits.unroll == 4 else rsmc.run(asked)

    found = deepened(run, task)
    assert (found.stopped_by, found.bound) == (reason, "covered in full: 2 rounds of each loop (--unroll 2)")


def test_what_a_smaller_bound_showed_is_not_lost(file: str) -> None:
    task, _ = task_of(file, 0, check_limits(stop_at_first=False))

    def run(asked: Task) -> Result:
        return Result(stopped_by="time") if asked.limits.unroll == 4 else rsmc.run(asked)

    found = deepened(run, task)
    assert (len(found.violations), found.stopped_by, found.rounds) == (1, "time", 2)


def test_time_is_one_limit_for_all(file: str) -> None:
    task, _ = task_of(file, 9, check_limits(timeout_s=100.0))
    left: list[float] = []

    def run(asked: Task) -> Result:
        assert asked.limits.timeout_s is not None
        left.append(asked.limits.timeout_s)
        return rsmc.run(asked)

    deepened(run, task)
    assert len(left) == 3
    assert 100 >= left[0] > left[1] > left[2]


def test_a_checkpoint_deepens(file: str, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    arguments = ("check", file, "-m", "sc", "--checkpoint", state, "--json", "-", "--max-traces", "1000")
    answer = json.loads(dekker(*arguments, "--", "-DBAD=4").out)
    assert (answer["verdict"], answer["bounds"]["unroll"]) == ("UNSAFE", 4)
    assert json.loads(dekker("resume", state, "--json", "-").out)["verdict"] == "UNSAFE"


PARKER = "examples/c/table1/parker.c"


def test_a_checkpoint_of_a_small_bound_goes_on_with_larger_ones(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    arguments = ("check", PARKER, "-m", "sc", "--json", "-")
    whole = json.loads(dekker(*arguments, "--keep-going").out)
    stopped = json.loads(dekker(*arguments, "--keep-going", "--checkpoint", state, "--max-traces", "3").out)
    assert (stopped["verdict"], stopped["bounds"]["unroll"]) == ("UNKNOWN", 1)
    resumed = json.loads(dekker("resume", state, "--json", "-").out)
    assert resumed["bounds"]["unroll"] == 4
    assert (resumed["verdict"], resumed["stats"]["complete"]) == (whole["verdict"], whole["stats"]["complete"])


ENDLESS = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
atomic_int x;
void *count(void *a) { for (int i = 0;; i++) { x = i; assert(i < LAST); } }
void *look(void *a) { assert(x < SEEN); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, count, 0);
  pthread_create(&u, 0, look, 0);
  pthread_join(u, 0);
}
"""


@pytest.mark.parametrize(("last", "seen"), [(3, 9), (99999999, 3)])
def test_all_engines_together_deepen_before_states_are_searched(tmp_path: Path, last: int, seen: int) -> None:
    program = tmp_path / "endless.c"
    program.write_text(ENDLESS, encoding="utf-8")
    flags = ("--", f"-DLAST={last}", f"-DSEEN={seen}")
    outcome = dekker("check", str(program), "-m", "sc", "--engine", "all", "--timeout", "12", *flags)
    assert (outcome.status, outcome.out.split()[0]) == (1, "UNSAFE"), outcome
