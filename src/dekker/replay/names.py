"""Addresses and values as a person calls them."""

from __future__ import annotations

from collections import Counter

from dekker.ir.layout import FREED_WORD, FUNCTIONS_START, GAP, end_address, header_address, thread_at
from dekker.ir.shapes import part_name
from dekker.replay.world import Allocation, World
from dekker.source import is_library
from dekker.witness import LIBRARY_MEMORY

OWN_DATA = "%self"
"""The register that holds the address of what belongs to a thread alone."""


class Names:
    """Global objects have their name, others the name of the local variable, or of what allocated them and the line."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.places = world.places
        self.mark = "&" if world.program.architecture == "C" else ""
        self.labels: dict[int, str] = {}
        taken: Counter[str] = Counter()
        for start, allocation in sorted(world.allocations.items()):
            label = _label(allocation)
            taken[label] += 1
            self.labels[start] = label if taken[label] == 1 else f"{label}#{taken[label]}"

    def location(self, address: int) -> str:
        found = self.world.allocation_at(address)
        if found is not None:
            return _with_offset(self.labels[found.start], address - found.start)
        thread = thread_at(address)
        if thread is not None and thread in self.world.starts:
            return f"{'end' if address == end_address(thread) else 'start'} of thread {thread}"
        for start in self.world.allocations:
            if address in (header_address(start), start + FREED_WORD):
                return f"whether {self.labels[start]} is free"
        return self._global(address) or self._outside(address) or self.places.show(address)

    def _global(self, address: int) -> str | None:
        place = self.places.locate(address)
        found = self.world.program.object_by_name.get(place.symbol) if place is not None else None
        if found is None or place is None:
            return None
        return f"{found.name}{part_name(found.shape, place.offset)}"

    def _outside(self, address: int) -> str | None:
        """By the allocated object behind whose end, or else before whose start, the address lies."""
        behind = (item for item in self.world.allocations.values() if 0 <= address - item.start < item.size + GAP)
        before = (item for item in self.world.allocations.values() if 0 < item.start - address < GAP)
        found = min(behind, key=lambda item: address - item.start, default=None) or next(before, None)
        return None if found is None else f"{self.labels[found.start]}{address - found.start:+d}"

    def value(self, value: int, width: int) -> str:
        value &= (1 << width) - 1
        if self.world.allocation_at(value) is not None:
            return f"{self.mark}{self.location(value)}"
        found = self._global(value) or self._outside(value) if value >= FUNCTIONS_START else None
        return self.places.show(value, width) if found is None else f"{self.mark}{found}"

    def text_at(self, address: int) -> str | None:
        """The characters up to the next 0, as they are before other threads exist."""
        found = bytearray()
        while self.world.contains(address, 1):
            byte = self.world.read(address, 1)
            if byte == 0:
                return found.decode("utf-8", "replace")
            found.append(byte)
            address += 1
        return None


def _with_offset(name: str, offset: int) -> str:
    return f"{name}+{offset}" if offset else name


def _label(allocation: Allocation) -> str:
    name = allocation.name
    if name == OWN_DATA:
        return f"data of thread {allocation.thread}"
    if allocation.local and not name.startswith("%"):
        return name
    spans = [frame.span for frame in reversed(allocation.stack) if frame.span is not None]
    span = next((span for span in spans if not is_library(span.source.name)), None)
    if span is None:
        return f"{LIBRARY_MEMORY if spans else 'memory:'}{allocation.thread}"
    if is_library(spans[0].source.name):
        return f"{LIBRARY_MEMORY}{span.line}"
    word = span.text.partition("(")[0].strip()
    return f"{word if word.isidentifier() else 'memory'}:{span.line}"
