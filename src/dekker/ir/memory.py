"""The memory before the first step."""

from __future__ import annotations

from collections.abc import KeysView

from dekker.ir.expressions import Address
from dekker.ir.layout import Layout
from dekker.ir.program import Program
from dekker.ir.undefined import undefined_bits


class InitialMemory:
    """Little-endian bytes; what no cell names is 0."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self._bytes: dict[int, int] = {}
        self._undefined: dict[int, int] = {}
        for item in program.objects:
            start = layout.starts[item.name]
            for cell in item.cells:
                value = layout.resolve(cell.value) if isinstance(cell.value, Address) else cell.value
                for i in range(cell.size):
                    self._bytes[start + cell.offset + i] = value >> 8 * i & 0xFF

    def written(self, address: int, size: int, value: int) -> InitialMemory:
        """The same with these bytes changed."""
        changed = InitialMemory.__new__(InitialMemory)
        changed._bytes = self._bytes | {address + i: int(value) >> 8 * i & 0xFF for i in range(size)}
        bits = undefined_bits(value)
        changed._undefined = self._undefined
        if bits or not self._undefined.keys().isdisjoint(range(address, address + size)):
            changed._undefined = self._undefined | {address + i: bits >> 8 * i & 0xFF for i in range(size)}
        return changed

    def undefined(self, address: int, size: int, unset: int) -> int:
        """Indeterminate bits; `unset` are those of a byte that was never written."""
        found = 0
        for i in range(size):
            known = self._undefined.get(address + i, 0) if address + i in self._bytes else unset
            found |= known << 8 * i
        return found

    def known_bytes(self) -> KeysView[int]:
        """Where a cell says what there is."""
        return self._bytes.keys()

    def read(self, address: int, size: int) -> int:
        return sum(self._bytes.get(address + i, 0) << 8 * i for i in range(size))
