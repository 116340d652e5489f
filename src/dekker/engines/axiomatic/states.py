"""Final states and what conditions say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dekker.ir.arithmetic import mask
from dekker.ir.conditions import Values
from dekker.ir.layout import Layout
from dekker.ir.memory import InitialMemory
from dekker.ir.property import Observable, Property, RegisterValue, observables


def final_state(
    prop: Property,
    registers: Sequence[Mapping[str, int]],
    memory: Mapping[tuple[int, int], int],
    layout: Layout,
    initial: InitialMemory,
) -> Values:
    """The final value of everything that the property mentions."""
    wanted: dict[Observable, None] = dict.fromkeys(prop.observed)
    if prop.condition is not None:
        wanted.update(dict.fromkeys(observables(prop.condition.formula)))
    if prop.filter is not None:
        wanted.update(dict.fromkeys(observables(prop.filter)))
    return {observable: _value(observable, registers, memory, layout, initial) for observable in wanted}


def _value(
    observable: Observable,
    registers: Sequence[Mapping[str, int]],
    memory: Mapping[tuple[int, int], int],
    layout: Layout,
    initial: InitialMemory,
) -> int:
    if isinstance(observable, RegisterValue):
        return registers[observable.thread].get(observable.register, 0) & mask(observable.width)
    start = layout.starts[observable.symbol] + observable.offset
    if (start, observable.size) in memory:
        return memory[start, observable.size]
    return _assemble(start, observable.size, memory, initial)


def _assemble(start: int, size: int, memory: Mapping[tuple[int, int], int], initial: InitialMemory) -> int:
    """A value that was written in pieces, or as part of something larger, or not at all."""
    content = {start + i: initial.read(start + i, 1) for i in range(size)}
    for (address, written_size), value in memory.items():
        for i in range(written_size):
            if address + i in content:
                content[address + i] = value >> 8 * i & 0xFF
    return sum(content[start + i] << 8 * i for i in range(size))
