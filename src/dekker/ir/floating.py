"""The operators of expressions on floating-point numbers, kept as IEEE 754 bit patterns of 32 or 64 bits.

The width of an operator is that of its operands. Results are rounded to the nearest, ties to even; every NaN that an
operator makes is the one without sign and payload. Comparisons with a NaN are 0, except `funo`, which is 1 if one of
its operands is a NaN. Conversions to integers round towards zero and yield 64 bits; what does not fit becomes the
smallest number (`fptosi`) or the largest (`fptoui`), as C leaves it open.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

FLOAT_WIDTHS = (32, 64)

_NAN = {32: 0x7FC0_0000, 64: 0x7FF8_0000_0000_0000}
_INFINITY = {32: 0x7F80_0000, 64: 0x7FF0_0000_0000_0000}
_SIGN = {32: 1 << 31, 64: 1 << 63}
_DIGITS = {32: 24, 64: 53}


def to_float(width: int, pattern: int) -> float:
    form = "<f" if width == 32 else "<d"
    value: float = struct.unpack(form, pattern.to_bytes(width // 8, "little"))[0]
    return value


def to_pattern(width: int, value: float) -> int:
    if math.isnan(value):
        return _NAN[width]
    try:
        return int.from_bytes(struct.pack("<f" if width == 32 else "<d", value), "little")
    except OverflowError:
        return _INFINITY[width] | (_SIGN[width] if value < 0 else 0)


def _divide(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _remainder(left: float, right: float) -> float:
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def _rounded(operation: Callable[[float, float], float]) -> Callable[[int, int, int], int]:
    """A double has more than twice the digits of a float, so that rounding twice rounds right."""
    return lambda w, a, b: to_pattern(w, operation(to_float(w, a), to_float(w, b)))


def _comparison(operation: Callable[[float, float], bool]) -> Callable[[int, int, int], int]:
    return lambda w, a, b: int(operation(to_float(w, a), to_float(w, b)))


def _from_integer(target: int, value: int) -> int:
    """Rounds once, from all digits of the integer."""
    surplus = abs(value).bit_length() - _DIGITS[target]
    if surplus > 0:
        quotient, rest = divmod(abs(value), 1 << surplus)
        half = 1 << (surplus - 1)
        quotient += rest > half or (rest == half and quotient & 1)
        value = (quotient << surplus) * (-1 if value < 0 else 1)
    return to_pattern(target, float(value))


def _signed(width: int, pattern: int) -> int:
    return pattern - (1 << width) if pattern >> (width - 1) & 1 else pattern


def _to_integer(low: int, high: int, otherwise: int) -> Callable[[int, int], int]:
    def convert(width: int, pattern: int) -> int:
        value = to_float(width, pattern)
        if math.isnan(value) or math.isinf(value) or not low <= math.trunc(value) <= high:
            return otherwise
        return math.trunc(value) & (1 << 64) - 1

    return convert


FLOAT_BINARY_OPERATORS: dict[str, Callable[[int, int, int], int]] = {
    "fadd": _rounded(lambda a, b: a + b),
    "fsub": _rounded(lambda a, b: a - b),
    "fmul": _rounded(lambda a, b: a * b),
    "fdiv": _rounded(_divide),
    "frem": _rounded(_remainder),
    "feq": _comparison(lambda a, b: a == b),
    "flt": _comparison(lambda a, b: a < b),
    "fle": _comparison(lambda a, b: a <= b),
    "funo": _comparison(lambda a, b: math.isnan(a) or math.isnan(b)),
}

INTEGER_TO_FLOAT = {
    "sitofp32": lambda w, a: _from_integer(32, _signed(w, a)),
    "sitofp64": lambda w, a: _from_integer(64, _signed(w, a)),
    "uitofp32": lambda w, a: _from_integer(32, a),
    "uitofp64": lambda w, a: _from_integer(64, a),
}
"""These take integers of any width; the number in the name is the width of the result."""

FLOAT_UNARY_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "fpext": lambda w, a: to_pattern(64, to_float(w, a)),
    "fptrunc": lambda w, a: to_pattern(32, to_float(w, a)),
    "fptosi": _to_integer(-(1 << 63), (1 << 63) - 1, 1 << 63),
    "fptoui": _to_integer(0, (1 << 64) - 1, (1 << 64) - 1),
    "fsqrt": lambda w, a: to_pattern(w, math.sqrt(value) if (value := to_float(w, a)) >= 0 else math.nan),
    **INTEGER_TO_FLOAT,
}
