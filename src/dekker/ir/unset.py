"""Whether a program has values that nobody has set."""

from __future__ import annotations

from dekker.ir.expressions import is_unset
from dekker.ir.instructions import Allocate, Assign
from dekker.ir.program import Program


def may_be_undefined(program: Program) -> bool:
    steps = (step for function in program.functions for step in function.body)
    return any(
        (isinstance(step, Allocate) and not step.zeroed) or (isinstance(step, Assign) and is_unset(step.value))
        for step in steps
    )
