"""Global variables hold what was never set, bit by bit, as the heap does: to decide on it is a violation everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.result import Verdict
from dekker.run.check import CheckOptions, check, check_limits
from dekker.task import Search

pytestmark = needs_compiler

ENGINES = ("rsmc", "axiomatic", "states", "all")
UNSET = ("uninitialised value", "uninitialised pointer")

_HEADERS = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
"""

_ALONE = "int main(void) { %s return 0; }"
_RUN_F = "int main(void) { pthread_t t; %s pthread_create(&t, 0, f, 0); %s pthread_join(t, 0); %s return 0; }"
_STORES = "atomic_int x; void *f(void *a) { int v; atomic_store(&x, %s); return 0; }"
_PAIR = "struct s { int a, b; } g; "
_BITS = "struct s { unsigned a : 3, b : 5; } g; "

DECIDES = {
    "one bit": "int g; " + _ALONE % "int v; g = v & 1; if (g) return 1;",
    "a product": "int g; " + _ALONE % "int v; g = (v & 1) * 4; if (g & 4) return 1;",
    "a carry of a product": "int g; " + _ALONE % "int v; g = (v & 3) * 3; if (g & 8) return 1;",
    "a comparison": "int g; " + _ALONE % "int v; g = (v == 3); if (g) return 1;",
    "a bool": "bool g; " + _ALONE % "bool v; g = v; if (g) return 1;",
    "a wider type": "int g; " + _ALONE % "unsigned char v; g = v; if (g == 3) return 1;",
    "the sign": "short g; int h; " + _ALONE % "int v; g = (short)(v << 15); h = g; if (h < 0) return 1;",
    "a member": _PAIR + _ALONE % "struct s v; v.a = 1; g = v; if (g.b) return 1;",
    "a member that was copied": _PAIR + _ALONE % "struct s v; v.a = 1; memcpy(&g, &v, 8); if (g.b) return 1;",
    "a member that was returned": "struct s { int a; char b; } g; struct s mk(int k) { struct s v; v.a = k; return v; }"
    + _ALONE % "g = mk(3); struct s w = g; if (w.b == 1) return 1;",
    "a member that was passed": "struct s { short a; char b; } g; void put(struct s v) { g = v; }"
    + _ALONE % "struct s v; v.a = 1; put(v); if (g.b == 2) return 1;",
    "a field of bits": _BITS + _ALONE % "unsigned v; g.a = v; if (g.a == 2) return 1;",
    "fields of bits": _BITS + _ALONE % "struct s v; v.a = 3; g = v; if (g.b) return 1;",
    "a union": "union u { int i; char c[4]; } g; " + _ALONE % "union u v; v.c[0] = 1; g = v; if (g.i == 1) return 1;",
    "half of a long": "union { long l; int i[2]; } g; "
    + _ALONE % "int v; g.i[0] = 1; g.i[1] = v & 1; if (g.l == 1) return 1;",
    "an element": "int g[4], n; " + _ALONE % "int v; n = 2; g[n] = v & 7; if (g[n]) return 1;",
    "an index": "int g, a[4]; int main(void) { int v; g = v & 3; return a[g]; }",
    "a pointer": "struct s { long n; int *p; } g; int main(void) { struct s v; v.n = 1; g = v; return *g.p; }",
    "an assertion": "int g; " + _ALONE % "int v; g = v & 1; assert(g == 0);",
    "rounds of a loop": "int g; " + _ALONE % "int v; g = v & 3; for (int i = 0; i < g; i++);",
    "a static variable": "int f(int k) { static int s; if (k) s = k & 1; return s; }"
    + _ALONE % "int v; f(v | 2); if (f(0)) return 1;",
    "another thread": "int g; void *f(void *a) { if (g) return a; return 0; }" + _RUN_F % ("int v; g = v & 1;", "", ""),
    "the first thread": "int g; void *f(void *a) { int v; g = v & 1; return 0; }"
    + _RUN_F % ("", "", "if (g) return 1;"),
    "a wait": _STORES % "v & 1" + _RUN_F % ("", "while (!atomic_load(&x));", ""),
    "a wait that it passes by": _STORES % "v & 1); atomic_store(&x, 1" + _RUN_F % ("", "while (!atomic_load(&x));", ""),
    "a lock": _STORES % "v & 1); atomic_store(&x, 0" + _RUN_F % ("", "while (atomic_exchange(&x, 1));", ""),
    "a lock that is free": _STORES % "v & 1); atomic_store(&x, 1"
    + _RUN_F % ("", "while (!atomic_exchange(&x, 0));", ""),
    "a lock from the start": """
        atomic_int x; void *f(void *a) { while (atomic_exchange(&x, 1)); atomic_store(&x, 0); return 0; }"""
    + _RUN_F % ("int v; x = v & 1;", "", ""),
    "the tag of a pointer": """
        _Atomic unsigned long p; int o;
        void *f(void *a) { unsigned long v; atomic_store(&p, (unsigned long)&o | (v & 1)); return 0; }"""
    + _RUN_F % ("", "", "unsigned long q = atomic_load(&p); if (q & 1) return 1;"),
    "a compare-exchange of it": _STORES % "(v & 1) | 2"
    + _RUN_F % ("", "", "int e = 2; atomic_compare_exchange_strong(&x, &e, 9);"),
    "a weak compare-exchange of it": _STORES % "v & 1"
    + _RUN_F % ("", "", "int e = 0; atomic_compare_exchange_weak(&x, &e, 9);"),
    "what a compare-exchange has stored": """
        atomic_int x;
        void *f(void *a) { int v, e = 0; atomic_compare_exchange_strong(&x, &e, v & 3); return 0; }"""
    + _RUN_F % ("", "", "if (atomic_load(&x) == 1) return 1;"),
    "what an update has stored": "atomic_int x; void *f(void *a) { int v; atomic_fetch_add(&x, v & 1); return 0; }"
    + _RUN_F % ("", "", "if (atomic_load(&x) == 1) return 1;"),
    "what an update returns": _STORES % "v & 1" + _RUN_F % ("", "", "if (atomic_fetch_or(&x, 2) & 1) return 1;"),
    "a chain of copies": """
        atomic_int x, y, z;
        void *f(void *a) { int e = 0; atomic_compare_exchange_strong(&z, &e, 1); return 0; }
        void *g(void *a) { atomic_store(&z, atomic_load(&y)); return 0; }
        void *h(void *a) { int v; atomic_store(&y, v & 1); return 0; }
        int main(void) { pthread_t t, u, w;
          pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0); pthread_create(&w, 0, h, 0);
          pthread_join(t, 0); pthread_join(u, 0); pthread_join(w, 0); return 0; }""",
}

