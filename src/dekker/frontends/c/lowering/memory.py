"""Accesses to memory, local variables, copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Local, Number, Operand
from dekker.frontends.c.llvm.types import BYTE, Array, Float, Integer, Leaf, SizeUnknown, Type, type_text
from dekker.frontends.c.llvm.types import Struct as StructType
from dekker.frontends.c.lowering.arithmetic import lower_binary
from dekker.frontends.c.lowering.byte_loops import copy_loop, fill_loop, repeated
from dekker.frontends.c.lowering.constants import element_address
from dekker.frontends.c.lowering.emitter import Struct
from dekker.frontends.c.lowering.expressions import binary, offset, truncate
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.lowering.promotion import Piece
from dekker.ir.expressions import ZERO, Address, Binary, Const, Expr, Reg, Unary, Unset
from dekker.ir.instructions import Allocate, Assign, Branch, CompareExchange, EndScope, Fence, Load, Order, Rmw, Store
from dekker.records import dataclass

ORDERS = {
    "": Order.PLAIN,
    "unordered": Order.RELAXED,
    "monotonic": Order.RELAXED,
    "acquire": Order.ACQUIRE,
    "release": Order.RELEASE,
    "acq_rel": Order.ACQ_REL,
    "seq_cst": Order.SEQ_CST,
}
UPDATES = frozenset("xchg add sub and nand or xor max min umax umin".split())
FLOAT_UPDATES = frozenset(("fadd", "fsub"))
FENCES = {
    "acquire": "c11.acquire",
    "release": "c11.release",
    "acq_rel": "c11.acq_rel",
    "seq_cst": "c11.seq_cst",
}
_DESTRUCTOR = re.compile(r"D[012]Ev$")
MOST_COPIES = 64
"""Longer copies become loops."""


# --- local variables


def lower_alloca(f: FunctionLowering, instruction: syntax.Alloca) -> None:
    name = instruction.result
    if name is not None and name not in f.scoped:
        begin_scope(f, name)


def begin_scope(f: FunctionLowering, variable: str) -> None:
    """What the variable holds is indeterminate from here."""
    declared = f.definitions.get(variable)
    for piece in f.promotion.pieces.get(variable, ()):
        if Reg(piece.register) not in f.parameters:
            f.assign_variable(piece.register, Unary("zext", 8 * piece.size, Unset()))
    if isinstance(declared, syntax.Alloca) and variable not in f.promotion.pieces:
        _declare(f, declared)


def end_scope(f: FunctionLowering, variable: str) -> None:
    declared = f.definitions.get(variable)
    if isinstance(declared, syntax.Alloca) and variable in f.scoped and variable not in f.promotion.pieces:
        register = f.result_register(declared)
        f.settle(register)
        f.emitter.emit(EndScope(register, Reg(register)))


def _declare(f: FunctionLowering, instruction: syntax.Alloca) -> None:
    size = f.layout.size(instruction.type)
    total: Expr = Const(size)
    if instruction.count is not None:
        total = binary("mul", 64, f.scalar(instruction.count), Const(size))
    align = max(instruction.align, f.layout.align(instruction.type))
    f.emitter.emit(Allocate(f.result_register(instruction), total, align, stack=True))


def read_pieces(f: FunctionLowering, variable: str, start: int, size: int) -> Expr:
    """So many bytes of a variable that lives in registers, at most 8."""
    total: Expr | None = None
    for piece in f.promotion.covered(variable, start, size):
        part = binary("shl", 64, Reg(piece.register), Const(8 * (piece.offset - start)))
        total = part if total is None else Binary("or", 64, total, part)
    return ZERO if total is None else total


def write_pieces(
    f: FunctionLowering, variable: str, start: int, size: int, value: Expr, *, fresh: bool = False
) -> None:
    pieces = f.promotion.covered(variable, start, size)
    if len(pieces) > 1:
        value = f.emitter.keep(value)
    for piece in pieces:
        shifted = binary("lshr", 64, value, Const(8 * (piece.offset - start)))
        whole = piece.size == size
        f.assign_variable(piece.register, shifted if whole else truncate(8 * piece.size, shifted), fresh=fresh)


# --- loads and stores


def lower_load(f: FunctionLowering, instruction: syntax.Load) -> None:
    if instruction.offset in f.transit.reads:
        return
    kind = instruction.type
    place = f.promotion.find(instruction.address)
    leaves = f.layout.leaves(kind)
    if place is not None:
        variable, start = place
        sizes = [f.layout.store_size(leaf.type) for leaf in leaves]
        reads = [read_pieces(f, variable, start + leaf.offset, size) for leaf, size in zip(leaves, sizes, strict=True)]
        f.define(instruction.result, tuple(reads))
        return
    _refuse_wide_atomics(instruction.order, leaves)
    address = f.scalar(instruction.address)
    if len(leaves) > 1:
        address = f.emitter.keep(address)
    order = _order(f, instruction)
    if instruction.result is None:
        return
    for leaf, register in zip(leaves, f.part_names(instruction.result, kind), strict=True):
        value = load_scalar(f, offset(address, leaf.offset), leaf.type, order, register)
        if value != Reg(register):
            f.emitter.emit(Assign(register, value))


def _order(f: FunctionLowering, access: syntax.Load | syntax.Store) -> Order:
    if access.volatile and not access.order and f.unit.dialect.volatile_relaxed:
        return Order.RELAXED
    return ORDERS[access.order]


def _refuse_wide_atomics(order: str, leaves: tuple[Leaf, ...]) -> None:
    if order and len(leaves) > 1:
        raise Problem("atomic accesses of more than 8 bytes are not supported")


def load_scalar(f: FunctionLowering, address: Expr, kind: Type, order: Order, register: str) -> Expr:
    """Loads a scalar, in several pieces if it has an odd number of bytes, and says where the value is."""
    size = f.layout.store_size(kind)
    bits = kind.bits if isinstance(kind, Integer) else 8 * size
    if size in (1, 2, 4, 8):
        f.emitter.emit(Load(register, address, size, order))
        return Reg(register) if bits == 8 * size else truncate(bits, Reg(register))
    if isinstance(kind, Float):
        raise Problem(f"values of type `{type_text(kind)}` are not supported", "use `double`")
    address = f.emitter.keep(address)
    total: Expr = ZERO
    for start, width in _powers(size):
        part = f.emitter.temporary()
        f.emitter.emit(Load(part, offset(address, start), width, order))
        total = binary("or", 64, binary("shl", 64, Reg(part), Const(8 * start)), total)
    return truncate(bits, total)


def _powers(size: int) -> list[tuple[int, int]]:
    """A number of bytes as pieces of 8, 4, 2 and 1."""
    found: list[tuple[int, int]] = []
    start = 0
    for width in (8, 4, 2, 1):
        while size - start >= width:
            found.append((start, width))
            start += width
    return found


def store_scalar(f: FunctionLowering, address: Expr, value: Expr, kind: Type, order: Order) -> None:
    size = f.layout.store_size(kind)
    if size in (1, 2, 4, 8):
        f.emitter.emit(Store(address, value, size, order))
        return
    if isinstance(kind, Float):
        raise Problem(f"values of type `{type_text(kind)}` are not supported", "use `double`")
    address, value = f.emitter.keep(address), f.emitter.keep(value)
    for start, width in _powers(size):
        f.emitter.emit(Store(offset(address, start), binary("lshr", 64, value, Const(8 * start)), width, order))


def lower_store(f: FunctionLowering, instruction: syntax.Store) -> None:
    value = instruction.value
    parts = f.parts(value)
    reader = f.transit.read_by.get(instruction.offset)
    if reader is not None:
        f.define(reader.result, parts)
        return
    leaves = f.layout.leaves(value.type)
    place = f.promotion.find(instruction.address)
    if place is not None:
        f.remaining[_local_name(instruction.address)] -= 1
        if len(leaves) > 1:
            parts = tuple(map(f.emitter.keep, parts))
        for leaf, part in zip(leaves, parts, strict=True):
            write_pieces(f, place[0], place[1] + leaf.offset, f.layout.store_size(leaf.type), part)
        return
    _refuse_wide_atomics(instruction.order, leaves)
    address = f.scalar(instruction.address)
    if _is_type_mark(f, parts[0]):
        _store_if_new(f, f.emitter.keep(address), parts[0])
        return
    if len(leaves) > 1:
        address = f.emitter.keep(address)
    for leaf, part in zip(leaves, parts, strict=True):
        store_scalar(f, offset(address, leaf.offset), part, leaf.type, _order(f, instruction))


def _is_type_mark(f: FunctionLowering, value: Expr) -> bool:
    """What a destructor of C++ stores first: the object is now of its class."""
    return isinstance(value, Address) and value.symbol.startswith("_ZTV") and bool(_DESTRUCTOR.search(f.header.name))


def _store_if_new(f: FunctionLowering, address: Expr, value: Expr) -> None:
    """An object that is of its class already does not change, and other threads may still call its functions. The test
    is none of the program's, and orders nothing."""
    old, behind = f.emitter.temporary(), f.emitter.new_label()
    f.emitter.emit(Load(old, address, 8))
    f.emitter.emit(Branch(binary("eq", 64, Reg(old), value), behind, loose=True))
    f.emitter.emit(Store(address, value, 8))
    f.emitter.place(behind)


