"""An exploration in slices: each goes on where the one before it stopped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dekker.native import EVERYTHING, Exploration, Request, Rest
from dekker.run.parts import NOTHING, put_together


@dataclass(frozen=True)
class Progress:
    """How far an exploration has come: `digest` says which. `finished`: nothing is left."""

    digest: str = ""
    found: Exploration = NOTHING
    rest: Rest = EVERYTHING
    finished: bool = False

    def of(self, request: Request) -> Progress:
        """The same, if this is the exploration that was begun, else none."""
        digest = request.digest()
        return self if self.digest == digest else Progress(digest)

    def after(self, part: Exploration) -> Progress:
        found = put_together([NOTHING if part.started_again else self.found, part])
        finished = part.stopped_by == "violation" or not part.rest.units
        found = replace(found, stopped_by=part.stopped_by if finished else "")
        return Progress(self.digest, found, part.rest, finished)


NOT_BEGUN = Progress()


def with_limits_left(request: Request, progress: Progress, elapsed_s: float) -> Request:
    limits, before, show = request.limits, progress.found.statistics, request.progress
    complete = before.get("complete", 0)

    def show_all(statistics: dict[str, int]) -> object:
        return show({name: count + before.get(name, 0) for name, count in statistics.items()}) if show else None

    return replace(
        request,
        progress=None if show is None else show_all,
        limits=replace(
            limits,
            timeout_s=None if limits.timeout_s is None else max(1e-6, limits.timeout_s - elapsed_s),
            max_traces=None if limits.max_traces is None else max(1, limits.max_traces - complete),
        ),
    )


def goes_on(request: Request, progress: Progress, part: Exploration) -> bool:
    """A limit of traces does not count those that were found before the exploration started again."""
    limit = request.limits.max_traces
    return part.stopped_by == "traces" and limit is not None and progress.found.statistics["complete"] < limit
