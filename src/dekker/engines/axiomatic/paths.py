"""All paths of one thread of a program whose threads are fixed, whatever its reads may return."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.axiomatic.path import Context, Frame, Path, PathEvent, Value, await_targets
from dekker.engines.axiomatic.rounds import program_loops
from dekker.engines.axiomatic.steps import advance
from dekker.ir.expressions import Const
from dekker.ir.layout import Layout
from dekker.ir.program import Program
from dekker.ir.unset import may_be_undefined
from dekker.task import Limits

__all__ = ["Path", "PathEvent", "Value", "first_path", "thread_paths"]


def thread_paths(program: Program, layout: Layout, thread: int, limits: Limits) -> Iterator[Path]:
    """Branches go both ways unless it is known which; loops are followed as often as the limits say; an await whose
    condition fails ends the path."""
    targets, loops = await_targets(program), program_loops(program)
    context = Context(program, layout, thread, limits, targets, loops, may_be_undefined=may_be_undefined(program))
    pending = [first_path(program, layout, thread)]
    while pending:
        path = pending.pop()
        if path.status != "running":
            yield path
        else:
            pending += reversed(list(advance(context, path)))


def first_path(program: Program, layout: Layout, thread: int) -> Path:
    """A thread that exists from the start, before its first instruction."""
    start = program.threads[thread]
    registers = {
        name: Value(initial.value if isinstance(initial, Const) else layout.resolve(initial))
        for name, initial in start.registers
    }
    return Path((Frame(program.function_by_name[start.function], 0, registers, None),))