def _local_name(operand: Operand) -> str:
    return operand.value.name if isinstance(operand.value, Local) else ""


def lower_element_pointer(f: FunctionLowering, instruction: syntax.ElementPointer) -> None:
    if instruction.result in f.promotion.places and f.promotion.places[instruction.result][0] in f.promotion.pieces:
        return
    base = f.scalar(instruction.base)
    indices = [(index.type, f.scalar(index)) for index in instruction.indices]
    f.define(instruction.result, (element_address(f.layout, instruction.type, base, indices),))


# --- atomics


def _atomic_size(f: FunctionLowering, kind: Type) -> int:
    size = f.layout.store_size(kind)
    if size not in (1, 2, 4, 8):
        raise Problem(f"atomic accesses of {size} bytes are not supported")
    return size


def _refuse_single_thread(instruction: syntax.CompareExchange | syntax.AtomicUpdate) -> None:
    if instruction.single_thread:
        raise Problem("atomic updates whose scope is a single thread are not supported")


def lower_compare_exchange(f: FunctionLowering, instruction: syntax.CompareExchange) -> None:
    _refuse_single_thread(instruction)
    kind = instruction.expected.type
    size = _atomic_size(f, kind)
    address, expected, desired = (f.scalar(operand) for operand in instruction.operands())
    old = f.result_register(instruction)
    registers = (f"{old}%0", f"{old}%1")
    orders = ORDERS[instruction.order], ORDERS[instruction.failure_order]
    f.emitter.emit(CompareExchange(*registers, address, expected, desired, size, *orders, instruction.weak))
    if instruction.result is not None:
        f.values[instruction.result] = (Reg(registers[0]), Reg(registers[1]))


