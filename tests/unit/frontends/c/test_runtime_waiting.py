"""Condition variables, semaphores, barriers and `pthread_once`, from C programs to verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler
from tests.unit.frontends.c.verdicts import HEADERS, MODELS, is_fine, messages, result_of, two_threads

from dekker.frontends.c.runtime.rechecking import EARLY
from dekker.ir.expressions import ZERO
from dekker.ir.instructions import Assign

pytestmark = needs_compiler

CONDITION = """
int ready, data;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
"""
PRODUCER = "pthread_mutex_lock(&m); data = 7; ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);"
CONSUMER = "pthread_mutex_lock(&m); WAIT assert(data == 7); pthread_mutex_unlock(&m);"
IN_LOOP = CONSUMER.replace("WAIT", "while (!ready) pthread_cond_wait(&c, &m);")


@pytest.mark.parametrize("model", MODELS)
def test_a_consumer_waits_for_its_producer(tmp_path: Path, model: str) -> None:
    assert is_fine(result_of(tmp_path, two_threads(PRODUCER, IN_LOOP, before=CONDITION), model))


def test_a_wait_may_end_without_a_signal(tmp_path: Path) -> None:
    consumer = IN_LOOP.replace("while", "if")
    result = result_of(tmp_path, two_threads(PRODUCER, consumer, before=CONDITION))
    assert messages(result) == {"the assertion `data == 7` fails"}


REPEATED = {
    "while (!ready) pthread_cond_wait(&c, &m);": False,
    "while (!ready && data != 7) { pthread_cond_wait(&c, &m); }": False,
    "for (int i = 0; i < 2; i++) { while (!ready) pthread_cond_wait(&c, &m); data = 7; }": False,
    "for (;;) { if (ready) break; pthread_cond_wait(&c, &m); }": False,
    "while (!is_ready()) pthread_cond_wait(&c, &m);": False,
    "if (!ready) pthread_cond_wait(&c, &m);": True,
    "while (!ready) { pthread_cond_wait(&c, &m); data++; }": True,
    "int n = 0; while (!ready) { n++; pthread_cond_wait(&c, &m); } assert(n <= 1);": True,
    "while (!set_ready()) pthread_cond_wait(&c, &m);": True,
    "while (!done) pthread_cond_wait(&c, &m);": True,
    "while (!atomic_ready) pthread_cond_wait(&c, &m);": True,
    "while (!ready) pthread_cond_wait(&c, &m); pthread_mutex_trylock(&m);": True,
}


@pytest.mark.parametrize("wait", REPEATED)
def test_rounds_without_a_signal_are_left_out_where_they_change_nothing(tmp_path: Path, wait: str) -> None:
    functions = """volatile int done;
_Atomic int atomic_ready;
int is_ready(void) { int r = ready; return r; }
int set_ready(void) { return ready++; }
"""
    text = f"{CONDITION} {functions}\nint main(void) {{ pthread_mutex_lock(&m); {wait} return 0; }}"
    body = from_c(tmp_path, HEADERS + text).function_by_name["main"].body
    noted = {step.value for step in body if isinstance(step, Assign) and step.dst == EARLY} - {ZERO}
    assert bool(noted) != REPEATED[wait]


def test_a_signal_before_the_wait_is_lost(tmp_path: Path) -> None:
    consumer = CONSUMER.replace("WAIT", "pthread_cond_wait(&c, &m);").replace("assert(data == 7);", "")
    result = result_of(tmp_path, two_threads(PRODUCER, consumer, before=CONDITION))
    assert result.deadlocks > 0
    assert not result.violations


def test_forgetting_the_signal_is_a_deadlock(tmp_path: Path) -> None:
    producer = PRODUCER.replace("pthread_cond_signal(&c);", "")
    result = result_of(tmp_path, two_threads(producer, IN_LOOP, before=CONDITION))
    assert result.deadlocks > 0


WAITERS = """
int ready;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *waiter(void *unused) {
  pthread_mutex_lock(&m);
  while (!ready) pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, waiter, 0);
  pthread_create(&b, 0, waiter, 0);
  pthread_mutex_lock(&m);
  ready = 1;
  WAKE(&c);
  pthread_mutex_unlock(&m);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
"""


def test_a_signal_wakes_one_and_a_broadcast_all(tmp_path: Path) -> None:
    assert is_fine(result_of(tmp_path, WAITERS.replace("WAKE", "pthread_cond_broadcast")))
    assert result_of(tmp_path, WAITERS.replace("WAKE", "pthread_cond_signal")).deadlocks > 0


def test_any_of_two_waits_may_be_the_one_that_ends(tmp_path: Path) -> None:
    """The first that waits has arrived first; the signal may still go to the second."""
    text = """
