"""Values of constants, and the initial bytes of global variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from dekker.frontends.c.llvm.syntax import (
    Aggregate,
    Bytes,
    ConstantExpression,
    Global,
    Number,
    Operand,
    Zero,
)
from dekker.frontends.c.llvm.types import Array, DataLayout, Integer, Struct, Type, Vector
from dekker.frontends.c.lowering import wide
from dekker.frontends.c.lowering.arithmetic import Parts, lower_binary, lower_cast, lower_compare
from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, offset, scaled, select, unary
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.expressions import ZERO, Address, Const, Expr
from dekker.ir.program import Cell

GlobalAddress = Callable[[str], Expr]


def constant_parts(operand: Operand, layout: DataLayout, address: GlobalAddress) -> Parts:
    value = operand.value
    handler = _CONSTANTS.get(type(value))
    if handler is None:
        raise Problem("this constant is not supported")
    return handler(value, operand.type, layout, address)


def _number(value: Number, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    if isinstance(kind, Integer) and kind.bits > 64:
        return wide.constant(value.value)
    return (Const(value.value),)


def _zero(value: Zero, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    return (ZERO,) * len(layout.leaves(kind))


def _bytes(value: Bytes, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    return tuple(map(Const, value.data))


def _aggregate(value: Aggregate, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    return tuple(part for element in value.elements for part in constant_parts(element, layout, address))


def _global(value: Global, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    return (address(value.name),)


def _expression(value: ConstantExpression, kind: Type, layout: DataLayout, address: GlobalAddress) -> Parts:
    parts = [constant_parts(operand, layout, address) for operand in value.operands]
    kinds = [operand.type for operand in value.operands]
    emitter = Emitter()
    op, _, predicate = value.op.partition(" ")
    if op == "getelementptr":
        indices = list(zip(kinds[1:], (part[0] for part in parts[1:]), strict=True))
        result: Parts = (element_address(layout, value.types[0], parts[0][0], indices),)
    elif op in ("icmp", "fcmp"):
        result = lower_compare(emitter, op, predicate, kinds[0], parts[0], parts[1])
    elif op == "select":
        result = tuple(select(parts[0][0], a, b) for a, b in zip(parts[1], parts[2], strict=True))
    elif len(parts) == 1:
        result = lower_cast(emitter, op, layout.resolve(kinds[0]), layout.resolve(value.types[0]), parts[0])
    else:
        result = lower_binary(emitter, op, kinds[0], parts[0], parts[1])
    if emitter.body:
        raise Problem(f"the constant expression `{op}` is not supported here")
    return result


_CONSTANTS: dict[type, Callable[[Any, Type, DataLayout, GlobalAddress], Parts]] = {
    Number: _number,
    Zero: _zero,
    Bytes: _bytes,
    Aggregate: _aggregate,
    Global: _global,
    ConstantExpression: _expression,
}


def element_address(layout: DataLayout, kind: Type, base: Expr, indices: list[tuple[Type, Expr]]) -> Expr:
    """`getelementptr`: the first index counts whole objects, the others go into them."""
    distance = 0
    address = base
    for position, (index_kind, index) in enumerate(indices):
        if position:
            kind = layout.resolve(kind)
            if isinstance(kind, Struct):
                number = index.value if isinstance(index, Const) else 0
                distance += layout.offsets(kind)[number]
                kind = kind.fields[number]
                continue
            if not isinstance(kind, Array | Vector):
                raise Problem("this index goes into something that is no struct or array")
            kind = kind.element
        bits = index_kind.bits if isinstance(index_kind, Integer) else 64
        extended = unary("sext", bits, index) if bits < 64 else index
        if isinstance(extended, Const):
            signed = extended.value - (1 << 64) if extended.value >> 63 else extended.value
            distance += signed * layout.size(kind)
        else:
            address = binary("add", 64, address, scaled(extended, layout.size(kind)))
    return offset(address, distance)


def initial_cells(operand: Operand, layout: DataLayout, address: GlobalAddress, start: int = 0) -> Iterator[Cell]:
    """What the bytes of a variable are at the start, zeros left out."""
    value = operand.value
    if isinstance(value, Zero):
        return
    if isinstance(value, Aggregate):
        for element, at in zip(value.elements, _element_offsets(layout, operand.type), strict=False):
            yield from initial_cells(element, layout, address, start + at)
        return
    parts = constant_parts(operand, layout, address)
    for (at, kind), part in zip(layout.leaves(operand.type), parts, strict=True):
        size = layout.store_size(kind)
        if isinstance(part, Address):
            yield Cell(start + at, size, part)
        elif not isinstance(part, Const):
            raise Problem("this initial value is no constant address")
        elif part.value:
            yield from _number_cells(start + at, size, part.value)


def _element_offsets(layout: DataLayout, kind: Type) -> Iterable[int]:
    resolved = layout.resolve(kind)
    if isinstance(resolved, Struct):
        return layout.offsets(resolved)
    if not isinstance(resolved, Array | Vector):
        raise Problem("this initial value has elements, but its type has none")
    return count(0, layout.size(resolved.element))


def _number_cells(start: int, size: int, value: int) -> Iterator[Cell]:
    """Cells have 1, 2, 4 or 8 bytes; numbers of other sizes (of bit fields) take several."""
    for width in (8, 4, 2, 1):
        while size >= width:
            part = value & (1 << 8 * width) - 1
            if part:
                yield Cell(start, width, part)
            value >>= 8 * width
            start, size = start + width, size - width
