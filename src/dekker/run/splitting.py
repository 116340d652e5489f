"""Programs that access the same bytes in different sizes: plain accesses are split until all fit together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TypeVar

from dekker.errors import AccessPlace, MixedSizes
from dekker.ir.passes.split_accesses import can_be_split, split_access
from dekker.task import Task, with_time_left

T = TypeVar("T")


def run_splitting(run: Callable[[Task], T], task: Task) -> tuple[Task, T]:
    """The answer for a program whose accesses are split where they have to be, and the task with that program: examples
    are executions of it. Accesses that cannot be split, and pieces that race, are refused."""
    start = monotonic()
    while True:
        try:
            return task, run(with_time_left(task, monotonic() - start))
        except MixedSizes as mixed:
            access = _splittable(task, mixed)
            if access is None:
                raise
            program, pieces = split_access(
                task.program, task.pieces, (access.function, access.index), _piece_size(mixed)
            )
            task = replace(task, program=program, pieces=pieces)


def _splittable(task: Task, mixed: MixedSizes) -> AccessPlace | None:
    """The larger one; of two of equal size, one that can be split."""
    if mixed.racing:
        return None
    size = _piece_size(mixed)
    for access in (mixed.first, mixed.second):
        body = task.program.function_by_name[access.function].body
        if access.size > size and 0 <= access.index < len(body) and can_be_split(body[access.index]):
            return access
    return None


def _piece_size(mixed: MixedSizes) -> int:
    """Pieces of this size of either access are equal to, or do not overlap, those of the other."""
    distance = abs(mixed.first.address - mixed.second.address)
    smaller = min(mixed.first.size, mixed.second.size)
    return min(smaller, distance & -distance) if distance else smaller
