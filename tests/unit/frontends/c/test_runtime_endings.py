"""The end of the program, what runs then, and what other threads see of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler
from tests.unit.frontends.c.verdicts import MODELS, is_fine, messages, result_of

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.ir.passes import apply_passes
from dekker.models import load_model
from dekker.task import Limits, Task

pytestmark = needs_compiler


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("end", ["exit(0)", "_Exit(0)", "quick_exit(1)"])
def test_nobody_sees_the_end_of_a_thread_that_ends_the_program(tmp_path: Path, model: str, end: str) -> None:
    text = f"""
void *f(void *p) {{ {end}; }}
int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); assert(0); }}"""
    assert is_fine(result_of(tmp_path, text, model))


def test_pthread_exit_ends_only_its_thread(tmp_path: Path) -> None:
    text = """
int done;
void *f(void *p) { done = 1; assert(0); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_exit(0); }"""
    assert messages(result_of(tmp_path, text)) == {"the assertion `0` fails"}


@pytest.mark.parametrize("model", MODELS)
def test_a_thread_that_waits_when_the_program_ends_is_in_no_deadlock(tmp_path: Path, model: str) -> None:
    text = """
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *p) { pthread_mutex_lock(&m); return 0; }
int main(void) { pthread_t t; pthread_mutex_lock(&m); pthread_create(&t, 0, f, 0); END }"""
    assert is_fine(result_of(tmp_path, text.replace("END", "return 0;"), model))
    assert result_of(tmp_path, text.replace("END", "pthread_join(t, 0);"), model).deadlocks
    assert result_of(tmp_path, text.replace("END", "pthread_exit(0);"), model).deadlocks


def test_what_a_thread_does_before_the_end_counts(tmp_path: Path) -> None:
    """Threads run at any speed: the end may come after all that another one does."""
    text = """
int x;
void *f(void *p) { x = 1; assert(!p); return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, &x); return 0; }"""
    assert messages(result_of(tmp_path, text)) == {"the assertion `!p` fails"}


@pytest.mark.parametrize("end", ["return 0;", "exit(0);"])
def test_functions_for_the_end_run_last_first(tmp_path: Path, end: str) -> None:
    text = f"""
int n;
void first(void) {{ assert(n == 1); n = 2; }}
void second(void) {{ assert(n == 0); n = 1; }}
void third(void) {{ assert(n == 3); }}
int main(void) {{ atexit(first); atexit(second); if (n) atexit(third); {end} }}"""
    assert is_fine(result_of(tmp_path, text))
    assert messages(result_of(tmp_path, text.replace("assert(n == 1)", "assert(n == 7)")))


def test_without_functions_for_the_end(tmp_path: Path) -> None:
    text = "void f(void) { assert(0); }\nint main(void) { atexit(f); _Exit(0); }"
    assert is_fine(result_of(tmp_path, text))


def test_static_and_thread_local_objects_are_destroyed(tmp_path: Path) -> None:
    text = """#include <cassert>
#include <thread>
int alive, own;
struct S { S() { alive++; } ~S() { alive--; assert(own == 0 && alive == 0); } } s;
struct T { T() { own++; } ~T() { own--; } void touch() {} };
thread_local T t;
int main() { std::thread other([] { t.touch(); }); other.join(); assert(own == 0 && alive == 1); t.touch(); }"""
    assert is_fine(result_of(tmp_path, text, name="test.cpp"))


@pytest.mark.parametrize("loop", ["for (;;);", "int r = x; while (!r);", "while (1) g();"])
def test_a_loop_that_reads_nothing_is_no_deadlock(tmp_path: Path, loop: str) -> None:
    text = f"""#include <pthread.h>
int x;
void g(void) {{}}
void *f(void *p) {{ {loop} return 0; }}
int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }}"""
    program = apply_passes(from_c(tmp_path, text))
    for engine in (rsmc.run, axiomatic.run):
        result = engine(Task(program, load_model("sc"), Limits(counts_known_rounds=False)))
        assert result.blocked
        assert not result.deadlocks


@pytest.mark.parametrize(
    "end", ["return 0;", "exit(0);", "pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0);"]
)
@pytest.mark.parametrize(("last", "expected"), [(4, set()), (3, {"the assertion `n != 3` fails"})])
def test_destructors_run_behind_what_was_registered(tmp_path: Path, end: str, last: int, expected: set[str]) -> None:
    """Those with the greatest number first."""
    text = f"""
int n;
static void registered(void) {{ assert(n == 0); n = 1; }}
__attribute__((destructor(200))) static void late(void) {{ assert(n == 2); n = 3; assert(n != {last}); }}
__attribute__((destructor)) static void early(void) {{ assert(n == 1); n = 2; }}
void *f(void *p) {{ exit(0); }}
int main(void) {{ atexit(registered); {end} }}"""
    assert messages(result_of(tmp_path, text)) == expected


_STARTS_F = """
int main() { pthread_t t; pthread_create(&t, nullptr, f, nullptr); pthread_join(t, nullptr);
  std::lock_guard<std::mutex> g(m); assert(n == 1); }"""
_GUARDED = """#include <cassert>
#include <mutex>
#include <pthread.h>
std::mutex m; int n;
struct G { ~G() { n = 2; } };
struct B { virtual void go() = 0; };
struct C : B { void go() override { pthread_exit(nullptr); } };
C c; B *b = &c;
static void leave(int *p) { n++; pthread_exit(p); }
"""
DESTROYING = {
    "an object": "static void *f(void *) { G g; pthread_exit(nullptr); }",
    "a lock": "static void *f(void *) { std::lock_guard<std::mutex> g(m); pthread_exit(nullptr); }",
    "a caller": "static void *f(void *) { G g; leave(nullptr); return nullptr; }",
    "a virtual function": "static void *f(void *) { G g; b->go(); return nullptr; }",
    "a handler": "static void *f(void *) { try { leave(nullptr); } catch (...) { n = 3; throw; } return nullptr; }",
}
LEAVING = {
    "a block that was left": """
        static void *f(void *) { { std::lock_guard<std::mutex> g(m); } int x; leave(&x); return nullptr; }""",
    "another branch": "static void *f(void *v) { if (v) { G g; pthread_exit(v); } n = 1; pthread_exit(nullptr); }",
}


@pytest.mark.parametrize("body", DESTROYING.values(), ids=DESTROYING)
def test_destructors_that_pthread_exit_would_run_are_not_skipped(tmp_path: Path, body: str) -> None:
    with pytest.raises(UnsupportedError, match="`pthread_exit` where local objects have destructors"):
        result_of(tmp_path, _GUARDED + body + _STARTS_F, name="test.cpp")


@pytest.mark.parametrize("body", LEAVING.values(), ids=LEAVING)
def test_pthread_exit_without_destructors(tmp_path: Path, body: str) -> None:
    assert is_fine(result_of(tmp_path, _GUARDED + body + _STARTS_F, name="test.cpp"))
