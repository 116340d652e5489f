"""Pointers that a program leaves open: null, or not and to no object."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker

pytest.importorskip("ziglang", reason="the compiler is not installed")

HEADER = """#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
extern void *__VERIFIER_nondet_pointer(void);
extern int __VERIFIER_nondet_int(void);
int x; _Atomic(int *) shared; pthread_t t;
"""
BOUND = "pointers that the program leaves open were null, or pointed to no object"
HOLDING = {
    "never looked at": "int main(void) { void *p = __VERIFIER_nondet_pointer(); return p != 0; }",
    "tested": "int main(void) { int *p = __VERIFIER_nondet_pointer(); if (!p) p = &x; assert(p != 0); }",
    "through another thread": "void *f(void *a) { int *p = atomic_load(&shared); assert(!p || p != &x); return 0; }"
    "int main(void) { pthread_create(&t, 0, f, 0); atomic_store(&shared, __VERIFIER_nondet_pointer()); }",
}
FAILING = {
    "taken for null": "int main(void) { void *p = __VERIFIER_nondet_pointer(); assert(!p); }",
    "taken for not null": "int main(void) { void *p = __VERIFIER_nondet_pointer(); assert(p); }",
    "read without a test": "int main(void) { int *p = __VERIFIER_nondet_pointer(); return *p; }",
    "read after a test": "int main(void) { int *p = __VERIFIER_nondet_pointer(); if (p) return *p; return 0; }",
    "written by a thread": "void *f(void *a) { *(int *)a = 1; return 0; }"
    "int main(void) { void *p = __VERIFIER_nondet_pointer(); if (p) pthread_create(&t, 0, f, p); }",
}


def check(folder: Path, text: str, *arguments: str) -> tuple[int, str]:
    file = folder / "program.c"
    file.write_text(HEADER + text, encoding="utf-8")
    outcome = dekker("check", str(file), "-m", "tso", *arguments)
    return outcome.status, outcome.out + outcome.err


@pytest.mark.parametrize("engine", ["rsmc", "states", "axiomatic", "all"])
@pytest.mark.parametrize("text", HOLDING.values(), ids=HOLDING)
def test_what_holds_holds_within_a_bound_that_is_named(tmp_path: Path, text: str, engine: str) -> None:
    status, out = check(tmp_path, text, "--engine", engine)
    assert (status, out.split()[0], BOUND in out) == (0, "SAFE_WITHIN_BOUND", True), out


@pytest.mark.parametrize("engine", ["rsmc", "states", "axiomatic"])
@pytest.mark.parametrize("text", FAILING.values(), ids=FAILING)
def test_both_are_tried(tmp_path: Path, text: str, engine: str) -> None:
    witness = tmp_path / "run.json"
    status, out = check(tmp_path, text, "--engine", engine, "--witness", str(witness))
    assert status == 1, out
    assert dekker("replay", str(witness)).status == 0


def test_numbers_beside_pointers_are_named_too(tmp_path: Path) -> None:
    text = "int main(void) { return __VERIFIER_nondet_int() && __VERIFIER_nondet_pointer(); }"
    status, out = check(tmp_path, text)
    assert status == 0
    assert BOUND in out
    assert "numbers that the program leaves open were from -1 to 2 (--nondet)" in out


def test_a_variable_may_be_called_pointer(tmp_path: Path) -> None:
    text = "int main(void) { int *pointer = __VERIFIER_nondet_pointer(); assert(!pointer || *pointer); }"
    assert check(tmp_path, text)[0] == 1
