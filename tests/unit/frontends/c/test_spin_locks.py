"""Locks that spin, as people write them in C and C++: their loops wait, so that nothing is cut and each order in which
threads enter is one execution."""

from __future__ import annotations

from math import factorial
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler
from tests.unit.frontends.c.verdicts import is_fine

from dekker.engines.rsmc.engine import run
from dekker.ir.instructions import Assume, Rmw
from dekker.models import load_model
from dekker.run.prepare import QUIET_EXCHANGES, prepare
from dekker.task import Limits, Task

pytestmark = needs_compiler

C = """
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
DECLARATIONS
int count;
static void *thread(void *unused) { LOCK count++; UNLOCK return 0; }
int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, thread, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  assert(count == 3);
}
"""
CPP = """
#include <atomic>
#include <cassert>
#include <thread>
DECLARATIONS
int count;
void body() { LOCK count++; UNLOCK }
int main() {
  std::thread a(body), b(body), c(body);
  a.join(); b.join(); c.join();
  assert(count == 3);
}
"""
RELEASE = "atomic_store_explicit(&l, 0, memory_order_release);"
C_LOCKS = {
    "exchange": ("atomic_int l;", "while (atomic_exchange(&l, 1)) ;", RELEASE),
    "bool": ("atomic_bool l;", "while (atomic_exchange_explicit(&l, true, memory_order_acquire)) ;", RELEASE),
    "flag": (
        "atomic_flag l = ATOMIC_FLAG_INIT;",
        "while (atomic_flag_test_and_set(&l)) sched_yield();",
        "atomic_flag_clear(&l);",
    ),
    "sync": ("int l;", "while (__sync_lock_test_and_set(&l, 1)) ;", "__sync_lock_release(&l);"),
    "other number": ("atomic_int l;", "while (atomic_exchange(&l, 7) == 7) ;", RELEASE),
    "read while locked": (
        "atomic_int l;",
        "while (atomic_exchange(&l, 1)) while (atomic_load(&l)) sched_yield();",
        RELEASE,
    ),
    "weak": (
        "atomic_int l;",
        "int e = 0; while (!atomic_compare_exchange_weak(&l, &e, 1)) e = 0;",
        RELEASE,
    ),
    "two numbers": ("atomic_int l; ", "while (atomic_exchange(&l, 1) != 0) ;", RELEASE),
}
CPP_LOCKS = {
    "flag": (
        "std::atomic_flag l = ATOMIC_FLAG_INIT;",
        "while (l.test_and_set(std::memory_order_acquire)) std::this_thread::yield();",
        "l.clear(std::memory_order_release);",
    ),
    "exchange": ("std::atomic<bool> l{false};", "while (l.exchange(true)) ;", "l.store(false);"),
    "compare-exchange": (
        "std::atomic<int> l{0};",
        "int e = 0; while (!l.compare_exchange_weak(e, 1)) e = 0;",
        "l = 0;",
    ),
}


def found(folder: Path, template: str, parts: tuple[str, str, str], model: str, name: str) -> tuple[bool, int]:
    text = template
    for key, part in zip(("DECLARATIONS", "UNLOCK", "LOCK"), (parts[0], parts[2], parts[1]), strict=True):
        text = text.replace(key, part)
    known = load_model(model)
    limits = Limits(unroll=4, counts_known_rounds=False)
    result = run(Task(prepare(from_c(folder, text, name=name), known), known, limits))
    return is_fine(result), result.complete_executions


@pytest.mark.parametrize("lock", C_LOCKS)
@pytest.mark.parametrize("model", sorted(QUIET_EXCHANGES))
def test_locks_in_c_wait(tmp_path: Path, lock: str, model: str) -> None:
    assert found(tmp_path, C, C_LOCKS[lock], model, "lock.c") == (True, factorial(3))


@pytest.mark.parametrize("lock", CPP_LOCKS)
def test_locks_in_cpp_wait(tmp_path: Path, lock: str) -> None:
    assert found(tmp_path, CPP, CPP_LOCKS[lock], "rc11", "lock.cpp") == (True, factorial(3))


