"""Undefined behaviour of C is a violation, in every engine alike; what only looks like it is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.frontends.dialect import Dialect
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check, check_limits
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task

pytestmark = needs_compiler

ENGINES = ("rsmc", "axiomatic", "states")

_HEADERS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
"""

_RUN_F = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); %s return 0; }"

SCOPES = {
    "a function that has returned": """
        int *f(void) { int x = 1; int *q = &x; return q; }
        int main(void) { int *p = f(); return *p; }""",
    "a thread that has ended": "int *p; void *f(void *a) { int x = 1; p = &x; return 0; }" + _RUN_F % "*p = 2;",
    "a block that was left": "int main(void) { int *q; { int y = 3; q = &y; } return *q; }",
    "the last round of a loop": """
        int main(void) { int *last = 0;
          for (int i = 0; i < 2; i++) { int y = i; if (last) *last = 3; last = &y; } return 0; }""",
    "another thread that still runs": """
        void *g(void *v) { *(int *)v = 1; return 0; }
        void go(pthread_t *t) { int x = 0; pthread_create(t, 0, g, &x); }
        int main(void) { pthread_t t; go(&t); pthread_join(t, 0); return 0; }""",
    "a thread that leaves from a call": """
        int *p; void inner(void) { pthread_exit(0); }
        void *f(void *v) { int x = 1; p = &x; inner(); return 0; }"""
    + _RUN_F % "*p = 2;",
    "a temporary": """
        struct s { int a[3]; }; struct s f(void) { struct s r = {{1, 2, 3}}; return r; }
        int main(void) { int *p = f().a; return *p; }""",
    "a temporary of each round": """
        struct s { int a[3]; }; struct s f(void) { struct s r = {{1, 2, 3}}; return r; }
        int main(void) { for (int i = 0; i < 2; i++) { int *p = f().a + i; if (*p == 7) return 1; } return 0; }""",
    "an address that another thread takes": """
        _Atomic(int *) p;
        void *f(void *a) { int x = 1; atomic_store(&p, &x); return 0; }
        void *g(void *a) { int *q = atomic_load(&p); if (q) *q = 2; return 0; }
        int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
          pthread_join(t, 0); pthread_join(u, 0); return 0; }""",
}

UNSET = {
    "a branch": "int main(void) { int x; if (x) return 1; return 0; }",
    "a switch": "int main(void) { int x; switch (x + 1) { case 1: return 2; } return 0; }",
    "a loop": "int main(void) { int n; while (n < 3) n++; return 0; }",
    "an assertion": "int main(void) { int x; assert(x == 0); return 0; }",
    "an index": "int g[4]; int main(void) { int i; return g[i]; }",
    "a pointer": "void *f(void *a) { int *q; *q = 1; return 0; }" + _RUN_F % "",
    "a global variable": "int g; int main(void) { int x; int y = x + 1; g = y; return 0; }",
    "the heap": """
        struct n { int v; struct n *next; }; struct n *g;
        void *f(void *a) { if (g->next) return 0; return 0; }
        int main(void) { pthread_t t; g = malloc(sizeof *g); g->v = 1;
          pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }""",
    "the end of reallocated memory": """
        int main(void) { int *a = malloc(8); a[0] = 1; a = realloc(a, 16); if (a[3]) return 1; return 0; }""",
    "a flag that another thread sets late": """
        struct n { atomic_int flag; }; struct n *p;
        void *f(void *a) { while (!atomic_load(&p->flag)); return 0; }
        int main(void) { pthread_t t; p = malloc(sizeof *p); pthread_create(&t, 0, f, 0);
          atomic_store(&p->flag, 1); pthread_join(t, 0); return 0; }""",
    "a function that may not set its result": """
        int fill(int *out, int ok) { if (ok) *out = 5; return ok; }
        void *f(void *a) { int v; fill(&v, 0); if (v == 5) return 0; return 0; }"""
    + _RUN_F % "",
    "a copy": """
        struct s { int a, b; };
        int main(void) { struct s x; x.a = 1; struct s y = x; struct s z; memcpy(&z, &y, sizeof y);
          if (z.b) return 1; return 0; }""",
    "a field of bits": """
        struct s { unsigned a : 3, b : 5; };
        int main(void) { struct s x; x.a = 1; if (x.b) return 1; return 0; }""",
    "a choice": "int main(void) { int x; int y = x ? 1 : 2; if (y == 1) return 1; return 0; }",
    "what is freed": "int main(void) { void *p; free(p); return 0; }",
    "a mutex on the heap": """
        int main(void) { pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_lock(m); return 0; }""",
    "a mutex on the stack": """
        void *f(void *a) { pthread_mutex_t m; pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }"""
    + _RUN_F % "",
}

