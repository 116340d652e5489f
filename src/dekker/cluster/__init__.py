"""The same units of work on a cluster: who decides what is done next, what workers do, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dekker.cluster.crew import Crew
    from dekker.native import Explore


@contextmanager
def crew_at(address: str | None, jobs: int = 1) -> Iterator[Crew | None]:
    """None without an address. More than one job is how many processes a local cluster has."""
    if address is None:
        yield None
        return
    from dekker.cluster.dask_cluster import dask_crew  # noqa: PLC0415 — slow to load, and may be missing

    with dask_crew(address, jobs if jobs > 1 else None) as crew:
        yield crew


def explore_with(crew: Crew | None) -> Explore | None:
    """What stands in for the core; None: the core itself."""
    if crew is None:
        return None
    from dekker.cluster.explorer import CrewExplorer  # noqa: PLC0415 — few need it

    return CrewExplorer(crew)
