"""What happens to memory after it was freed: who reads what was left there, and who writes after that in coherence.

A thread that reads freed memory goes on, but what it does then is not the program's: nothing more is said about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    """Writes that come after one that frees, and all but the first of those that free an object."""
    headers = {header_of(start) for path in structure.paths for start, _ in path.objects}
    for writes in structure.writes.values():
        releasing = [write for write in writes if structure.is_release(write)]
        for write in writes:
            event = structure.events[write]
            if not any(co[earlier] >> write & 1 for earlier in releasing):
                continue
            if not structure.is_release(write):
                yield event, use_after_free(event)
            elif event.address in headers:
                yield event, Violation("double free", "this memory may have been freed already", event.span)


def use_after_free(event: Event) -> Violation:
    return Violation("use after free", f"access to memory at {event.address:#x} that may have been freed", event.span)
