"""A line about a long run, on a terminal: what is done, how fast, how much there is in all, and the memory it takes.

Nothing is written where stderr is no terminal, and nothing in the first second.
"""

from __future__ import annotations

import signal
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from dekker.report.estimate_text import duration, rough
from dekker.resources import resident_mb
from dekker.task import EARLIER, Task

if TYPE_CHECKING:
    from dekker.run.estimate import Estimate

FIRST_S, EVERY_S = 1.0, 0.25
ESTIMATE_AFTER_S, ESTIMATE_S = 2.0, 0.5
_COUNTED = {"complete": "executions", "states": "states"}


class ProgressLine:
    """A progress callback of engines. After a while it asks how many executions there are, if the engine is one that
    explores them. `note` stands in front."""

    def __init__(self, note: str = "") -> None:
        self.task: Task | None = None
        self.note = note
        self.shown = sys.stderr.isatty()
        self.started = self.last = time.monotonic()
        self.in_all: Estimate | None = None
        self.asked = False
        self.written = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def watch(self, task: Task) -> None:
        self.task = task
        self.started = self.last = time.monotonic()
        self.asked, self.in_all = False, None

    def __call__(self, counts: dict[str, int]) -> None:
        now = time.monotonic()
        if not self.shown or now - self.started < FIRST_S or now - self.last < EVERY_S:
            return
        self.last = now
        if not self.asked and now - self.started > ESTIMATE_AFTER_S and "complete" in counts and self.task is not None:
            self.asked = True
            self._ask(self.task)
        self._write(self.line(counts, now - self.started))

    def line(self, counts: dict[str, int], seconds: float) -> str:
        name = next((name for name in _COUNTED if name in counts), None)
        done = counts[name] if name is not None else 0
        parts = [f"{done} {_COUNTED[name]}"] if name is not None else []
        parts += [f"{counts['blocked']} blocked"] if counts.get("blocked") else []
        rate = max(0, done - counts.get(EARLIER, 0)) / seconds if seconds else 0.0
        parts.append(f"{rough(rate)}/s")
        if self.in_all is not None and name == "complete":
            parts += _in_all(self.in_all, done, rate)
        parts += [f"{counts['workers']} workers"] if "workers" in counts else []
        parts.append(f"{resident_mb():.0f} MB")
        return f"{self.note}{', '.join(parts)}"

    def _ask(self, task: Task) -> None:
        from dekker.errors import UnsupportedError  # noqa: PLC0415
        from dekker.run.estimate import estimate  # noqa: PLC0415 — only for long runs

        try:
            found = estimate(task, ESTIMATE_S)
        except UnsupportedError:
            return
        self.in_all = found
        if found.interrupted:
            signal.raise_signal(signal.SIGINT)  # it was meant for the run itself

    def _write(self, line: str) -> None:
        shown = line[:119]
        sys.stderr.write(f"\r{shown.ljust(self.written)}")
        sys.stderr.flush()
        self.written = len(shown)

    def clear(self) -> None:
        if self.written:
            sys.stderr.write(f"\r{' ' * self.written}\r")
            sys.stderr.flush()
            self.written = 0


def _in_all(found: Estimate, done: int, rate: float) -> list[str]:
    if not found.trusted:
        return [f"at least {rough(found.at_least)} in all"] if found.at_least > done else []
    parts = [f"about {rough(found.mean)} in all ({rough(found.low)} to {rough(found.high)})"]
    if rate and found.mean > done:
        parts.append(f"about {duration((found.mean - done) / rate)} left")
    return parts
