"""Memory of the heap that is lost at the end of an execution: not freed, and no pointer leads to it that begins in a
global object. What only local variables point to is lost, because they are gone then."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.axiomatic.candidates import Structure
from dekker.execution import Relation
from dekker.ir.layout import HEADER_SIZE, Layout, header_address
from dekker.ir.program import Program
from dekker.result import Violation
from dekker.source import Span

POINTER_SIZE = 8


def leaks(program: Program, layout: Layout, structure: Structure, co: Relation) -> Iterator[Violation]:
    words = _final_words(structure, co)
    pending = [(layout.starts[item.name], item.size) for item in program.objects]
    unreached = dict(item for path in structure.paths for item in path.objects)
    while pending:
        start, size = pending.pop()
        pointers = {value for address, value in words.items() if start <= address < start + size}
        found = [item for item in unreached.items() if any(_points_to(value, *item) for value in pointers)]
        pending += found
        for reached, _ in found:
            del unreached[reached]
    for path in structure.paths:
        for (start, size), span in zip(path.objects, path.allocated_at, strict=True):
            if start in unreached and start not in path.own_objects and not _is_free(structure, co, start):
                message = f"the {size} bytes that are allocated here are lost: at the end nothing points to them"
                yield Violation("leak", message, _last_allocation(structure, co, start, span))


def _points_to(value: int, start: int, size: int) -> bool:
    return start <= value < start + max(1, size)


def _final_words(structure: Structure, co: Relation) -> dict[int, int]:
    """The last values of all words that may hold a pointer."""
    begun = {address & -POINTER_SIZE for address in structure.memory.known_bytes()}
    words = {address: structure.memory.read(address, POINTER_SIZE) for address in begun}
    for address, size in structure.writes:
        if size == POINTER_SIZE:
            words[address] = int(structure.events[_last_write(structure, co, address, size)].value)
    return words


def _last_write(structure: Structure, co: Relation, address: int, size: int) -> int:
    return next(write for write in structure.writes[address, size] if not co[write])


def _is_free(structure: Structure, co: Relation, start: int) -> bool:
    header = header_address(start), HEADER_SIZE
    if header in structure.writes:
        return structure.is_release(_last_write(structure, co, *header))
    return any(start in path.released for path in structure.paths)


def _last_allocation(structure: Structure, co: Relation, start: int, first: Span | None) -> Span | None:
    """Where the memory was last taken, which may have been freed before."""
    header = header_address(start), HEADER_SIZE
    last = _last_write(structure, co, *header) if header in structure.writes else None
    return structure.events[last].span if last is not None and structure.is_renewal(last) else first
