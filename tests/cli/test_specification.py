"""Assertions and assumptions order nothing: load buffering behind them is found by every engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

PROGRAM = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
void __CPROVER_assume(int);
void __CPROVER_assert(int, const char *);
void __VERIFIER_assume(int);
void reach_error(void) {}
void __VERIFIER_assert(int c) { if (!c) { reach_error(); abort(); } }
atomic_int x, y;
int a, b;
#define READ(p) atomic_load_explicit(p, memory_order_relaxed)
#define WRITE(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define CHECK(c) do { if (!(c)) reach_error(); } while (0)
static int small(int v) { if (v > 5) return 0; return v >= 0; }
static int positive(int v) { return v > 0 ? 1 : small(v); }
int table[2] = {1, 1}, *cells[2] = {&table[0], &table[1]};
static int listed(int v) { return table[v] && *cells[v]; }
void *f(void *p) { int r = READ(&x); SPECIFICATION; WRITE(&y, 1); a = r; return 0; }
void *g(void *p) { b = READ(&y); WRITE(&x, b); return 0; }
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  if (a == 1 && b == 1) reach_error();
}
"""

PUBLISH = """
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct node { int value; } node;
_Atomic(struct node *) shared;
void *publish(void *p) {
  node.value = 42;
  atomic_store_explicit(&shared, &node, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, publish, 0);
  struct node *seen = atomic_load_explicit(&shared, memory_order_relaxed);
  if (seen) assert(seen->value == 42);
  pthread_join(t, 0);
}
"""

LOOSE = (
    "",
    "assert(r >= 0)",
    "assert(r >= 0 && r < 2)",
    "assert(r == 0 || r == 1)",
    "assert(small(r))",
    "assert(positive(r) && small(r))",
    "if (r) assert(r == 1)",
    "for (int i = 0; i < 2; i++) assert(r < 2 + i)",
    "int ok = r == 0 || r == 1; assert(ok)",
    '__CPROVER_assert(r >= 0, "not negative")',
    '__CPROVER_assert(r == 0 || r == 1, "a bit")',
    "__CPROVER_assume(r == 1)",
    "__VERIFIER_assume(r == 1)",
    "__VERIFIER_assume(r == 1 || r == 2)",
    "__VERIFIER_assume(!(r != 1 && small(r)))",
    "__VERIFIER_assert(r >= 0)",
)
ADDRESSES = (
    "assert(table[r])",
    "assert(*cells[r] == 1)",
    "assert(listed(r))",
    "int row[2] = {1, 1}; assert(row[r])",
    "__VERIFIER_assume(table[r] == 1)",
)
BRANCHES = (
    "if (r < 0) abort()",
    "if (r < 0) reach_error()",
    "CHECK(r >= 0)",
    "int ok = r == 0 || r == 1; if (!ok) exit(1)",
    "if (r == 7) a = 2",
    "while (r > 5) r--",
    "assert(r >= 0); if (r < 0) abort()",
)


def status(folder: Path, specification: str, *options: str) -> int:
    file = folder / "test.c"
    file.write_text(PROGRAM.replace("SPECIFICATION", specification), encoding="utf-8")
    return dekker("check", str(file), "--timeout", "60", *options).status


@pytest.mark.parametrize("model", ["aarch64", "power", "riscv"])
@pytest.mark.parametrize("specification", LOOSE)
def test_specification_adds_no_order(tmp_path: Path, specification: str, model: str) -> None:
    assert status(tmp_path, specification, "--model", model) == 1


@pytest.mark.parametrize("specification", LOOSE[1:4] + LOOSE[11:13] + BRANCHES[:1])
@pytest.mark.parametrize("engine", ["axiomatic", "transform"])
def test_other_engines_agree(tmp_path: Path, specification: str, engine: str) -> None:
    wanted = 0 if specification in BRANCHES else 1
    assert status(tmp_path, specification, "--model", "power", "--engine", engine) == wanted


@pytest.mark.parametrize("model", ["aarch64", "armv7", "power", "riscv"])
@pytest.mark.parametrize("specification", ADDRESSES)
def test_addresses_in_conditions_order_nothing_behind_them(tmp_path: Path, specification: str, model: str) -> None:
    assert status(tmp_path, specification, "--model", model) == 1


@pytest.mark.parametrize("model", ["aarch64", "power"])
def test_addresses_of_the_program_order(tmp_path: Path, model: str) -> None:
    assert status(tmp_path, "int n = table[r]; r += n - 1", "--model", model) == 0


@pytest.mark.parametrize("model", ["aarch64", "armv7", "power", "riscv", "rmo"])
@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
def test_what_a_condition_reads_comes_behind_its_address(tmp_path: Path, engine: str, model: str) -> None:
    file = tmp_path / "publish.c"
    file.write_text(PUBLISH, encoding="utf-8")
    assert dekker("check", str(file), "--model", model, "--engine", engine).status == 0
    file.write_text(PUBLISH.replace("release", "relaxed"), encoding="utf-8")
    assert dekker("check", str(file), "--model", model, "--engine", engine).status == 1


@pytest.mark.parametrize("body", ["if (!c) for (;;);", "if (!c) exit(0);", "if (!c) abort();"])
def test_own_definitions_do_not_matter(tmp_path: Path, body: str) -> None:
    file = tmp_path / "own.c"
    program = PROGRAM.replace("void __VERIFIER_assume(int);", f"void __VERIFIER_assume(int c) {{ {body} }}")
    file.write_text(program.replace("SPECIFICATION", "__VERIFIER_assume(r == 0 || r == 1)"), encoding="utf-8")
    for model, expected in (("aarch64", 1), ("sc", 0)):
        assert dekker("check", str(file), "--model", model).status == expected


@pytest.mark.parametrize("model", ["aarch64", "power"])
@pytest.mark.parametrize("specification", BRANCHES)
def test_branches_of_the_program_order(tmp_path: Path, specification: str, model: str) -> None:
    assert status(tmp_path, specification, "--model", model) == 0


@pytest.mark.parametrize("specification", LOOSE[1:9])
def test_assertions_may_be_branches(tmp_path: Path, specification: str) -> None:
    assert status(tmp_path, specification, "--model", "power", "--assert-branches") == 0


@pytest.mark.parametrize("model", ["aarch64", "power", "tso", "rc11"])
def test_what_is_assumed_away_is_not_found(tmp_path: Path, model: str) -> None:
    assert status(tmp_path, "__VERIFIER_assume(r == 0)", "--model", model) == 0


@pytest.mark.parametrize("model", ["aarch64", "power"])
def test_an_assertion_fails_because_of_what_follows_it(tmp_path: Path, model: str) -> None:
    """In code without assertions, the store behind this one lets the other thread make it fail."""
    for engine in ("rsmc", "axiomatic"):
        options = ("--model", model, "--engine", engine)
        assert status(tmp_path, '__CPROVER_assert(r == 0, "")', *options) == 1
        assert status(tmp_path, "assert(r == 0)", *options) == 1
        assert status(tmp_path, "assert(r == 0)", "--assert-branches", *options) == 0
