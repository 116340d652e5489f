"""An exploration in slices: each goes on where the one before it stopped."""

from __future__ import annotations

from dataclasses import replace

from dekker.native import EVERYTHING, Exploration, Request, Rest
from dekker.records import dataclass
from dekker.run.parts import NOTHING, put_together
from dekker.task import EARLIER, Limits

VIOLATION, TRACES = "violation", "traces"
DEFAULT_EVERY_S = 30.0
"""Between checkpoints."""
PARTIAL_BY_ITSELF = ("events",)
"""What makes an answer partial although nothing is left. Limits of time, memory and traces cut off what is left."""


@dataclass(frozen=True)
class Progress:
    """How far an exploration has come: `digest` says which, `limits` when a violation ends it. `finished`: nothing is
    left, or wanted."""

    digest: str = ""
    found: Exploration = NOTHING
    rest: Rest = EVERYTHING
    finished: bool = False
    limits: Limits = Limits()

    def of(self, request: Request) -> Progress:
        """The same, if this is the exploration that was begun, else none."""
        digest, limits = request.digest(), request.limits.of_question()
        if self.digest != digest:
            return Progress(digest, limits=limits)
        return replace(self, limits=limits)._with_end(is_all=self.finished)

    def after(self, part: Exploration) -> Progress:
        found = put_together([NOTHING if part.started_again else self.found, part])
        return replace(self, found=found, rest=part.rest)._with_end(is_all=not part.rest.units)

    def _with_end(self, *, is_all: bool) -> Progress:
        """A limit that was hit when nothing was left has cut off nothing; nor does one that was hit first hide a
        violation, after which no more is explored."""
        found = self.found
        if found.stopped_by == VIOLATION or _ends(found, self.limits):
            return replace(self, found=replace(found, stopped_by=VIOLATION), finished=True)
        kept = found.stopped_by if is_all and found.stopped_by in PARTIAL_BY_ITSELF else ""
        return replace(self, found=replace(found, stopped_by=kept), finished=is_all)


def _ends(found: Exploration, limits: Limits) -> bool:
    """As the core decides it."""
    has_deadlock = limits.deadlocks and found.statistics.get("deadlocks", 0) > 0
    return limits.stop_at_first and bool(found.violations or found.flags or has_deadlock)


NOT_BEGUN = Progress()


def with_limits_left(request: Request, progress: Progress, elapsed_s: float, earlier: int = 0) -> Request:
    """For an exploration that has traces left. Who shows progress is told of all, and of so many that were found in
    earlier runs."""
    limits, before, show = request.limits, progress.found.statistics, request.progress
    of_earlier_runs = {EARLIER: earlier} if earlier else {}

    def show_all(statistics: dict[str, int]) -> object:
        counts = {name: count + before.get(name, 0) for name, count in statistics.items()}
        return show(counts | of_earlier_runs) if show else None

    return replace(
        request,
        progress=None if show is None else show_all,
        limits=replace(
            limits,
            timeout_s=None if limits.timeout_s is None else max(1e-6, limits.timeout_s - elapsed_s),
            max_traces=traces_left(request, progress),
        ),
    )


def traces_left(request: Request, progress: Progress) -> int | None:
    """None if they are not limited. Those do not count that were found before the exploration started again."""
    limit = request.limits.max_traces
    return None if limit is None else max(0, limit - progress.found.statistics.get("complete", 0))
