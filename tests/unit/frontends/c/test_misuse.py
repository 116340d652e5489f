"""Misuse of the library is a violation, in every engine alike; what only looks like it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.report.violation_text import run_text
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check, check_limits

pytestmark = needs_compiler

ENGINES = ("rsmc", "axiomatic", "states")

_HEADERS = """
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
"""

_GLOBALS = """
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; sem_t s;
pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_barrier_t b; pthread_spinlock_t p; mtx_t t; cnd_t d;
"""

ALREADY = "is already initialised"
DESTROYED = "was destroyed"
LOCKED = "is locked"
NEVER = "was never initialised"

TWICE = {
    "a mutex": "pthread_mutex_init(&m, 0); pthread_mutex_init(&m, 0);",
    "a recursive mutex": """
        pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&m, &a); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_init(&m, &a);""",
    "a mutex on the heap": """
        struct { int i; pthread_mutex_t m; } *q = malloc(sizeof *q); pthread_mutex_init(&q->m, 0);
        pthread_mutex_lock(&q->m); pthread_mutex_unlock(&q->m); pthread_mutex_init(&q->m, 0);""",
    "a mutex on the stack": "pthread_mutex_t m; for (int i = 0; i < 2; i++) pthread_mutex_init(&m, 0);",
    "a mutex of threads.h": "mtx_init(&t, mtx_plain); mtx_init(&t, mtx_plain);",
    "a read-write lock": "pthread_rwlock_init(&l, 0); pthread_rwlock_init(&l, 0);",
    "a condition variable": "pthread_cond_init(&c, 0); pthread_cond_init(&c, 0);",
    "one of threads.h": "cnd_init(&d); cnd_init(&d);",
    "a semaphore": "sem_init(&s, 0, 1); sem_wait(&s); sem_init(&s, 0, 1);",
    "a barrier": "pthread_barrier_init(&b, 0, 2); pthread_barrier_init(&b, 0, 3);",
    "a spin lock": "pthread_spin_init(&p, 0); pthread_spin_init(&p, 0);",
}

UNMADE = {
    "a mutex of threads.h": "mtx_lock(&t);",
    "a mutex of threads.h is tried": "mtx_trylock(&t);",
    "a mutex of threads.h is destroyed": "mtx_destroy(&t);",
    "a condition variable of threads.h": "cnd_signal(&d);",
    "all threads of threads.h": "cnd_broadcast(&d);",
    "waiting in threads.h": "mtx_init(&t, mtx_plain); mtx_lock(&t); cnd_wait(&d, &t);",
    "a semaphore is awaited": "sem_wait(&s);",
    "a semaphore is tried": "sem_trywait(&s);",
    "a semaphore is posted": "sem_post(&s);",
    "a semaphore is asked": "int v; sem_getvalue(&s, &v);",
    "a semaphore is destroyed": "sem_destroy(&s);",
    "a spin lock": "pthread_spin_lock(&p);",
    "a spin lock is tried": "pthread_spin_trylock(&p);",
    "a spin lock is unlocked": "pthread_spin_unlock(&p);",
    "a spin lock is destroyed": "pthread_spin_destroy(&p);",
}

ATTRIBUTES = {
    "their type": "static pthread_mutexattr_t a; pthread_mutexattr_settype(&a, 1);",
    "a mutex": "static pthread_mutexattr_t a; pthread_mutex_init(&m, &a);",
    "after their end": "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_destroy(&a); "
    "pthread_mutex_init(&m, &a);",
}

KEYS = {
    "read": "void *q = pthread_getspecific(k);",
    "set": "pthread_setspecific(k, &k);",
    "deleted": "pthread_key_delete(k);",
}

GONE = {
    "a mutex is locked": "pthread_mutex_destroy(&m); pthread_mutex_lock(&m);",
    "a mutex is destroyed": "pthread_mutex_init(&m, 0); pthread_mutex_destroy(&m); pthread_mutex_destroy(&m);",
    "a lock is read": "pthread_rwlock_destroy(&l); pthread_rwlock_rdlock(&l);",
    "a lock is tried": "pthread_rwlock_destroy(&l); pthread_rwlock_tryrdlock(&l);",
    "a lock is written": "pthread_rwlock_init(&l, 0); pthread_rwlock_destroy(&l); pthread_rwlock_wrlock(&l);",
    "writing is tried": "pthread_rwlock_destroy(&l); pthread_rwlock_trywrlock(&l);",
    "a lock is unlocked": "pthread_rwlock_destroy(&l); pthread_rwlock_unlock(&l);",
    "a lock is destroyed": "pthread_rwlock_destroy(&l); pthread_rwlock_destroy(&l);",
    "a spin lock": "pthread_spin_init(&p, 0); pthread_spin_destroy(&p); pthread_spin_lock(&p);",
    "a semaphore is awaited": "sem_init(&s, 0, 1); sem_destroy(&s); sem_wait(&s);",
    "a semaphore is tried": "sem_init(&s, 0, 1); sem_destroy(&s); sem_trywait(&s);",
    "a semaphore is posted": "sem_init(&s, 0, 1); sem_destroy(&s); sem_post(&s);",
    "a semaphore is destroyed": "sem_init(&s, 0, 1); sem_destroy(&s); sem_destroy(&s);",
    "a signal": "pthread_cond_destroy(&c); pthread_cond_signal(&c);",
    "a broadcast": "pthread_cond_destroy(&c); pthread_cond_broadcast(&c);",
    "a wait": "pthread_mutex_lock(&m); pthread_cond_destroy(&c); pthread_cond_wait(&c, &m);",
    "a condition variable is destroyed": "pthread_cond_destroy(&c); pthread_cond_destroy(&c);",
    "a barrier": "pthread_barrier_init(&b, 0, 1); pthread_barrier_destroy(&b); pthread_barrier_wait(&b);",
    "a barrier is destroyed": "pthread_barrier_init(&b, 0, 1);" + " pthread_barrier_destroy(&b);" * 2,
}

HELD = {
    "a mutex is destroyed": "pthread_mutex_lock(&m); pthread_mutex_destroy(&m);",
    "a mutex is initialised": "pthread_mutex_lock(&m); pthread_mutex_init(&m, 0);",
    "a lock is destroyed": "pthread_rwlock_rdlock(&l); pthread_rwlock_destroy(&l);",
    "a lock is initialised": "pthread_rwlock_wrlock(&l); pthread_rwlock_init(&l, 0);",
    "a spin lock is initialised": "pthread_spin_init(&p, 0); pthread_spin_lock(&p); pthread_spin_init(&p, 0);",
}

_KIND = "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_{});"
_NOT_HELD = """
    pthread_mutex_init(&m, &a); assert(pthread_mutex_unlock(&m) == EPERM); pthread_mutex_lock(&m);
    assert(pthread_mutex_unlock(&m) == 0); assert(pthread_mutex_unlock(&m) == EPERM);"""

FINE = {
    "a recursive mutex that is not held": _KIND.format("RECURSIVE") + _NOT_HELD,
    "an error-checking mutex that is not held": _KIND.format("ERRORCHECK") + _NOT_HELD,
    "waiting with an error-checking mutex that is not held": _KIND.format("ERRORCHECK")
    + "pthread_mutex_init(&m, &a); assert(pthread_cond_wait(&c, &m) == EPERM);",
    "attributes": """
        pthread_mutexattr_t a; int type; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, 2);
        pthread_mutexattr_gettype(&a, &type); assert(type == 2); pthread_mutexattr_destroy(&a);
        pthread_mutexattr_init(&a); pthread_mutexattr_gettype(&a, &type); assert(type == 0);""",
    "a key that is deleted": """
        pthread_key_t k, l; pthread_key_create(&k, 0); pthread_key_create(&l, 0); pthread_setspecific(k, &k);
        assert(pthread_getspecific(k) == &k); pthread_key_delete(k); pthread_setspecific(l, &l);""",
    "mutexes of threads.h": """
        mtx_t q; mtx_init(&q, mtx_recursive); mtx_lock(&q); mtx_lock(&q); mtx_unlock(&q); mtx_unlock(&q);
        mtx_init(&t, mtx_plain); mtx_lock(&t); mtx_unlock(&t); mtx_destroy(&q);""",
    "an initial value, then initialised": """
        pthread_mutex_init(&m, 0); pthread_rwlock_init(&l, 0); pthread_cond_init(&c, 0);
        pthread_mutex_lock(&m); pthread_mutex_unlock(&m);""",
    "destroyed and made again": """
        for (int i = 0; i < 2; i++) {
          pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);
          pthread_rwlock_init(&l, 0); pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l); pthread_rwlock_destroy(&l);
          sem_init(&s, 0, 1); sem_wait(&s); sem_post(&s); sem_destroy(&s);
          pthread_cond_init(&c, 0); pthread_cond_signal(&c); pthread_cond_destroy(&c);
          pthread_spin_init(&p, 0); pthread_spin_lock(&p); pthread_spin_unlock(&p); pthread_spin_destroy(&p);
          mtx_init(&t, mtx_plain); mtx_lock(&t); mtx_unlock(&t); mtx_destroy(&t); cnd_init(&d); cnd_destroy(&d);
          pthread_barrier_init(&b, 0, 1); pthread_barrier_wait(&b); pthread_barrier_destroy(&b); }""",
    "never destroyed, and freed": """
        for (int i = 0; i < 2; i++) { pthread_mutex_t *q = malloc(sizeof *q); pthread_mutex_init(q, 0);
          pthread_mutex_lock(q); pthread_mutex_unlock(q); free(q); }""",
    "never destroyed, and copied": """
        struct n { int i; pthread_mutex_t m; }; struct n *q = malloc(sizeof *q), *r = malloc(sizeof *r);
        q->i = 1; pthread_mutex_init(&q->m, 0); *r = *q; pthread_mutex_init(&r->m, 0);
        pthread_mutex_lock(&r->m); pthread_mutex_unlock(&r->m);""",
    "never destroyed, and overwritten": """
        struct n { int i; pthread_mutex_t m; sem_t s; } n;
        for (int i = 0; i < 2; i++) { memset(&n, 0, sizeof n); pthread_mutex_init(&n.m, 0); sem_init(&n.s, 0, 0); }""",
    "a variable of a block": """
        for (int i = 0; i < 2; i++) { pthread_mutex_t q; pthread_mutex_init(&q, 0); pthread_mutex_lock(&q);
          pthread_mutex_unlock(&q); }""",
    "all ones": """
        pthread_mutex_t *q = malloc(sizeof *q); memset(q, 255, sizeof *q); pthread_mutex_init(q, 0);
        pthread_mutex_lock(q); pthread_mutex_unlock(q); pthread_mutex_destroy(q);""",
}


def _message(
    tmp_path: Path, text: str, engine: str, model: str = "sc", *, reuse: bool = False
) -> tuple[str, str] | None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + _GLOBALS + text)
    report = check([str(file)], CheckOptions(model, engine, reuse=reuse))
    if report.violations:
        finding = report.violations[0].finding
        return finding.kind, finding.message
    assert report.verdict is Verdict.SAFE
    return None


def _main(statements: str) -> str:
    return f"""
        void *nothing(void *a) {{ return 0; }}
        int main(void) {{ pthread_t id; pthread_create(&id, 0, nothing, 0); pthread_join(id, 0);
          {statements} return 0; }}"""


def _misuse(tmp_path: Path, statements: str, engine: str) -> str:
    found = _message(tmp_path, _main(statements), engine)
    assert found is not None
    kind, message = found
    assert kind in ("lock misuse", "library misuse")
    return message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", TWICE.values(), ids=TWICE)
def test_initialised_twice(tmp_path: Path, statements: str, engine: str) -> None:
    assert ALREADY in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", GONE.values(), ids=GONE)
def test_used_after_destruction(tmp_path: Path, statements: str, engine: str) -> None:
    assert DESTROYED in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", UNMADE.values(), ids=UNMADE)
def test_used_without_initialisation(tmp_path: Path, statements: str, engine: str) -> None:
    assert NEVER in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_without_initialisation(tmp_path: Path, statements: str, engine: str) -> None:
    assert "the attributes are not initialised" in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statement", KEYS.values(), ids=KEYS)
def test_keys_that_are_deleted(tmp_path: Path, statement: str, engine: str) -> None:
    statements = f"pthread_key_t k; pthread_key_create(&k, 0); pthread_key_delete(k); {statement}"
    assert "the key was deleted" in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_were_never_made(tmp_path: Path, engine: str) -> None:
    statements = "static pthread_key_t k; pthread_setspecific(k, &k);"
    assert "the key was not made" in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", HELD.values(), ids=HELD)
def test_held(tmp_path: Path, statements: str, engine: str) -> None:
    assert LOCKED in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("statements", FINE.values(), ids=FINE)
def test_nothing_is_wrong(tmp_path: Path, statements: str, engine: str) -> None:
    assert _message(tmp_path, _main(statements), engine) is None


def _twice(f: str, before: str = "") -> str:
    return _threads(f, f, before)


def _threads(f: str, g: str, before: str = "", after: str = "") -> str:
    return f"""
        int x; void *f(void *a) {{ {f} return 0; }} void *g(void *a) {{ {g} return 0; }}
        int main(void) {{ pthread_t t, u; {before} pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
          pthread_join(t, 0); pthread_join(u, 0); {after} return 0; }}"""


_WAITS = "pthread_mutex_lock(&m); while (!x) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);"

TOGETHER = {
    "initialised by two threads": _twice("pthread_mutex_init(&m, 0);"),
    "initialised while another holds it": _threads(
        "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", "pthread_mutex_init(&m, 0);"
    ),
    "destroyed while another holds it": _threads(
        "pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l);", "pthread_rwlock_destroy(&l);"
    ),
    "destroyed while another waits for a signal": _threads(
        _WAITS, "pthread_mutex_lock(&m); x = 1; pthread_cond_destroy(&c); pthread_mutex_unlock(&m);"
    ),
    "destroyed while another waits at a barrier": _threads(
        "pthread_barrier_wait(&b);", "pthread_barrier_destroy(&b);", "pthread_barrier_init(&b, 0, 2);"
    ),
    "destroyed while another waits for a semaphore": _threads(
        "sem_wait(&s);", "sem_destroy(&s);", "sem_init(&s, 0, 0);"
    ),
    "destroyed while another waits, and made again": _threads(
        "sem_wait(&s);", "sem_destroy(&s); sem_init(&s, 0, 1);", "sem_init(&s, 0, 0);"
    ),
    "a recursive mutex of threads.h that another holds": """
        mtx_t r; void *f(void *a) { mtx_unlock(&r); return 0; }
        int main(void) { pthread_t id; mtx_init(&r, mtx_recursive); mtx_lock(&r); pthread_create(&id, 0, f, 0);
          pthread_join(id, 0); mtx_unlock(&r); return 0; }""",
}

_FIRST = """
    pthread_t first; int x;
    void *f(void *a) {{ void *r; pthread_join(first, &r); assert(x == 1 && r == &x); {} return 0; }}
    int main(void) {{ pthread_t t; first = pthread_self(); pthread_create(&t, 0, f, 0); x = 1; {} }}"""

JOINED_BY_TWO = """
    pthread_t t, u; void *f(void *a) { return 0; } void *g(void *a) { pthread_join(t, 0); return 0; }
    int main(void) { pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
      pthread_join(t, 0); pthread_join(u, 0); assert(0); return 0; }"""
"""What comes behind both is never done."""

APART = {
    "the first thread is joined": _FIRST.format("", "pthread_exit(&x);"),
    "one mutex after the other": _threads(
        "pthread_mutex_lock(&m); struct timespec e = {0}; pthread_cond_timedwait(&c, &m, &e);"
        " pthread_mutex_unlock(&m);",
        "",
        after="static pthread_mutex_t o; pthread_mutex_lock(&o); struct timespec e = {0};"
        " pthread_cond_timedwait(&c, &o, &e); pthread_mutex_unlock(&o);",
    ),
    "the last one destroys": _twice(
        "pthread_mutex_lock(&m); int last = ++x == 2; pthread_mutex_unlock(&m); if (last) pthread_mutex_destroy(&m);",
        "pthread_mutex_init(&m, 0);",
    ),
    "destroyed after a broadcast": _threads(
        _WAITS,
        "pthread_mutex_lock(&m); x = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);pthread_cond_destroy(&c);",
    ),
    "destroyed at the end": _threads(
        _WAITS,
        "pthread_mutex_lock(&m); x = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m);",
        "pthread_cond_init(&c, 0);",
        "pthread_cond_destroy(&c);",
    ),
    "the last one at a barrier destroys": _twice(
        "if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) pthread_barrier_destroy(&b);",
        "pthread_barrier_init(&b, 0, 2);",
    ),
    "the one who waits destroys": _threads("sem_post(&s);", "sem_wait(&s); sem_destroy(&s);", "sem_init(&s, 0, 0);"),
    "locks of each thread": _twice(
        "pthread_mutex_t *q = malloc(sizeof *q); pthread_mutex_init(q, 0); pthread_mutex_lock(q); free(q);"
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_misuse_by_threads(tmp_path: Path, text: str, engine: str) -> None:
    found = _message(tmp_path, text, engine)
    assert found is not None
    assert found[0] in ("lock misuse", "library misuse", "deadlock")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_thread_that_two_join(tmp_path: Path, engine: str) -> None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + JOINED_BY_TWO)
    limits = check_limits(stop_at_first=False)
    report = check([str(file)], CheckOptions("sc", engine, limits))
    assert {violation.finding.kind for violation in report.violations} == {"invalid join"}


@pytest.mark.parametrize("engine", ENGINES)
def test_waiting_with_two_mutexes(tmp_path: Path, engine: str) -> None:
    timed = "struct timespec e = {0}; pthread_cond_timedwait(&c, &%s, &e);"
    text = _threads(
        f"pthread_mutex_lock(&m); {timed % 'm'} pthread_mutex_unlock(&m);",
        f"static pthread_mutex_t n; pthread_mutex_lock(&n); {timed % 'n'} pthread_mutex_unlock(&n);",
    )
    found = _message(tmp_path, text, engine)
    assert found is not None
    assert "with another mutex" in found[1]


@pytest.mark.parametrize("model", ["sc", "cpp20", "aarch64"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_no_misuse_by_threads(tmp_path: Path, text: str, engine: str, model: str) -> None:
    if engine == "states" and model != "sc":
        pytest.skip("another model")
    assert _message(tmp_path, text, engine, model) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("inside", "end", "kind"),
    [
        ("pthread_join(first, 0);", "pthread_exit(&x);", "library misuse"),
        ("pthread_detach(first);", "pthread_exit(&x);", "library misuse"),
        ("", "pthread_join(t, 0);", "deadlock"),
    ],
)
def test_joining_the_first_thread(tmp_path: Path, inside: str, end: str, kind: str, engine: str) -> None:
    found = _message(tmp_path, _FIRST.format(inside, end), engine)
    assert found is not None
    assert found[0] == kind


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "_Thread_local int v; int *shared; void *f(void *a) { v = 1; shared = &v; return 0; }",
        "_Thread_local int u, v = 1; int *shared; void g(int *q) { shared = q; } void *f(void *a) { g(&v); return 0; }",
    ],
)
def test_variables_of_threads_that_have_ended(tmp_path: Path, text: str, engine: str) -> None:
    use = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return *shared; }"
    found = _message(tmp_path, text + use, engine)
    assert found is not None
    assert found[0] == "use after scope"


def test_the_end_of_a_variable_is_told(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(
        _HEADERS
        + """
        int *_Atomic shared; void *f(void *a) { int k = 1; shared = &k; return 0; }
        int main(void) { pthread_t id; pthread_create(&id, 0, f, 0); int *q = shared; if (q) assert(*q == 1);
          pthread_join(id, 0); return 0; }"""
    )
    (violation, *_) = check([str(file)], CheckOptions("power", "rsmc")).violations
    assert violation.finding.kind == "use after scope"
    assert violation.witness is not None
    assert "k is gone from here on" in run_text(violation.witness, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_variables_of_threads_that_go_on(tmp_path: Path, engine: str) -> None:
    text = """
        _Thread_local int v = 3; int *shared;
        void *f(void *a) { assert(*shared == 4); *shared = 5; v = 6; return 0; }
        int main(void) { pthread_t t; v = 4; shared = &v; pthread_create(&t, 0, f, 0); pthread_join(t, 0);
          assert(v == 5); return 0; }"""
    assert _message(tmp_path, text, engine) is None


_CPLUSPLUS = """
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
"""

ENDED_IN_USE = {
    "std::recursive_mutex::~recursive_mutex": "std::recursive_mutex m; m.lock();",
    "std::timed_mutex::~timed_mutex": "std::timed_mutex m; m.lock();",
    "std::shared_mutex::~shared_mutex": "std::shared_mutex m; m.lock_shared();",
    "std::timed_mutex::unlock": "std::timed_mutex m; m.unlock();",
    "std::recursive_mutex::unlock": "std::recursive_mutex m; m.unlock();",
}


@pytest.mark.parametrize("name", ENDED_IN_USE)
def test_misuse_of_locks_of_cplusplus(tmp_path: Path, name: str) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(f"{_CPLUSPLUS} int main() {{ {ENDED_IN_USE[name]} return 0; }}")
    (violation, *_) = check([str(file)], CheckOptions("cpp20", "rsmc")).violations
    assert violation.finding.kind == "lock misuse"
    assert violation.finding.message.startswith(f"`{name}`: ")


def test_locks_of_cplusplus_that_end(tmp_path: Path) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(
        _CPLUSPLUS
        + """
        int main() {
          std::recursive_mutex r; std::timed_mutex t; std::shared_mutex s; std::mutex m; std::condition_variable c;
          int x = 0;
          std::thread other([&] { std::lock_guard a(r); std::lock_guard b(t); std::shared_lock d(s);
            { std::lock_guard e(m); x = 1; } c.notify_one(); });
          { std::unique_lock l(m); c.wait(l, [&] { return x == 1; }); }
          other.join(); return 0; }"""
    )
    report = check([str(file)], CheckOptions("cpp20", "rsmc"))
    assert report.verdict is Verdict.SAFE
    assert report.reuse is None, "only std::thread allocates"


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_freed_memory_that_comes_back(tmp_path: Path, engine: str) -> None:
    assert _message(tmp_path, _main(FINE["never destroyed, and freed"]), engine, reuse=True) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "call", ["aligned_alloc(24, 48)", "aligned_alloc(0, 8)", "aligned_alloc(n, 16)", "memalign(3, 8)"]
)
def test_wrong_alignment(tmp_path: Path, call: str, engine: str) -> None:
    statements = f"extern void *memalign(size_t, size_t); size_t n = 12; void *q = {call}; free(q);"
    assert "power of 2" in _misuse(tmp_path, statements, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_alignment(tmp_path: Path, engine: str) -> None:
    text = """
        int main(void) { size_t n = 64, odd = 24; void *q = aligned_alloc(n, 128); free(q);
          q = aligned_alloc(16, 20); free(q);
          assert(posix_memalign(&q, odd, 8) == 22); assert(posix_memalign(&q, 4, 8) == 22);
          assert(posix_memalign(&q, n, 8) == 0); free(q); return 0; }"""
    assert _message(tmp_path, text, engine) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "statements",
    [
        r'int i; printf("%d\n", i);',
        r'int i = 1, j; printf("%d %d\n", i, j);',
        r'long *q = malloc(8); fprintf(stderr, "%ld", *q);',
        r'char k; printf("%c", k);',
        r"char k; putchar(k);",
        r'char o[8]; int i; snprintf(o, sizeof o, "%c", i);',
        r'double z; printf("%f", z);',
    ],
)
def test_printing_what_was_never_set(tmp_path: Path, statements: str, engine: str) -> None:
    found = _message(tmp_path, _main(statements), engine)
    assert found is not None
    assert found[0] == "uninitialised value"


@pytest.mark.parametrize("engine", ENGINES)
def test_printing(tmp_path: Path, engine: str) -> None:
    statements = r"""int i = -1; char k = 'a', o[20]; long *q = calloc(1, 8); double z = 0.5;
        printf("%d %c %ld %f %p\n", i, k, *q, z, q);
        sprintf(o, "%d%c%s", i, k, "x"); printf("%s %d", o, x); putchar(k); free(q);"""
    assert _message(tmp_path, "int x;" + _main(statements), engine) is None


_STARTED = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }"


@pytest.mark.parametrize("model", ["cpp20", "tso"])
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("void *f(void *a) { pthread_detach(pthread_self()); return 0; }" + _STARTED, Verdict.UNSAFE),
        ("void *f(void *a) { pthread_join(pthread_self(), 0); return 0; }" + _STARTED, Verdict.UNSAFE),
        (
            """pthread_t stuck; void *f(void *a) { pthread_mutex_lock(&m); return 0; }
            void *g(void *a) { pthread_join(stuck, 0); return 0; }
            int main(void) { pthread_t u; pthread_mutex_lock(&m); pthread_create(&stuck, 0, f, 0);
              pthread_create(&u, 0, g, 0); pthread_join(stuck, 0); return 0; }""",
            Verdict.UNSAFE,
        ),
        (
            """pthread_t told; _Atomic int ready; void *f(void *a) { told = pthread_self(); ready = 1; return 0; }
            void *g(void *a) { if (ready) pthread_join(told, 0); return 0; }
            int main(void) { pthread_t t, u; pthread_create(&u, 0, g, 0); pthread_create(&t, 0, f, 0);
              pthread_join(u, 0); return 0; }""",
            Verdict.SAFE,
        ),
    ],
    ids=["detaches itself", "joins itself", "joined by two, and never ends", "joined by what it told another"],
)
def test_engines_agree_about_joins(tmp_path: Path, text: str, verdict: Verdict, model: str) -> None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + _GLOBALS + text)
    assert check([str(file)], CheckOptions(model, "all")).verdict is verdict
