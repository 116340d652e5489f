"""An access that nothing orders after the allocation of its object is undefined behaviour under the models of C."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.report.check_report import CheckReport
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.task import Limits

pytestmark = needs_compiler

PROGRAM = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct item { atomic_int value; atomic_int unused; };
static _Atomic(struct item *) shared;
static void *writer(void *arg) {
  struct item room, *fresh = ALLOCATE;
  SET;
  atomic_store_explicit(&shared, fresh, ORDER);
  BEHIND;
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  struct item *seen = atomic_load_explicit(&shared, READ);
  if (seen) { USE; }
  pthread_join(t, 0);
  JOINED;
  return 0;
}
"""
SET = "atomic_store_explicit(&fresh->value, 1, memory_order_relaxed)"
LOAD = "(void)atomic_load_explicit(&seen->value, memory_order_relaxed)"
STORE = "atomic_store_explicit(&seen->value, 2, memory_order_relaxed)"
UPDATE = "atomic_fetch_add_explicit(&seen->value, 1, memory_order_relaxed)"
WAIT = "while (!atomic_load_explicit(&seen->value, memory_order_acquire))"
RELEASE = "atomic_thread_fence(memory_order_release)"
ACQUIRE = "atomic_thread_fence(memory_order_acquire)"
JOINED = "atomic_load(&shared)->value = 3"
MALLOC, CALLOC, LOCAL = "malloc(sizeof *fresh)", "calloc(1, sizeof *fresh)", "&room"
LIMITS = Limits(unroll=4, counts_known_rounds=False, stop_at_first=True)
UNSAFE, SAFE = Verdict.UNSAFE, Verdict.SAFE


def checked(folder: Path, model: str, engine: str, changed: dict[str, str]) -> CheckReport:
    words = {"ALLOCATE": MALLOC, "SET": SET, "USE": LOAD, "ORDER": "relaxed", "READ": "acquire"}
    words |= {"BEHIND": "", "JOINED": "", **changed}
    words |= {name: f"memory_order_{words[name]}" for name in ("ORDER", "READ")}
    source = folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    flags = tuple(f"-D{name}={text}" for name, text in words.items())
    return check((str(source),), CheckOptions(model, engine, LIMITS, flags))


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize(
    ("expected", "changed"),
    [
        (UNSAFE, {}),
        (UNSAFE, {"USE": STORE}),
        (UNSAFE, {"ALLOCATE": CALLOC, "SET": ""}),
        (UNSAFE, {"ALLOCATE": CALLOC, "SET": "", "USE": UPDATE}),
        (UNSAFE, {"ORDER": "release", "READ": "relaxed"}),
        (UNSAFE, {"USE": f"{ACQUIRE}; {LOAD}"}),
        (UNSAFE, {"SET": f"{SET}; {RELEASE}", "READ": "relaxed"}),
        (UNSAFE, {"ALLOCATE": f"({RELEASE}, {MALLOC})", "READ": "acquire"}),
        (UNSAFE, {"ALLOCATE": CALLOC, "SET": "", "USE": "free(seen)"}),
        (UNSAFE, {"ALLOCATE": CALLOC, "SET": "", "USE": WAIT, "BEHIND": "fresh->value = 1"}),
        (SAFE, {"ORDER": "release"}),
        (SAFE, {"ORDER": "release", "USE": UPDATE}),
        (SAFE, {"ORDER": "release", "USE": "free(seen)"}),
        (SAFE, {"ORDER": "release", "ALLOCATE": CALLOC, "SET": "", "USE": STORE}),
        (SAFE, {"SET": f"{SET}; {RELEASE}"}),
        (SAFE, {"SET": f"{SET}; {RELEASE}", "READ": "relaxed", "USE": f"{ACQUIRE}; {LOAD}"}),
        (SAFE, {"USE": "", "JOINED": JOINED}),
    ],
)
def test_publication(tmp_path: Path, expected: Verdict, changed: dict[str, str], model: str, engine: str) -> None:
    report = checked(tmp_path, model, engine, changed)
    assert report.verdict is expected
    wrong = {"use before allocation"} if expected is UNSAFE else set()
    assert {item.finding.kind for item in report.violations} == wrong


def test_engines_agree_on_what_they_count(tmp_path: Path) -> None:
    report = checked(tmp_path, "cpp20", "all", {"USE": f"{LOAD}; {STORE}"})
    assert report.result.flags == {"use-before-allocation": report.result.flags["use-before-allocation"]}


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_local_variables_are_like_objects_of_the_heap(tmp_path: Path, engine: str) -> None:
    report = checked(tmp_path, "cpp20", engine, {"ALLOCATE": LOCAL, "BEHIND": "for (;;) ;"})
    (violation,) = report.violations
    assert violation.finding.message == "access to 4 bytes of `room`, which nothing orders after its declaration"


def test_both_places_are_named(tmp_path: Path) -> None:
    (violation,) = checked(tmp_path, "cpp20", "rsmc", {}).violations
    assert violation.finding.message == "access to 4 bytes of `ALLOCATE:8`, which nothing orders after its allocation"
    allocated, access = violation.finding.notes
    assert (allocated.message, allocated.stack[-1].line) == ("`ALLOCATE:8` was allocated", 8)
    assert (access.message, access.stack[-1].line) == ("thread 0 (main) reads 1, relaxed", 18)


@pytest.mark.parametrize("model", ["sc", "tso", "pso", "power", "aarch64", "riscv"])
def test_processors_order_what_an_address_depends_on(tmp_path: Path, model: str) -> None:
    assert checked(tmp_path, model, "rsmc", {}).verdict is SAFE


@pytest.mark.parametrize(("model", "expected"), [("sc", SAFE), ("tso", SAFE), ("power", UNSAFE), ("aarch64", UNSAFE)])
def test_on_processors_it_shows_that_the_object_was_not_set(tmp_path: Path, model: str, expected: Verdict) -> None:
    decided = "if (atomic_load_explicit(&seen->value, memory_order_relaxed)) atomic_store(&shared, 0)"
    report = checked(tmp_path, model, "rsmc", {"USE": decided, "READ": "relaxed"})
    assert report.verdict is expected
    assert {item.finding.kind for item in report.violations} <= {"uninitialised value"}


EITHER_WAY = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x;
static void *worker(void *arg) {
  if (atomic_load(&x)) {
    int *two = malloc(8);
    two[0] = 1;
    two[1] = 2;
    assert(two[0] + two[1] == SUM);
    free(two);
  } else {
    long *one = malloc(8);
    *one = 1;
    free(one);
  }
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  atomic_store(&x, 1);
  pthread_join(t, 0);
  return 0;
}
"""


@pytest.mark.parametrize("model", ["sc", "cpp20", "power", "aarch64"])
@pytest.mark.parametrize(("total", "expected"), [(3, SAFE), (4, UNSAFE)])
def test_runs_with_different_objects_at_one_address(tmp_path: Path, total: int, expected: Verdict, model: str) -> None:
    """What one of them accesses says nothing of the other."""
    source = tmp_path / "program.c"
    source.write_text(EITHER_WAY, encoding="utf-8")
    report = check((str(source),), CheckOptions(model, "rsmc", LIMITS, (f"-DSUM={total}",)))
    assert report.verdict is expected
    assert expected is UNSAFE or report.result.complete_executions == 2
