"""Memory that is lost at the end (`--leaks`): every engine looks for it, and all find the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.result import Verdict
from dekker.run.check import CheckOptions, check
from dekker.task import Limits

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


def _file(folder: Path, text: str) -> str:
    program = folder / "program.c"
    program.write_text(HEAD + text)
    return str(program)
