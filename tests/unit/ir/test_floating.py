"""Floating-point operators on bit patterns, against the arithmetic of the machine and exact fractions."""

from __future__ import annotations

import ctypes
import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.errors import ValidationError
from dekker.ir.expressions import Binary, Const, Unary, evaluate_binary, evaluate_unary
from dekker.ir.floating import to_float, to_pattern
from dekker.ir.instructions import Assign
from dekker.ir.program import Function, Program, Thread
from dekker.ir.validate import validate

DOUBLES = st.floats(width=64, allow_nan=False)
SINGLES = st.floats(width=32, allow_nan=False)
NAN = {32: 0x7FC0_0000, 64: 0x7FF8_0000_0000_0000}


def double(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def single(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


@given(DOUBLES, DOUBLES)
def test_double_arithmetic_is_that_of_the_machine(a: float, b: float) -> None:
    for op, result in (("fadd", a + b), ("fsub", a - b), ("fmul", a * b)):
        expected = NAN[64] if math.isnan(result) else double(result)
        assert evaluate_binary(op, 64, double(a), double(b)) == expected


@given(SINGLES, SINGLES)
def test_single_arithmetic_rounds_once(a: float, b: float) -> None:
    for op, exact in (("fadd", Fraction), ("fmul", Fraction)):
        if math.isinf(a) or math.isinf(b):
            continue
        left, right = exact(a), exact(b)
        result = left + right if op == "fadd" else left * right
        found = to_float(32, evaluate_binary(op, 32, single(a), single(b)))
        if math.isinf(found):
            assert abs(result) > Fraction(ctypes.c_float(3.4028234663852886e38).value)
            continue
        error = abs(Fraction(found) - result)
        for neighbour in (_next(found, 1), _next(found, -1)):
            if not math.isinf(neighbour):
                assert error <= abs(Fraction(neighbour) - result)


def _next(value: float, step: int) -> float:
    pattern = single(value)
    signed = -(pattern & 0x7FFF_FFFF) if pattern >> 31 else pattern
    signed += step
    return to_float(32, (-signed | 1 << 31) if signed < 0 else signed)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_integers_become_the_nearest_float(number: int) -> None:
    found = evaluate_unary("sitofp64", 64, number & (1 << 64) - 1)
    assert found == double(float(number))
    single_found = Fraction(to_float(32, evaluate_unary("sitofp32", 64, number & (1 << 64) - 1)))
    for step in (1, -1):
        neighbour = _next(float(single_found), step)
        if not math.isinf(neighbour):
            assert abs(single_found - number) <= abs(Fraction(neighbour) - number)


@pytest.mark.parametrize(
    ("op", "width", "operand", "result"),
    [
        ("fptosi", 64, double(-2.9), (1 << 64) - 2),
        ("fptosi", 32, single(7.5), 7),
        ("fptosi", 64, double(1e30), 1 << 63),
        ("fptosi", 64, double(math.nan), 1 << 63),
        ("fptoui", 64, double(1.8e19), 18_000_000_000_000_000_000),
        ("fptoui", 64, double(-5.0), (1 << 64) - 1),
        ("uitofp64", 8, 255, double(255.0)),
        ("sitofp32", 8, 255, single(-1.0)),
        ("uitofp32", 64, (1 << 64) - 1, single(2.0**64)),
        ("fpext", 32, single(0.1), double(struct.unpack("<f", struct.pack("<f", 0.1))[0])),
        ("fptrunc", 64, double(1e300), single(math.inf)),
        ("fsqrt", 64, double(2.0), double(math.sqrt(2.0))),
        ("fsqrt", 64, double(-1.0), NAN[64]),
    ],
)
def test_conversions(op: str, width: int, operand: int, result: int) -> None:
    assert evaluate_unary(op, width, operand) == result


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [(1.0, 0.0, math.inf), (-1.0, 0.0, -math.inf), (1.0, -0.0, -math.inf), (3.0, 2.0, 1.5)],
)
def test_division(left: float, right: float, result: float) -> None:
    assert evaluate_binary("fdiv", 64, double(left), double(right)) == double(result)
    assert evaluate_binary("fdiv", 64, 0, 0) == NAN[64]


def test_remainder_and_comparisons() -> None:
    assert evaluate_binary("frem", 64, double(-7.5), double(2.0)) == double(-1.5)
    assert evaluate_binary("frem", 64, double(1.0), 0) == NAN[64]
    for op, expected in (("feq", 0), ("flt", 0), ("fle", 0), ("funo", 1)):
        assert evaluate_binary(op, 32, NAN[32], single(1.0)) == expected
    assert evaluate_binary("feq", 64, double(0.0), double(-0.0)) == 1
    assert to_pattern(32, -math.inf) == 0xFF80_0000


@pytest.mark.parametrize("value", [Binary("fadd", 16, Const(0), Const(0)), Unary("fptosi", 8, Const(0))])
def test_widths_without_floats_are_invalid(value: Binary | Unary) -> None:
    program = Program("p", "C", (), (Function("f", (), (Assign("r", value),)),), (Thread("t", "f"),))
    with pytest.raises(ValidationError, match="32 or 64 bits"):
        validate(program)
    validate(
        Program("p", "C", (), (Function("f", (), (Assign("r", Unary("sitofp32", 8, Const(0))),)),), (Thread("t", "f"),))
    )
