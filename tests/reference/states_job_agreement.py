"""What must not depend on how many workers search the states of a program, and which of them is late."""

from __future__ import annotations

from dataclasses import replace

from dekker.engines.states import engine as states
from dekker.result import Result
from dekker.task import Task

WORKERS = (2, 3, 8)
COUNTED = ("states", "transitions", "final_states", "blocked", "deadlocks")


def findings(result: Result) -> dict[str, object]:
    """The answers. How many states lead to them depends on what one worker knows and several do not."""
    return {
        "states": result.states,
        "violations": {(violation.kind, violation.span) for violation in result.violations},
        "deadlocks": result.deadlocks > 0,
        "counts": (result.satisfying, result.violating),
        "bound": (result.bound, result.statistics["buffer"], result.statistics["limits"] > 0),
        "stopped by": result.stopped_by,
        "examples": (
            result.examples.states.keys(),
            {(violation.kind, violation.span) for violation in result.examples.violations},
            result.examples.deadlock is None,
        ),
    }


def counts(result: Result) -> dict[str, int]:
    return {name: result.statistics[name] for name in COUNTED}


def require_same_findings(task: Task, seed: int) -> list[Result]:
    """With one worker, with several, and with workers that are late at random and share the smallest work. What several
    visit is the same, however many and however late they are; without reductions it is what one visits, too. Returns
    what was compared, that of one worker first."""
    alone = states.run(task)
    expected = findings(alone)
    found = [states.run(replace(task, jobs=jobs, split_seed=late)) for jobs in WORKERS for late in (0, seed + jobs)]
    for result in found:
        assert findings(result) == expected, (expected, findings(result))
        assert counts(result) == counts(found[0]), (counts(found[0]), counts(result))
    if not task.search.reduction:
        assert counts(found[0]) == counts(alone)
    return [alone, *found]
