"""An access that nothing orders after the allocation of its object races with it, under models that report races."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.task import Limits

pytestmark = needs_compiler

PROGRAM = """\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct item { atomic_int value; atomic_int unused; };
static _Atomic(struct item *) shared;
static void *writer(void *arg) {
  struct item *fresh = ALLOCATE;
  SET;
  atomic_store_explicit(&shared, fresh, ORDER);
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, writer, 0);
  struct item *seen = atomic_load_explicit(&shared, READ);
  if (seen) { USE; }
  pthread_join(t, 0);
  JOINED;
  return 0;
}
"""
SET = "atomic_store_explicit(&fresh->value, 1, memory_order_relaxed)"
LOAD = "(void)atomic_load_explicit(&seen->value, memory_order_relaxed)"
STORE = "atomic_store_explicit(&seen->value, 2, memory_order_relaxed)"
UPDATE = "atomic_fetch_add_explicit(&seen->value, 1, memory_order_relaxed)"
JOINED = "atomic_load(&shared)->value = 3"
MALLOC, CALLOC = "malloc(sizeof *fresh)", "calloc(1, sizeof *fresh)"
LIMITS = Limits(unroll=4, counts_known_rounds=False, stop_at_first=True)


def verdict(folder: Path, model: str, engine: str, **changed: str) -> tuple[Verdict, str]:
    words = {"ALLOCATE": MALLOC, "SET": SET, "USE": LOAD, "ORDER": "relaxed", "READ": "acquire", "JOINED": ""} | changed
    words |= {name: f"memory_order_{words[name]}" for name in ("ORDER", "READ")}
    source = folder / "program.c"
    source.write_text(PROGRAM, encoding="utf-8")
    flags = tuple(f"-D{name}={text}" for name, text in words.items())
    report = check((str(source),), CheckOptions(model, engine, LIMITS, flags))
    return report.verdict, report.violations[0].finding.message if report.violations else ""


@pytest.mark.parametrize("engine", ["rsmc", "axiomatic"])
@pytest.mark.parametrize("model", ["cpp20", "rc11"])
@pytest.mark.parametrize(
    ("expected", "changed"),
    [
        (Verdict.UNSAFE, {}),
        (Verdict.UNSAFE, {"USE": STORE}),
        (Verdict.UNSAFE, {"USE": UPDATE}),
        (Verdict.UNSAFE, {"ALLOCATE": CALLOC, "SET": ""}),
        (Verdict.UNSAFE, {"ORDER": "release", "READ": "relaxed"}),
        (Verdict.SAFE, {"ORDER": "release"}),
        (Verdict.SAFE, {"ORDER": "release", "USE": UPDATE}),
        (Verdict.SAFE, {"ORDER": "release", "ALLOCATE": CALLOC, "SET": "", "USE": STORE}),
        (Verdict.SAFE, {"USE": "", "JOINED": JOINED}),
    ],
)
def test_publication(tmp_path: Path, expected: Verdict, changed: dict[str, str], model: str, engine: str) -> None:
    found, message = verdict(tmp_path, model, engine, **changed)
    assert found is expected
    assert not message or "after its allocation" in message


@pytest.mark.parametrize("model", ["sc", "tso", "power", "aarch64", "riscv"])
def test_processors_order_what_an_address_depends_on(tmp_path: Path, model: str) -> None:
    assert verdict(tmp_path, model, "rsmc")[0] is Verdict.SAFE
