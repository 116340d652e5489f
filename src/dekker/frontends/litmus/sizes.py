"""How wide things are that have no declared type.

A global has 8 bytes if an access of 8 bytes may reach it, else 4. Which globals an access may reach follows from the
addresses that its registers may hold, in whatever order the instructions run: those of the initial state, those named
in instructions, and after a load any that is in memory.

A register may hold more than 32 bits if one of the instructions that write it may produce a value outside of −2³¹ to
2³²−1; the range of a value is the hull of what its operands allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    Assign,
    CompareExchange,
    Instruction,
    Load,
    Rmw,
    Store,
    StoreConditional,
)
from dekker.ir.program import Thread

Code = Sequence[Instruction]


def access_sizes(code: Code) -> int:
    """All sizes of accesses in one number, as a bit each: the sizes are powers of two."""
    sizes = 0
    for item in code:
        if isinstance(item, MEMORY_ACCESSES):
            sizes |= item.size
    return sizes


# Globals


def reached_by_double_words(bodies: Sequence[Code], threads: Sequence[Thread], in_memory: set[str]) -> set[str]:
    """`in_memory` are the globals whose addresses the initial memory holds."""
    registers = [
        {name: {value.symbol} for name, value in thread.registers if isinstance(value, Address)} for thread in threads
    ]
    stored = set(in_memory)
    before = -1
    while before != (before := _count(stored, registers)):
        for body, held in zip(bodies, registers, strict=True):
            for item in body:
                _flow(item, held, stored)
    return {
        symbol
        for body, held in zip(bodies, registers, strict=True)
        for item in body
        if isinstance(item, MEMORY_ACCESSES) and item.size == 8
        for symbol in _pointers(item.address, held)
    }


def _count(stored: set[str], registers: list[dict[str, set[str]]]) -> int:
    return len(stored) + sum(len(symbols) for held in registers for symbols in held.values())


def _flow(item: Instruction, held: dict[str, set[str]], stored: set[str]) -> None:
    match item:
        case Assign(dst, value):
            found = _pointers(value, held)
            if found:
                held.setdefault(dst, set()).update(found)
        case Load(dst):
            held.setdefault(dst, set()).update(stored)
        case Store(_, value) | StoreConditional(_, _, value):
            stored |= _pointers(value, held)
        case Rmw(dst, _, _, operand):
            stored |= _pointers(operand, held)
            if dst is not None:
                held.setdefault(dst, set()).update(stored)
        case CompareExchange(dst, _, _, _, desired):
            stored |= _pointers(desired, held)
            if dst is not None:
                held.setdefault(dst, set()).update(stored)


_NOTHING: frozenset[str] = frozenset()


def _pointers(expression: Expr, held: Mapping[str, set[str]]) -> set[str] | frozenset[str]:
    match expression:
        case Address(symbol):
            return {symbol}
        case Reg(name):
            return held.get(name, _NOTHING)
        case Unary(_, _, operand):
            return _pointers(operand, held)
        case Binary(op, _, left, right):
            return _NOTHING if _is_zero(op, left, right) else _pointers(left, held) | _pointers(right, held)
        case Select(_, then, other):
            return _pointers(then, held) | _pointers(other, held)
    return _NOTHING


def _is_zero(op: str, left: Expr, right: Expr) -> bool:
    """Dependencies without effect on the value: `xor r3,r1,r1`."""
    return op in ("xor", "sub") and left == right


# Registers

Range = tuple[int, int]

_ALL: Range = (-(1 << 63), (1 << 63) - 1)
_BIT: Range = (0, 1)
_ADDRESSES: Range = (0, (1 << 31) - 1)
_DEEPEST = 40


def register_may_exceed(name: str, body: Code, thread: Thread) -> bool:
    """Whether a register may hold a value that 32 bits cannot."""
    low, high = _Ranges(body, dict(thread.registers)).register(name)
    return low < -(1 << 31) or high >= 1 << 32


class _Ranges:
    def __init__(self, body: Code, initial: Mapping[str, Const | Address]) -> None:
        self.body = body
        self.initial = initial
        self.known: dict[str, Range] = {}
        self.depth = 0

    def register(self, name: str) -> Range:
        if name in self.known:
            return self.known[name]
        if self.depth > _DEEPEST:
            return _ALL
        self.known[name] = _ALL  # what a loop needs of itself
        self.depth += 1
        ranges = [self.expression(self.initial.get(name, Const(0)))]
        for item in self.body:
            if isinstance(item, Assign):
                if item.dst == name:
                    ranges.append(self.expression(item.value))
            elif isinstance(item, Load | Rmw | CompareExchange) and item.dst == name:
                ranges.append(_loaded(item.size, isinstance(item, Load) and item.signed))
        self.depth -= 1
        self.known[name] = found = _hull(ranges)
        return found

    def expression(self, expression: Expr) -> Range:
        match expression:
            case Const(value):
                return (value - (1 << 64),) * 2 if value >> 63 == 1 else (value, value)
            case Reg(name):
                return self.register(name)
            case Address():
                return _ADDRESSES
            case Unary(op, width, operand):
                return _unary(op, width, self.expression(operand))
            case Select(_, then, other):
                return _hull([self.expression(then), self.expression(other)])
            case Binary(op, width, left, right):
                if _is_zero(op, left, right):
                    return 0, 0
                if op in _COMPARISONS:
                    return _BIT
                if width < 64:
                    return 0, mask(width)
                return _clipped(_binary(op, self.expression(left), self.expression(right)))


_COMPARISONS = frozenset(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))


def _loaded(size: int, signed: bool) -> Range:
    if size == 8:
        return _ALL
    return (-(1 << 8 * size - 1), mask(8 * size - 1)) if signed else (0, mask(8 * size))


def _hull(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _clipped(found: Range) -> Range:
    return found if _ALL[0] <= found[0] and found[1] <= _ALL[1] else _ALL


def _unary(op: str, width: int, operand: Range) -> Range:
    low, high = operand
    if op == "sext" and width < 64:
        return -(1 << width - 1), mask(width - 1)
    if width < 64:
        return (low, high) if op == "zext" and low >= 0 and high <= mask(width) else (0, mask(width))
    if op in ("neg", "not"):
        one = int(op == "not")
        return _clipped((-high - one, -low - one))
    return operand


def _binary(op: str, left: Range, right: Range) -> Range:
    """Of an operation of 64 bits."""
    if op == "add":
        return left[0] + right[0], left[1] + right[1]
    if op == "sub":
        return left[0] - right[1], left[1] - right[0]
    if op == "mul":
        products = [first * second for first, second in product(left, right)]
        return min(products), max(products)
    if op in ("and", "or", "xor"):
        return _bitwise(op, left, right)
    if op in ("ashr", "sdiv", "srem"):
        most = max(abs(left[0]), abs(left[1]))
        return (0 if left[0] >= 0 and right[0] >= 0 else -most), most
    if right[0] != right[1] or not 0 <= right[0] < 64:
        return _ALL
    if op == "shl":
        return left[0] << right[0], left[1] << right[0]
    if op == "lshr":
        return (left[0] if left[0] >= 0 else 0) >> right[0], (left[1] if left[0] >= 0 else mask(64)) >> right[0]
    return _ALL


def _bitwise(op: str, left: Range, right: Range) -> Range:
    bits = max(value.bit_length() for value in (*left, *right))
    if op == "and" and (left[0] >= 0 or right[0] >= 0):
        return 0, min(side[1] for side in (left, right) if side[0] >= 0)
    return (0 if left[0] >= 0 and right[0] >= 0 else -(1 << bits)), mask(bits)