FINE = {
    "fields of bits": """
        struct s { unsigned a : 3, b : 5; char c; long d; };
        int main(void) { struct s x; x.a = 1; x.b = 2; x.c = 3; struct s *p = malloc(sizeof *p); p->a = 1; p->b = 3;
          *p = x; struct s y = *p; assert(y.a == 1 && y.b == 2 && p->c == 3); free(p); return 0; }""",
    "padding": """
        struct s { char c; int i; }; struct s g;
        struct s make(void) { struct s x; x.c = 1; x.i = 2; return x; }
        int main(void) { g = make(); struct s *p = malloc(sizeof *p); *p = make(); assert(p->i == g.i); free(p);
          return 0; }""",
    "a struct of which part is set": """
        struct s { int a, b; }; struct s *g;
        void *f(void *v) { struct s c = *g; assert(c.a == 1); return 0; }
        int main(void) { pthread_t t; struct s x; x.a = 1; g = malloc(sizeof *g); *g = x;
          pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }""",
    "results": """
        int fill(int *out) { *out = 5; return 1; }
        void *f(void *a) { int v; if (fill(&v)) assert(v == 5); _Bool b = v > 3; if (b) v = 1; return 0; }"""
    + _RUN_F % "",
    "arrays": """
        void *f(void *v) { int a[3]; for (int i = 0; i < 3; i++) a[i] = i; int n = 0;
          for (int i = 0; i < 3; i++) n += a[i]; assert(n == 3); return 0; }"""
    + _RUN_F % "",
    "zeroed memory": """
        int g[2]; int main(void) { int *p = calloc(2, 4); if (p[1] || g[1]) return 1; free(p); return 0; }""",
    "arithmetic alone": "int main(void) { int x; int y = x * 2 + 1; (void)y; return 0; }",
    "arguments on the stack": """
        struct a { int n, r; };
        void *g(void *v) { struct a *s = v; s->r = s->n + 1; return 0; }
        int go(int n) { struct a x = {n, 0}; pthread_t t;
          pthread_create(&t, 0, g, &x); pthread_join(t, 0); return x.r; }
        void *f(void *v) { for (int i = 0; i < 2; i++) { int k[2] = {i, 0}; int *z = &k[1 - i]; *z = 0;
          assert(go(i) == i + 1); } return 0; }"""
    + _RUN_F
    % "struct a b[2] = {{1, 0}, {2, 0}}; pthread_t u[2]; for (int i = 0; i < 2; i++) "
    "pthread_create(&u[i], 0, g, &b[i]); for (int i = 0; i < 2; i++) pthread_join(u[i], 0); assert(b[1].r == 3);",
    "a thread that detaches itself": """
        void *f(void *a) { pthread_detach(pthread_self()); return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_exit(0); }""",
}

CLAIMS = {
    "joined twice": "void *f(void *a) { return 0; }" + _RUN_F % "pthread_join(t, 0);",
    "joined after it was detached": """
        void *f(void *a) { return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_detach(t); pthread_join(t, 0);
          return 0; }""",
    "detached after it was joined": "void *f(void *a) { return 0; }" + _RUN_F % "pthread_detach(t);",
    "detached twice": """
        void *f(void *a) { return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_detach(t); pthread_detach(t); return 0; }""",
    "created detached": """
        void *f(void *a) { return 0; }
        int main(void) { pthread_attr_t a; pthread_attr_init(&a); pthread_t t;
          pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
          pthread_create(&t, &a, f, 0); pthread_join(t, 0); return 0; }""",
    "joined by two": """
        pthread_t t; void *f(void *a) { return 0; } void *g(void *a) { pthread_join(t, 0); return 0; }
        int main(void) { pthread_t u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
          pthread_join(t, 0); pthread_join(u, 0); return 0; }""",
}


_START_TWO = """int main(void) { pthread_t a, b; int d; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
  pthread_join(a, 0); pthread_join(b, 0); %s return 0; }"""