FINE = {
    "other bits": "int g; " + _ALONE % "unsigned char v; g = v; if (g >> 8) return 1;",
    "shifted bits": "int g; " + _ALONE % "int v; g = v << 4; if (g & 15) return 1;",
    "bits that are known decide": "union u { unsigned i; unsigned char c[4]; } g; "
    + _ALONE % "union u v; v.c[0] = 1; g = v; if (g.i == 0x102) return 1; if (!g.i) return 2;",
    "other members": _PAIR + _ALONE % "struct s v; v.a = 1; g = v; if (g.a != 1) return 1;",
    "members that are set later": _PAIR + _ALONE % "struct s v; v.a = 1; g = v; g.b = 2; if (g.b != 2) return 1;",
    "memset": _PAIR + _ALONE % "struct s v; v.a = 1; g = v; memset(&g, 0, 8); if (g.b) return 1;",
    "padding": "struct s { char a; int b; } g, h; "
    + _ALONE % "struct s v; v.a = 1; v.b = 2; g = v; h = g; if (h.a != 1 || h.b != 2) return 1;",
    "padding of results": "struct s { int a; char b; } g; struct s f(int k) { struct s v; v.a = k; v.b = 1; return v; }"
    + _ALONE % "g = f(3); struct s w = g; if (w.a != 3 || w.b != 1) return 1;",
    "padding of atomics": """
        struct s { char a; short b; }; _Atomic struct s x;
        void *f(void *a) { struct s v; v.a = 1; v.b = 2; atomic_store(&x, v); return 0; }"""
    + _RUN_F % ("", "", "struct s w = atomic_load(&x); if (w.a != 1 || w.b != 2) return 1;"),
    "structs that are sorted": """
        struct s { char a; int b; } g[3];
        int cmp(const void *p, const void *q) { return ((struct s *)p)->b - ((struct s *)q)->b; }"""
    + _ALONE
    % """for (int i = 0; i < 3; i++) { struct s v; v.a = 1; v.b = 3 - i; g[i] = v; }
          qsort(g, 3, sizeof *g, cmp); if (g[0].b != 1) return 1;""",
    "fields of bits": _BITS + _ALONE % "g.a = 3; if (g.b) return 1; if (g.a != 3) return 2;",
    "other fields of bits": _BITS + _ALONE % "unsigned v; g.a = v; if (g.b == 2) return 1;",
    "fields of bits that are set later": _BITS
    + _ALONE % "struct s v; v.a = 3; g = v; g.b = 4; if (g.a + g.b != 7) return 1;",
    "neighbours": "char a, b, c; int d; "
    + _ALONE % "bool v; b = v; a = 1; c = 2; d = 3; if (a != 1 || c != 2 || d != 3) return 1;",
    "other elements": "int g[4], n; " + _ALONE % "int v; n = 2; g[n] = v & 7; if (g[n + 1]) return 1;",
    "what was overwritten": "int g; void *f(void *a) { if (g != 1) return a; return 0; }"
    + _RUN_F % ("int v; g = v & 1; g = 1;", "", ""),
    "what was exchanged": _STORES % "v & 1"
    + _RUN_F % ("", "", "atomic_exchange(&x, 0); if (atomic_load(&x)) return 1;"),
    "a wait for other bits": _STORES % "(v & 1) | 2" + _RUN_F % ("", "while (!(atomic_load(&x) & 2));", ""),
    "a lock with other bits": _STORES % "(v & 1) | 2); atomic_store(&x, 0"
    + _RUN_F % ("", "while (atomic_exchange(&x, 2) & 2);", ""),
    "a pointer without its tag": """
        _Atomic unsigned long p; int o;
        void *f(void *a) { unsigned long v; atomic_store(&p, (unsigned long)&o | (v & 1)); return 0; }"""
    + _RUN_F % ("", "", "int *w = (int *)(atomic_load(&p) & ~1ul); if (*w) return 1;"),
    "other bytes": "int g; "
    + _ALONE % "int v; g = v & 0x100; char *p = (char *)&g; if (p[0] || p[2]) return 1; p[1] = 0; if (g) return 2;",
    "a compare-exchange that fails in any case": _STORES % "(v & 1) | 2"
    + _RUN_F % ("", "", "int e = 8; if (atomic_compare_exchange_strong(&x, &e, 9)) return 1;"),
    "atomics in structs": "struct s { atomic_int n; char c; int v; } g; void *f(void *a) { g.n++; return 0; }"
    + _RUN_F % ("g.c = 1;", "g.n++;", "if (g.n != 2 || g.v) return 1;"),
}

