"""Operands of AArch64 instructions: registers, shifted and extended registers, addresses."""

from __future__ import annotations

import re
from typing import NamedTuple

from dekker.frontends.litmus.architecture import Register
from dekker.frontends.litmus.operands import DISCARDED, Operand, compute, displaced, immediate, number, split_operands
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Const, Expr, Reg, Unary
from dekker.ir.instructions import Assign, Instruction

Code = tuple[Instruction, ...]

# Registers


def _register_table() -> dict[str, Register]:
    names = {f"{letter}{i}": Register(f"X{i}", width) for letter, width in (("x", 64), ("w", 32)) for i in range(31)}
    names |= {"xzr": Register("XZR", 64), "wzr": Register("XZR", 32)}
    names |= {"sp": Register("SP", 64), "wsp": Register("SP", 32), "fp": Register("X29", 64), "lr": Register("X30", 64)}
    return names | {name.upper(): found for name, found in names.items()}


_REGISTERS = _register_table()
_SYMBOLIC = re.compile(r"([xXwW]?)%(\w+)")
_VECTOR = re.compile(r"[vqdsbhzp]\d+(\..*|/[mz])?|\{.*", re.IGNORECASE)


def register(name: str) -> Register | None:
    """Named registers, and the symbolic `X%a`, `W%a` and `%a` that stand for one yet to be chosen."""
    found = _REGISTERS.get(name)
    if found is None and "%" in name:
        symbolic = _SYMBOLIC.fullmatch(name)
        if symbolic is not None:
            return Register(f"%{symbolic[2]}", 32 if symbolic[1] in ("w", "W") else 64)
    return found if found is not None else _REGISTERS.get(name.lower())


def named(operand: Operand, width: int | None = None) -> Register:
    """The register that an operand names, of the given width if there is one."""
    found = register(operand.text)
    if found is None:
        if _VECTOR.fullmatch(operand.text):
            raise operand.error(f"`{operand.text}` is not supported: vectors are outside what Dekker models")
        raise operand.expected("a register")
    if width is not None and found.width != width:
        raise operand.expected(_kind(width))
    return found


def _kind(width: int) -> str:
    return "a 64-bit register (X…)" if width == 64 else "a 32-bit register (W…)"


def value(source: Register) -> Expr:
    return ZERO if source.name == "XZR" else Reg(source.name)


def cut(width: int, expression: Expr) -> Expr:
    """The low `width` bits of a register or an extension; other expressions have nothing above their width."""
    return Unary("zext", width, expression) if width < 64 and isinstance(expression, Reg | Unary) else expression


def target(destination: Register) -> str:
    return DISCARDED if destination.name == "XZR" else destination.name


def assign(destination: Register, result: Expr) -> Assign:
    return Assign(target(destination), result)


# Shifted and extended registers

EXTENSIONS = {
    f"{letter}xt{suffix}": (op, width)
    for letter, op in (("u", "zext"), ("s", "sext"))
    for suffix, width in (("b", 8), ("h", 16), ("w", 32), ("x", 64))
}
SHIFTS = {"lsl": "shl", "lsr": "lshr", "asr": "ashr", "ror": "ror"}
_MODIFIER = re.compile(r"([A-Za-z]+)(?:\s*#\s*|\s+)?([0-9]{1,2})?")


def shift(op: str, width: int, shifted: Expr, amount: Expr) -> Expr:
    if amount == ZERO:
        return shifted
    if op != "ror":
        return compute(op, width, shifted, amount)
    rest = compute("and", width, compute("sub", width, Const(width), amount), Const(width - 1))
    return compute("or", width, compute("lshr", width, shifted, amount), compute("shl", width, shifted, rest))


def modifier(operand: Operand) -> tuple[str, int]:
    """The name and the amount of a shift or an extension."""
    found = _MODIFIER.fullmatch(operand.text)
    name = found[1].lower() if found is not None else ""
    if found is None or (name not in EXTENSIONS and name not in SHIFTS):
        raise operand.expected("a shift or an extension such as `LSL #2` or `SXTW`")
    return name, int(found[2] or 0)