def lower_atomic_update(f: FunctionLowering, instruction: syntax.AtomicUpdate) -> None:
    _refuse_single_thread(instruction)
    if instruction.op in FLOAT_UPDATES:
        _lower_float_update(f, instruction)
        return
    if instruction.op not in UPDATES:
        raise Problem(f"the atomic operation `{instruction.op}` is not supported", "write it with compare-exchange")
    size = _atomic_size(f, instruction.operand.type)
    address, operand = f.scalar(instruction.address), f.scalar(instruction.operand)
    used = instruction.result is not None and f.remaining[instruction.result] > 0
    register = f.result_register(instruction) if used else None
    f.emitter.emit(Rmw(register, instruction.op, address, operand, size, ORDERS[instruction.order]))


def _lower_float_update(f: FunctionLowering, instruction: syntax.AtomicUpdate) -> None:
    """No processor has an instruction for it: compilers make it a loop of compare-exchange. This one reads anew in each
    round, so that it is one that only waits."""
    kind = instruction.operand.type
    size = _atomic_size(f, kind)
    e = f.emitter
    address, operand = e.keep(f.scalar(instruction.address)), e.keep(f.scalar(instruction.operand))
    old, won, again = f.result_register(instruction), e.temporary(), e.new_label()
    e.place(again)
    e.emit(Load(old, address, size, Order.RELAXED))
    (new,) = lower_binary(e, instruction.op, kind, (Reg(old),), (operand,))
    e.emit(CompareExchange(e.temporary(), won, address, Reg(old), new, size, ORDERS[instruction.order], Order.RELAXED))
    e.branch_unless(Reg(won), again)


def lower_fence(f: FunctionLowering, instruction: syntax.Fence) -> None:
    kind = "compiler" if instruction.single_thread else FENCES.get(instruction.order)
    if kind is None:
        raise Problem(f"a fence cannot have the order `{instruction.order}`")
    f.emitter.emit(Fence(kind))


# --- copies


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a copy: a variable in registers, or an address."""

    operand: Operand
    variable: str | None
    start: int
    address: Expr


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of the bytes: their alignment, and, of a struct that is assigned or passed, its type, or offset and
    size of its fields."""

    align: int = 1
    type: Type | None = None
    fields: tuple[tuple[int, int], ...] = ()


def side_of(f: FunctionLowering, operand: Operand) -> Side:
    place = f.promotion.find(operand)
    if place is not None:
        f.remaining[_local_name(operand)] -= 1
        return Side(operand, *place, ZERO)
    return Side(operand, None, 0, f.emitter.keep(f.scalar(operand)))


class Chunk(NamedTuple):
    """Bytes that are moved together."""

    start: int
    width: int
    padding: bool = False


