"""rsmc and states in turns: a program with very many executions may have few states, and the other way round.

Turns become longer, so that what was spent on the engine that does not end is no more than a few times what the other
takes. rsmc goes on where its last turn ended; states begins anew. Where rsmc has cut loops, states, which needs no
bound for them, may tell what is beyond.
"""

from __future__ import annotations

from dataclasses import field, replace
from time import monotonic

from dekker.engines import states
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.models import shipped_as
from dekker.native import Exploration, Request, Work, explore
from dekker.records import dataclass
from dekker.result import Result
from dekker.run.deepening import Deepening, goes_wrong
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
    return not asks_for_executions and shipped_as(task.model) in states.MODELS


def run_in_turns(task: Task) -> tuple[str, Result]:
    """If neither ends, what rsmc found."""
    started, exploring, deepening = monotonic(), _Exploring(), Deepening(task)
    while True:
        task = deepening.task
        explored = rsmc.run(replace(with_time_left(task, monotonic() - started), explorer=exploring))
        if deepening.goes_on(explored):
            continue
        explored = deepening.told(explored)
        reason = _reason_to_search(task, explored)
        if reason is None or exploring.is_last:
            return rsmc.NAME, explored
        searched = _search(with_time_left(task, monotonic() - started), exploring.turn_s)
        if _is_answer(searched):
            return states.NAME, replace(searched, choice=reason)
        if searched.stopped_by == "interrupt" and explored.stopped_by is not None:
            return rsmc.NAME, replace(explored, stopped_by="interrupt")
        if explored.stopped_by != END_OF_TURN:
            return rsmc.NAME, explored
        exploring.turn_s *= GROWTH
        exploring.is_last = searched.stopped_by in ("memory", UNSUPPORTED)


def _reason_to_search(task: Task, explored: Result) -> str | None:
    if explored.stopped_by == END_OF_TURN:
        return f"rsmc had not ended after {explored.complete_executions} executions"
    if explored.stopped_by == TOO_LONG:
        return "an execution is too long for rsmc"
    if explored.stopped_by is None and explored.cut and not goes_wrong(task, explored):
        return f"rsmc would have cut loops that go round more than {task.limits.unroll} times"
    return None


def _is_answer(searched: Result) -> bool:
    return searched.stopped_by == "violation" or (searched.stopped_by is None and not searched.bound)


@dataclass
class _Exploring:
    """Explores for a turn. The last one has no end."""

    turn_s: float = field(default_factory=lambda: FIRST_TURN_S)
    is_last: bool = False
    progress: Progress = NOT_BEGUN

    def __call__(self, task: Task, request: Request) -> Exploration:
        self.progress = self.progress.of(request)
        slice_s = 0.0 if self.is_last else self.turn_s
        work = Work(task.jobs, keeps_rest=True, slice_s=slice_s, split_seed=task.split_seed, rest=self.progress.rest)
        part = explore(with_limits_left(request, self.progress, 0.0), work)
        if part.mixed_sizes is not None or part.guess is not None:
            return part
        self.progress = self.progress.after(part)
        if self.progress.finished:
            return self.progress.found
        return replace(self.progress.found, stopped_by=part.stopped_by or END_OF_TURN)


def _search(task: Task, turn_s: float) -> Result:
    """Ends with Ctrl-C, so that what rsmc has found is not lost."""
    limits = task.limits
    limits = replace(
        limits,
        timeout_s=min(turn_s, limits.timeout_s or turn_s),
        memory_mb=min(SEARCH_MB, limits.memory_mb or SEARCH_MB),
    )
    try:
        return states.run(replace(task, limits=limits))
    except UnsupportedError:
        return Result(stopped_by=UNSUPPORTED)
    except KeyboardInterrupt:
        return Result(stopped_by="interrupt")
