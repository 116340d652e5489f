"""What happens to memory after it was freed, as coherence has it."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.threads import header_of
from dekker.execution import Relation
from dekker.result import Violation


def after_release(structure: Structure, co: Relation) -> Iterator[Violation]:
    """Writes that come after one that frees, and all but the first of those that free an object."""
    headers = {header_of(start) for path in structure.paths for start, _ in path.objects}
    for writes in structure.writes.values():
        releasing = [write for write in writes if structure.is_release(write)]
        for write in writes:
            if not any(co[earlier] >> write & 1 for earlier in releasing):
                continue
            event = structure.events[write]
            if not structure.is_release(write):
                message = f"access to memory at {event.address:#x} that may have been freed"
                yield Violation("use after free", message, event.span)
            elif event.address in headers:
                yield Violation("double free", "this memory may have been freed already", event.span)
