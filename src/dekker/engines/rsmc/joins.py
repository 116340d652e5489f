"""Whether threads are joined only when nothing is left to do.

Then their ends need not be events: no access comes behind them that they could order. In the last steps of a run,
which are most of all steps, this saves two of three.
"""

from __future__ import annotations

from collections.abc import Sequence

from dekker.ir.expressions import Reg
from dekker.ir.flow import defined
from dekker.ir.instructions import Assign, Await, Branch, Detach, EndScope, Exit, Instruction, Join, Jump, Return, Spawn
from dekker.ir.program import Function, Program
from dekker.ir.property import Observable, RegisterValue

SILENT = (Join, Assign, Return, Exit)
JUMPS = (Jump, Branch, Await)


def joins_are_last(program: Program, observed: Sequence[Observable]) -> bool:
    """There is one thread from the start. It alone joins others, in straight-line code that no call returns to, and
    behind its joins there are only others and steps that nobody sees. What it joins are threads that it started, all of
    them if it then ends the program: that may be while the others still wait."""
    if len(program.threads) != 1 or any(isinstance(item, RegisterValue) for item in observed):
        return False
    first = program.function_by_name[program.threads[0].function]
    others = (function for function in program.functions if function is not first)
    if any(_joins(function) for function in others) or not _joins_at_the_end(first):
        return False
    return not any(isinstance(step, Exit) for step in first.body) or _joins_all(program, first)


def _joins(function: Function) -> bool:
    return any(isinstance(step, Join | Detach) for step in function.body)


def _joins_at_the_end(function: Function) -> bool:
    started: dict[object, int] = {}
    joined: set[int] = set()
    for index, step in enumerate(function.body):
        if isinstance(step, JUMPS) or (joined and not isinstance(step, Join) and not _is_silent(step)):
            return False
        if isinstance(step, Join):
            thread = started.get(step.thread.name) if isinstance(step.thread, Reg) else None
            if thread is None or thread in joined:
                return False
            joined.add(thread)
        held = _held_thread(step, index, started)
        for name in defined(step):
            started.pop(name, None)
            if held is not None:
                started[name] = held
    return bool(joined)


def _joins_all(program: Program, first: Function) -> bool:
    starts = [step for function in program.functions for step in function.body if isinstance(step, Spawn)]
    return len(starts) == sum(isinstance(step, Join) for step in first.body)


def _is_silent(step: Instruction) -> bool:
    return isinstance(step, SILENT) or (isinstance(step, EndScope) and step.confined)


def _held_thread(step: Instruction, index: int, started: dict[object, int]) -> int | None:
    """Which thread that was started, by the place of its start, the step puts into its register."""
    match step:
        case Spawn():
            return index
        case Assign(_, Reg(name)):
            return started.get(name)
    return None
