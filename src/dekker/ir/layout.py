"""Where global objects and functions live. Addresses fit into 31 bits, so that they survive 32-bit registers, and are
far from the small numbers that programs compute with."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from dekker.ir.expressions import Address
from dekker.ir.program import Program
from dekker.records import dataclass

OBJECTS_START = 0x1000_0000
FUNCTIONS_START = 0x0100_0000
GAP = 64


@dataclass(frozen=True)
class Layout:
    """Start address of every symbol, and the way back from an address to the symbol that contains it."""

    starts: dict[str, int]
    sizes: dict[str, int]

    def resolve(self, address: Address) -> int:
        return (self.starts[address.symbol] + address.offset) & (1 << 64) - 1

    @cached_property
    def _ordered(self) -> list[tuple[int, str]]:
        return sorted((start, name) for name, start in self.starts.items())

    def locate(self, address: int) -> Address | None:
        """The object that contains the byte at `address`, as symbol and offset."""
        index = bisect_right(self._ordered, (address, "\U0010ffff")) - 1
        if index < 0:
            return None
        start, name = self._ordered[index]
        return Address(name, address - start) if address < start + max(1, self.sizes[name]) else None

    def contains(self, address: int, size: int) -> bool:
        """Whether all these bytes lie in one object."""
        first, last = self.locate(address), self.locate(address + size - 1)
        return first is not None and last is not None and first.symbol == last.symbol

    def show(self, value: int, width: int = 64) -> str:
        """The low `width` bits as a person reads them: a symbol if they point into an object, else a signed number."""
        value &= (1 << width) - 1
        place = self.locate(value) if value >= FUNCTIONS_START else None
        if place is not None:
            return place.symbol if place.offset == 0 else f"{place.symbol}+{place.offset}"
        return str(value - (1 << width) if value >> (width - 1) else value)


def layout(program: Program) -> Layout:
    starts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    free = OBJECTS_START
    for item in program.objects:
        step = max(GAP, item.align)
        free = -(-free // step) * step
        starts[item.name], sizes[item.name] = free, item.size
        free += item.size + GAP
    for index, function in enumerate(program.functions):
        starts.setdefault(function.name, FUNCTIONS_START + index * GAP)
        sizes.setdefault(function.name, 1)
    return Layout(starts, sizes)


# --- what comes into being while a program runs

HEAP_START = 1 << 40
HEAP_PER_THREAD = 1 << 32
ALLOCATION_GAP = 64
HEADER_SIZE = 8
_THREADS_START = 1 << 48


def start_address(thread: int) -> int:
    """What the one that starts a thread writes, and the thread reads first."""
    return _THREADS_START + 16 * thread


def end_address(thread: int) -> int:
    """What a thread writes last, and those read that join it."""
    return start_address(thread) + 8


def thread_at(address: int) -> int | None:
    """The thread that begins or ends with an access to this address."""
    return (address - _THREADS_START) // 16 if address >= _THREADS_START else None


def heap_address(thread: int, used: int) -> int:
    """Where the next object goes of a thread that has used up so many bytes. No address is used twice."""
    return HEAP_START + thread * HEAP_PER_THREAD + used + ALLOCATION_GAP


def heap_use(size: int) -> int:
    """How many bytes an object uses up."""
    return (size // ALLOCATION_GAP + 2) * ALLOCATION_GAP


def header_address(start: int) -> int:
    """In the gap before an object: what writes there releases it."""
    return start - 16


FREED_WORD = -24
"""Where, relative to an object, stands 1 once it was freed and may be allocated again (`ir.passes.reuse`)."""
FREED_WORD_SIZE = 8
