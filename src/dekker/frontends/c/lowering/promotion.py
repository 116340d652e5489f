"""Which local variables can live in registers.

A variable (an `alloca`) does if its address goes nowhere but into plain accesses at constant distances, copies of
constant size, and marks of its lifetime. It is cut into *pieces* so that every access, copy or fill covers whole
pieces; a piece is a register. The scalars inside its type are pieces from the start, so that a copy to or from memory
moves fields; what lies between them is padding.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import field

from dekker.frontends.c.llvm.syntax import (
    Alloca,
    Block,
    Call,
    Cast,
    DebugValue,
    ElementPointer,
    Global,
    Instruction,
    Load,
    Local,
    Number,
    Operand,
    Store,
)
from dekker.frontends.c.llvm.types import DataLayout, SizeUnknown, Struct, Type
from dekker.records import dataclass

LARGEST_VARIABLE = 256
MOST_PIECES = 32

HARMLESS = ("llvm.lifetime.", "llvm.dbg.", "llvm.invariant.")
COPIES = ("llvm.memcpy.", "llvm.memmove.")
FILLS = ("llvm.memset.",)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of a variable; `padding` belongs to no scalar of its type."""

    offset: int
    size: int
    register: str
    padding: bool = False


@dataclass(slots=True)
class Promotion:
    """`pieces` of each variable, in order; `places` maps a pointer to the variable and the distance from its start."""

    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)

    def find(self, operand: Operand) -> tuple[str, int] | None:
        value = operand.value
        if not isinstance(value, Local):
            return None
        found = self.places.get(value.name)
        return found if found is not None and found[0] in self.pieces else None

    def covered(self, variable: str, offset: int, size: int) -> list[Piece]:
        """The pieces inside a range. Where the variable has no piece it has padding that nothing sets or reads."""
        return [piece for piece in self.pieces[variable] if offset <= piece.offset < offset + size]


@dataclass(slots=True)
class Transit:
    """Variables that only pass a value on: written once and read once, later in the same block. `read_by` maps the
    position of the store in the text to the load, whose position is in `reads`."""

    read_by: dict[int, Load] = field(default_factory=dict)
    reads: set[int] = field(default_factory=set)


def find_transit(blocks: list[Block], promotion: Promotion, names: dict[str, str]) -> Transit:
    """Clang puts operands and results of atomic accesses through such variables. Those that have a name in the source
    stay, for the sake of whoever looks at them."""
    writes: dict[str, list[Store]] = {}
    reads: dict[str, list[Load]] = {}
    home: dict[int, str] = {}
    excluded = {variable for variable in promotion.pieces if names.get(variable, variable).isidentifier()}
    for block in blocks:
        for instruction in block.instructions:
            if isinstance(instruction, Load | Store):
                home[instruction.offset] = block.name
                place = promotion.find(instruction.address)
                if place is not None and isinstance(instruction, Store):
                    writes.setdefault(place[0], []).append(instruction)
                elif place is not None and isinstance(instruction, Load):
                    reads.setdefault(place[0], []).append(instruction)
            elif isinstance(instruction, Call) and not _is_harmless(instruction):
                places = (promotion.find(argument.operand) for argument in instruction.arguments)
                excluded.update(place[0] for place in places if place is not None)
    found = Transit()
    for variable, stores in writes.items():
        loads = reads.get(variable, [])
        if variable in excluded or len(stores) != 1 or len(loads) != 1:
            continue
        store, load = stores[0], loads[0]
        same = home[store.offset] == home[load.offset] and store.value.type == load.type
        if same and store.offset < load.offset and promotion.find(store.address) == promotion.find(load.address):
            found.read_by[store.offset] = load
            found.reads.add(load.offset)
    return found


def _is_harmless(call: Call) -> bool:
    return isinstance(call.callee.value, Global) and call.callee.value.name.startswith(HARMLESS)


def constant_offset(layout: DataLayout, instruction: ElementPointer) -> int | None:
    """The distance that a `getelementptr` adds, if it is a constant."""
    total = 0
    kind: Type = instruction.type
    for position, index in enumerate(instruction.indices):
        if isinstance(index.value, Number):
            number = signed_number(index)
        elif hasattr(index.value, "undefined"):
            number = 0
        else:
            return None
        if position == 0:
            total += number * layout.size(kind)
            continue
        kind = layout.resolve(kind)
        if isinstance(kind, Struct):
            total += layout.offsets(kind)[number]
            kind = kind.fields[number]
        else:
            kind = kind.element  # type: ignore[union-attr]
            total += number * layout.size(kind)
    return total


def signed_number(operand: Operand) -> int:
    bits: int = getattr(operand.type, "bits", 64)
    value: int = getattr(operand.value, "value", 0)
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def promote(blocks: list[Block], layout: DataLayout, names: dict[str, str]) -> Promotion:
    """`names` are those that the registers get, by variable."""
    analysis = _Analysis(layout)
    for block in blocks:
        for instruction in block.instructions:
            analysis.look_at(instruction)
    analysis.join_copies()
    promotion = Promotion()
    for variable, kind in analysis.variables.items():
        if variable not in analysis.escaped:
            pieces = analysis.cut(variable, kind, names.get(variable, variable))
            if pieces is not None:
                promotion.pieces[variable] = pieces
    promotion.places = analysis.places
    return promotion


