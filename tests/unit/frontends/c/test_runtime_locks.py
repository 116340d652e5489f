"""Mutexes, spin locks and read-write locks, from C programs to verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler
from tests.unit.frontends.c.verdicts import HEADERS, MODELS, is_fine, messages, result_of, two_threads

from dekker.engines.rsmc.engine import run
from dekker.ir.instructions import CompareExchange, Order, Store
from dekker.ir.layout import layout
from dekker.models import load_model
from dekker.task import Task

pytestmark = needs_compiler

INCREMENT = "n++;"
COUNTED = "assert(n == 2);"
MUTEX = "int n; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;"
LOCKED = "pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);"


@pytest.mark.parametrize("model", MODELS)
def test_a_counter_needs_its_lock(tmp_path: Path, model: str) -> None:
    bare = result_of(tmp_path, two_threads(INCREMENT, INCREMENT, before=MUTEX, check=COUNTED), model)
    assert messages(bare) == {"the assertion `n == 2` fails"}
    locked = result_of(tmp_path, two_threads(LOCKED, LOCKED, before=MUTEX, check=COUNTED), model)
    assert is_fine(locked)
    assert locked.complete_executions == 2


def test_a_lock_taken_by_one_thread_only_protects_nothing(tmp_path: Path) -> None:
    result = result_of(tmp_path, two_threads(LOCKED, INCREMENT, before=MUTEX, check=COUNTED))
    assert messages(result) == {"the assertion `n == 2` fails"}


def test_a_normal_mutex_costs_three_accesses(tmp_path: Path) -> None:
    """One read and one write to lock, one write to unlock."""
    program = from_c(
        tmp_path, HEADERS + two_threads("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", "", before=MUTEX)
    )
    result = run(Task(program, load_model("sc"), examples=True))
    (trace,) = result.examples.states.values()
    start = layout(program).starts["m"]
    events = [(event.kind, event.address - start) for event in trace if start <= event.address < start + 40]
    assert events == [("R", 24), ("W", 24), ("W", 24)]


def test_locks_acquire_and_unlocks_release(tmp_path: Path) -> None:
    program = from_c(tmp_path, HEADERS + two_threads(LOCKED, "", before=MUTEX))
    body = program.function_by_name["first"].body
    locks = [(step.order, step.failure_order) for step in body if isinstance(step, CompareExchange)]
    assert locks == [(Order.ACQUIRE, Order.RELAXED)]
    unlocks = {step.order for step in body if isinstance(step, Store) and step.size == 8}
    assert unlocks == {Order.RELEASE}


@pytest.mark.parametrize("model", MODELS)
def test_a_mutex_that_somebody_else_locks_is_busy(tmp_path: Path, model: str) -> None:
    attempt = "if (pthread_mutex_trylock(&m) == 0) { n++; pthread_mutex_unlock(&m); } else failed = 1;"
    before = MUTEX + "int failed;"
    assert is_fine(result_of(tmp_path, two_threads(LOCKED, attempt, before=before, check="assert(n + failed == 2);")))
    result = result_of(tmp_path, two_threads(LOCKED, attempt, before=before, check="assert(!failed);"), model)
    assert messages(result) == {"the assertion `!failed` fails"}
    assert result.complete_executions > 0


def test_the_result_of_a_failed_attempt_is_ebusy(tmp_path: Path) -> None:
    text = MUTEX + "int main(void) { pthread_mutex_lock(&m); assert(pthread_mutex_trylock(&m) == EBUSY); return 0; }"
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize("model", MODELS)
def test_opposite_orders_of_two_locks_deadlock(tmp_path: Path, model: str) -> None:
    before = "pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER, r = PTHREAD_MUTEX_INITIALIZER;"

    def both(one: str, other: str) -> str:
        calls = ((f, name) for f, name in zip(["lock"] * 2 + ["unlock"] * 2, [one, other, other, one], strict=True))
        return " ".join(f"pthread_mutex_{f}(&{name});" for f, name in calls)

    opposite = result_of(tmp_path, two_threads(both("l", "r"), both("r", "l"), before=before), model)
    assert opposite.deadlocks > 0
    assert not opposite.violations
    assert is_fine(result_of(tmp_path, two_threads(both("l", "r"), both("l", "r"), before=before), model))


def test_a_thread_that_locks_twice_waits_for_ever(tmp_path: Path) -> None:
    result = result_of(tmp_path, MUTEX + "int main(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }")
    assert (result.deadlocks, result.complete_executions) == (1, 0)


RECURSIVE = (
    "pthread_mutex_t m; pthread_mutexattr_t k;",
    "pthread_mutexattr_init(&k); pthread_mutexattr_settype(&k, PTHREAD_MUTEX_RECURSIVE); pthread_mutex_init(&m, &k);",
)
STATIC_RECURSIVE = ("pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;", "")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("variables", "setup"), [RECURSIVE, STATIC_RECURSIVE])
def test_recursive_mutexes_count(tmp_path: Path, model: str, variables: str, setup: str) -> None:
    body = "pthread_mutex_lock(&m); pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); UNLOCK"
    twice = body.replace("UNLOCK", "n++; pthread_mutex_unlock(&m);")
    before = f"int n; {variables}"
    assert is_fine(
        result_of(tmp_path, two_threads(twice, twice, before=before, setup=setup, check="assert(n == 4);"), model)
    )
    once = body.replace("UNLOCK", "")
    assert result_of(tmp_path, two_threads(once, once, before=before, setup=setup), model).deadlocks > 0


def test_error_checking_mutexes_return_errors(tmp_path: Path) -> None:
    text = """
pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
int main(void) {
  assert(pthread_mutex_unlock(&m) == EPERM);
  assert(pthread_mutex_lock(&m) == 0);
  assert(pthread_mutex_lock(&m) == EDEADLK);
  assert(pthread_mutex_unlock(&m) == 0);
  assert(pthread_mutex_lock(&m) == 0);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


MISUSES = {
    "pthread_mutex_unlock(&m);": "`pthread_mutex_unlock`: the mutex is not locked",
    "pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&m);": (
        "`pthread_mutex_unlock`: the mutex is not locked"
    ),
    "pthread_mutex_lock(&m); other(); pthread_mutex_unlock(&m);": "`pthread_mutex_unlock`: the mutex is not locked",
    "pthread_mutex_lock(&m); pthread_mutex_destroy(&m);": "`pthread_mutex_destroy`: the mutex is locked",
    "pthread_mutex_destroy(&m); pthread_mutex_lock(&m);": "`pthread_mutex_lock`: the mutex was destroyed",
    "pthread_spin_init(&s, 0); pthread_spin_unlock(&s);": "`pthread_spin_unlock`: the lock is not locked",
    "pthread_rwlock_unlock(&w);": "`pthread_rwlock_unlock`: the lock is not locked",
}


@pytest.mark.parametrize("body", MISUSES)
def test_misuse_is_a_violation(tmp_path: Path, body: str) -> None:
    before = MUTEX + "pthread_spinlock_t s; pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;"
    text = f"{before} void other(void) {{ pthread_mutex_unlock(&m); }}\nint main(void) {{\n{body}\nreturn 0; }}"
    result = result_of(tmp_path, text)
    assert messages(result) == {MISUSES[body]}
    (violation,) = result.violations
    assert violation.span is not None
    assert violation.span.source.name.endswith("test.c")


def test_unlocking_what_another_thread_holds_is_a_violation(tmp_path: Path) -> None:
    result = result_of(tmp_path, two_threads(LOCKED, "pthread_mutex_unlock(&m);", before=MUTEX))
    expected = {"the mutex is not locked", "the mutex is held by another thread"}
    assert messages(result) == {f"`pthread_mutex_unlock`: {text}" for text in expected}


def test_a_mutex_may_be_local_or_on_the_heap(tmp_path: Path) -> None:
    text = """
struct counter { int n; pthread_mutex_t m; };
void *add(void *p) {
  struct counter *c = p;
  pthread_mutex_lock(&c->m); c->n++; pthread_mutex_unlock(&c->m);
  return 0;
}
int main(void) {
  struct counter *h = malloc(sizeof *h), l = { 0, PTHREAD_MUTEX_INITIALIZER };
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  pthread_t a, b;
  pthread_mutex_init(&h->m, 0);
  h->n = 0;
  pthread_create(&a, 0, add, h);
  pthread_create(&b, 0, add, &l);
  add(h);
  add(&l);
  pthread_join(a, 0);
  pthread_join(b, 0);
  pthread_mutex_lock(&own);
  assert(h->n == 2 && l.n == 2);
  pthread_mutex_unlock(&own);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


def test_memory_may_be_cleared_before_it_is_initialised(tmp_path: Path) -> None:
    """Accesses of different sizes to the same bytes would be refused."""
    text = """#include <string.h>
struct all { pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t w; sem_t s; pthread_barrier_t b; int n; } *p;
void *work(void *q) {
  pthread_mutex_lock(&p->m);
  p->n++;
  pthread_cond_signal(&p->c);
  pthread_mutex_unlock(&p->m);
  sem_post(&p->s);
  pthread_barrier_wait(&p->b);
  return 0;
}
int main(void) {
  pthread_t t;
  p = malloc(sizeof *p);
  memset(p, 0, sizeof *p);
  pthread_mutex_init(&p->m, 0);
  pthread_cond_init(&p->c, 0);
  pthread_rwlock_init(&p->w, 0);
  sem_init(&p->s, 0, 0);
  pthread_barrier_init(&p->b, 0, 2);
  pthread_create(&t, 0, work, 0);
  pthread_rwlock_wrlock(&p->w);
  pthread_mutex_lock(&p->m);
  while (!p->n) pthread_cond_wait(&p->c, &p->m);
  pthread_mutex_unlock(&p->m);
  sem_wait(&p->s);
  pthread_barrier_wait(&p->b);
  pthread_rwlock_unlock(&p->w);
  pthread_join(t, 0);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize("model", MODELS)
def test_spin_locks_exclude(tmp_path: Path, model: str) -> None:
    body = "pthread_spin_lock(&s); n++; pthread_spin_unlock(&s);"
    attempt = "if (pthread_spin_trylock(&s)) return 0; n++; pthread_spin_unlock(&s);"
    setup, before = "pthread_spin_init(&s, 0);", "int n; pthread_spinlock_t s;"
    assert is_fine(result_of(tmp_path, two_threads(body, body, before=before, setup=setup, check=COUNTED), model))
    result = result_of(tmp_path, two_threads(body, attempt, before=before, setup=setup, check=COUNTED), model)
    assert messages(result) == {"the assertion `n == 2` fails"}


RWLOCK = "int n, seen; pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;"
WRITER = "pthread_rwlock_wrlock(&w); n++; n++; pthread_rwlock_unlock(&w);"
READER = "pthread_rwlock_rdlock(&w); assert(n != 1); pthread_rwlock_unlock(&w);"


@pytest.mark.parametrize("model", MODELS)
def test_readers_do_not_see_a_writer_at_work(tmp_path: Path, model: str) -> None:
    assert is_fine(result_of(tmp_path, two_threads(WRITER, READER, before=RWLOCK), model))
    assert is_fine(result_of(tmp_path, two_threads(WRITER, WRITER, before=RWLOCK, check="assert(n == 4);"), model))
    bare = result_of(tmp_path, two_threads(WRITER, "assert(n != 1);", before=RWLOCK), model)
    assert messages(bare) == {"the assertion `n != 1` fails"}


def test_readers_are_there_together(tmp_path: Path) -> None:
    before = RWLOCK + "int busy;"
    reader = "pthread_rwlock_rdlock(&w); if (pthread_rwlock_tryrdlock(&w)) busy = 1; else pthread_rwlock_unlock(&w);"
    reader += "pthread_rwlock_unlock(&w);"
    assert is_fine(result_of(tmp_path, two_threads(reader, reader, before=before, check="assert(!busy);")))
    attempt = "if (pthread_rwlock_trywrlock(&w)) busy = 1; else pthread_rwlock_unlock(&w);"
    result = result_of(tmp_path, two_threads(reader, attempt, before=before, check="assert(!busy);"))
    assert messages(result) == {"the assertion `!busy` fails"}
