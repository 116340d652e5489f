"""What is done to a program before an engine sees it: a list of passes, applied in order.

A pass is a function from programs to programs. It keeps the final states of complete executions, under every model
that its own head admits, and the positions of instructions, so that an execution of its result is one of its input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dekker.ir.passes.waiting import wait_in_loops
from dekker.ir.program import Program
from dekker.ir.validate import validate

Pass = Callable[[Program], Program]

PASSES: tuple[Pass, ...] = (wait_in_loops,)


def apply_passes(program: Program, passes: Sequence[Pass] = PASSES) -> Program:
    """The result of all passes, which is valid if the program is."""
    result = program
    for transform in passes:
        result = transform(result)
    if result is not program:
        validate(result)
    return result
