"""Waits that end without a signal, and locks that may fail or block for no reason of their own: in every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

HEADER = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int x, waiters, k, r;
_Atomic int y, z;
#define lock() pthread_mutex_lock(&m)
#define unlock() pthread_mutex_unlock(&m)
#define wait() pthread_cond_wait(&c, &m)
#define signal() pthread_cond_signal(&c)
#define read() pthread_rwlock_rdlock(&l)
#define write() pthread_rwlock_wrlock(&l)
#define leave() pthread_rwlock_unlock(&l)
"""

TELL = "lock(); x = 1; signal(); unlock();"
TELL_LATE = "lock(); x = 1; k = waiters; unlock(); y = 1; signal();"
SEEN = "assert(!(k == 1 && r == 0));"

PROGRAMS = {
    "a wait ends before what precedes the signal": (
        "lock(); waiters++; while (!x) wait(); waiters--; unlock(); r = y;",
        TELL_LATE,
        SEEN,
        "UNSAFE",
    ),
    "a broadcast": (
        "lock(); waiters++; while (!x) wait(); waiters--; unlock(); r = y;",
        TELL_LATE.replace("signal()", "pthread_cond_broadcast(&c)"),
        SEEN,
        "UNSAFE",
    ),
    "nothing between the change and the signal": (
        "lock(); waiters++; while (!x) wait(); waiters--; unlock(); r = y;",
        "lock(); x = 1; k = waiters; y = 1; signal(); unlock();",
        SEEN,
        "SAFE",
    ),
    "the signal in a section of its own": (
        "lock(); waiters++; while (!x) wait(); waiters--; unlock(); r = y;",
        "lock(); x = 1; k = waiters; unlock(); y = 1; lock(); signal(); unlock();",
        SEEN,
        "UNSAFE",
    ),
    "a consumer and its producer": ("lock(); while (!x) wait(); r = x; unlock();", TELL, "assert(r == 1);", "SAFE"),
    "no loop": ("lock(); if (!x) wait(); r = x; unlock();", TELL, "assert(r == 1);", "UNSAFE"),
    "two ends without a signal in one call": (
        "int n = 0; lock(); while (!x) { wait(); n++; } unlock(); r = n;",
        TELL,
        "assert(r < 3);",
        "UNSAFE",
    ),
    "a wait that a signal does not end": (
        "lock(); waiters = 1; while (!z) wait(); unlock();",
        "lock(); k = waiters; unlock(); if (k) { z = 1; signal(); } else z = 1;",
        "",
        "UNSAFE",
    ),
    "two loops in a row": (
        "lock(); while (!x) wait(); while (!waiters) wait(); unlock(); r = 1;",
        "lock(); x = 1; signal(); unlock(); lock(); waiters = 1; signal(); unlock();",
        "assert(r == 1);",
        "SAFE",
    ),
    "one loop twice": (
        "for (int i = 0; i < 2; i++) { lock(); while (x <= i) wait(); unlock(); }",
        "lock(); x = 1; signal(); unlock(); lock(); x = 2; signal(); unlock();",
        "",
        "SAFE",
    ),
    "a function that waits": (
        "lock(); while (!x) wait_once(); unlock(); r = 1;",
        TELL,
        "assert(r == 1);",
        "SAFE_WITHIN_BOUND",
    ),
    "a time limit that is not up": (
        "struct timespec t = {1, 0}; lock(); if (!x && !pthread_cond_timedwait(&c, &m, &t)) assert(x); unlock();",
        TELL,
        "",
        "UNSAFE",
    ),
    "the time is up while the signaller holds the mutex": (
        "struct timespec t = {1, 0}; lock(); if (!x && pthread_cond_timedwait(&c, &m, &t)) assert(!x); unlock();",
        TELL,
        "",
        "UNSAFE",
    ),
    "the time is up, and the condition is tested again": (
        (
            "struct timespec t = {1, 0}; int late = 0; lock();"
            "while (!x && !late) late = pthread_cond_timedwait(&c, &m, &t); assert(x || late); unlock();"
        ),
        TELL,
        "",
        "SAFE_WITHIN_BOUND",
    ),
    "the time is up twice": (
        (
            "struct timespec t = {1, 0}; int n = 0; lock();"
            "while (!x) if (pthread_cond_timedwait(&c, &m, &t) && ++n == 2) break; unlock(); r = n;"
        ),
        TELL,
        "assert(r < 2);",
        "UNSAFE",
    ),
    "a wait whose time is up consumes the signal of another one": (
        (
            "pthread_t w; pthread_create(&w, 0, patient, 0);"
            "struct timespec t = {1, 0}; lock(); waiters++; int late = pthread_cond_timedwait(&c, &m, &t);"
            "if (!late) signal(); unlock(); pthread_join(w, 0);"
        ),
        "lock(); k = waiters; x = 1; if (k == 2) signal(); else pthread_cond_broadcast(&c); unlock();",
        "",
        "UNSAFE",
    ),
    "a wait whose time is up and that passes the signal on": (
        (
            "pthread_t w; pthread_create(&w, 0, patient, 0);"
            "struct timespec t = {1, 0}; lock(); waiters++; pthread_cond_timedwait(&c, &m, &t);"
            "if (x) signal(); unlock(); pthread_join(w, 0);"
        ),
        "lock(); k = waiters; x = 1; if (k == 2) signal(); else pthread_cond_broadcast(&c); unlock();",
        "",
        "SAFE",
    ),
    "a try while nobody holds the mutex": (
        "lock(); x = 1; unlock();",
        "if (pthread_mutex_trylock(&m) == 0) { k = x; unlock(); } else k = 1;",
        "assert(k == 0 || k == 1); assert(pthread_mutex_trylock(&m) == 0);",
        "SAFE",
    ),
    "a try that tells of a wait": (
        "lock(); waiters = 1; while (!x) wait(); unlock();",
        "lock(); k = waiters; unlock(); if (k) { r = pthread_mutex_trylock(&m); if (!r) unlock(); }" + TELL,
        "assert(r == 0);",
        "UNSAFE",
    ),
    "a reader behind a writer that waits": (
        "read(); read(); r = x; leave(); leave();",
        "write(); x = 1; leave();",
        "",
        "UNSAFE",
    ),
    "a reader behind a reader": (
        "read(); read(); r = x; leave(); leave();",
        "read(); k = x; leave();",
        "",
        "SAFE",
    ),
    "a reader that waits for another one": (
        "read(); while (!z) ; leave();",
        "pthread_t w; pthread_create(&w, 0, h, 0); read(); z = 1; leave(); pthread_join(w, 0);",
        "",
        "UNSAFE",
    ),
    "a try to read while a writer waits": (
        "read(); r = pthread_rwlock_tryrdlock(&l); if (!r) leave(); leave();",
        "write(); x = 1; leave();",
        "assert(r == 0);",
        "UNSAFE",
    ),
    "a lock for reading that is soon given back": (
        "read(); r = x; leave();",
        "write(); x = 1; leave();",
        "assert(r == 0 || r == 1);",
        "SAFE",
    ),
    "a try of C11": ("", "mtx_t l; mtx_init(&l, mtx_plain); assert(mtx_trylock(&l) == thrd_success);", "", "UNSAFE"),
}


