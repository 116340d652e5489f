"""The options of the states engine, and of the one that transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from dekker.task import Search

ENTRIES = click.IntRange(min=0, max=4096)

STRATEGIES = ("weighted", "all-pairs", "every-access", "one-per-cycle")
SELECT = click.option(
    "--select",
    type=click.Choice(STRATEGIES),
    default=None,
    help="transform: which accesses are delayed (default: weighted).",
)

_OPTIONS = (
    click.option(
        "--buffer",
        type=ENTRIES,
        metavar="N",
        help="states: entries of each store buffer, 0 without limit (default: 1, 2, 4 … 32, as far as it matters); "
        "transform: accesses of each kind that a thread delays (default: all that it has, 2 if it has loops; 1 and 2 "
        "first, where one violation is enough).",
    ),
    SELECT,
    click.option("--robust", is_flag=True, help="states: is there a state that the program does not have under sc?"),
    click.option("--depth-first", is_flag=True, help="states: counterexamples are then not the shortest."),
    click.option("--compact", is_flag=True, help="states: at the memory limit, go on with hashes of states."),
    click.option("--no-static-local", is_flag=True, help="states: buffer stores to locals that never escape, too."),
    click.option("--no-dynamic-local", is_flag=True, help="states: buffer stores to objects of one thread, too."),
    click.option(
        "--no-reduction",
        is_flag=True,
        help="states: interleave steps that no other thread can notice, too; rsmc: explore retries of a weak "
        "compare-exchange that failed by chance, too.",
    ),
    click.option("--no-symmetry", is_flag=True, help="states, rsmc: tell equal threads apart."),
)


def search_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options; the command gets their values as the argument `search`."""

    def with_search(
        *,
        buffer: int | None,
        select: str | None,
        robust: bool,
        depth_first: bool,
        compact: bool,
        no_static_local: bool,
        no_dynamic_local: bool,
        no_reduction: bool,
        no_symmetry: bool,
        **others: Any,
    ) -> int:
        search = Search(
            buffer=buffer,
            select=select,
            robust=robust,
            depth_first=depth_first,
            compact=compact,
            static_local=not no_static_local,
            dynamic_local=not no_dynamic_local,
            reduction=not no_reduction,
            symmetry=not no_symmetry,
        )
        return command(search=search, **others)

    with_search.__doc__ = command.__doc__
    with_search.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    result: Callable[..., int] = with_search
    for option in reversed(_OPTIONS):
        result = option(result)
    return result
