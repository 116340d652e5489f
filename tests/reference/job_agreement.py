"""What must not depend on how many explore a program, and how they split it."""

from __future__ import annotations

from dataclasses import replace

from dekker.engines.rsmc import engine as rsmc
from dekker.result import Result
from dekker.task import Task

COUNTED = ("complete", "blocked", "deadlocks", "abandoned", "cut", "failed", "stuck", "not_last", "templates")
WORKERS = (1, 2, 3, 8)


def findings(result: Result) -> dict[str, object]:
    return {
        "states": result.states,
        "flags": result.flags,
        "violations": set(result.violations),
        "statistics": {name: result.statistics[name] for name in COUNTED},
        "counts": (result.satisfying, result.violating, result.blocked, result.deadlocks, result.cut),
        "cut at": result.cut_at,
        "stopped by": result.stopped_by,
        "examples": (
            result.examples.states.keys(),
            result.examples.violations.keys(),
            result.examples.flags.keys(),
            result.examples.deadlock is None,
        ),
    }


def require_same_findings(task: Task, seed: int) -> Result:
    """With one job, with several, and with work that is split at random by workers that are late at random."""
    alone = rsmc.run(task)
    expected = findings(alone)
    for jobs in WORKERS:
        for split_seed in (0, seed + jobs):
            found = findings(rsmc.run(replace(task, jobs=jobs, split_seed=split_seed)))
            assert found == expected, (jobs, split_seed, expected, found)
    return alone
