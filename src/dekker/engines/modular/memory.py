"""The shared memory as cells: which addresses a program accesses, and in which size, is found out while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dekker.engines.modular.code import Read, Registers, Update, Write
from dekker.errors import AccessPlace, MixedSizes
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Program
from dekker.ir.shapes import part_name
from dekker.records import dataclass
from dekker.source import Span

Cell = int


class NewCells(Exception):
    """A part of memory is accessed that had no cells yet: states found so far do not have it."""


@dataclass
class Memory:
    """`places` has address and size of every cell. `first_index` is that of System."""

    program: Program
    first_index: Mapping[str, int] = field(default_factory=dict)
    layout: Layout = field(init=False)
    places: list[tuple[int, int]] = field(default_factory=list)
    numbers: dict[tuple[int, int], Cell] = field(default_factory=dict)
    first_access: dict[int, Span | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layout = layout(self.program)

    def cell(self, address: int, size: int, span: Span | None) -> Cell | None:
        """None if the bytes lie in no object."""
        number = self.numbers.get((address, size))
        if number is not None:
            return number
        if not self.layout.contains(address, size):
            return None
        self._add(address, size, span)
        raise NewCells

    def at(self, step: Read | Write | Update, registers: Registers) -> Cell:
        """The cell of an access that was captured, so that it exists."""
        return self.numbers[step.address(registers), step.size]

    def initial(self) -> tuple[int, ...]:
        memory = InitialMemory(self.program, self.layout)
        return tuple(memory.read(*place) for place in self.places)

    def name(self, cell: Cell) -> str:
        found = self.layout.locate(self.places[cell][0])
        assert found is not None
        if found.symbol in self.first_index:
            return f"{found.symbol}[{self.first_index[found.symbol] + found.offset // self.places[cell][1]}]"
        return found.symbol + part_name(self.program.object_by_name[found.symbol].shape, found.offset)

    def show(self, cell: Cell, value: int) -> str:
        return self.layout.show(value, 8 * self.places[cell][1])

    def _add(self, address: int, size: int, span: Span | None) -> None:
        """All elements of the object that do not overlap with cells of another size."""
        for other, other_size in self.places:
            if address < other + other_size and other < address + size:
                here = AccessPlace("", 0, address, size, span)
                raise MixedSizes(here, AccessPlace("", 0, other, other_size, self.first_access.get(other)))
        found = self.layout.locate(address)
        assert found is not None
        start = address - found.offset
        end = start + self.layout.sizes[found.symbol]
        for place in range(start + found.offset % size, end - size + 1, size):
            if all(place + size <= other or other + other_size <= place for other, other_size in self.places):
                self.numbers[place, size] = len(self.places)
                self.places.append((place, size))
                self.first_access[place] = span
