"""Options that limit a run, and their ranges."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from dekker.run.supervision import supervised
from dekker.task import Limits

R = TypeVar("R")


class NumberRange(click.ParamType[tuple[int, int]]):
    """`LOW..HIGH`"""

    name = "range"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        low, dots, high = str(value).partition("..")
        try:
            found = int(low), int(high)
        except ValueError:
            found = (1, 0)
        if not dots or found[0] > found[1] or found[1] - found[0] >= WIDEST_RANGE:
            self.fail(f"{value!r} is no range such as -1..2, of at most {WIDEST_RANGE} numbers", param, ctx)
        return found


WIDEST_RANGE = 1 << 16
NUMBERS = NumberRange()

SECONDS = click.FloatRange(min=0, max=1e9, min_open=True)
MEGABYTES = click.IntRange(min=1, max=1 << 30)
TRACES = click.IntRange(min=1, max=1 << 62)
ROUNDS = click.IntRange(min=0, max=(1 << 31) - 1)
JOBS = click.IntRange(min=1, max=1024)

REUSE = click.option("--reuse", is_flag=True, help="An allocation may also return memory of its size that was freed.")


def within_limits(command: Callable[..., R]) -> Callable[..., R]:
    """For a command that searches nothing, and so has no answer of its own at a limit."""

    @click.option("--timeout", type=SECONDS, help="Seconds.")
    @click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
    @wraps(command)
    def limited(timeout: float | None, memory: int | None, **others: Any) -> R:
        with supervised(Limits(timeout_s=timeout, memory_mb=memory)):
            return command(**others)

    return limited