int arrived, order, woken;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
void *waiter(void *unused) {
  pthread_mutex_lock(&m);
  int mine = ++arrived;
  pthread_cond_wait(&c, &m);
  if (!woken) woken = mine;
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, waiter, 0);
  pthread_create(&b, 0, waiter, 0);
  pthread_mutex_lock(&m);
  if (arrived == 2) { pthread_cond_signal(&c); pthread_cond_broadcast(&c); }
  pthread_mutex_unlock(&m);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(woken != WOKEN);
  return 0;
}
"""
    for woken in "12":
        assert messages(result_of(tmp_path, text.replace("WOKEN", woken))) == {
            f"the assertion `woken != {woken}` fails"
        }


def test_waiting_needs_the_mutex(tmp_path: Path) -> None:
    result = result_of(tmp_path, CONDITION + "int main(void) { pthread_cond_wait(&c, &m); return 0; }")
    assert messages(result) == {"`pthread_cond_wait`: the mutex is not locked"}


def test_a_wait_with_a_time_limit_does_not_hang(tmp_path: Path) -> None:
    text = """
int main(void) {
  struct timespec limit = { 1, 0 };
  pthread_mutex_lock(&m);
  int status = pthread_cond_timedwait(&c, &m, &limit);
  assert(status == ETIMEDOUT || status == 0);
  pthread_mutex_unlock(&m);
  return 0;
}"""
    result = result_of(tmp_path, CONDITION + text)
    assert not result.violations
    assert not result.deadlocks
    assert result.complete_executions == 2


# --- semaphores

SEMAPHORE = "int n; sem_t s;"
GUARDED = "sem_wait(&s); n++; sem_post(&s);"


@pytest.mark.parametrize("model", MODELS)
def test_a_semaphore_of_one_excludes_and_one_of_two_does_not(tmp_path: Path, model: str) -> None:
    for value, good in ((1, True), (2, False)):
        text = two_threads(
            GUARDED, GUARDED, before=SEMAPHORE, setup=f"sem_init(&s, 0, {value});", check="assert(n == 2);"
        )
        result = result_of(tmp_path, text, model)
        assert is_fine(result) == good
        assert messages(result) == (set() if good else {"the assertion `n == 2` fails"})


@pytest.mark.parametrize("model", MODELS)
def test_a_post_hands_over_data(tmp_path: Path, model: str) -> None:
    setup = "sem_init(&s, 0, 0);"
    text = two_threads("n = 5; sem_post(&s);", "sem_wait(&s); assert(n == 5);", before=SEMAPHORE, setup=setup)
    assert is_fine(result_of(tmp_path, text, model))


def test_an_empty_semaphore_blocks_for_ever(tmp_path: Path) -> None:
    result = result_of(tmp_path, two_threads(GUARDED, GUARDED, before=SEMAPHORE, setup="sem_init(&s, 0, 0);"))
    assert (result.deadlocks, result.complete_executions) == (1, 0)


def test_values_and_attempts(tmp_path: Path) -> None:
    text = """
int main(void) {
  int value;
  sem_init(&s, 0, 2);
  assert(sem_trywait(&s) == 0);
  sem_getvalue(&s, &value);
  assert(value == 1);
  sem_wait(&s);
  assert(sem_trywait(&s) == -1 && errno == EAGAIN);
  sem_destroy(&s);
  return 0;
}"""
    assert is_fine(result_of(tmp_path, SEMAPHORE + text))


# --- barriers and once

BARRIER = "int x, y, serial; pthread_barrier_t b;"


@pytest.mark.parametrize("model", MODELS)
def test_a_barrier_separates_phases(tmp_path: Path, model: str) -> None:
    first = "x = 1; pthread_barrier_wait(&b); assert(y == 1);"
    second = "y = 1; pthread_barrier_wait(&b); assert(x == 1);"
    setup = "pthread_barrier_init(&b, 0, 2);"
    assert is_fine(result_of(tmp_path, two_threads(first, second, before=BARRIER, setup=setup), model))
    alone = result_of(tmp_path, two_threads(first, "y = 1;", before=BARRIER, setup=setup), model)
    assert alone.deadlocks > 0


def test_one_thread_is_the_serial_one_in_each_phase(tmp_path: Path) -> None:
    wait = "if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) __sync_fetch_and_add(&serial, 1);"
    text = two_threads(
        wait + wait, wait + wait, before=BARRIER, setup="pthread_barrier_init(&b, 0, 2);", check="assert(serial == 2);"
    )
    assert is_fine(result_of(tmp_path, text))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("control", "call"),
    [("pthread_once_t o = PTHREAD_ONCE_INIT;", "pthread_once"), ("once_flag o = ONCE_FLAG_INIT;", "call_once")],
)
def test_once_means_once_and_before_all_others_go_on(tmp_path: Path, model: str, control: str, call: str) -> None:
    before = f"int n; {control} void set(void) {{ n++; }}"
    body = f"{call}(&o, set); assert(n == 1);"
    assert is_fine(result_of(tmp_path, two_threads(body, body, before=before), model))
