"""When a search gives up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field

from dekker.records import dataclass
from dekker.resources import resident_mb

STATES_PER_LOOK = 2_000


class LimitReached(Exception):
    """`str()` says which limit."""


@dataclass
class Watch:
    """Asked for every new state; looks at the clock and the memory now and then."""

    timeout_s: float | None = None
    memory_mb: int | None = None
    max_states: int | None = None
    progress: Callable[[dict[str, int]], object] | None = None
    n_states: int = 0
    deadline: float | None = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = None if self.timeout_s is None else time.monotonic() + self.timeout_s

    def new_state(self) -> None:
        if self.n_states == self.max_states:
            raise LimitReached("states")
        self.n_states += 1
        if self.n_states % STATES_PER_LOOK == 0:
            self.look()

    def look(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise LimitReached("time")
        if self.memory_mb is not None and resident_mb() > self.memory_mb:
            raise LimitReached("memory")
        if self.progress is not None:
            self.progress({"states": self.n_states})
