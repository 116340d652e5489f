"""`Program`: threads of register instructions over a byte-addressed shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from dekker.ir.expressions import Address, Const
from dekker.ir.instructions import Instruction
from dekker.ir.property import Property
from dekker.ir.shapes import Shape
from dekker.records import dataclass
from dekker.source import Source, Span

SECTION_LOCK = "atomic sections"
"""The object that atomic sections of C are critical sections of."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An initial value: `size` bytes at `offset`. Bytes without a cell are 0."""

    offset: int
    size: int
    value: int | Address


@dataclass(frozen=True, slots=True)
class Object:
    """A global object. Threads may access its bytes in pieces of any size; `shape` says what these are called."""

    name: str
    size: int
    cells: tuple[Cell, ...] = ()
    align: int = 8
    shape: Shape | None = None


@dataclass(frozen=True)
class Function:
    """Instructions, with labels that name positions in them (a label may stand at the end).

    `spans[i]` is where `body[i]` came from; instructions themselves have no position, so equal ones can be shared.
    """

    name: str
    parameters: tuple[str, ...]
    body: tuple[Instruction, ...]
    labels: Mapping[str, int] = field(default_factory=dict)
    spans: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)

    def span(self, index: int) -> Span | None:
        return self.spans[index] if index < len(self.spans) else None


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread that exists from the start. Registers not listed in `registers` start at 0."""

    name: str
    function: str
    registers: tuple[tuple[str, Const | Address], ...] = ()


@dataclass(frozen=True)
class Program:
    """`architecture` names the instruction set of the source (`PPC`, `X86`, `ARM`, `AArch64`, `RISCV`, `C`, …)."""

    name: str
    architecture: str
    objects: tuple[Object, ...]
    functions: tuple[Function, ...]
    threads: tuple[Thread, ...]
    property: Property = field(default_factory=Property)
    source: Source | None = field(default=None, compare=False, repr=False)

    @cached_property
    def function_by_name(self) -> dict[str, Function]:
        return {function.name: function for function in self.functions}

    @cached_property
    def object_by_name(self) -> dict[str, Object]:
        return {item.name: item for item in self.objects}


def has_sections(program: Program) -> bool:
    """Atomic ones, of C."""
    return SECTION_LOCK in program.object_by_name