def _modified(source: Operand, width: int, change: Operand) -> Expr:
    """A register after a shift or an extension, for an operation of `width` bits."""
    name, amount = modifier(change)
    if name in SHIFTS:
        if amount >= width:
            raise change.error(f"the amount of a shift must be less than {width}")
        return shift(SHIFTS[name], width, value(named(source, width)), Const(amount))
    op, bits = EXTENSIONS[name]
    if amount > 4:
        raise change.error("the shift after an extension must be from 0 to 4")
    extended = value(named(source))
    if bits < width and extended != ZERO:
        extended = Unary(op, bits, extended)
    return shift("shl", width, extended, Const(amount))


def second(width: int, operand: Operand, change: Operand | None = None) -> Expr:
    """The last operand of data processing: a number or a register, with an optional shift or extension."""
    if number(operand) is None:
        if change is not None:
            return _modified(operand, width, change)
        source = named(operand)
        if source.width != width:
            raise operand.expected(_kind(width), "a 32-bit register can be extended, as in `W2,SXTW`")
        return value(source)
    amount = 0
    if change is not None:
        name, amount = modifier(change)
        if name != "lsl":
            raise change.expected("`LSL #12` after a number")
    return Const((bounded(operand, width) << amount) & mask(width))


def bounded(operand: Operand, width: int) -> int:
    """The bits of a number of `width` bits, signed or not."""
    return immediate(operand, -(1 << width - 1), mask(width)) & mask(width)


# Addresses

_BRACKETS = re.compile(r"\[(.*)\]\s*(!?)", re.DOTALL)
_ADDRESS = "an address such as [X1], [X1,#4] or [X1,W2,SXTW]"


class Place(NamedTuple):
    """Where an access goes, and how it updates its base register, if it does."""

    address: Expr
    base: str
    update: Code = ()


def place(operand: Operand, after: Operand | None = None) -> Place:
    """`after` is the increment of a post-indexed access."""
    found = _BRACKETS.fullmatch(operand.text)
    parts = split_operands(operand.text, 1, found.end(1), operand.offset) if found is not None else ()
    if found is None or not 1 <= len(parts) <= 3:
        raise operand.expected(_ADDRESS)
    base = _base(parts[0])
    address = _indexed(Reg(base), parts[1:])
    if after is not None:
        if found[2] or len(parts) != 1:
            raise operand.error("the address before an increment is a register alone, as in [X1],#4")
        return Place(address, base, (Assign(base, displaced(address, immediate(after))),))
    if not found[2]:
        return Place(address, base)
    if len(parts) != 2 or number(parts[1]) is None:
        raise operand.error("the index before `!` is a number, as in [X1,#4]!")
    return Place(address, base, (Assign(base, address),))


def bare_place(operand: Operand) -> Expr:
    """The address of an exclusive or atomic access: a register alone."""
    found = place(operand)
    if found.address != Reg(found.base) or found.update:
        raise operand.error("this access takes no index: its address is a register alone, as in [X1]")
    return found.address


def _base(operand: Operand) -> str:
    base = named(operand, 64)
    if base.name == "XZR":
        raise operand.expected("an X register or SP as base address")
    return base.name


def _indexed(base: Expr, index: tuple[Operand, ...]) -> Expr:
    if not index:
        return base
    offset = number(index[0])
    if offset is not None:
        if len(index) > 1:
            raise index[1].error("a number as index takes no shift or extension")
        return displaced(base, offset)
    name, amount = modifier(index[1]) if len(index) > 1 else ("lsl", 0)
    if name not in ("lsl", "uxtw", "sxtw", "sxtx") or amount > 4:
        raise index[1].expected("UXTW, SXTW, SXTX or LSL, with a shift of at most 4")
    source = named(index[0])
    shifted = value(source)
    if shifted != ZERO and (name in ("uxtw", "sxtw") or source.width == 32):
        # Litmus tests also write [X1,W2], which means SXTW.
        shifted = Unary("zext" if name == "uxtw" else "sext", 32, shifted)
    return compute("add", 64, base, shift("shl", 64, shifted, Const(amount)))
