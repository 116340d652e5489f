"""Violations in which an atomic section of C is seen half done are none.

Engines that follow executions take atomic sections for critical sections of one lock, and so allow more than there is:
where they find nothing wrong, nothing is. The run of a violation is replayed and looked at. If a section is not
atomic in it, the states engine, whose sections are exact, has the last word; where it does not know the model, there
is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from dekker.engines import states
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.execution import Event, Trace
from dekker.models import is_built_in
from dekker.records import dataclass
from dekker.replay import replay
from dekker.replay.machine import Failure
from dekker.replay.sections import Torn, torn_section
from dekker.result import Result, Violation
from dekker.run.deepening import deepened
from dekker.task import Task, with_time_left

SECTIONS = "sections"
"""Why there is no answer."""

ORACLE = "axiomatic"
TRANSFORM = "transform"
"""It gives no runs."""

Run = Callable[[Task], tuple[str, Result]]


def run_with_sections(run: Run, task: Task, asked: str | None) -> tuple[str, Result]:
    """`asked` is the engine that the user asked for, if it is one, and not states."""
    task, started = replace(task, examples=True), monotonic()
    name, result = run(task)
    if name == states.NAME or not _goes_wrong(result):
        return name, result
    checked = _without_torn(task, result)
    if checked.torn is None and checked.shown:
        return name, result
    if _goes_wrong(checked.result) and checked.shown:
        return name, checked.result
    if asked not in (rsmc.NAME, ORACLE) and task.model.name in states.MODELS and is_built_in(task.model):
        searched = _searched(with_time_left(task, monotonic() - started))
        if searched is not None:
            return states.NAME, replace(searched, choice=_reason(checked.torn))
    further = with_time_left(task, monotonic() - started)
    further = replace(further, limits=replace(further.limits, stop_at_first=False))
    explored = _without_torn(further, deepened(rsmc.run, further) if name == TRANSFORM else run(further)[1])
    return name, result if name == TRANSFORM and _goes_wrong(explored.result) else explored.result


def _reason(torn: Torn | None) -> str:
    return "sections are exact only there" if torn is None else f"{_said(torn)} for the other engines"


@dataclass(frozen=True)
class _Checked:
    """`torn`, if any, is what a run that does not count sees half done; `shown`: each violation came with its run."""

    result: Result
    torn: Torn | None
    shown: bool = True


def _goes_wrong(result: Result) -> bool:
    return bool(result.violations or result.deadlocks)


def _without_torn(task: Task, result: Result) -> _Checked:
    torn: Torn | None = None
    kept: dict[Violation, None] = {}
    for violation in result.violations:
        found = _torn(task, result.examples.violations.get(violation), violation)
        torn = torn or found
        if found is None:
            kept[violation] = None
    deadlocks = result.deadlocks
    if deadlocks:
        found = _torn(task, result.examples.deadlock, None)
        torn, deadlocks = torn or found, 0 if found is not None else deadlocks
    shown = all(violation in result.examples.violations for violation in result.violations)
    if torn is None:
        return _Checked(result, None, shown)
    result = replace(result, violations=kept, deadlocks=deadlocks)
    if kept or deadlocks or result.flags:
        return _Checked(result, torn, shown)
    bound = "; ".join(filter(None, (result.bound, f"{_said(torn)} (--engine states is exact, under sc, tso and pso)")))
    return _Checked(replace(result, stopped_by=SECTIONS, bound=bound), torn, shown)


def _torn(task: Task, trace: Trace | None, violation: Violation | None) -> Torn | None:
    """An engine without traces is taken at its word."""
    if trace is None:
        return None
    replayed = replay(task.program, trace)
    wrong = [item for item in replayed.failures if violation is not None and _is_same(item, violation)]
    threads: set[int | None] = {item.thread for item in wrong}
    found = [torn_section(task.program, task.model, replayed.execution, thread) for thread in threads or {None}]
    return None if None in found else found[0]


def _is_same(failure: Failure, violation: Violation) -> bool:
    return failure.kind == violation.kind and failure.span == violation.span


def _said(torn: Torn) -> str:
    return f"the atomic section at {_place(torn.inside)} is not atomic for the access at {_place(torn.outside)}"


def _place(event: Event) -> str:
    return str(event.span) if event.span is not None else "a place without source"


def _searched(task: Task) -> Result | None:
    try:
        return states.run(task)
    except UnsupportedError:
        return None
