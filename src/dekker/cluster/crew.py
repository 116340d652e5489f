"""Those who do the work, whoever they are."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from dekker.errors import InputError


class CrewLost(InputError):
    """There is nobody left who could do the work."""


class Crew(Protocol):
    """What is submitted is done once, or once more if who did it died. A future that is cancelled need not be done."""

    def slots(self) -> int:
        """How many do something at the same time, now."""
        ...

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]: ...
