"""The engines by name, and `all`: every engine that applies, which must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import DekkerError, MixedSizes, UnsupportedError
from dekker.result import ENDED_WAITING, Result, Violation
from dekker.task import Task

Run = Callable[[Task], Result]

ALL = "all"
SINGLE_ENGINES: dict[str, Run] = {axiomatic.NAME: axiomatic.run, rsmc.NAME: rsmc.run}


class Disagreement(DekkerError):
    """Two engines give different answers to the same task: at least one of them is wrong."""


def run_all(task: Task) -> Result:
    """The answer of every engine that handles the task, if it is the same. If a limit or Ctrl-C stopped one of them,
    what it found so far must be part of what the others found, and the result says that it was stopped."""
    task = replace(task, limits=replace(task.limits, stop_at_first=False))
    results: dict[str, Result] = {}
    for name, run in SINGLE_ENGINES.items():
        try:
            results[name] = run(task)
        except MixedSizes:
            raise
        except UnsupportedError:
            if name == axiomatic.NAME:
                raise
            continue
        if results[name].stopped_by == "interrupt":
            return results[name]
    _require_agreement(task, results)
    return next((result for result in results.values() if result.stopped_by is not None), results[axiomatic.NAME])


def _require_agreement(task: Task, results: dict[str, Result]) -> None:
    whole = [result for result in results.values() if result.stopped_by is None]
    partial = [result for result in results.values() if result.stopped_by is not None]
    differing = differences(whole) if whole else []
    differing += [key for part in partial for result in whole for key in contradictions(part, result)]
    if differing:
        counts = ", ".join(
            f"{name}: {result.satisfying}+{result.violating} in {len(result.states)} states"
            for name, result in results.items()
        )
        raise Disagreement(
            f"engines disagree on '{task.program.name}' under {task.model.name} about {', '.join(differing)} "
            f"(executions {counts})",
            hint="this is a defect of Dekker: do not trust either answer",
        )


def differences(results: Sequence[Result]) -> list[str]:
    """What the results disagree about."""
    counted = not any(result.statistics.get(ENDED_WAITING) for result in results)
    first, *others = (answer(result, counted=counted) for result in results)
    return [key for key in first if any(other[key] != first[key] for other in others)]


def contradictions(part: Result, whole: Result) -> list[str]:
    """What an engine found that was stopped, and another did not find that was not."""
    found, known = answer(part), answer(whole)
    missing = [key for key in ("flags", "violations") if not _items(found[key]) <= _items(known[key])]
    if not part.states.keys() <= whole.states.keys():
        missing.append("states")
    if part.deadlocks and not whole.deadlocks:
        missing.append("deadlocks")
    return missing


def _items(value: object) -> set[object]:
    assert isinstance(value, list)
    return set(value)


def answer(result: Result, *, counted: bool = True) -> dict[str, object]:
    """What engines must agree about; `counted`: also how many executions there are."""
    if not counted:
        states = dict.fromkeys(result.states, 0)
        result = replace(result, states=states, satisfying=bool(result.satisfying), violating=bool(result.violating))
    return {
        "states": sorted(result.states.items()),
        "flags": sorted(result.flags),
        "violations": sorted({(violation.kind, _line(violation)) for violation in result.violations}),
        "satisfying": result.satisfying,
        "violating": result.violating,
        "deadlocks": result.deadlocks,
        "cut": bool(result.cut),
    }


def _line(violation: Violation) -> int:
    return violation.span.line if violation.span is not None else 0


ENGINES: dict[str, Run] = {**SINGLE_ENGINES, ALL: run_all}


def run_engine(name: str | None, task: Task) -> tuple[str, Result]:
    """The result, and which engine gave it. None stands for rsmc, or the oracle for what that cannot run."""
    if name is not None:
        return name, ENGINES[name](task)
    try:
        return rsmc.NAME, rsmc.run(task)
    except MixedSizes:
        raise
    except UnsupportedError as refusal:
        try:
            return axiomatic.NAME, axiomatic.run(task)
        except UnsupportedError:
            raise refusal from None
