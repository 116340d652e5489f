"""Copies and fills concern all bytes that they name, and no others: parts of variables, and padding."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.fuzz.bytes_c import DECIDES, RIGHT, bytes_program, bytes_twin
from dekker.ir.instructions import Load, Store
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check, check_limits

pytestmark = needs_compiler

ENGINES = ("rsmc", "axiomatic", "states")
UNSET = "uninitialised value"

_HEADERS = """
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
struct S { char c; int i; };
struct T { int i; char c; };
"""
_ALONE = "int main(void) { %s return 0; }"
_IN_THREAD = """
void *f(void *v) { %s return 0; }
int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }"""

HOLDS = {
    "half": _ALONE % "int a = -1; memset(&a, 0, 2); assert(a == (int)0xffff0000);",
    "one byte": _ALONE % "int a = -1; memset((char *)&a + 1, 0, 1); assert(a == (int)0xffff00ff);",
    "three bytes": _ALONE % "int a = -1; memset(&a, 0, 3); assert(a == (int)0xff000000);",
    "bzero": _ALONE % "int a = -1; bzero(&a, 2); assert(a == (int)0xffff0000);",
    "half of a long": _ALONE % "long a = -1; memset(&a, 0, 4); assert(a == (long)0xffffffff00000000);",
    "an array and a half": _ALONE % "int a[2] = {-1, -1}; memset(a, 0, 6); assert(!a[0] && a[1] == (int)0xffff0000);",
    "shorts": _ALONE % "short s[2] = {-1, -1}; memset(s, 0, 3); assert(!s[0] && s[1] == (short)0xff00);",
    "a field": _ALONE % "struct T x = {-1, 1}; memset(&x.i, 0, 2); assert(x.i == (int)0xffff0000 && x.c == 1);",
    "across fields": _ALONE
    % "struct { int a, b; } s = {-1, -1}; memset((char *)&s + 2, 1, 4); assert(s.a == 0x101ffff && s.b == -0xfeff);",
    "a double": _ALONE % "double d = 1.0; memset(&d, 0, 6); assert(d == 1.0);",
    "from memory": "int g = 0x01020304; " + _ALONE % "int a = -1; memcpy(&a, &g, 2); assert(a == (int)0xffff0304);",
    "to memory": "int g = -1; " + _ALONE % "int a = 0; memcpy(&g, &a, 3); assert(g == (int)0xff000000);",
    "in a thread": _IN_THREAD % "int a = -1; memset(&a, 0, 2); assert(a == (int)0xffff0000);",
    "padding that is filled": "struct S g; unsigned char b[8]; "
    + _ALONE % "memset(&g, 1, 8); memcpy(b, &g, 8); assert(b[2] == 1);",
    "padding that is copied": "struct S g; unsigned char b[8] = {1, 2, 3, 4, 5, 6, 7, 8}; "
    + _ALONE % "memcpy(&g, b, 8); memset(b, 0, 8); memcpy(b, &g, 8); assert(b[1] == 2 && b[3] == 4 && b[7] == 8);",
    "padding at the end": "struct T g; unsigned char b[8]; "
    + _ALONE % "memset(&g, 3, 8); memcpy(b, &g, 8); assert(b[5] == 3 && b[7] == 3);",
    "padding that passes a local": "struct S g, h; "
    + _ALONE % "struct S s; memset(&g, 1, 8); memcpy(&s, &g, 8); memcpy(&h, &s, 8); assert(!memcmp(&g, &h, 8));",
    "padding of elements": "struct S g[3], h[3]; int n = 1; "
    + _ALONE % "memset(&g[n], 1, 8); memcpy(&h[n], &g[n], 8); assert(!memcmp(&g[n], &h[n], 8));",
    "padding of the heap": _ALONE
    % "struct S *p = malloc(8), *q = malloc(8); memset(p, 0, 8); p->i = 3; *q = *p; assert(!memcmp(p, q, 8));",
    "padding that is seen as a number": "struct S g, h; "
    + _ALONE % "memset(&g, 1, 8); h = g; assert(*(int *)&h == 0x1010101);",
    "padding of structs in structs": "struct { struct S s; long l; } g, h; "
    + _ALONE % "memset(&g, 1, 16); struct S *p = &h.s; *p = g.s; assert(((char *)&h)[3] == 1);",
    "padding that becomes a field of an element": "struct T g[3]; int n = 1; "
    + _ALONE % "struct S s; memset(&s, 1, 8); memcpy((char *)&g[n] + 1, &s, 4); assert(g[n].i == 0x1010100);",
    "padding that becomes a field of a nested struct": "struct { char c; struct S s; short t; } g[3]; int n = 1; "
    + _ALONE % "struct S s; memset(&s, 255, 8); memcpy((char *)&g[n] + 9, &s, 4); assert(g[n].s.i == (int)0xffffff00);",
    "padding of one struct that is a field of another, on the heap": _ALONE
    % "int n = 1; struct U { char c[4]; struct T t; } *p = calloc(3, sizeof *p), *q = p + n; struct S s; "
    "memset(&s, 2, 8); memcpy((char *)q + 4, &s, 8); assert(q->t.i == 0x2020202 && p[n].t.c == 2);",
    "a part that is filled, through another struct": "struct { char c; struct S s; short t; } g[3]; int n = 1; "
    + _ALONE % "struct S *p = (struct S *)&g[n]; memset(p, 1, sizeof *p); assert(g[n].s.c == 1 && g[n].s.i == 0);",
    "padding of a size that is not known": "struct S g[3]; int n = 1, size = 4; "
    + _ALONE % "struct S s; memset(&s, 3, 8); memmove((char *)&g[n] + 3, &s, size); assert(g[n].i == 0x30303);",
    "fields alone": "struct S g[2], h; int n = 1; "
    + _ALONE % "struct S s; s.c = 1; s.i = 2; g[n] = s; h = g[n]; assert(h.c + h.i == 3);",
}

FAILS = {
    "half": (_ALONE % "int a = -1; memset(&a, 0, 2); assert(a == 0);", "assertion"),
    "half of what was never set": (_ALONE % "int a; memset(&a, 0, 2); assert(a == 0);", UNSET),
    "half of an element that was never set": (
        "int g[3]; " + _ALONE % "int a[3]; memset(a, 0, 10); memcpy(g, a, 12); assert(g[2] == 0);",
        UNSET,
    ),
    "a forgotten factor": (_ALONE % "int a[4]; memset(a, 0, sizeof a / 2); assert(a[2] == 0);", UNSET),
    "padding that was filled": (
        "struct S g; unsigned char b[8]; " + _ALONE % "memset(&g, 1, 8); memcpy(b, &g, 8); assert(b[2] == 0);",
        "assertion",
    ),
    "padding of a copied local": (
        "struct S g; " + _ALONE % "struct S s; s.c = 1; s.i = 2; memcpy(&g, &s, 8); assert(((char *)&g)[2] == 0);",
        UNSET,
    ),
    "padding that is compared": (
        "struct S g, h; "
        + _ALONE % "struct S s; s.c = 1; s.i = 2; memcpy(&g, &s, 8); h = g; assert(memcmp(&g, &h, sizeof g) == 0);",
        UNSET,
    ),
    "padding in an array of bytes": (
        "unsigned char g[8]; " + _ALONE % "struct S s; s.c = 1; s.i = 2; memcpy(g, &s, 8); assert(g[1] == 0);",
        UNSET,
    ),
    "padding outside of the object": (
        _ALONE % "struct T *p = malloc(5), s = {1, 2}; *p = s; assert(p->c == 2);",
        "out of bounds",
    ),
}

UNSEEN = {
    "globals": "struct S g, h; " + _ALONE % "struct S s; s.c = 1; s.i = 2; g = s; h = g; assert(h.i == 2);",
    "elements": "struct S g[4], h; int n = 1; "
    + _ALONE % "struct S s; s.c = 1; s.i = 2; g[n] = s; struct S *p = &g[n]; h = *p; p->i = 3; assert(h.i == 2);",
    "functions": """
        struct S g[4]; int head, tail; char text[4] = "abc";
        static void put(const struct S *p) { g[tail++] = *p; }
        static void get(struct S *p) { *p = g[head++]; }"""
    + _ALONE % "struct S s = {1, 2}, t; put(&s); get(&t); assert(t.i == 2 && text[tail] == 'b');",
    "pointers to elements": """
        struct S g[4]; int n = 1;
        static void put(struct S *p) { struct S s = {1, 2}; memcpy(p, &s, sizeof s); }"""
    + _ALONE % "put(&g[n]); struct S *q = g + n; q->i = 3; assert(g[n].c == 1);",
    "memset": "struct T g[2]; int n; " + _ALONE % "memset(&g[n], 0, sizeof *g); g[n].i = 1; assert(g[n].c == 0);",
}


def _kind(tmp_path: Path, text: str, engine: str = "rsmc", model: str = "sc") -> str | None:
    file = tmp_path / "program.c"
    file.write_text(_HEADERS + text)
    report = check([str(file)], CheckOptions(model, engine, check_limits()))
    if report.violations:
        return report.violations[0].finding.kind
    assert report.verdict is Verdict.SAFE
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", HOLDS.values(), ids=HOLDS)
def test_every_byte_is_what_was_put_there(tmp_path: Path, text: str, engine: str) -> None:
    assert _kind(tmp_path, text, engine) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FAILS)
def test_other_bytes_are_not(tmp_path: Path, name: str, engine: str) -> None:
    text, kind = FAILS[name]
    assert _kind(tmp_path, text, engine) == kind


@pytest.mark.parametrize("model", ["tso", "power", "cpp20"])
@pytest.mark.parametrize("name", ["padding that is compared", "padding in an array of bytes", "half"])
def test_other_models(tmp_path: Path, name: str, model: str) -> None:
    text, kind = FAILS[name]
    assert _kind(tmp_path, text, model=model) == kind


@pytest.mark.parametrize("text", UNSEEN.values(), ids=UNSEEN)
def test_padding_that_nobody_looks_at_costs_nothing(tmp_path: Path, text: str) -> None:
    """Padding of these structs would be accessed as one byte and two."""
    program = from_c(tmp_path, _HEADERS + text)
    accesses = [step for function in program.functions for step in function.body if isinstance(step, Load | Store)]
    assert {step.size for step in accesses} == {1, 4}
    assert _kind(tmp_path, text) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_padding_that_is_not_looked_at_may_race(tmp_path: Path, engine: str) -> None:
    """What other threads do with members of other elements is none of its business."""
    text = """
        struct S g[2]; int n;
        void *f(void *v) { struct S s = {1, 2}; g[1] = s; return 0; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);
          struct S s = {3, 4}; g[n] = s; g[n].c = 5; pthread_join(t, 0); assert(g[0].i + g[1].i == 6); return 0; }"""
    assert _kind(tmp_path, text, engine) is None


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_hold_what_they_say(tmp_path: Path, seed: int) -> None:
    text = bytes_program(seed)
    assert _kind(tmp_path, text) == (UNSET if bytes_twin(text) == DECIDES else None)
    assert bytes_twin(text) in (DECIDES, RIGHT)
