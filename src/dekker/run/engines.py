"""The engines by name, and `all`: every engine that applies, which must agree."""

from __future__ import annotations

from collections.abc import Callable

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import DekkerError, UnsupportedError
from dekker.result import Result
from dekker.task import Task

Run = Callable[[Task], Result]

ALL = "all"
SINGLE_ENGINES: dict[str, Run] = {axiomatic.NAME: axiomatic.run, rsmc.NAME: rsmc.run}


class Disagreement(DekkerError):
    """Two engines give different answers to the same task: at least one of them is wrong."""


def run_all(task: Task) -> Result:
    """The answer of every engine that handles the task, if it is the same. If a limit or Ctrl-C stopped one of them,
    there is nothing to compare, and the result says that it was stopped."""
    results: dict[str, Result] = {}
    for name, run in SINGLE_ENGINES.items():
        try:
            results[name] = run(task)
        except UnsupportedError:
            if name == axiomatic.NAME:
                raise
            continue
        if results[name].stopped_by == "interrupt":
            return results[name]
    _require_agreement(task, {name: result for name, result in results.items() if result.stopped_by is None})
    return next((result for result in results.values() if result.stopped_by is not None), results[axiomatic.NAME])


def _require_agreement(task: Task, results: dict[str, Result]) -> None:
    if len({repr(_answer(result)) for result in results.values()}) > 1:
        counts = ", ".join(
            f"{name}: {result.satisfying}+{result.violating} in {len(result.states)} states"
            for name, result in results.items()
        )
        raise Disagreement(
            f"engines disagree on '{task.program.name}' under {task.model.name} (executions {counts})",
            hint="this is a defect of Dekker: do not trust either answer",
        )


def _answer(result: Result) -> tuple[object, ...]:
    violations = sorted(violation.kind for violation in result.violations)
    counts = result.satisfying, result.violating, result.deadlocks
    return sorted(result.states.items()), sorted(result.flags), violations, counts


ENGINES: dict[str, Run] = {**SINGLE_ENGINES, ALL: run_all}


def run_engine(name: str | None, task: Task) -> tuple[str, Result]:
    """The result, and which engine gave it. None stands for rsmc, or the oracle for what that cannot run."""
    if name is not None:
        return name, ENGINES[name](task)
    try:
        return rsmc.NAME, rsmc.run(task)
    except UnsupportedError as refusal:
        try:
            return axiomatic.NAME, axiomatic.run(task)
        except UnsupportedError:
            raise refusal from None
