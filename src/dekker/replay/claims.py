"""Threads that are joined or detached by several others.

The second one is a violation, and what is behind it is not the program's. Where neither hears of the other, each may
come second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from dekker.execution import Execution, pairs
from dekker.replay.world import World

Moment = tuple[int, int]
"""In a thread: before it are so many events, and so many of the failures that were noted."""

LAST = 1 << 62
NEVER = LAST, LAST


class Claims:
    """`over`: of each thread from where on it is behind two that join or detach the same one."""

    def __init__(self, world: World, execution: Execution, n_threads: int) -> None:
        self.world = world
        self.over: list[Moment] = [NEVER] * n_threads
        several = [key for key in world.claims if any(_are_rivals(key, other) for other in world.claims)]
        self.heard = {key: self._heard(execution, several, key, n_threads) for key in several}
        for one, other in permutations(self.heard, 2):
            if _are_rivals(one, other):
                both = map(max, self.heard[one], self.heard[other])
                self.over = list(map(min, self.over, both))

    def is_behind(self, thread: int, n_events: int, n_noted: int = LAST) -> bool:
        return self.over[thread] != NEVER and (n_events, n_noted) >= self.over[thread]

    def second(self) -> Iterator[tuple[int, int]]:
        """Threads, and the identifiers of those that they join or detach."""
        for key in reversed(self.heard):
            others = (other for other in self.heard if _are_rivals(key, other))
            is_first = all(self.heard[key][other[0]] <= self._moment(other) for other in others)
            if not is_first and self.over[key[0]] >= self._moment(key):
                yield key

    def _moment(self, key: tuple[int, int]) -> Moment:
        claim = self.world.claims[key]
        return claim.n_events, claim.n_noted

    def _heard(
        self, execution: Execution, several: list[tuple[int, int]], key: tuple[int, int], n_threads: int
    ) -> Sequence[Moment]:
        """By thread, from where on it has happened. Who joins a thread hears of all that it has done, or will, if that
        has not ended yet."""
        heard = [NEVER] * n_threads
        heard[key[0]] = self._moment(key)
        joins = [item for item in several if self.world.claims[item].is_join]
        events = execution.events
        read_from = [(events[write], events[read]) for write, read in pairs(execution.relations["rf"])]
        known: list[Moment] = []
        while known != heard:
            known = list(heard)
            for thread, handle in joins:
                if heard[handle - 1] != NEVER:
                    heard[thread] = min(heard[thread], self._moment((thread, handle)))
            for write, read in read_from:
                if not write.initial and (write.index, LAST) >= heard[write.thread]:
                    heard[read.thread] = min(heard[read.thread], (read.index + 1, 0))
        return heard


def _are_rivals(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] != other[0] and one[1] == other[1]
