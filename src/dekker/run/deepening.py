"""Bounds on loops that grow: what goes wrong in a round or two is found before four are explored.

A bound that cuts nothing is the last: with a larger one there would be the same executions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from dekker.ir.property import Quantifier
from dekker.records import dataclass
from dekker.result import Result, Verdict, verdict
from dekker.task import Task, Watcher, with_time_left

GROWTH = 2


@dataclass
class Deepening:
    """The task with the bound that is next, and what was found with the one before, which was covered in full."""

    task: Task
    covered: tuple[int, Result] | None = None

    def goes_on(self, result: Result) -> bool:
        """Whether a larger bound is to be tried after this result."""
        limits = self.task.limits
        if limits.deepest is None or limits.unroll >= limits.deepest:
            return False
        if result.stopped_by is not None or not result.cut or (limits.stop_at_first and _is_settled(self.task, result)):
            return False
        self.covered = (limits.unroll, result)
        unroll = min(limits.deepest, GROWTH * max(1, limits.unroll))
        self.task = replace(self.task, limits=replace(limits, unroll=unroll))
        if isinstance(self.task.progress, Watcher):
            self.task.progress.watch(self.task)
        return True

    def told(self, result: Result) -> Result:
        """The last result, with its bound; if it was stopped, also with what was covered before."""
        if self.covered is not None and result.stopped_by not in (None, "violation"):
            unroll, earlier = self.covered
            if goes_wrong(self.task, earlier) and not goes_wrong(self.task, result):
                return replace(earlier, stopped_by=result.stopped_by, rounds=unroll)
            said = f"covered in full: {unroll} round{'' if unroll == 1 else 's'} of each loop (--unroll {unroll})"
            result = replace(result, bound="; ".join(filter(None, (result.bound, said))))
        return replace(result, rounds=self.task.limits.unroll)


def deepened(run: Callable[[Task], Result], task: Task) -> Result:
    """With the bounds that the task allows, one after the other. Limits of time are for all of them together."""
    started, deepening = monotonic(), Deepening(task)
    while True:
        result = run(with_time_left(deepening.task, monotonic() - started))
        if not deepening.goes_on(result):
            return deepening.told(result)


def goes_wrong(task: Task, result: Result) -> bool:
    is_deadlock = task.limits.deadlocks and result.deadlocks
    return bool(result.violations or result.flags or is_deadlock)


def _is_settled(task: Task, result: Result) -> bool:
    condition = task.program.property.condition
    if condition is not None and condition.quantifier is Quantifier.EXISTS and result.satisfying:
        return True
    return goes_wrong(task, result) or verdict(result, condition) is Verdict.UNSAFE