DELAYED = {
    "its own thread": "int x, y, g; void *f(void *a) { int v; x = 1; g = v & 1; if (g) return a; return 0; }"
    + _RUN_F % ("", "y = x;", ""),
    "another thread": "int x, y, g; void *f(void *a) { int v; g = v & 1; y = x; return 0; }"
    + _RUN_F % ("", "x = 1; int r = g; if (r) y = 2;", ""),
    "a later store": "int x, y, g; void *f(void *a) { int v; g = 2; g = v & 1; y = x; return 0; }"
    + _RUN_F % ("", "x = 1; int r = g; if (r == 1) return 1;", ""),
    "a copy": """
        struct s { long a, b; } g; long x, y;
        void *f(void *a) { struct s v; v.a = 1; g = v; y = x; return 0; }"""
    + _RUN_F % ("", "x = 1; long r = g.b; if (r) y = 2;", ""),
}

DELAYED_AND_FINE = {
    "a later store": "int x, y, g; void *f(void *a) { int v; g = v & 1; g = 0; y = x; return 0; }"
    + _RUN_F % ("", "x = 1;", "if (g) return 1;"),
    "a copy": """
        struct s { long a, b; } g; long x, y;
        void *f(void *a) { struct s v; v.a = 1; g = v; y = x; return 0; }"""
    + _RUN_F % ("", "x = 1; long r = g.a; if (r) y = 2;", "struct s w = g;"),
}

