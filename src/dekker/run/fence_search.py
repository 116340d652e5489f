"""The cheapest fences with which a property holds, and the proof that none is too many.

Fences only take executions away. So a run that goes wrong with some fences in place says: one more is needed, of those
that would forbid it. Which these are is asked of the model: to the fences that are there others are added, as strong as
possible, as long as the run stays allowed; what then is left out is the demand. The cheapest fences for all demands are
tried next. When the property holds they are cheapest altogether, for every other choice that is cheaper leaves one of
these runs as it is.

Threads that wait for ever are no run in this sense; there the whole search is asked again instead of the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from dekker.cat.model import Model
from dekker.execution import Execution
from dekker.ir.program import Program
from dekker.records import dataclass
from dekker.replay import replay
from dekker.replay.judge import judge
from dekker.replay.rebuild import Mismatch
from dekker.report.check_report import CheckReport
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check_program
from dekker.run.fence_markers import Choice, Marked, marker_of
from dekker.run.prepare import prepare
from dekker.task import Progress
from dekker.transform.fence_kinds import FenceKinds
from dekker.transform.solver import cheapest_cover
from dekker.witness import DEADLOCK

Slot = tuple[int, str]


class Undecided(Exception):
    """A check did not come to an end."""

    def __init__(self, report: CheckReport) -> None:
        super().__init__(report.result.stopped_by or "a limit")
        self.report = report


@dataclass
class Checker:
    """Checks programs, and counts how often. `deadline` is a moment of `time.monotonic`."""

    model: Model
    options: CheckOptions
    deadline: float | None = None
    checks: int = 0
    progress: Progress | None = None

    def holds(self, program: Program, model: Model | None = None) -> CheckReport:
        """A report of a program that is safe or unsafe, or in which nothing came to its end; where a limit came before
        that, `Undecided`."""
        options = self.options
        if self.deadline is not None:
            left = max(0.1, self.deadline - time.monotonic())
            timeout = min(left, options.limits.timeout_s or left)
            options = replace(options, limits=replace(options.limits, timeout_s=timeout))
        self.checks += 1
        report = check_program(program, model or self.model, options, self.progress)
        if report.verdict is Verdict.UNKNOWN and report.result.stopped_by is not None:
            raise Undecided(report)
        return report


@dataclass
class Cheapest:
    """`choice` is None if no fences help; then `report` has a run that none of them forbids."""

    choice: Choice | None
    report: CheckReport
    demands: list[frozenset[Slot]] = field(default_factory=list)


def cheapest_fences(
    marked: Marked, checker: Checker, universe: frozenset[int], dislike: Callable[[Slot], float]
) -> Cheapest:
    """`dislike` decides between fences of the same cost."""
    kinds = marked.kinds
    slots: list[Slot] = sorted((marker, kind) for marker in universe for kind in kinds.texts)
    number = {slot: index for index, slot in enumerate(slots)}
    costs, ties = [kinds.costs[kind] for _, kind in slots], [dislike(slot) for slot in slots]
    exclusive = [[number[marker, kind] for kind in kinds.texts] for marker in universe]
    demands: list[frozenset[Slot]] = []
    choice: dict[int, str] = {}
    while True:
        report = checker.holds(marked.with_fences(choice))
        if report.verdict is not Verdict.UNSAFE:
            return Cheapest(choice, report, demands)
        demand = _demand(marked, checker, report, choice, slots)
        if not demand:
            return Cheapest(None, report, demands)
        demands.append(demand)
        cover = cheapest_cover(costs, [[number[slot] for slot in item] for item in demands], exclusive, ties)
        choice = _as_choice(kinds, (slots[index] for index in cover))


def droppable(marked: Marked, checker: Checker, choice: Choice) -> Iterator[tuple[int, CheckReport]]:
    """For every fence, what happens without it."""
    for marker in sorted(choice):
        fewer = {other: kind for other, kind in choice.items() if other != marker}
        yield marker, checker.holds(marked.with_fences(fewer))


def _as_choice(kinds: FenceKinds, slots: Iterator[Slot]) -> dict[int, str]:
    choice: dict[int, str] = {}
    for marker, kind in slots:
        if marker not in choice or kinds.stronger(kind, choice[marker]):
            choice[marker] = kind
    return choice


def _demand(
    marked: Marked, checker: Checker, report: CheckReport, choice: Choice, slots: list[Slot]
) -> frozenset[Slot]:
    """The fences of which one is needed because of a violation. If the model says that none forbids its run, or the
    beginning of it that there is, the program is asked."""
    for still in (_still_allowed(marked, checker, report, choice), _still_wrong(marked, checker)):
        if still is None:
            continue
        grown = _grown(marked.kinds, still, choice, sorted({marker for marker, _ in slots}))
        demand = frozenset(slot for slot in slots if marked.kinds.stronger(slot[1], grown.get(slot[0])))
        if demand:
            return demand
    return frozenset()


def _grown(kinds: FenceKinds, still: Callable[[Choice], bool], choice: Choice, universe: list[int]) -> dict[int, str]:
    """As many and as strong fences as leave the violation as it is."""
    grown = dict(choice)
    for marker in universe:
        for kind in kinds.strongest_first:
            if marker in grown and (kind == grown[marker] or kinds.stronger(grown[marker], kind)):
                continue
            if still({**grown, marker: kind}):
                grown[marker] = kind
                break
    return grown


def _still_wrong(marked: Marked, checker: Checker) -> Callable[[Choice], bool]:
    return lambda more: checker.holds(marked.with_fences(more)).verdict is Verdict.UNSAFE


def _still_allowed(
    marked: Marked, checker: Checker, report: CheckReport, choice: Choice
) -> Callable[[Choice], bool] | None:
    witness = report.violations[0].witness
    if witness is None or witness.claim == DEADLOCK:
        return None
    program = prepare(marked.with_fences(choice), checker.model)
    try:
        execution = replay(program, witness.trace()).execution
    except Mismatch:
        return None  # the engine ran the program with accesses split
    return lambda more: judge(checker.model, _with_fences(execution, more)).allowed


def _with_fences(execution: Execution, choice: Choice) -> Execution:
    events = []
    for event in execution.events:
        marker = marker_of(event.span)
        events.append(replace(event, fence=choice[marker]) if marker is not None and marker in choice else event)
    return replace(execution, events=tuple(events))
