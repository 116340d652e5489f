"""A value that goes into a variable and is used again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.ir.flow import defined, used

READS = (
    "atomic_load_explicit(&x, memory_order_acquire)",
    "atomic_load(&x)",
    "atomic_fetch_add(&x, 1)",
    "atomic_exchange(&x, 1)",
    "__atomic_load_n(&y, __ATOMIC_ACQUIRE)",
    "__sync_fetch_and_add(&y, 1)",
    "*(volatile int *)&y",
    "y",
    "g()",
)
USES = (
    "int now; while ((now = {0}) % 2) ; return now;",
    "int now, then; then = now = {0}; return now + then;",
    "int now = {0}, twice = now * 2; return now + twice;",
    "int now; if ((now = {0}) > 3) return now; return (now = {0}) + now;",
)


@needs_compiler
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("use", USES)
def test_every_value_that_is_read_was_computed(tmp_path: Path, read: str, use: str) -> None:
    body = use.format(read)
    text = f"#include <stdatomic.h>\natomic_int x; int y; int g(void) {{ return y; }} int f(void) {{ {body} }}"
    program = from_c(tmp_path, text + "\nint main(void) { return f(); }")
    for function in program.functions:
        computed = frozenset().union(*map(defined, function.body), function.parameters)
        assert frozenset().union(*map(used, function.body)) <= computed