def test_an_exchange_that_may_change_something_goes_round(tmp_path: Path) -> None:
    """It finds 2, writes 1, and has to look again; then only 1 is there for ever."""
    text = """
#include <pthread.h>
#include <stdatomic.h>
atomic_int l;
static void *thread(void *unused) { atomic_store(&l, 2); return 0; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, thread, 0);
  while (atomic_exchange(&l, 1)) ;
}
"""
    model = load_model("sc")
    program = prepare(from_c(tmp_path, text), model)
    assert any(isinstance(step, Rmw) and step.quiet for function in program.functions for step in function.body)
    result = run(Task(program, model, Limits(unroll=4, counts_known_rounds=False)))
    assert result.deadlocks == 1
    assert result.complete_executions == 1


RETRIES = {
    "weak": "int e = atomic_load_explicit(&l, memory_order_relaxed); "
    "while (!atomic_compare_exchange_weak_explicit(&l, &e, e + 1, memory_order_acq_rel, memory_order_relaxed)) ;",
    "strong": "int e = atomic_load(&l), d; do d = e + 1; while (!atomic_compare_exchange_strong(&l, &e, d));",
    "giving up": "int e = atomic_load(&l); while (e < 9 && !atomic_compare_exchange_weak(&l, &e, e + 1)) ;",
}
NOT_THE_SAME = {
    "another order": "int e = atomic_load(&l); "
    "while (!atomic_compare_exchange_weak_explicit(&l, &e, e + 1, memory_order_acq_rel, memory_order_relaxed)) ;",
    "something between": "int e = atomic_load(&l); int k = atomic_load(&m); "
    "while (!atomic_compare_exchange_weak(&l, &e, e + k)) ;",
    "another variable": "int e = atomic_load(&m); while (!atomic_compare_exchange_weak(&l, &e, e + 1)) ;",
    "counted": "int n = 0, e = atomic_load(&l); while (!atomic_compare_exchange_weak(&l, &e, e + 1)) n++; last = n;",
}
COUNTERS = "atomic_int l, m; int last;"


@pytest.mark.parametrize("retry", RETRIES)
@pytest.mark.parametrize("model", ["sc", "power", "rc11"])
def test_attempts_that_fail_need_not_be_seen(tmp_path: Path, retry: str, model: str) -> None:
    text = C.replace("DECLARATIONS", COUNTERS).replace("UNLOCK", "").replace("LOCK", RETRIES[retry])
    known = load_model(model)
    program = prepare(from_c(tmp_path, text.replace("count++;", "").replace("count ==", "l ==")), known)
    result = run(Task(program, known, Limits(unroll=4, counts_known_rounds=False)))
    assert is_fine(result)
    assert result.complete_executions == factorial(3)


def test_a_race_in_an_attempt_that_fails_is_seen(tmp_path: Path) -> None:
    retry = "int e = atomic_load(&l), d; do d = last + 1; while (!atomic_compare_exchange_strong(&l, &e, d));"
    text = C.replace("DECLARATIONS", COUNTERS).replace("UNLOCK", "").replace("LOCK", retry)
    for model, is_reduced in (("sc", True), ("rc11", False)):
        steps = prepare(from_c(tmp_path, text), load_model(model)).function_by_name["thread"].body
        assert any(isinstance(step, Assume) for step in steps) == is_reduced


@pytest.mark.parametrize("retry", NOT_THE_SAME)
def test_attempts_are_seen_where_it_makes_a_difference(tmp_path: Path, retry: str) -> None:
    text = C.replace("DECLARATIONS", COUNTERS).replace("UNLOCK", "").replace("LOCK", NOT_THE_SAME[retry])
    program = prepare(from_c(tmp_path, text), load_model("rc11"))
    assert not any(isinstance(step, Assume) for step in program.function_by_name["thread"].body)
