"""Atomic sections of C are atomic, whoever is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = needs_compiler

HEAD = """#include <assert.h>
#include <pthread.h>
void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void), __VERIFIER_assume(int);
int x, y, z, r1, r2;
"""
MAIN = """int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, f, 0);
  pthread_create(&u, 0, g, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  CHECK
}
"""
ATOMIC = "__VERIFIER_atomic_begin(); {} __VERIFIER_atomic_end();"


def program(folder: Path, left: str, right: str, check: str, more: str = "") -> str:
    file = folder / "test.c"
    threads = f"void *f(void *a) {{ {left} return 0; }}\nvoid *g(void *a) {{ {right} return 0; }}\n"
    file.write_text(HEAD + more + threads + MAIN.replace("CHECK", check))
    return str(file)


HALF_DONE = {
    "written and taken back": (ATOMIC.format("x = 1; x = 0;"), "r1 = x;", "assert(!r1);"),
    "read twice": (ATOMIC.format("r1 = x; r2 = x;"), "x = 1;", "assert(r1 == r2);"),
    "two variables": (ATOMIC.format("x = 1; y = 1;"), "r1 = y; r2 = x;", "assert(!r1 || r2);"),
    "an invariant": (ATOMIC.format("x++; y--;"), "z = x + y;", "assert(x + y == 0);"),
    "an update in between": (ATOMIC.format("r1 = x; x = r1 + 1;"), "x = 5;", "assert(x == 5 || x == 6);"),
    "without brackets": ("__CPROVER_atomic_begin(); x = 1; x = 0; __CPROVER_atomic_end();", "r1 = x;", "assert(!r1);"),
    "a loop": (ATOMIC.format("for (int i = 3; i >= 0; i--) x = i;"), "r1 = x;", "assert(!r1);"),
    "both in sections and outside": (
        ATOMIC.format("x = 1; y = 1; x = 0;"),
        ATOMIC.format("r2 = y;") + " r1 = x;",
        "assert(!r1);",
    ),
}


@pytest.mark.parametrize("name", HALF_DONE)
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
@pytest.mark.parametrize("engine", [(), ("--engine", "states"), ("--engine", "auto")])
def test_nobody_sees_a_section_half_done(name: str, model: str, engine: tuple[str, ...], tmp_path: Path) -> None:
    outcome = dekker("check", program(tmp_path, *HALF_DONE[name]), "-m", model, *engine)
    reordered = name == "two variables" and model == "pso"
    assert outcome.status == 0 or reordered, outcome.out


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("model", ["sc", "tso", "power", "aarch64"])
def test_who_cannot_tell_says_so(engine: str, model: str, tmp_path: Path) -> None:
    source = program(tmp_path, *HALF_DONE["written and taken back"])
    outcome = dekker("check", source, "-m", model, "--engine", engine)
    assert outcome.status == 3
    assert f"the atomic section at {source}:5:20 is not atomic for the access at {source}:6:25" in outcome.out


@pytest.mark.parametrize("model", ["tso", "pso"])
def test_all_engines_together(model: str, tmp_path: Path) -> None:
    source = program(tmp_path, *HALF_DONE["read twice"])
    assert dekker("check", source, "-m", model, "--engine", "all").status == 0


@pytest.mark.parametrize("engine", ["rsmc", "states", "axiomatic", "all"])
@pytest.mark.parametrize("model", ["sc", "tso", "pso"])
def test_what_is_wrong_with_atomic_sections_stays_wrong(engine: str, model: str, tmp_path: Path) -> None:
    source = program(tmp_path, ATOMIC.format("x = 1; y = 1;"), "r1 = x; r2 = y;", "assert(r1 || !r2);")
    assert dekker("check", source, "-m", model, "--engine", engine).status == 1


@pytest.mark.parametrize("model", ["power", "aarch64", "rc11"])
def test_violations_beside_sections(model: str, tmp_path: Path) -> None:
    more = "#include <stdatomic.h>\natomic_int p, q;\n"
    left = "atomic_store_explicit(&p, 1, memory_order_relaxed); r1 = atomic_load_explicit(&q, memory_order_relaxed);"
    right = left.replace("&p", "&o").replace("&q", "&p").replace("&o", "&q").replace("r1", "r2")
    done = ATOMIC.format("z++;")
    source = program(tmp_path, left + done, right + done, "assert(r1 || r2);", more)
    assert dekker("check", source, "-m", model).status == 1


def test_a_failure_inside_of_a_section(tmp_path: Path) -> None:
    source = program(tmp_path, ATOMIC.format("r1 = x; assert(r1);"), "x = 1;", ";")
    for engine in ("rsmc", "states", "axiomatic"):
        assert dekker("check", source, "-m", "sc", "--engine", engine).status == 1


def test_nothing_happens_behind_a_section_that_never_ends(tmp_path: Path) -> None:
    source = program(tmp_path, ATOMIC.format("x = 1; __VERIFIER_assume(0);"), "assert(!x);", ";")
    for model in ("sc", "tso"):
        assert dekker("check", source, "-m", model).status == 3  # no execution comes to its end