@dataclass(slots=True)
class _Analysis:
    layout: DataLayout
    variables: dict[str, Type] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    escaped: set[str] = field(default_factory=set)
    ranges: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    copies: list[tuple[tuple[str, int], tuple[str, int], int]] = field(default_factory=list)

    def look_at(self, instruction: Instruction) -> None:
        match instruction:
            case Alloca():
                self._declare(instruction)
            case ElementPointer():
                self._derive(instruction)
                self._escape(instruction.indices)
            case Cast(op="bitcast" | "addrspacecast"):
                place = self._place(instruction.operand)
                if place is not None and instruction.result is not None:
                    self.places[instruction.result] = place
            case Load():
                self._access(instruction.address, instruction.type, instruction.volatile or bool(instruction.order))
            case Store():
                self._escape((instruction.value,))
                kind = instruction.value.type
                self._access(instruction.address, kind, instruction.volatile or bool(instruction.order))
            case Call():
                self._call(instruction)
            case DebugValue():
                pass
            case _:
                self._escape(instruction.operands())

    def _declare(self, instruction: Alloca) -> None:
        name = instruction.result
        self._escape(instruction.operands())
        if name is None or (instruction.count is not None and getattr(instruction.count.value, "value", 0) != 1):
            return
        try:
            size = self.layout.size(instruction.type)
        except SizeUnknown:
            return
        if size <= LARGEST_VARIABLE:
            self.variables[name] = instruction.type
            self.places[name] = (name, 0)
            self.ranges[name] = set()

    def _place(self, operand: Operand) -> tuple[str, int] | None:
        return self.places.get(operand.value.name) if isinstance(operand.value, Local) else None

    def _escape(self, operands: Iterable[Operand]) -> None:
        for operand in operands:
            place = self._place(operand)
            if place is not None:
                self.escaped.add(place[0])

    def _derive(self, instruction: ElementPointer) -> None:
        place = self._place(instruction.base)
        if place is None or instruction.result is None:
            return
        distance = constant_offset(self.layout, instruction)
        if distance is None:
            self.escaped.add(place[0])
        else:
            self.places[instruction.result] = (place[0], place[1] + distance)

    def _access(self, address: Operand, kind: Type, special: bool) -> None:
        place = self._place(address)
        if place is None:
            return
        if special:
            self.escaped.add(place[0])
            return
        for leaf in self.layout.leaves(kind):
            self._cover(place[0], place[1] + leaf.offset, self.layout.store_size(leaf.type))

    def _cover(self, variable: str, offset: int, size: int) -> None:
        if offset < 0 or offset + size > self.layout.size(self.variables[variable]):
            self.escaped.add(variable)
        else:
            self.ranges[variable].add((offset, size))

    def _call(self, call: Call) -> None:
        name = call.callee.value.name if isinstance(call.callee.value, Global) else ""
        operands = [argument.operand for argument in call.arguments]
        if name.startswith(HARMLESS):
            return
        if name.startswith((*COPIES, *FILLS)) and isinstance(operands[2].value, Number):
            self._copy(operands, name.startswith(COPIES))
            return
        self._escape((call.callee, *operands))

    def _copy(self, operands: list[Operand], copy: bool) -> None:
        size: int = getattr(operands[2].value, "value", 0)
        places = [self._place(operand) for operand in operands[: 2 if copy else 1]]
        volatile = getattr(operands[3].value, "value", 0) != 0
        for place in places:
            if place is not None and volatile:
                self.escaped.add(place[0])
            elif place is not None:
                self._cover(*place, size)
        if copy and places[0] is not None and places[1] is not None:
            self.copies.append((places[0], places[1], size))

    def join_copies(self) -> None:
        """Two variables of which one is copied into the other are cut at the same places."""
        for variable, kind in self.variables.items():
            leaves = self.layout.leaves(kind)
            if len(leaves) > MOST_PIECES:
                self.escaped.add(variable)
            else:
                self.ranges[variable] |= {(leaf.offset, self.layout.store_size(leaf.type)) for leaf in leaves}
        changed = True
        while changed:
            changed = False
            for (first, a), (second, b), size in self.copies:
                shared = self._within(first, a, size) | self._within(second, b, size)
                for variable, start in ((first, a), (second, b)):
                    moved = {(start + offset, length) for offset, length in shared}
                    changed = changed or not moved <= self.ranges[variable]
                    self.ranges[variable] |= moved

    def _within(self, variable: str, start: int, size: int) -> set[tuple[int, int]]:
        return {
            (max(offset, start) - start, min(offset + length, start + size) - max(offset, start))
            for offset, length in self.ranges[variable]
            if offset < start + size and start < offset + length
        }

    def cut(self, variable: str, kind: Type, name: str) -> list[Piece] | None:
        borders = sorted({border for offset, size in self.ranges[variable] for border in (offset, offset + size)})
        covered: set[int] = set()
        for offset, size in self.ranges[variable]:
            covered.update(range(bisect_left(borders, offset), bisect_left(borders, offset + size)))
        spans: list[tuple[int, int]] = []
        for index in sorted(covered):
            start, end = borders[index], borders[index + 1]
            spans += [(at, min(8, end - at)) for at in range(start, end, 8)]
        single = len(spans) == 1
        fields = self.layout.field_bytes(kind)
        pieces = [
            Piece(start, size, name if single else f"{name}%{start}", not fields >> start & 1) for start, size in spans
        ]
        return pieces if sum(not piece.padding for piece in pieces) <= MOST_PIECES else None