ZERO_OVER_UNSET = """
_Atomic(int *) shared; int out;
void *f(void *a) { int *q = atomic_load_explicit(&shared, memory_order_relaxed); return (void *)(long)(*q + 4); }
int main(void) {
  pthread_t t; void *r;
  int *first = malloc(4); atomic_store_explicit(&shared, first, memory_order_release);
  pthread_create(&t, 0, f, 0);
  int *second = malloc(4); atomic_store_explicit(&shared, second, memory_order_release); *second = NUMBER;
  pthread_join(t, &r); out = (int)(long)r; assert(out != 4);
  return 0;
}"""

DELAYED = {
    "after stores that were delayed": """
        int v, x, y, r, s;
        void *f(void *a) { x = 1; r = y; return 0; } void *g(void *a) { y = 1; s = x; return 0; }"""
    + _START_TWO % "if (r + s == 0) v = d;",
    "in a store that is delayed": """
        int v, x, y, r, s;
        void *f(void *a) { int d; x = 1; v = d; r = y; return 0; } void *g(void *a) { y = 1; s = x + v; return 0; }"""
    + _START_TWO % "",
    "of a long that is delayed": """
        long v; int x, y, r, s;
        void *f(void *a) { long d; x = 1; v = d; r = y; return 0; } void *g(void *a) { y = 1; s = x + v; return 0; }"""
    + _START_TWO % "",
    "of the heap": """
        int v, x, y, r, s; int *p;
        void *f(void *a) { x = 1; v = *p; r = y; return 0; } void *g(void *a) { y = 1; s = x + v; return 0; }
        int main(void) { pthread_t a, b; p = malloc(4); pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
          pthread_join(a, 0); pthread_join(b, 0); return 0; }""",
}


def _kind(tmp_path: Path, text: str, engine: str, model: str = "sc", *, overflow: bool = False) -> str | None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + text)
    report = check([str(file)], CheckOptions(model, engine, dialect=Dialect(overflow=overflow)))
    if report.violations:
        return report.violations[0].finding.kind
    assert report.verdict is Verdict.SAFE
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", SCOPES.values(), ids=SCOPES)
def test_a_variable_that_is_gone(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) == "use after scope"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", UNSET.values(), ids=UNSET)
def test_a_value_that_nobody_has_set(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) in ("uninitialised value", "uninitialised pointer")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_nothing_is_wrong(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) is None


@pytest.mark.parametrize("model", ["sc", "tso"])
@pytest.mark.parametrize("engine", [*ENGINES, "all"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_zero_over_memory_that_nobody_has_set(tmp_path: Path, number: int, engine: str, model: str) -> None:
    """It is another value than what was there; and what follows from an indeterminate value is not reported."""
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + ZERO_OVER_UNSET.replace("NUMBER", str(number)))
    report = check([str(file)], CheckOptions(model, engine, check_limits(stop_at_first=False)))
    kinds = {violation.finding.kind for violation in report.violations}
    assert kinds == ({"uninitialised value"} if number else {"uninitialised value", "assertion"})


@pytest.mark.parametrize("buffer", [None, 2])
@pytest.mark.parametrize("engine", [*ENGINES, "transform"])
@pytest.mark.parametrize("text", DELAYED.values(), ids=DELAYED)
def test_delays_do_not_hide_it(tmp_path: Path, text: str, engine: str, buffer: int | None) -> None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + text)
    report = check([str(file)], CheckOptions("tso", engine, search=Search(buffer=buffer)))
    assert report.violations[0].finding.kind in ("uninitialised", "uninitialised value")


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_nothing_is_wrong_where_stores_are_delayed(tmp_path: Path, text: str) -> None:
    assert _kind(tmp_path, text, "transform", "tso") is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", CLAIMS.values(), ids=CLAIMS)
def test_a_thread_is_joined_or_detached_once(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) == "invalid join"


