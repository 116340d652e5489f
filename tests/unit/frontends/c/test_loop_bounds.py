"""Which loops of C programs count against the bound: those whose end depends on what other threads do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler
from tests.unit.frontends.c.verdicts import is_fine, result_of, two_threads

pytestmark = needs_compiler

BEFORE = """
#include <stdatomic.h>
#include <string.h>
atomic_int x;
int known = 9, changed = 9;
static const int table[] = {1, 2, 3, 4, 5, 6, 7, 8, 0};
"""
STORE = "atomic_store(&x, 1);"

ENDING_BY_THEMSELVES = {
    "a read inside": "int n = 0; for (int i = 0; i < 9; i++) if (atomic_load(&x)) n++; assert(n <= 9);",
    "rounds left early": "int n = 0, i = 0; while (i < 9) { i++; if (atomic_load(&x)) continue; n++; } assert(n <= 9);",
    "a literal": 'assert(strlen("abcdefghi") == 9);',
    "equal letters": 'assert(strlen("aaaaaaaaa") == 9);',
    "a constant table": "int s = 0; for (int i = 0; table[i]; i++) s += table[i]; assert(s == 36);",
    "a copy": 'char b[16]; strcpy(b, "hello, you"); assert(!strcmp(b, "hello, you"));',
    "a variable that nobody sets": "int s = 0; for (int i = 0; i < known; i++) s++; assert(s == 9);",
    "own memory": "int *p = malloc(4); for (*p = 0; *p < 9; ++*p) ; assert(*p == 9); free(p);",
    "an inner loop that is bounded": (
        "for (int i = 0; i < 6; i++) for (int k = 0; k < 3; k++) if (atomic_load(&x) == 2) break;"
    ),
}
OPEN = {
    "a read at the end": "for (int i = 0; i < 9; i++) if (atomic_load(&x)) break;",
    "a value that others set": "for (int i = 0; i < changed; i++) ;",
    "counted by what is read": "int n = 0; for (int i = 0; i < 3; n++) if (atomic_load(&x)) i++; assert(n >= 3);",
}


@pytest.mark.parametrize("name", ENDING_BY_THEMSELVES)
@pytest.mark.parametrize("model", ["sc", "rc11"])
def test_loops_that_count_to_their_end_are_not_cut(tmp_path: Path, name: str, model: str) -> None:
    result = result_of(tmp_path, two_threads(ENDING_BY_THEMSELVES[name], STORE, before=BEFORE), model)
    assert is_fine(result), result


@pytest.mark.parametrize("name", OPEN)
def test_loops_that_others_may_keep_going_are_cut(tmp_path: Path, name: str) -> None:
    result = result_of(tmp_path, two_threads(OPEN[name], f"{STORE} changed = 8;", before=BEFORE))
    assert result.cut > 0
