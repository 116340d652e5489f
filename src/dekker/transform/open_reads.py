"""Where registers may stand for reads that are still delayed, and have no value yet."""

from __future__ import annotations

from dekker.ir.flow import defined, successors, used
from dekker.ir.instructions import Load
from dekker.ir.program import Function
from dekker.transform.events import AccessPoint

Open = dict[str, frozenset[int]]
"""By register, the positions of the loads it may stand for."""


def open_reads(function: Function, points: frozenset[AccessPoint]) -> list[Open]:
    """For each instruction, and for the end of the function. What an instruction uses has a value after it."""
    found: list[Open] = [{} for _ in range(len(function.body) + 1)]
    pending = list(range(len(function.body)))
    while pending:
        index = pending.pop()
        after = _after(function, index, found[index], points)
        for following in successors(function, index):
            old = found[following]
            new = {
                name: old.get(name, frozenset()) | after.get(name, frozenset()) for name in old.keys() | after.keys()
            }
            if new != old:
                found[following] = new
                if following < len(function.body):
                    pending.append(following)
    return found


def _after(function: Function, index: int, before: Open, points: frozenset[AccessPoint]) -> Open:
    step = function.body[index]
    settled = used(step) | defined(step)
    after = {name: loads for name, loads in before.items() if name not in settled}
    if isinstance(step, Load) and AccessPoint(function.name, index) in points:
        after[step.dst] = frozenset((index,))
    return after
