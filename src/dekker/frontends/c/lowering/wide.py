"""Integers of 65 to 128 bits, as a low and a high half; clang makes odd widths for bit fields. Division is left out."""

from __future__ import annotations

from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, is_truth, select, sign_extend, truncate
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Const, Expr

Halves = tuple[Expr, Expr]


def lower_binary(emitter: Emitter, op: str, width: int, left: Halves, right: Halves) -> Halves:
    if op == "ashr":
        left = _extended(width, left)
    low, high = _all_bits(emitter, op, left, right)
    return low, truncate(width - 64, high)


def _extended(width: int, value: Halves) -> Halves:
    """With the sign in all upper bits of the high half."""
    return value[0], sign_extend(width - 64, 64, value[1])


def _all_bits(emitter: Emitter, op: str, left: Halves, right: Halves) -> Halves:
    a, b = _kept(emitter, left), _kept(emitter, right)
    match op:
        case "and" | "or" | "xor":
            return binary(op, 64, a[0], b[0]), binary(op, 64, a[1], b[1])
        case "add":
            low = emitter.keep(binary("add", 64, a[0], b[0]))
            carry = binary("ult", 64, low, a[0])
            return low, binary("add", 64, binary("add", 64, a[1], b[1]), carry)
        case "sub":
            borrow = binary("ult", 64, a[0], b[0])
            return binary("sub", 64, a[0], b[0]), binary("sub", 64, binary("sub", 64, a[1], b[1]), borrow)
        case "mul":
            return _multiply(emitter, a, b)
        case "shl" | "lshr" | "ashr":
            return _shift(emitter, op, a, b[0])
    raise Problem("division of 128-bit integers is not supported")


def _kept(emitter: Emitter, value: Halves) -> Halves:
    return emitter.keep(value[0]), emitter.keep(value[1])


def _multiply(emitter: Emitter, a: Halves, b: Halves) -> Halves:
    low, high = full_product(emitter, a[0], b[0])
    cross = binary("add", 64, binary("mul", 64, a[0], b[1]), binary("mul", 64, a[1], b[0]))
    return low, binary("add", 64, high, cross)


def full_product(emitter: Emitter, a: Expr, b: Expr) -> Halves:
    """All 128 bits of the product of two unsigned numbers, from products of halves."""
    half = Const(32)
    a0, b0 = emitter.keep(truncate(32, a)), emitter.keep(truncate(32, b))
    a1, b1 = emitter.keep(binary("lshr", 64, a, half)), emitter.keep(binary("lshr", 64, b, half))
    low = emitter.keep(binary("mul", 64, a0, b0))
    middle = emitter.keep(binary("add", 64, binary("mul", 64, a1, b0), binary("lshr", 64, low, half)))
    other = emitter.keep(binary("add", 64, binary("mul", 64, a0, b1), truncate(32, middle)))
    high = binary("add", 64, binary("mul", 64, a1, b1), binary("lshr", 64, middle, half))
    high = emitter.keep(binary("add", 64, high, binary("lshr", 64, other, half)))
    return emitter.keep(binary("mul", 64, a, b)), high


def _shift(emitter: Emitter, op: str, value: Halves, count: Expr) -> Halves:
    """Shifts by 64 or more yield 0 (or the sign), so that each half is the union of what comes from either side."""
    count = emitter.keep(count)
    left = op == "shl"
    near, far = value if left else (value[1], value[0])
    inward, outward = ("shl", "lshr") if left else ("lshr", "shl")
    beyond = binary("uge", 64, count, Const(64))
    rest = binary("sub", 64, Const(64), count)
    crossing = binary(outward, 64, near, rest)
    small_far = binary("or", 64, binary(inward, 64, far, count), crossing)
    large = binary("sub", 64, count, Const(64))
    large_far = binary(op if op == "ashr" else inward, 64, near, large)
    fill = binary("ashr", 64, near, Const(63)) if op == "ashr" else ZERO
    new_near = select(beyond, fill, binary(op if op == "ashr" else inward, 64, near, count))
    new_far = select(beyond, large_far, small_far)
    return (new_near, new_far) if left else (new_far, new_near)


def compare(emitter: Emitter, predicate: str, width: int, left: Halves, right: Halves) -> Expr:
    if predicate[0] == "s":
        left, right = _extended(width, left), _extended(width, right)
    a, b = _kept(emitter, left), _kept(emitter, right)
    if predicate in ("eq", "ne"):
        low, high = binary(predicate, 64, a[0], b[0]), binary(predicate, 64, a[1], b[1])
        return binary("and" if predicate == "eq" else "or", 1, low, high)
    strict = predicate[:2] + "t"
    unsigned = "u" + predicate[1:]
    above = binary(strict, 64, a[1], b[1])
    equal = binary("and", 1, binary("eq", 64, a[1], b[1]), binary(unsigned, 64, a[0], b[0]))
    assert is_truth(above)
    return binary("or", 1, above, equal)


def lower_cast(op: str, before: int, after: int, parts: tuple[Expr, ...]) -> tuple[Expr, ...]:
    match op:
        case "trunc" | "ptrtoint" | "inttoptr" if after <= 64:
            return (truncate(after, parts[0]),)
        case "trunc":
            return parts[0], truncate(after - 64, parts[1])
        case "zext" | "ptrtoint":
            return parts if before > 64 else (parts[0], ZERO)
        case "sext":
            low, high = _extended(before, (parts[0], parts[1])) if before > 64 else _from_narrow(before, parts[0])
            return low, truncate(after - 64, high)
    raise Problem(f"the conversion `{op}` of 128-bit integers is not supported")


def _from_narrow(width: int, value: Expr) -> Halves:
    low = sign_extend(width, 64, value)
    return low, binary("ashr", 64, low, Const(63))


def constant(value: int) -> Halves:
    return Const(value & mask(64)), Const(value >> 64 & mask(64))
