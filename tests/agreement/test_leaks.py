"""Memory that is lost at the end (`--leaks`): every engine looks for it, and all find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.axiomatic import engine as oracle
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.fuzz.heap import heap_program
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.run.engines import require_same_states
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

HEAD = """#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct n { struct n *next; } *head; _Atomic(struct n *) slot; pthread_t x;
"""
LOST = {
    "at once": "int main(void) { head = malloc(8); head = 0; }",
    "after a free": "int main(void) { void *p = malloc(8); free(p); p = malloc(8); }",
    "a ring": """int main(void) {
      head = malloc(sizeof *head); head->next = malloc(sizeof *head); head->next->next = head; head = 0; }""",
    "by another thread": """void *t(void *a) { head = malloc(8); return 0; }
      int main(void) { pthread_create(&x, 0, t, 0); pthread_join(x, 0); head = 0; }""",
    "by the loser of a race": """void *t(void *a) {
        struct n *p = malloc(sizeof *p), *none = 0; atomic_compare_exchange_strong(&slot, &none, p); return 0; }
      int main(void) { pthread_create(&x, 0, t, 0); t(0); pthread_join(x, 0); free(slot); }""",
    "by a thread that goes round": """void *t(void *a) { malloc(3); for (;;); }
      int main(void) { pthread_create(&x, 0, t, 0); }""",
}
KEPT = {
    "by a chain": "int main(void) { head = malloc(8); head->next = malloc(8); head->next->next = 0; }",
    "by one of two": """void *t(void *a) {
        struct n *p = malloc(sizeof *p), *none = 0;
        if (!atomic_compare_exchange_strong(&slot, &none, p)) free(p);
        return 0; }
      int main(void) { pthread_create(&x, 0, t, 0); t(0); pthread_join(x, 0); }""",
}
PROGRAMS = [(text, Verdict.UNSAFE) for text in LOST.values()] + [(text, Verdict.SAFE) for text in KEPT.values()]


@needs_compiler
@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("model", ["cpp20", "tso"])
@pytest.mark.parametrize(("text", "expected"), PROGRAMS, ids=[*LOST, *KEPT])
def test_engines_agree(tmp_path: Path, text: str, expected: Verdict, model: str, *, reuse: bool) -> None:
    report = check((_file(tmp_path, text),), CheckOptions(model, "all", Limits(), leaks=True, reuse=reuse))
    assert report.verdict is expected
    assert {item.finding.kind for item in report.violations} == ({"leak"} if expected is Verdict.UNSAFE else set())


@needs_compiler
@pytest.mark.parametrize("model", ["armv7", "rmo"])
def test_the_engine_that_stands_in_for_rsmc_looks_for_them(tmp_path: Path, model: str) -> None:
    program = _file(tmp_path, LOST["by the loser of a race"])
    assert check((program,), CheckOptions(model, None, Limits(), leaks=True)).verdict is Verdict.UNSAFE


@pytest.mark.parametrize("model", ["sc", "rc11", "power"])
def test_random_programs(model: str) -> None:
    loaded, lossy = load_model(model), 0
    for seed in range(20):
        program = heap_program(seed)
        program = replace(program, property=replace(program.property, leaks=True))
        task = Task(prepare(program, loaded), loaded, Limits(timeout_s=2))
        explored, enumerated = rsmc.run(task), oracle.run(task)
        if explored.stopped_by is None and enumerated.stopped_by is None:
            assert set(explored.violations) == set(enumerated.violations), seed
            lossy += any(item.kind == "leak" for item in explored.violations)
        if model in states.MODELS and explored.stopped_by is None:
            require_same_states(task, rsmc.NAME, explored, states.run(task))
    assert lossy > 5


def _file(folder: Path, text: str) -> str:
    program = folder / "program.c"
    program.write_text(HEAD + text)
    return str(program)
