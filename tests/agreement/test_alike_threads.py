"""Where only the verdict is asked for, alike threads are explored up to renaming: fewer runs, the same verdict."""

from __future__ import annotations

from dataclasses import replace
from math import factorial
from pathlib import Path

import pytest
from tests.reference.engine_agreement import read_program
from tests.reference.joins_of_some import PROGRAMS, program_text
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_files
from dekker.fuzz.judgement import judge
from dekker.fuzz.kinds import KINDS
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

pytestmark = needs_compiler

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODELS = ("sc", "tso", "rc11", "power", "aarch64")

THREADS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
atomic_int x;
int done[3];
struct node { struct node *next; int value; } nodes[3];
struct node *_Atomic top;
static void *start(void *argument) {
  long me = (long)argument;
  (void)me;
  %s
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) {
    pthread_create(&t[i], 0, start, (void *)i);
    %s
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(t[i], 0);
    %s
  }
  %s
}
"""
ADD = "atomic_fetch_add(&x, 1);"
PUSH = "do n->next = atomic_load(&top); while (!atomic_compare_exchange_strong(&top, &n->next, n));"
IN_FRONT = "int *v = done - 1;"
SHUFFLED = "(int)(((uintptr_t)n >> 33) ^ ((uintptr_t)n >> 32))"


def explored(program: Program, model: str, *, counts: bool, **more: int) -> Result:
    found = load_model(model)
    limits = Limits(4, 20, counts_known_rounds=False, counts_executions=counts)
    return rsmc.run(Task(prepare(program, found), found, limits, **more))  # type: ignore[arg-type]


def written(folder: Path, body: str, starting: str = "", joining: str = "", after: str = "") -> Program:
    return read_program(THREADS % (body, starting, joining, after), folder, ())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["families/fetch_add.c", "gallery/mutex.c", "gallery/ticket.c"])
def test_threads_that_take_turns_take_them_in_one_order(name: str, model: str) -> None:
    program = parse_files([str(BENCHMARKS / name)], ("-DN=4",))
    exact, found = (explored(program, model, counts=counts) for counts in (True, False))
    assert (exact.complete_executions, found.complete_executions) == (factorial(4), 1)
    assert found.is_up_to_renaming
    assert not exact.is_up_to_renaming


@pytest.mark.parametrize(
    "body",
    [
        ADD,
        "if (me < 5) atomic_fetch_add(&x, 1);",
        "int *own = malloc(sizeof *own); *own = 1; atomic_fetch_add(&x, *own);",
        f"struct node *n = malloc(sizeof *n); {PUSH}",
        f"struct node *n = &nodes[me]; n->value = 1; {PUSH}",
    ],
)
def test_what_is_the_same_for_all_tells_nobody_apart(body: str, tmp_path: Path) -> None:
    program = written(tmp_path, body)
    exact, found = (explored(program, "rc11", counts=counts) for counts in (True, False))
    assert exact.complete_executions == factorial(3) * found.complete_executions


@pytest.mark.parametrize(
    ("body", "starting", "joining", "after"),
    [
        ("assert(atomic_fetch_add(&x, me + 1) < 9);", "", "", ""),
        ("if (me == atomic_load(&x)) atomic_fetch_add(&x, 1);", "", "", ""),
        (ADD, "atomic_load(&x);", "", ""),
        (ADD, "", "atomic_load(&x);", ""),
        (f"struct node *n = malloc(sizeof *n); assert(atomic_fetch_add(&x, {SHUFFLED}) != 9); free(n);", "", "", ""),
        ("done[me] = atomic_fetch_add(&x, 1);", "", "", "assert(done[0] != 5);"),
        ("done[me] = 1; assert(atomic_fetch_add(&x, done[0] < 5) < 9);", "", "", ""),
        ("done[me] = atomic_fetch_add(&x, 1);", "", "", f"{IN_FRONT} for (int i = 1; i < 3; i++) assert(v[i] < 5);"),
        (f"done[me] = 1; {IN_FRONT} atomic_fetch_add(&x, v[1 + !atomic_load(&x)] < 5);", "", "", ""),
    ],
)
def test_what_differs_tells_threads_apart(body: str, starting: str, joining: str, after: str, tmp_path: Path) -> None:
    program = written(tmp_path, body, starting, joining, after)
    exact, found = (explored(program, "sc", counts=counts) for counts in (True, False))
    assert exact.complete_executions == found.complete_executions
    assert exact.flags.keys() == found.flags.keys()


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("model", MODELS)
def test_joining_one_after_the_other_may_tell_them_apart(name: str, first: int, model: str, tmp_path: Path) -> None:
    program = read_program(program_text(name, first), tmp_path, ())
    exact, found = (explored(program, model, counts=counts) for counts in (True, False))
    assert found.violations.keys() == exact.violations.keys()
    assert bool(found.deadlocks) == bool(exact.deadlocks)
    assert found.violations or found.deadlocks


@pytest.mark.parametrize("model", ["sc", "rc11"])
def test_a_program_may_end_while_one_waits_that_would_fail_later(model: str, tmp_path: Path) -> None:
    text = """
        #include <assert.h>
        #include <pthread.h>
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int p;
        void *f(void *a) { pthread_mutex_lock(&m); int r = p++; pthread_mutex_unlock(&m); assert(r != 1); return 0; }
        int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0); pthread_join(t, 0); }
    """
    program = read_program(text, tmp_path, ())
    found = load_model(model)
    task = Task(prepare(program, found), found, Limits(2, 20, counts_known_rounds=False))
    expected, exact = axiomatic.run(task), rsmc.run(task)
    assert expected.complete_executions == exact.complete_executions > 0
    assert explored(program, model, counts=False).violations


def test_an_address_may_be_computed_before_there_are_threads(tmp_path: Path) -> None:
    text = THREADS % ("done[me] = atomic_fetch_add(&x, 1);", "", "", "assert(early[0] <= early[1]);")
    before = "int *volatile front = done - 1; int *early = front; early++;\n  pthread_t t[3];"
    program = read_program(text.replace("pthread_t t[3];", before), tmp_path, ())
    assert explored(program, "sc", counts=False).violations


def test_one_of_two_kinds_is_told_from_the_other(tmp_path: Path) -> None:
    """Two threads add one, the third adds two, in one of three places."""
    program = written(tmp_path, "assert(atomic_fetch_add(&x, me == 2 ? 2 : 1) < 9);")
    assert explored(program, "tso", counts=False).complete_executions == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_parts_of_the_exploration_find_the_same(jobs: int) -> None:
    program = parse_files([str(BENCHMARKS / "families/cinc.c")], ("-DN=3",))
    whole = explored(program, "rc11", counts=False)
    parts = explored(program, "rc11", counts=False, jobs=jobs, split_seed=7)
    assert (parts.complete_executions, parts.blocked) == (whole.complete_executions, whole.blocked)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_go_wrong_in_the_same_ways(seed: int) -> None:
    drawn = KINDS["alike"].draw(seed)
    problem = judge(drawn.program, drawn.model, seed).problem
    assert not problem, drawn.text


def test_a_failed_assertion_is_found_and_told(tmp_path: Path) -> None:
    program = written(tmp_path, "assert(atomic_fetch_add(&x, 1) < 2);")
    limits = replace(Limits(4, 20, counts_known_rounds=False, counts_executions=False), stop_at_first=True)
    model = load_model("rc11")
    assert rsmc.run(Task(prepare(program, model), model, limits)).violations
