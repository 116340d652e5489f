"""The operators against the machine's own integers, and against unbounded ones."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.ir.arithmetic import BINARY_OPERATORS, RMW_OPERATORS, UNARY_OPERATORS, mask, signed
from dekker.ir.expressions import Const, evaluate_binary, evaluate_unary

UNSIGNED = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}
SIGNED = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}
WIDTHS = st.sampled_from((8, 16, 32, 64))
PATTERNS = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.sampled_from(
        [(1 << bits) + step & (1 << 64) - 1 for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64) for step in (-1, 0, 1)]
    ),
)

Operator = Callable[[int, int], int]

MODULAR: dict[str, Operator] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
COMPARISONS: dict[str, Operator] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
SHIFTS = ("shl", "lshr", "ashr")
DIVISIONS = ("udiv", "urem", "sdiv", "srem")


def as_unsigned(width: int, value: int) -> int:
    return int(UNSIGNED[width](value).value)


def as_signed(width: int, value: int) -> int:
    return int(SIGNED[width](value).value)


def test_every_operator_is_tested() -> None:
    comparisons = {f"{sign}{name}" for sign in "us" for name in COMPARISONS}
    assert set(BINARY_OPERATORS) == {*MODULAR, *comparisons, "eq", "ne", *SHIFTS, *DIVISIONS}
    assert set(UNARY_OPERATORS) == {"neg", "not", "zext", "sext", "freeze"}
    assert set(RMW_OPERATORS) == set(UPDATES)


@given(WIDTHS, PATTERNS)
def test_signed_reads_twos_complement(width: int, pattern: int) -> None:
    assert signed(width, pattern & mask(width)) == as_signed(width, pattern)
    assert mask(width) == as_unsigned(width, -1)


@pytest.mark.parametrize("op", MODULAR)
@given(width=WIDTHS, left=PATTERNS, right=PATTERNS)
def test_modular_operators(op: str, width: int, left: int, right: int) -> None:
    assert evaluate_binary(op, width, left, right) == as_unsigned(width, MODULAR[op](left, right))


@pytest.mark.parametrize("name", COMPARISONS)
@given(width=WIDTHS, left=PATTERNS, right=PATTERNS)
def test_comparisons(name: str, width: int, left: int, right: int) -> None:
    compare = COMPARISONS[name]
    for a, b in ((left, right), (left, left)):
        assert evaluate_binary(f"u{name}", width, a, b) == compare(as_unsigned(width, a), as_unsigned(width, b))
        assert evaluate_binary(f"s{name}", width, a, b) == compare(as_signed(width, a), as_signed(width, b))


@given(WIDTHS, PATTERNS, PATTERNS)
def test_equality_looks_at_the_width_only(width: int, left: int, right: int) -> None:
    same = as_unsigned(width, left) == as_unsigned(width, right)
    assert evaluate_binary("eq", width, left, right) == int(same)
    assert evaluate_binary("ne", width, left, right) == int(not same)
    assert evaluate_binary("eq", width, left, left + (right << width)) == 1


@given(WIDTHS, PATTERNS, st.one_of(st.integers(0, 70), PATTERNS))
def test_shifts_are_multiplication_and_floor_division(width: int, value: int, distance: int) -> None:
    distance &= mask(width)
    # 2 ** distance for any distance is out of the question; beyond the width nothing changes any more.
    power = 2 ** min(distance, width)
    assert evaluate_binary("shl", width, value, distance) == as_unsigned(width, value * power)
    assert evaluate_binary("lshr", width, value, distance) == as_unsigned(width, value) // power
    assert evaluate_binary("ashr", width, value, distance) == as_unsigned(width, as_signed(width, value) // power)


@given(WIDTHS, PATTERNS, PATTERNS)
def test_divisions_truncate(width: int, left: int, right: int) -> None:
    for prefix, read in (("u", as_unsigned), ("s", as_signed)):
        dividend, divisor = read(width, left), read(width, right)
        if divisor == 0:
            continue
        quotient = int(Fraction(dividend, divisor))
        remainder = dividend - quotient * divisor
        assert evaluate_binary(f"{prefix}div", width, left, right) == as_unsigned(width, quotient)
        assert evaluate_binary(f"{prefix}rem", width, left, right) == as_unsigned(width, remainder)


@pytest.mark.parametrize("op", DIVISIONS)
@given(width=WIDTHS, left=PATTERNS)
def test_division_by_zero_yields_0(op: str, width: int, left: int) -> None:
    assert evaluate_binary(op, width, left, 0) == 0


@pytest.mark.parametrize("width", UNSIGNED)
def test_the_most_negative_number_divided_by_minus_one_wraps(width: int) -> None:
    lowest = 1 << width - 1
    assert evaluate_binary("sdiv", width, lowest, -1) == lowest
    assert evaluate_binary("srem", width, lowest, -1) == 0


@given(WIDTHS, PATTERNS)
def test_unary_operators(width: int, value: int) -> None:
    assert evaluate_unary("neg", width, value) == as_unsigned(width, -value)
    assert evaluate_unary("not", width, value) == as_unsigned(width, ~value)
    assert evaluate_unary("zext", width, value) == as_unsigned(width, value)
    assert evaluate_unary("freeze", width, value) == as_unsigned(width, value)
    assert evaluate_unary("sext", width, value) == as_unsigned(64, as_signed(width, value))


UPDATES: dict[str, Callable[[int, int, int], int]] = {
    "xchg": lambda w, old, new: new,
    "add": lambda w, old, new: old + new,
    "sub": lambda w, old, new: old - new,
    "and": lambda w, old, new: old & new,
    "nand": lambda w, old, new: ~(old & new),
    "or": lambda w, old, new: old | new,
    "xor": lambda w, old, new: old ^ new,
    "max": lambda w, old, new: max(as_signed(w, old), as_signed(w, new)),
    "min": lambda w, old, new: min(as_signed(w, old), as_signed(w, new)),
    "umax": lambda w, old, new: max(as_unsigned(w, old), as_unsigned(w, new)),
    "umin": lambda w, old, new: min(as_unsigned(w, old), as_unsigned(w, new)),
}


@pytest.mark.parametrize("op", UPDATES)
@given(width=WIDTHS, old=PATTERNS, operand=PATTERNS)
def test_updates(op: str, width: int, old: int, operand: int) -> None:
    old, operand = old & mask(width), operand & mask(width)
    assert RMW_OPERATORS[op](width, old, operand) == as_unsigned(width, UPDATES[op](width, old, operand))


@pytest.mark.parametrize("op", BINARY_OPERATORS)
@given(width=st.integers(1, 64), left=PATTERNS, right=PATTERNS)
def test_results_fit_into_every_width(op: str, width: int, left: int, right: int) -> None:
    assert 0 <= evaluate_binary(op, width, left, right) <= mask(width)


@pytest.mark.parametrize("op", UNARY_OPERATORS)
@given(width=st.integers(1, 64), value=PATTERNS)
def test_unary_results_fit(op: str, width: int, value: int) -> None:
    assert 0 <= evaluate_unary(op, width, value) <= mask(64 if op == "sext" else width)


@given(st.integers(-(1 << 70), 1 << 70))
def test_constants_are_cut_to_64_bits(value: int) -> None:
    assert Const(value).value == as_unsigned(64, value)
