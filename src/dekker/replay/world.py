"""What the threads of a replay share: the memory they start with, the objects they allocate, the threads they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

from dekker.ir.layout import FREED_WORD, FREED_WORD_SIZE, Layout, header_address, thread_at
from dekker.ir.memory import InitialMemory
from dekker.ir.passes.reuse import reuses_freed_memory
from dekker.ir.program import Function, Program
from dekker.ir.unset import may_be_undefined
from dekker.records import dataclass
from dekker.replay.words import Origin, Word
from dekker.source import Span


class Frame(NamedTuple):
    """A call that has not returned: the function, and where it is."""

    function: str
    span: Span | None


Stack = tuple[Frame, ...]
"""The innermost call last."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """`name` is the register that took the address, `birth` how many events the thread had then."""

    start: int
    size: int
    thread: int
    name: str
    stack: Stack
    birth: int
    zeroed: bool = False
    local: bool = False
    permanent: bool = False

    @property
    def header(self) -> int:
        return header_address(self.start)

    def contains(self, address: int, size: int = 1) -> bool:
        return self.start <= address and address + size <= self.start + self.size


@dataclass(frozen=True, slots=True)
class Start:
    """How a thread came into being; `parent` is -1 for those that exist from the start."""

    function: Function
    arguments: tuple[Word, ...]
    parent: int = -1
    stack: Stack = ()


class Claim(NamedTuple):
    """Where a thread joins or detaches another: behind it are events from a number on, and noted failures."""

    stack: Stack
    n_events: int
    n_noted: int
    is_join: bool


@dataclass
class World:
    program: Program
    places: Layout
    starts: dict[int, Start] = field(default_factory=dict)
    allocations: dict[int, Allocation] = field(default_factory=dict)
    first_of_user: dict[int, str] = field(default_factory=dict)
    """The first function of each thread that no library brings along."""
    released: dict[int, Stack] = field(default_factory=dict)
    """Objects that the first thread freed before there were others, and where."""
    renewals: dict[int, list[Allocation]] = field(default_factory=dict)
    """Objects that were allocated again after they were freed."""
    written: dict[int, tuple[int, Span | None]] = field(default_factory=dict)
    """Bytes that the first thread wrote before there were others, and where."""
    unset_bytes: dict[int, tuple[int, Origin]] = field(default_factory=dict)
    """Of these, what is indeterminate."""
    unset_writes: dict[int, tuple[int, Origin]] = field(default_factory=dict)
    """By position in the trace, the indeterminate bits of what is written."""
    before: World | None = None
    """What an earlier run of the threads has found out."""
    is_early: bool = False
    """Something was read from an object that may be there later."""
    claims: dict[tuple[int, int], Claim] = field(default_factory=dict)
    """By thread that joins or detaches another, and the identifier of that."""

    def __post_init__(self) -> None:
        self.initial = InitialMemory(self.program, self.places)
        self.reuses = reuses_freed_memory(self.program)
        self.may_be_undefined = may_be_undefined(self.program)

    def contains(self, address: int, size: int) -> bool:
        """Whether all these bytes lie in one object."""
        if self.places.contains(address, size):
            return True
        present = (item for item in self.allocations.values() if self.reuses or item.start not in self.released)
        return any(item.contains(address, size) for item in present) or self._is_freed_word(address, size)

    def _is_freed_word(self, address: int, size: int) -> bool:
        """Whether these are the bytes that say if an object may be allocated again."""
        found = self.allocations.get(address - FREED_WORD) if size == FREED_WORD_SIZE else None
        return found is not None and not found.local and self.reuses

    def is_released(self, address: int) -> bool:
        """Whether the address lies in an object that was freed before there were other threads."""
        found = self.allocation_at(address) if self.released else None
        return found is not None and found.start in self.released

    def starts_free(self, address: int) -> bool:
        """Whether it, or the object of which it is the header, was freed then, and may be in use again."""
        found = self.object_of(address)
        return self.reuses and found is not None and found.start in self.released

    def allocation_at(self, address: int) -> Allocation | None:
        return next((item for item in self.allocations.values() if item.contains(address)), None)

    def object_of(self, address: int) -> Allocation | None:
        """The one that the address, or header, belongs to."""
        return self.allocation_at(address) or self.allocations.get(address - header_address(0))

    def read(self, address: int, size: int) -> int:
        """The initial state of what events access."""
        return sum(self._byte(address + i) << 8 * i for i in range(size))

    def _byte(self, address: int) -> int:
        found = self.written.get(address)
        return found[0] if found is not None else self.initial.read(address, 1)

    @property
    def is_settled(self) -> bool:
        """Whether another run of the threads would find out no more about what is indeterminate."""
        if self.before is None:
            return not self.unset_writes and not self.is_early
        return self.unset_writes == self.before.unset_writes

    def unset(self, address: int, size: int) -> tuple[int, Origin]:
        """The indeterminate bits of the initial state."""
        found = self.allocation_at(address) or (self.before and self.before.allocation_at(address))
        if not found and not self.places.contains(address, size):
            self.is_early = self.is_early or (self.before is None and thread_at(address) is None)
            return 0, None
        whole = 0xFF if found and not found.zeroed else 0
        bits, origin = 0, None
        for i in range(size):
            known = (0, None) if address + i in self.written else (whole, address)
            byte, source = self.unset_bytes.get(address + i, known)
            bits |= byte << 8 * i
            origin = source if byte else origin
        return bits, origin

    def unset_write(self, position: int) -> tuple[int, Origin]:
        """Of a write that may not have been run yet."""
        nothing: tuple[int, Origin] = (0, None)
        known = self.before.unset_writes.get(position, nothing) if self.before else nothing
        return self.unset_writes.get(position, known)

    def is_for_others(self, address: int) -> bool:
        """Whether other threads may access it: a global object, or the heap."""
        found = self.allocation_at(address)
        return thread_at(address) is None and (found is None or not (found.local or found.permanent))

    def writer(self, address: int) -> Span | None:
        """Where the first thread wrote this byte before there were others."""
        return self.written.get(address, (0, None))[1]

    def write(self, address: int, size: int, word: Word, span: Span | None) -> None:
        for i in range(size):
            self.written[address + i] = (word.value >> 8 * i & 0xFF, span)
            if word.undefined:
                self.unset_bytes[address + i] = (word.undefined >> 8 * i & 0xFF, word.origin)
            else:
                self.unset_bytes.pop(address + i, None)

    def function_at(self, address: int) -> Function | None:
        place = self.places.locate(address)
        return self.program.function_by_name.get(place.symbol) if place is not None and not place.offset else None

    def functions_among(self, words: Sequence[Word]) -> list[Function]:
        return [found for word in words if (found := self.function_at(word.value)) is not None]
