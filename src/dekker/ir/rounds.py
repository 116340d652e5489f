"""Whether a thread may come back to where it was, with the same values.

It cannot in a loop that counts. In a loop that is an await it only waits.
"""

from __future__ import annotations

from dekker.ir.expressions import Binary, Const, Expr, Reg
from dekker.ir.flow import defined
from dekker.ir.instructions import Assign, Branch, Jump
from dekker.ir.program import Function, Program


def may_come_back(program: Program) -> bool:
    """In a loop that is no await."""
    return any(_may_come_back(function) for function in program.functions)


def _may_come_back(function: Function) -> bool:
    for index, step in enumerate(function.body):
        if isinstance(step, Jump | Branch) and function.labels[step.target] <= index:
            first = function.labels[step.target]
            if not any(_counts(function, first, index, name) for name in _assigned_last(function, first, index)):
                return True
    return False


def _assigned_last(function: Function, first: int, last: int) -> set[str]:
    """In each round, right before it ends: nothing leads past these assignments, or to their midst."""
    targets = set(function.labels.values())
    found = set()
    for index in range(last, first - 1, -1):
        step = function.body[index]
        if index != last and isinstance(step, Jump | Branch):
            break
        if isinstance(step, Assign):
            found.add(step.dst)
        if index in targets:
            break
    return found


def _counts(function: Function, first: int, last: int, name: str) -> bool:
    """Is something that is not 0 added to it, and is that all that happens to it?"""
    value = _only_value(function, first, last, name)
    if isinstance(value, Reg):
        value = _only_value(function, first, last, value.name)
    match value:
        case Binary("add" | "sub", _, Reg(counted), Const(amount)):
            return counted == name and amount != 0
    return False


def _only_value(function: Function, first: int, last: int, name: str) -> Expr | None:
    assignments = [step for step in function.body[first : last + 1] if name in defined(step)]
    only = assignments[0] if len(assignments) == 1 else None
    return only.value if isinstance(only, Assign) else None