LOCKED = (
    """
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; struct s { int a; unsigned b : 2, c : 2; } g;
    void *f(void *a) {
      struct s v; v.a = 1; v.b = 1; pthread_mutex_lock(&m); g = v; pthread_mutex_unlock(&m); return 0; }"""
    + _RUN_F
    % (
        "",
        "pthread_mutex_lock(&m); if (g.b > 1) abort(); pthread_mutex_unlock(&m);",
        "",
    )
)


def _kind(tmp_path: Path, text: str, engine: str, model: str = "sc", buffer: int | None = None) -> str | None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + text)
    report = check([str(file)], CheckOptions(model, engine, check_limits(), search=Search(buffer=buffer)))
    if report.violations:
        return report.violations[0].finding.kind
    assert report.verdict in (Verdict.SAFE, Verdict.SAFE_WITHIN_BOUND)
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", DECIDES.values(), ids=DECIDES)
def test_what_decides(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) in UNSET


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_nothing_is_wrong(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) is None


@pytest.mark.parametrize("model", ["tso", "pso"])
@pytest.mark.parametrize("engine", [*ENGINES, "transform"])
@pytest.mark.parametrize("text", DELAYED.values(), ids=DELAYED)
def test_what_decides_where_stores_are_delayed(tmp_path: Path, text: str, engine: str, model: str) -> None:
    assert _kind(tmp_path, text, engine, model) in (*UNSET, "uninitialised")


@pytest.mark.parametrize("model", ["tso", "pso"])
@pytest.mark.parametrize("engine", [*ENGINES, "transform"])
@pytest.mark.parametrize("text", DELAYED_AND_FINE.values(), ids=DELAYED_AND_FINE)
def test_nothing_is_wrong_where_stores_are_delayed(tmp_path: Path, text: str, engine: str, model: str) -> None:
    assert _kind(tmp_path, text, engine, model, 2 if engine == "transform" else None) is None


@pytest.mark.parametrize("model", ["tso", "pso", "rmo"])
def test_reads_that_are_delayed_do_not_decide(tmp_path: Path, model: str) -> None:
    assert _kind(tmp_path, LOCKED, "transform", model) is None
    assert _kind(tmp_path, LOCKED.replace("g.b > 1", "g.c > 1"), "transform", model) == "uninitialised"


@pytest.mark.parametrize("model", ["cpp20", "power", "aarch64"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_other_models(tmp_path: Path, model: str, engine: str) -> None:
    for name in ("a wait", "a lock", "a compare-exchange of it", "another thread", "a member"):
        assert _kind(tmp_path, DECIDES[name], engine, model) == "uninitialised value"
    for name in ("a wait for other bits", "a lock with other bits", "what was exchanged", "padding of atomics"):
        assert _kind(tmp_path, FINE[name], engine, model) is None


def test_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + DECIDES["another thread"])
    (violation,) = check([str(file)], CheckOptions("sc", "rsmc")).violations
    assert "`v`" in violation.finding.message
