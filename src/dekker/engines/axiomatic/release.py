"""What happens to memory after it was freed: who reads what was left there, and who writes after that in coherence.

A thread that reads freed memory goes on, but what it does then is not the program's: nothing more is said about it.
So does one that makes an access which depends on an indeterminate value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.steps import header_of
from dekker.execution import Event, Relation, pairs
from dekker.result import Violation


def reads_after_release(structure: Structure) -> Mapping[int, Event]:
    """By thread, its first read of freed memory."""
    found: dict[int, Event] = {}
    for write, read in pairs(structure.rf):
        event = structure.events[read]
        if structure.is_release(write) and event.index <= found.get(event.thread, event).index:
            found[event.thread] = event
    return found


def writes_after_release(structure: Structure, co: Relation) -> Iterator[tuple[Event, Violation]]:
    """Writes that come after one that frees, and all but the first of those that free an object, until it is used
    again."""
    headers = {header_of(start) for path in structure.paths for start, _ in path.objects}
    for writes in structure.writes.values():
        if any(map(structure.is_release, writes)):
            ordered = sorted(writes, key=lambda write: co[write].bit_count(), reverse=True)
            yield from _late_writes(structure, ordered, headers)


def _late_writes(structure: Structure, ordered: Sequence[int], headers: Set[int]) -> Iterator[tuple[Event, Violation]]:
    is_free = False
    for write in ordered:
        event = structure.events[write]
        if structure.is_renewal(write):
            is_free = False
        elif structure.is_release(write):
            if is_free and event.address in headers:
                yield event, Violation("double free", "this memory may have been freed already", event.span)
            is_free = True
        elif is_free:
            yield event, use_after_free(event)


def use_after_free(event: Event) -> Violation:
    return Violation("use after free", f"access to memory at {event.address:#x} that may have been freed", event.span)