@pytest.mark.parametrize("model", ["rc11", "tso", "power", "aarch64"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_other_models(tmp_path: Path, model: str, engine: str) -> None:
    assert _kind(tmp_path, UNSET["the heap"], engine, model) == "uninitialised value"
    assert _kind(tmp_path, SCOPES["a thread that has ended"], engine, model) == "use after scope"
    assert _kind(tmp_path, FINE["a struct of which part is set"], engine, model) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("statement", "is_wrong"),
    [
        ("x = x + 1", True),
        ("x = -2 - x", True),
        ("x = x * 2", True),
        ("x++", True),
        ("l = l * 3", True),
        ("l = l - (-1)", True),
        ("u = u + 1", False),
        ("u = u * u", False),
        ("x = x - 1", False),
        ("c++", False),
        ("x = one << 31", True),
        ("x = 2 << 30 + one - 1", True),
        ("x = -one << 2", True),
        ("x <<= one", True),
        ("l = (long)one << 63", True),
        ("u = u << 31", False),
        ("x = one << 30", False),
        ("x = abs(-x - 1)", True),
        ("l = labs(-l - 1)", True),
        ("x = abs(-x)", False),
        ("x = (int)d", True),
        ("u = (unsigned)-d", True),
        ("l = (long)(d * d * d)", True),
        ("l = (long)d", False),
        ("x = 65536 * 65536", True),
        ("l = 9223372036854775807L + 1", True),
        ("x = one && 2147483647 + 1", True),
        ("x = -(-2147483647 - 1)", True),
        ("x = 32768 * 65535 - 1", False),
        ("if (!one) x = 65536 * 65536", False),
        ("x = __builtin_add_overflow(x, one, &x)", False),
        ("_Atomic int a = x; a++; a += 2", False),
        ("x = (int)(d / 2)", False),
    ],
)
def test_overflow(tmp_path: Path, statement: str, is_wrong: bool, engine: str) -> None:
    text = """
        int x = 2147483647; unsigned u = 4294967295u; long l = 9223372036854775807L; signed char c = 127;
        int one = 1; double d = 3e9;
        int main(void) { %s; return 0; }"""
    assert _kind(tmp_path, text % statement, engine, overflow=True) == ("overflow" if is_wrong else None)
    assert _kind(tmp_path, text % statement, engine) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "statement",
    [
        "x = x / zero",
        "x = x % zero",
        "x = (-x - 1) / minus",
        "x = (-x - 1) % minus",
        "div(x, zero)",
        "div(-x - 1, minus)",
    ],
)
def test_quotients(tmp_path: Path, statement: str, engine: str) -> None:
    text = "int x = 2147483647, zero, minus = -1; int main(void) { %s; return 0; }"
    assert _kind(tmp_path, text % statement, engine) == "assertion"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("statement", "is_wrong"),
    [
        ("y = __builtin_clz(x);", True),
        ("y = __builtin_ctz(x);", True),
        ("y = __builtin_ctzll(x);", True),
        ("assert(__builtin_clzl(x | 1) == 63);", False),
        ("assert(__builtin_ctz(8) == 3);", False),
        ("assert(__builtin_ffs(x) == 0);", False),
        ("assert(__builtin_ffsll(x + 4L) == 3);", False),
        ("assert(__builtin_clzg((unsigned)x, 7) == 7);", False),
        ("if (x) y = __builtin_clz(x);", False),
    ],
)
def test_zeros_of_nothing(tmp_path: Path, statement: str, is_wrong: bool, engine: str) -> None:
    text = f"int x, y; int main(void) {{ {statement} return 0; }}"
    assert _kind(tmp_path, text, engine) == ("assertion" if is_wrong else None)


@pytest.mark.parametrize(
    ("statement", "is_wrong"),
    [
        ("int z = 4 / 0;", True),
        ("x = 4 % 0;", True),
        ("x = (-2147483647 - 1) / -1;", True),
        ("unsigned u = 1u << 32;", True),
        ("x = x + (1 << 40);", True),
        ("x = -(64 >> 33);", True),
        ("long l = (long)(4 / 0);", True),
        ("x = (int)3e10;", True),
        ("if (1u << 97) x = 1;", True),
        ("switch (4 / 0) { case 1: x = 1; }", True),
        ("return 4 / 0;", True),
        ("g(1 << 32);", True),
        ("x = g(1) && 4 / 0;", True),
        ("x = g(1) ? 4 / 0 : 2;", True),
        ("int a[2] = {1}; a[4 / 0] = 2;", True),
        ("x = g(0) && 4 / 0;", False),
        ("x = g(1) ? 2 : 4 / 0;", False),
        ("if (0) x = 4 / 0;", False),
        ("x = sizeof(4 / 0);", False),
        ("struct pair p = pair(); x = p.a;", False),
    ],
)
def test_constants_that_are_undefined(tmp_path: Path, statement: str, is_wrong: bool) -> None:
    """The compiler computes them itself."""
    text = "int x; struct pair { long a, b; } pair(void); int g(int a) { return a; } int main(void) { %s return 0; }"
    text += " struct pair pair(void) { struct pair p = {1, 2}; return p; }"
    assert _kind(tmp_path, text % statement, "rsmc") == ("assertion" if is_wrong else None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("__builtin_assume(x != 0);", "assertion"),
        ("if (!x) __builtin_unreachable();", "assertion"),
        ("int v; __builtin_assume(v != 0);", "uninitialised value"),
        ("__builtin_assume(x == 0);", None),
        ("int *p = __builtin_assume_aligned(&x, 64); *p = 1;", None),
    ],
)
def test_promises(tmp_path: Path, statement: str, kind: str | None, engine: str) -> None:
    assert _kind(tmp_path, f"int x; int main(void) {{ {statement} return 0; }}", engine) == kind


