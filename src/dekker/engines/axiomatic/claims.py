"""Threads that several others join or detach: which of them comes second, and what is behind that.

Where neither of two hears of the other, each may come second. What is behind both is no longer the program's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.path import Claim
from dekker.execution import pairs
from dekker.records import dataclass

Moment = tuple[float, float]
"""In a thread: before it are so many events, and so many of the failures that were noted."""

NEVER = LAST = float("inf")


class Made(NamedTuple):
    """`heard`: by thread, from where on the claim has happened."""

    thread: int
    claim: Claim
    heard: dict[int, Moment]

    @property
    def moment(self) -> Moment:
        return self.claim.n_events, self.claim.n_noted


@dataclass(frozen=True)
class ClaimedTwice:
    """`over`: by thread, from where on it is behind the second claim of a thread."""

    made: tuple[Made, ...]
    over: dict[int, Moment]

    def is_behind(self, thread: int, n_events: float = LAST, n_noted: float = LAST) -> bool:
        return thread in self.over and (n_events, n_noted) >= self.over[thread]

    def second(self) -> Iterator[tuple[int, Claim]]:
        """Those that may be a second one, with their threads."""
        for made in self.made:
            others = (other for other in self.made if _are_rivals(made, other))
            is_first = all(_has_heard(other, made) for other in others)
            if not is_first and self.over.get(made.thread, (NEVER, NEVER)) >= made.moment:
                yield made.thread, made.claim


def claimed_twice(structure: Structure) -> ClaimedTwice:
    claims = [(thread, claim) for thread, path in enumerate(structure.paths) for claim in path.claimed]
    counts = Counter(claim.handle for _, claim in claims)
    several = [(thread, claim) for thread, claim in claims if counts[claim.handle] > 1]
    made = tuple(Made(thread, claim, _heard(structure, several, thread, claim)) for thread, claim in several)
    over: dict[int, Moment] = {}
    for one, other in combinations(made, 2):
        for thread in one.heard.keys() & other.heard.keys() if _are_rivals(one, other) else ():
            both = max(one.heard[thread], other.heard[thread])
            over[thread] = min(both, over.get(thread, both))
    return ClaimedTwice(made, over)


def _are_rivals(one: Made, other: Made) -> bool:
    return one.thread != other.thread and one.claim.handle == other.claim.handle


def _has_heard(later: Made, earlier: Made) -> bool:
    return earlier.heard.get(later.thread, (NEVER, NEVER)) <= later.moment


def _heard(structure: Structure, claims: list[tuple[int, Claim]], thread: int, claim: Claim) -> dict[int, Moment]:
    """Who joins a thread hears of all that it has done, or will, if that has not ended yet."""
    heard: dict[int, Moment] = {thread: (claim.n_events, claim.n_noted)}
    known: dict[int, Moment] = {}
    while known != heard:
        known = dict(heard)
        for joining, join in claims:
            if join.is_join and join.handle - 1 in heard:
                heard[joining] = min((join.n_events, join.n_noted), heard.get(joining, (NEVER, NEVER)))
        for number, reader in pairs(structure.rf):
            write, read = structure.events[number], structure.events[reader]
            if not write.initial and (write.index, LAST) >= heard.get(write.thread, (NEVER, NEVER)):
                heard[read.thread] = min((read.index + 1, 0), heard.get(read.thread, (NEVER, NEVER)))
    return heard
