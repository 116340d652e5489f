"""The operators of expressions and read-modify-writes, on bit patterns of a given width.

Every function takes operands already cut to `width` bits and returns a pattern. Division by zero yields 0 (RISC-V and
POWER give other values, C gives none): a front end that needs another meaning guards the division.
"""

from __future__ import annotations

from collections.abc import Callable


def mask(width: int) -> int:
    return (1 << width) - 1


def signed(width: int, value: int) -> int:
    """The two's complement reading of a pattern."""
    return value - (1 << width) if value >> (width - 1) & 1 else value


def _signed_divide(width: int, left: int, right: int) -> int:
    if right == 0:
        return 0
    dividend, divisor = signed(width, left), signed(width, right)
    quotient = abs(dividend) // abs(divisor)
    return (quotient if (dividend < 0) == (divisor < 0) else -quotient) & mask(width)


def _signed_remainder(width: int, left: int, right: int) -> int:
    if right == 0:
        return 0
    dividend, divisor = signed(width, left), signed(width, right)
    remainder = abs(dividend) % abs(divisor)
    return (-remainder if dividend < 0 else remainder) & mask(width)


def _shift_left(width: int, left: int, right: int) -> int:
    return (left << right) & mask(width) if right < width else 0


def _shift_right(width: int, left: int, right: int) -> int:
    return left >> right if right < width else 0


def _shift_right_signed(width: int, left: int, right: int) -> int:
    return (signed(width, left) >> min(right, width - 1)) & mask(width)


BINARY_OPERATORS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda w, a, b: (a + b) & mask(w),
    "sub": lambda w, a, b: (a - b) & mask(w),
    "mul": lambda w, a, b: (a * b) & mask(w),
    "udiv": lambda w, a, b: a // b if b else 0,
    "sdiv": _signed_divide,
    "urem": lambda w, a, b: a % b if b else 0,
    "srem": _signed_remainder,
    "and": lambda w, a, b: a & b,
    "or": lambda w, a, b: a | b,
    "xor": lambda w, a, b: a ^ b,
    "shl": _shift_left,
    "lshr": _shift_right,
    "ashr": _shift_right_signed,
    "eq": lambda w, a, b: int(a == b),
    "ne": lambda w, a, b: int(a != b),
    "ult": lambda w, a, b: int(a < b),
    "ule": lambda w, a, b: int(a <= b),
    "ugt": lambda w, a, b: int(a > b),
    "uge": lambda w, a, b: int(a >= b),
    "slt": lambda w, a, b: int(signed(w, a) < signed(w, b)),
    "sle": lambda w, a, b: int(signed(w, a) <= signed(w, b)),
    "sgt": lambda w, a, b: int(signed(w, a) > signed(w, b)),
    "sge": lambda w, a, b: int(signed(w, a) >= signed(w, b)),
}

UNARY_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "neg": lambda w, a: -a & mask(w),
    "not": lambda w, a: ~a & mask(w),
    "zext": lambda w, a: a,
    "sext": lambda w, a: signed(w, a) & mask(64),
    "freeze": lambda w, a: a,
}

RMW_OPERATORS: dict[str, Callable[[int, int, int], int]] = {
    "xchg": lambda w, old, operand: operand,
    "add": BINARY_OPERATORS["add"],
    "sub": BINARY_OPERATORS["sub"],
    "and": BINARY_OPERATORS["and"],
    "nand": lambda w, old, operand: ~(old & operand) & mask(w),
    "or": BINARY_OPERATORS["or"],
    "xor": BINARY_OPERATORS["xor"],
    "max": lambda w, old, operand: old if signed(w, old) >= signed(w, operand) else operand,
    "min": lambda w, old, operand: old if signed(w, old) <= signed(w, operand) else operand,
    "umax": lambda w, old, operand: max(old, operand),
    "umin": lambda w, old, operand: min(old, operand),
}