def text_of(first: str, second: str, check: str) -> str:
    return f"""{HEADER}
void wait_once(void) {{ wait(); }}
void *patient(void *p) {{ lock(); waiters++; while (!x) wait(); unlock(); return 0; }}
void *h(void *p) {{ write(); leave(); return 0; }}
void *f(void *p) {{ {first} return 0; }}
void *g(void *p) {{ {second} return 0; }}
int main(void) {{
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  {check}
}}
"""


@pytest.mark.parametrize("engine", ["rsmc", "states"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_without_a_signal(tmp_path: Path, name: str, engine: str) -> None:
    first, second, check, verdict = PROGRAMS[name]
    file = tmp_path / "test.c"
    file.write_text(text_of(first, second, check), encoding="utf-8")
    options = ("--engine", engine, "--model", "sc", "--timeout", "30")
    found = dekker("check", str(file), *options)
    wanted = {"SAFE", "SAFE_WITHIN_BOUND"} if engine == "states" and verdict == "SAFE_WITHIN_BOUND" else {verdict}
    assert found.out.split()[0] in wanted


RACES = {
    "a round without a signal reads what is written without the mutex": (
        "lock(); waiters = 1; while (x < 2) wait(); unlock();",
        "lock(); int w = waiters; unlock(); if (w) x = 1; lock(); x = 2; signal(); unlock();",
        "UNSAFE",
    ),
    "with a time limit": (
        "struct timespec t = {1, 0}; lock(); waiters = 1; while (x < 2) pthread_cond_timedwait(&c, &m, &t); unlock();",
        "lock(); int w = waiters; unlock(); if (w) x = 1; lock(); x = 2; signal(); unlock();",
        "UNSAFE",
    ),
    "all with the mutex": (
        "lock(); waiters = 1; while (x < 2) wait(); unlock();",
        "lock(); int w = waiters; unlock(); lock(); if (w) x = 1; unlock(); lock(); x = 2; signal(); unlock();",
        "SAFE",
    ),
    "behind the loop": (
        "lock(); while (!x) wait(); unlock(); k = 1;",
        "k = 0; lock(); x = 1; signal(); unlock();",
        "SAFE",
    ),
}


@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize("name", RACES)
def test_races_in_rounds_without_a_signal(tmp_path: Path, name: str, model: str) -> None:
    first, second, verdict = RACES[name]
    file = tmp_path / "test.c"
    file.write_text(text_of(first, second, ""), encoding="utf-8")
    found = dekker("check", str(file), "--model", model, "--timeout", "30")
    assert found.out.split()[0] == verdict
    assert ("data race" in found.out) == (verdict == "UNSAFE")
