"""Those who do the work, whoever they are."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol

from dekker.errors import InputError

PATIENCE_S = 120.0
"""How long to wait for workers when the last has gone."""


class CrewLost(InputError):
    """There is nobody left who could do the work."""


class DeadlyWork(InputError):
    """Whoever does it dies."""


class Crew(Protocol):
    """What is submitted is done once, or once more if who did it died. A future that is cancelled need not be done."""

    def slots(self) -> int:
        """How many do something at the same time, now."""
        ...

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...


class Patience:
    """Watches a crew that may lose everybody, and may get others."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._last_seen = time.monotonic()

    def slots(self) -> int:
        """`CrewLost` after a long time without any."""
        found = self._crew.slots()
        if found:
            self._last_seen = time.monotonic()
        elif time.monotonic() - self._last_seen > PATIENCE_S:
            raise CrewLost("the cluster has no workers any more", hint="start `dask worker` and try again")
        return found


def wait_for_one(futures: Collection[Future[Any]], longest_s: float) -> None:
    """Until one of them is done, or for some time."""
    if futures:
        wait(futures, longest_s, FIRST_COMPLETED)
    else:
        time.sleep(longest_s)