def copy_bytes(f: FunctionLowering, target: Side, source: Side, size: int, shape: Shape) -> None:
    """A copy of constant size. In memory all bytes are read before the first is written, so that overlap does no
    harm."""
    chunks = _chunks(f, (target, source), size, shape)
    if chunks is None:
        copy_loop(f, target.address, source.address, Const(size), _unit(f, (target, source), size, shape.align))
    elif target.variable is not None and target.variable != source.variable:
        for chunk in _marked(f, chunks, size, shape):
            value = _read(f, source, chunk)
            fresh = source.variable is None
            write_pieces(f, target.variable, target.start + chunk.start, chunk.width, value, fresh=fresh)
    else:
        values = [f.emitter.keep(_read(f, source, chunk)) for chunk in _marked(f, chunks, size, shape)]
        if target.variable is not None:
            values = [f.emitter.copy(value) for value in values]
        for chunk, value in zip(_marked(f, chunks, size, shape), values, strict=True):
            _write(f, target, chunk, value)


def _marked(f: FunctionLowering, chunks: list[Chunk], size: int, shape: Shape) -> Iterator[Chunk]:
    """While one of them is moved, accesses to padding are marked, and those of an assignment as parts of its struct."""
    fields = _bits((start, width) for start, width, padding in chunks if not padding)
    has_padding = any(chunk.padding for chunk in chunks)
    struct = Struct(size, fields) if has_padding and fields == _assigned_fields(f, shape) else None
    for chunk in chunks:
        f.emitter.struct, f.emitter.padding = struct, chunk.padding
        yield chunk
    f.emitter.struct, f.emitter.padding = None, False


def _assigned_fields(f: FunctionLowering, shape: Shape) -> int | None:
    """None if bytes are moved, be there a struct or not."""
    if shape.type is not None:
        return f.layout.field_bytes(shape.type)
    return _bits(shape.fields) if shape.fields else None


def _bits(parts: Iterable[tuple[int, int]]) -> int:
    found = 0
    for start, width in parts:
        found |= (1 << width) - 1 << start
    return found


def _write(f: FunctionLowering, target: Side, chunk: Chunk, value: Expr) -> None:
    start, width, _ = chunk
    if target.variable is not None:
        write_pieces(f, target.variable, target.start + start, width, value)
        return
    parts = _accesses(chunk)
    if len(parts) > 1:
        value = f.emitter.keep(value)
    for at, size in parts:
        part = value if size == width else truncate(8 * size, binary("lshr", 64, value, Const(8 * at)))
        f.emitter.emit(Store(offset(target.address, start + at), part, size, copy=True))


def _accesses(chunk: Chunk) -> list[tuple[int, int]]:
    return _aligned(chunk.width, 8, chunk.start) if chunk.padding else _powers(chunk.width)


def _read(f: FunctionLowering, source: Side, chunk: Chunk) -> Expr:
    start, width, padding = chunk
    if source.variable is not None:
        return read_pieces(f, source.variable, source.start + start, width)
    parts = _accesses(chunk)
    if len(parts) > 1:
        total: Expr = ZERO
        for at, size in parts:
            part = binary("shl", 64, _read(f, source, Chunk(start + at, size, padding)), Const(8 * at))
            total = part if at == 0 else binary("or", 64, total, part)
        return total
    address = offset(source.address, start)
    if isinstance(address, Address):
        known = f.unit.constant_at(address, width)
        if known is not None:
            return known
    register = f.emitter.temporary()
    f.emitter.emit(Load(register, address, width))
    return Reg(register)


def fill_bytes(f: FunctionLowering, target: Side, value: Expr, size: int, align: int) -> None:
    shape = Shape(align)
    chunks = _chunks(f, (target,), size, shape)
    if chunks is None:
        fill_loop(f, target.address, value, Const(size), _unit(f, (target,), size, align))
        return
    value = f.emitter.keep(value)
    for chunk in _marked(f, chunks, size, shape):
        _write(f, target, chunk, repeated(value, chunk.width))


def _chunks(f: FunctionLowering, sides: tuple[Side, ...], size: int, shape: Shape) -> list[Chunk] | None:
    """Which bytes are moved together: the pieces of a variable in registers, else the scalars of the type and the
    padding between them, else what the alignment allows. None if there are too many and a loop is needed."""
    pieces = _common_pieces(f, sides, size)
    if pieces is not None:
        return pieces
    kinds = [shape.type, *(pointed_type(f, side.operand) for side in sides)]
    for kind in kinds:
        scalars = None if kind is None else _scalars(f, kind, size)
        if scalars is not None:
            return _with_padding(scalars, size)
    if shape.fields:
        parts = [
            (start + at, width) for start, length in shape.fields for at, width in _aligned(length, shape.align, start)
        ]
        return _with_padding(parts, size)
    return _with_padding(_aligned(size, shape.align, 0), size)


