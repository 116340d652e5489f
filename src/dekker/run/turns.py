"""rsmc and states in turns: a program with very many executions may have few states, and the other way round.

Turns become longer, so that what was spent on the engine that does not end is no more than a few times what the other
takes. rsmc goes on where its last turn ended; states begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
TOO_LONG = "events"
UNSUPPORTED = "unsupported"


def may_take_turns(task: Task) -> bool:
    """Who wants all executions, or some number of them, or goes on another time, does not want states."""
    limits = task.limits
    asks_for_executions = not limits.stop_at_first or limits.max_traces is not None or task.explorer is not None
    return not asks_for_executions and task.model.name in states.MODELS and is_built_in(task.model)


def run_in_turns(task: Task) -> tuple[str, Result]:
    """If neither ends, what rsmc found. Where an execution is too long for that, states is alone."""
    started, exploring = monotonic(), _Exploring()
    while True:
        explored = rsmc.run(replace(with_time_left(task, monotonic() - started), explorer=exploring))
        if explored.stopped_by not in (END_OF_TURN, TOO_LONG):
            return rsmc.NAME, explored
        is_alone = explored.stopped_by == TOO_LONG
        searched = _search(with_time_left(task, monotonic() - started), None if is_alone else exploring.turn_s)
        if searched.stopped_by in (None, "violation") or (is_alone and searched.stopped_by != UNSUPPORTED):
            return states.NAME, replace(searched, choice=_choice(explored))
        if is_alone:
            return rsmc.NAME, explored
        if searched.stopped_by == "interrupt":
            return rsmc.NAME, replace(explored, stopped_by="interrupt")
        exploring.turn_s = 0.0 if searched.stopped_by in ("memory", UNSUPPORTED) else GROWTH * exploring.turn_s


def _choice(explored: Result) -> str:
    if explored.stopped_by == TOO_LONG:
        return "an execution is too long for rsmc"
    return f"rsmc had not ended after {explored.complete_executions} executions"


@dataclass
class _Exploring:
    """Explores for a turn; 0 is one without end."""

    turn_s: float = field(default_factory=lambda: FIRST_TURN_S)
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


def _search(task: Task, turn_s: float | None) -> Result:
    """Ends with Ctrl-C, so that what rsmc has found is not lost."""
    limits = task.limits
    limits = replace(
        limits,
        timeout_s=min((limit for limit in (limits.timeout_s, turn_s) if limit is not None), default=None),
        memory_mb=min(SEARCH_MB, limits.memory_mb or SEARCH_MB),
    )
    try:
        return states.run(replace(task, limits=limits))
    except UnsupportedError:
        return Result(stopped_by=UNSUPPORTED)
    except KeyboardInterrupt:
        return Result(stopped_by="interrupt")
