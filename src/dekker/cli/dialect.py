"""Options that say what C programs mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from dekker.frontends.dialect import Dialect

PLAIN, RELAXED = "plain", "relaxed"


def dialect_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options to a command, which gets a `dialect`."""

    @click.option(
        "--assert-branches",
        is_flag=True,
        help="`assert` is compiled: what follows depends on what it asks, as behind a branch.",
    )
    @click.option(
        "--volatile",
        type=click.Choice((PLAIN, RELAXED)),
        default=PLAIN,
        show_default=True,
        help="What accesses to volatile variables are: plain ones, or relaxed atomics.",
    )
    @click.option("--overflow", is_flag=True, help="The overflow of signed numbers is a violation (C, C++).")
    @wraps(command)
    def with_dialect(*arguments: Any, assert_branches: bool, volatile: str, overflow: bool, **options: Any) -> int:
        return command(*arguments, dialect=Dialect(assert_branches, volatile == RELAXED, overflow), **options)

    return with_dialect
