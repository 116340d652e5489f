"""Splits an access of memory into smaller ones, because others access parts of the same bytes.

Only plain accesses can be split. That is exact as long as the pieces do not race with other threads: engines are told
which they are, and refuse programs in which they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Unary
from dekker.ir.instructions import Assign, Instruction, Load, Order, Store
from dekker.ir.program import Program

Positions = frozenset[tuple[str, int]]


def can_be_split(instruction: Instruction) -> bool:
    match instruction:
        case Load(order=Order.PLAIN, exclusive=False) | Store(order=Order.PLAIN):
            return True
    return False


def split_access(
    program: Program, pieces: Positions, position: tuple[str, int], piece_size: int
) -> tuple[Program, Positions]:
    """The program with that access in pieces of that size, and the positions of all pieces, those from before too."""
    name, index = position
    function = program.function_by_name[name]
    parts = list(_parts(function.body[index], index, piece_size))
    longer = len(parts) - 1
    split = replace(
        function,
        body=(*function.body[:index], *parts, *function.body[index + 1 :]),
        labels={label: place + longer if place > index else place for label, place in function.labels.items()},
        spans=(*function.spans[:index], *[function.span(index)] * len(parts), *function.spans[index + 1 :]),
    )
    moved = {(owner, i + longer if owner == name and i > index else i) for owner, i in pieces if (owner, i) != position}
    added = {(name, index + i) for i, part in enumerate(parts) if isinstance(part, Load | Store)}
    functions = tuple(split if item is function else item for item in program.functions)
    return replace(program, functions=functions), frozenset(moved | added)


def _parts(instruction: Instruction, index: int, piece_size: int) -> Iterator[Instruction]:
    match instruction:
        case Load(dst, address, size):
            offsets = range(0, size, piece_size)
            for offset in offsets:
                yield Load(_piece(index, offset), _moved(address, offset), piece_size)
            whole: Expr = Reg(_piece(index, 0))
            for offset in offsets[1:]:
                shifted = Binary("shl", 64, Reg(_piece(index, offset)), Const(8 * offset))
                whole = Binary("or", 64, whole, shifted)
            signed = instruction.signed and size < 8
            yield Assign(dst, Unary("sext", 8 * size, whole) if signed else whole)
        case Store(address, value, size):
            # The value may be that of a register that a piece's address needs, but stores change no register.
            for offset in range(0, size, piece_size):
                piece = Binary("lshr", 64, value, Const(8 * offset))
                yield Store(_moved(address, offset), piece, piece_size, copy=True)


def _piece(index: int, offset: int) -> str:
    return f"%piece{index}.{offset}"


def _moved(address: Expr, offset: int) -> Expr:
    if offset == 0:
        return address
    if isinstance(address, Address):
        return replace(address, offset=address.offset + offset)
    return Binary("add", 64, address, Const(offset))
