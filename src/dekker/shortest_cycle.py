"""A shortest cycle of a relation whose rows are bit sets: fast enough for a thousand events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def shortest_cycle(rows: Sequence[int], among: int = -1) -> list[int] | None:
    """The events of a shortest cycle, the first repeated at the end; among events that are members of a set."""
    left = _on_cycles(rows, among)
    members = [n for n in range(len(rows)) if left >> n & 1]
    found = (_shortest_from(rows, left, start) for start in members)
    return min((cycle for cycle in found if cycle is not None), key=len, default=None)


def _on_cycles(rows: Sequence[int], among: int) -> int:
    """Without events that nothing leads from or to, again and again."""
    left = (1 << len(rows)) - 1 & among
    while True:
        reached = 0
        for n, row in enumerate(rows):
            reached |= row if left >> n & 1 else 0
        kept = sum(1 << n for n, row in enumerate(rows) if left >> n & 1 and row & left) & reached
        if kept == left:
            return left
        left = kept


def _shortest_from(rows: Sequence[int], left: int, start: int) -> list[int] | None:
    levels = [1 << start]
    seen = 0
    while levels[-1]:
        following = 0
        for n in _members(levels[-1]):
            following |= rows[n]
        following &= left & ~seen
        if following >> start & 1:
            return _back(rows, levels, start)
        seen |= following
        levels.append(following)
    return None


def _back(rows: Sequence[int], levels: list[int], start: int) -> list[int]:
    path = [start]
    for level in reversed(levels):
        path.append(next(n for n in _members(level) if rows[n] >> path[-1] & 1))
    return path[::-1]


def _members(row: int) -> Iterable[int]:
    while row:
        low = row & -row
        yield low.bit_length() - 1
        row ^= low
