"""Accesses of different sizes: refused where they overlap, and where pieces of a larger access are not in order with
accesses of other threads.

Two accesses of one location are in order if one comes before the other both in program order and reads-from, and in
communication. Where all are, the pieces of an access are never torn apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dekker.engines.axiomatic.path import PathEvent
from dekker.errors import AccessPlace, MixedSizes
from dekker.execution import Event, Relation, from_read

Place = tuple[int, int]
"""A thread and the index of an event in its path."""

Location = tuple[int, int]
"""Address and size."""


def refuse_overlaps(
    locations: Sequence[Location], sources: Mapping[Place, PathEvent], events: Mapping[Place, Event]
) -> None:
    for lower, upper in pairwise(locations):
        if upper[0] < lower[0] + lower[1]:
            first, second = (
                next(place for place, event in events.items() if (event.address, event.size) == location)
                for location in (upper, lower)
            )
            raise MixedSizes(_access(sources[first], events[first]), _access(sources[second], events[second]))


def refuse_racing_pieces(
    sources: Sequence[PathEvent | None], events: Sequence[Event], relations: Mapping[str, Relation], pieces: set[int]
) -> None:
    """`pieces` are numbers of events; what frees memory is reported by itself."""
    causal = _closure([a | b for a, b in zip(relations["po"], relations["rf"], strict=True)])
    rf, co = relations["rf"], relations["co"]
    communication = _closure([a | b | c for a, b, c in zip(rf, co, from_read(rf, co), strict=True)])
    for piece in sorted(pieces):
        for other, event in enumerate(events):
            source, own = sources[other], sources[piece]
            if source is None or own is None or source.release or event.thread == events[piece].thread:
                continue
            same = (event.address, event.size) == (events[piece].address, events[piece].size)
            if not same or "W" not in (event.kind, events[piece].kind):
                continue
            before = causal[piece] & communication[piece] & 1 << other
            after = causal[other] & communication[other] & 1 << piece
            if not (before or after):
                raise MixedSizes(_access(own, events[piece]), _access(source, event), racing=True)


def _access(source: PathEvent, event: Event) -> AccessPlace:
    return AccessPlace(source.function, source.instruction, event.address, event.size, event.span)


def _closure(relation: Relation) -> Relation:
    rows = list(relation)
    for middle in range(len(rows)):
        for i, row in enumerate(rows):
            if row >> middle & 1:
                rows[i] |= rows[middle]
    return rows