def _with_padding(scalars: list[tuple[int, int]], size: int) -> list[Chunk] | None:
    if len(scalars) > MOST_COPIES:
        return None
    found: list[Chunk] = []
    end = 0
    for start, width in (*sorted(scalars), (size, 0)):
        if start > end:
            found += [Chunk(end + at, part, True) for at, part in _aligned(start - end, 8, end)]
        if width:
            found.append(Chunk(start, width))
        end = max(end, start + width)
    return found if len(found) <= 2 * MOST_COPIES else None


def _common_pieces(f: FunctionLowering, sides: tuple[Side, ...], size: int) -> list[Chunk] | None:
    found: dict[tuple[int, int], bool] = {}
    in_registers = [side for side in sides if side.variable is not None]
    if not in_registers:
        return None
    for side in in_registers:
        for piece in _covered(f, side, size):
            found[piece.offset - side.start, piece.size] = piece.padding
    return [Chunk(start, width, padding) for (start, width), padding in sorted(found.items())]


def _covered(f: FunctionLowering, side: Side, size: int) -> list[Piece]:
    assert side.variable is not None
    return f.promotion.covered(side.variable, side.start, size)


def _scalars(f: FunctionLowering, kind: Type, size: int) -> list[tuple[int, int]] | None:
    """Those in the first bytes of a type, if none is cut."""
    try:
        if size > f.layout.size(kind) or size > 64 * MOST_COPIES:
            return None
        leaves = f.layout.leaves(kind)
    except SizeUnknown:
        return None
    if all(leaf.type == BYTE for leaf in leaves) and size > 16:
        return None
    found: list[tuple[int, int]] = []
    for leaf in leaves:
        width = f.layout.store_size(leaf.type)
        if leaf.offset >= size:
            break
        if leaf.offset + width > size:
            return None
        found += [(leaf.offset + at, part) for at, part in _powers(width)]
    return found


def pointed_type(f: FunctionLowering, operand: Operand) -> Type | None:
    """What a pointer points at, where the code tells."""
    value = operand.value
    if isinstance(value, syntax.Global):
        kind = f.unit.variable_type(f.symbol, value.name)
        return None if kind is None or _shows_padding(kind) else kind
    if not isinstance(value, Local):
        return None
    definition = f.definitions.get(value.name)
    match definition:
        case syntax.Alloca():
            return definition.type if definition.count is None else None
        case syntax.ElementPointer():
            return _element_type(f, definition)
    for parameter in f.header.parameters:
        if parameter.name == value.name:
            return parameter.by_value
    return None


def _shows_padding(kind: Type) -> bool:
    """Clang writes the padding of some initial values as arrays of bytes."""
    return isinstance(kind, StructType) and any(
        isinstance(field, Array) and field.element == BYTE for field in kind.fields
    )


def _element_type(f: FunctionLowering, pointer: syntax.ElementPointer) -> Type | None:
    kind: Type = pointer.type
    for index in pointer.indices[1:]:
        kind = f.layout.resolve(kind)
        fields: tuple[Type, ...] | None = getattr(kind, "fields", None)
        if fields is not None:
            kind = fields[index.value.value if isinstance(index.value, Number) else 0]
        else:
            kind = getattr(kind, "element", kind)
    return kind


def _aligned(size: int, align: int, start: int) -> list[tuple[int, int]]:
    """Pieces of the largest width that alignment and size allow."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < size:
        width = 8
        while width > 1 and (width > max(1, align) or (start + at) % width or at + width > size):
            width //= 2
        found.append((at, width))
        at += width
        if len(found) > 8 * MOST_COPIES:
            break
    return found


def _unit(f: FunctionLowering, sides: tuple[Side, ...], size: int, align: int) -> int:
    """The width of the accesses of a loop over so many bytes."""
    for side in sides:
        kind = pointed_type(f, side.operand)
        widths = set() if kind is None else _widths(f, kind)
        if len(widths) == 1 and size % min(widths) == 0 and min(widths) in (1, 2, 4, 8):
            return min(widths)
    width = 8
    while width > 1 and (width > align or size % width):
        width //= 2
    return width


def _widths(f: FunctionLowering, kind: Type) -> set[int]:
    """The sizes of the scalars in a type, of arrays those of one element."""
    while isinstance(kind, Array):
        kind = f.layout.resolve(kind.element)
    return {f.layout.store_size(leaf.type) for leaf in f.layout.leaves(kind)}
