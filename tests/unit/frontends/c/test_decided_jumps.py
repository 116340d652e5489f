"""Compilers leave blocks by one place, with a number that says where to go on; here control goes there at once."""

from __future__ import annotations

from pathlib import Path

from tests.unit.frontends.c.programs import from_c, needs_compiler

from dekker.ir.instructions import Assign, Branch
from dekker.ir.unset import may_be_undefined

pytestmark = needs_compiler

RETURN_IN_LOOP = """
int flags[4];
int found(int from) {
  for (int i = from; i < 4; i++) if (flags[i]) return 1;
  return 0;
}
int main(void) { return found(1); }
"""


def test_a_return_in_a_loop_leaves_nothing_unset(tmp_path: Path) -> None:
    program = from_c(tmp_path, RETURN_IN_LOOP)
    assert not may_be_undefined(program)
    body = program.function_by_name["found"].body
    assert sum(isinstance(step, Branch) for step in body) == 2
    assert {step.dst for step in body if isinstance(step, Assign)} == {"i", "retval"}


def test_loops_are_entered_by_their_heads(tmp_path: Path) -> None:
    text = "int x; int main(void) { for (int i = 0; i < 3; i++) x += i; return 0; }"
    main = from_c(tmp_path, text).function_by_name["main"]
    heads = [
        main.labels[step.target]
        for i, step in enumerate(main.body)
        if hasattr(step, "target") and main.labels[step.target] <= i
    ]
    (head,) = heads
    assert isinstance(main.body[head], Branch)
    assert isinstance(main.body[head - 1], Assign)
