"""Memory of the heap that is lost at the end of an execution: it is not released, and no pointer leads to it that
begins in a global object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dekker.engines.axiomatic.candidates import Structure
from dekker.engines.axiomatic.steps import HEADER_SIZE, header_of
from dekker.execution import Relation
from dekker.ir.layout import Layout
from dekker.ir.program import Program
from dekker.result import Violation
from dekker.source import Span

POINTER_SIZE = 8


def leaks(program: Program, layout: Layout, structure: Structure, co: Relation) -> Iterator[Violation]:
    objects = {start: size for path in structure.paths for start, size in path.objects}
    last = {location: next(write for write in writes if not co[write]) for location, writes in structure.writes.items()}
    words = _last_words(structure, last)
    pending = [(layout.starts[item.name], item.size) for item in program.objects]
    lost = dict(objects)
    while pending:
        start, size = pending.pop()
        pointers = [value for address, value in words.items() if start <= address < start + size]
        reached = [item for item in lost.items() if any(item[0] <= p < item[0] + max(1, item[1]) for p in pointers)]
        pending += reached
        for found, _ in reached:
            del lost[found]
    for path in structure.paths:
        for (start, size), span in zip(path.objects, path.allocated_at, strict=True):
            header = last.get((header_of(start), HEADER_SIZE))
            freed = start in path.released if header is None else structure.is_release(header)
            if start in lost and start not in path.own_objects and not freed:
                message = f"the {size} bytes that are allocated here are lost: at the end nothing points to them"
                yield Violation("leak", message, _renewed_at(structure, header) or span)


def _last_words(structure: Structure, last: Mapping[tuple[int, int], int]) -> dict[int, int]:
    """The last values of all words that may hold a pointer."""
    aligned = {address - address % POINTER_SIZE for address in structure.memory.known_bytes()}
    words = {address: structure.memory.read(address, POINTER_SIZE) for address in aligned}
    written = {
        address: structure.events[write].value for (address, size), write in last.items() if size == POINTER_SIZE
    }
    return {**words, **written}


def _renewed_at(structure: Structure, header: int | None) -> Span | None:
    return structure.events[header].span if header is not None and structure.is_renewal(header) else None
