"""Explorations in slices: when they are finished, and how much they may still do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.agreement.test_checkpoints import racing_writes
from tests.reference.job_agreement import findings
from tests.unit.cluster.test_coordinator import asked, part, units

from dekker.engines.rsmc import engine as rsmc
from dekker.models import load_model
from dekker.native import EVERYTHING, Exploration, Place, RawTrace, Request, Work, explore
from dekker.run.checkpoint import Checkpoints, read_checkpoint
from dekker.run.slices import NOT_BEGUN
from dekker.task import Limits, Task

TASK = Task(racing_writes(4), load_model("power"))
VIOLATION: tuple[str, Place, int, RawTrace] = ("assertion", (0, 0, 0), 0, [])
LIMITS_OF_WORK = ("time", "memory", "interrupt")


@pytest.mark.parametrize("reason", LIMITS_OF_WORK)
def test_a_limit_that_is_hit_at_the_very_end_cuts_off_nothing(reason: str) -> None:
    progress = NOT_BEGUN.after(part(3, stopped_by=reason, rest=units(2))).after(part(4, stopped_by=reason))
    assert progress.finished
    assert (progress.found.stopped_by, progress.found.statistics["complete"]) == ("", 7)


@pytest.mark.parametrize("reason", LIMITS_OF_WORK)
def test_a_limit_that_leaves_something_does_not_finish(reason: str) -> None:
    progress = NOT_BEGUN.after(part(stopped_by=reason, rest=units(2)))
    assert not progress.finished
    assert progress.found.stopped_by == ""


def test_what_is_partial_by_itself_stays_so() -> None:
    assert NOT_BEGUN.after(part(stopped_by="events")).found.stopped_by == "events"


def test_a_limit_does_not_hide_a_violation() -> None:
    """Whoever found it left the rest of its unit, although the limit was hit first."""
    request = asked(1)
    first = NOT_BEGUN.of(replace(request, limits=Limits(stop_at_first=True)))
    for rest in (units(2), EVERYTHING):
        progress = first.after(part(stopped_by="time", violations=[VIOLATION], rest=rest))
        assert progress.finished
        assert progress.found.stopped_by == "violation"
    going_on = NOT_BEGUN.of(replace(request, limits=Limits())).after(
        part(stopped_by="time", violations=[VIOLATION], rest=units(2))
    )
    assert not going_on.finished
    assert going_on.after(part(stopped_by="time")).found.stopped_by == ""


def limited_at_the_end(reason: str) -> Checkpoints:
    def explored(request: Request, work: Work) -> Exploration:
        return replace(explore(request, replace(work, slice_s=0.0)), stopped_by=reason)

    return Checkpoints(Path("unused"), {}, explore=explored)


@pytest.mark.parametrize("reason", LIMITS_OF_WORK)
def test_a_check_that_has_seen_everything_is_no_check_that_was_stopped(reason: str, tmp_path: Path) -> None:
    file = tmp_path / "state"
    checkpoints = replace(limited_at_the_end(reason), file=file)
    expected = findings(rsmc.run(TASK))
    assert findings(rsmc.run(replace(TASK, explorer=checkpoints))) == expected
    assert findings(rsmc.run(replace(TASK, explorer=replace(checkpoints, progress=read_checkpoint(file).progress))))


def test_files_of_such_checks_from_before_have_an_end(tmp_path: Path) -> None:
    file = tmp_path / "state"
    checkpoints = Checkpoints(file, {})
    expected = findings(rsmc.run(replace(TASK, explorer=checkpoints)))
    stuck = replace(checkpoints.progress, found=replace(checkpoints.progress.found, stopped_by="time"))
    assert stuck.finished
    again = Checkpoints(file, {}, progress=stuck)
    assert findings(rsmc.run(replace(TASK, explorer=again))) == expected


def test_no_more_traces_are_counted_than_wanted_however_often_it_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "state"
    limited = replace(TASK, limits=Limits(max_traces=10))
    result = rsmc.run(replace(limited, explorer=Checkpoints(file, {})))
    assert (result.complete_executions, result.stopped_by) == (10, "traces")
    for limit in (10, 10, 3):
        again = replace(limited, limits=Limits(max_traces=limit))
        result = rsmc.run(replace(again, explorer=Checkpoints(file, {}, progress=read_checkpoint(file).progress)))
        assert (result.complete_executions, result.stopped_by) == (10, "traces")
    finished = Checkpoints(file, {}, progress=read_checkpoint(file).progress)
    everything = rsmc.run(replace(TASK, explorer=finished))
    again = replace(limited, explorer=Checkpoints(file, {}, progress=read_checkpoint(file).progress))
    assert findings(rsmc.run(again)) == findings(everything)


def test_slices_that_end_anywhere_count_no_more_traces_than_wanted(tmp_path: Path) -> None:
    """Also if one ends when exactly as many are found."""
    sizes = iter((1, 2, 4, 3, 100))

    def explored(request: Request, work: Work) -> Exploration:
        wanted = min(next(sizes), request.limits.max_traces or 1)
        found = explore(replace(request, limits=replace(request.limits, max_traces=wanted)), replace(work, slice_s=0.0))
        return replace(found, stopped_by="")

    checkpoints = Checkpoints(tmp_path / "state", {}, explore=explored)
    result = rsmc.run(replace(TASK, limits=Limits(max_traces=10), explorer=checkpoints))
    assert (result.complete_executions, result.stopped_by) == (10, "traces")
    assert next(sizes) == 100