def test_promises_of_cplusplus(tmp_path: Path) -> None:
    file = tmp_path / "program.cpp"
    file.write_text("int x; int main() { [[assume(x != 0)]]; return 0; }")
    (violation,) = check([str(file)], CheckOptions("sc", "rsmc", flags=("-std=c++23",))).violations
    assert "assume" in violation.finding.message


@pytest.mark.parametrize(
    ("standard", "statement", "is_wrong"),
    [
        ("c++17", "x = one << 31", False),
        ("c++17", "x = one << 31 << 1", True),
        ("c++17", "x = -one << 2", True),
        ("c++20", "x = -one << 2", False),
        ("c++20", "x = one << 31", False),
        ("c++20", "x = x + one", True),
    ],
)
def test_shifts_of_cplusplus(tmp_path: Path, standard: str, statement: str, is_wrong: bool) -> None:
    file = tmp_path / "program.cpp"
    file.write_text(f"int x = 2147483647, one = 1; int main() {{ {statement}; return 0; }}")
    options = CheckOptions("sc", "rsmc", flags=(f"-std={standard}",), dialect=Dialect(overflow=True))
    assert [violation.finding.kind for violation in check([str(file)], options).violations] == ["overflow"] * is_wrong


@pytest.mark.parametrize("statement", ["y = 1 << r", "y = (int)(double)r + 1", "y = r + 1; __builtin_assume(r < 2)"])
def test_checks_are_no_branches(tmp_path: Path, statement: str) -> None:
    """Load buffering: nothing depends on a check but what is computed there."""
    text = """
        #include <stdatomic.h>
        _Atomic int a, b; int y;
        void *f(void *p) { int r = atomic_load_explicit(&a, memory_order_relaxed); STATEMENT;
          atomic_store_explicit(&b, 1, memory_order_relaxed); return 0; }
        void *g(void *p) { int r = atomic_load_explicit(&b, memory_order_relaxed);
          atomic_store_explicit(&a, 1, memory_order_relaxed); assert(!r || !atomic_load(&a) || y != 2); return 0; }
        int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
          pthread_join(t, 0); pthread_join(u, 0); assert(y != 2); return 0; }"""
    assert _kind(tmp_path, text.replace("STATEMENT", statement), "rsmc", "aarch64", overflow=True) == "assertion"


@pytest.mark.parametrize("model", ["sc", "power", "aarch64", "riscv"])
def test_nothing_is_told_of_a_thread_behind_an_assertion_that_nobody_can_decide(tmp_path: Path, model: str) -> None:
    """Where an assertion orders nothing its thread goes on before it is decided."""
    text = """
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
int *shared, stored, flag;
void *f(void *p) {
  int a = *shared;
  assert(!(a == 0 && flag));
  stored = a;
  return 0;
}
int main(void) {
  pthread_t t;
  shared = malloc(sizeof(int));
  pthread_create(&t, 0, f, 0);
  flag = 1;
  pthread_join(t, 0);
}
"""
    loaded = load_model(model)
    task = Task(prepare(from_c(tmp_path, text), loaded), loaded, Limits(2, counts_known_rounds=False))
    for run in rsmc.run, axiomatic.run:
        (violation,) = run(task).violations
        assert violation.kind == "uninitialised"
        assert violation.span is not None
        assert violation.span.line == 8
