"""rsmc and states in turns: a program with very many executions may have few states, and the other way round.

Turns become longer, so that what was spent on the engine that does not end is no more than a few times what the other
takes. rsmc goes on where its last turn ended; states begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.models import is_built_in
from dekker.native import Exploration, Request, Work, explore
from dekker.result import Result
from dekker.run.slices import NOT_BEGUN, Progress, with_limits_left
from dekker.task import Task, with_time_left

FIRST_TURN_S = 2.0
GROWTH = 2.0
SEARCH_MB = 2000
"""What the process may hold when states has its turn, if nobody says less."""
END_OF_TURN = "turn"


def may_take_turns(task: Task) -> bool:
    """Who wants all executions, or some number of them, or goes on another time, does not want states."""
    limits = task.limits
    asks_for_executions = not limits.stop_at_first or limits.max_traces is not None or task.explorer is not None
    return not asks_for_executions and task.model.name in states.MODELS and is_built_in(task.model)


def run_in_turns(task: Task) -> tuple[str, Result]:
    """If neither ends, what rsmc found."""
    started, turn_s, exploring = monotonic(), FIRST_TURN_S, _Exploring()
    while True:
        exploring.turn_s = turn_s
        explored = rsmc.run(replace(with_time_left(task, monotonic() - started), explorer=exploring))
        if explored.stopped_by != END_OF_TURN:
            return rsmc.NAME, explored
        searched = _search(with_time_left(task, monotonic() - started), turn_s)
        if searched is None:
            turn_s = 0.0
            continue
        if searched.stopped_by in (None, "violation"):
            return states.NAME, replace(searched, choice=_choice(explored, turn_s))
        if searched.stopped_by == "interrupt":
            return rsmc.NAME, replace(explored, stopped_by="interrupt")
        turn_s = 0.0 if searched.stopped_by == "memory" else GROWTH * turn_s


def _choice(explored: Result, turn_s: float) -> str:
    return (
        f"rsmc had not ended after {explored.complete_executions} executions, {2 * turn_s - FIRST_TURN_S:.0f} seconds"
    )


@dataclass
class _Exploring:
    """Explores for a turn, or to the end if that takes no time at all."""

    turn_s: float = FIRST_TURN_S
    progress: Progress = NOT_BEGUN

    def __call__(self, task: Task, request: Request) -> Exploration:
        self.progress = self.progress.of(request)
        work = Work(
            task.jobs, keeps_rest=True, slice_s=self.turn_s, split_seed=task.split_seed, rest=self.progress.rest
        )
        part = explore(with_limits_left(request, self.progress, 0.0), work)
        if part.mixed_sizes is not None or part.guess is not None:
            return part
        self.progress = self.progress.after(part)
        if self.progress.finished:
            return self.progress.found
        return replace(self.progress.found, stopped_by=part.stopped_by or END_OF_TURN)


def _search(task: Task, turn_s: float) -> Result | None:
    """None if states does not handle the program. What rsmc has found is not lost to Ctrl-C."""
    limits = task.limits
    limits = replace(
        limits,
        timeout_s=turn_s if limits.timeout_s is None else min(turn_s, limits.timeout_s),
        memory_mb=SEARCH_MB if limits.memory_mb is None else min(SEARCH_MB, limits.memory_mb),
    )
    try:
        return states.run(replace(task, limits=limits))
    except UnsupportedError:
        return None
    except KeyboardInterrupt:
        return Result(stopped_by="interrupt")
