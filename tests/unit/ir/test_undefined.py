"""Which bits of a result depend on bits that nobody has set: tried out with all values that those can have."""

from __future__ import annotations

from itertools import product

import pytest

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import evaluate_binary
from dekker.ir.undefined import of_binary, partly

WIDTH = 3
OPERATORS = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "eq", "ne", "ult", "sle", "udiv", "urem")
PARTLY = [(value, undefined) for undefined in range(1 << WIDTH) for value in range(1 << WIDTH)]


def _completions(value: int, undefined: int) -> set[int]:
    return {value & ~undefined | bits & undefined for bits in range(1 << WIDTH)}


def _depending(op: str, a: tuple[int, int], b: tuple[int, int]) -> int:
    results = {evaluate_binary(op, WIDTH, x, y) for x, y in product(_completions(*a), _completions(*b))}
    one = next(iter(results))
    depending = 0
    for other in results:
        depending |= one ^ other
    return depending


@pytest.mark.parametrize("op", OPERATORS)
def test_never_too_few_bits(op: str) -> None:
    for a, b in product(PARTLY, PARTLY):
        found = of_binary(op, WIDTH, partly(*a), partly(*b))
        assert _depending(op, a, b) & ~found == 0, (op, a, b)


@pytest.mark.parametrize("factor", [0, 1, 2, 4])
def test_products_with_powers_of_two_are_exact(factor: int) -> None:
    for a in PARTLY:
        expected = _depending("mul", a, (factor, 0))
        assert of_binary("mul", WIDTH, partly(*a), factor) == of_binary("mul", WIDTH, factor, partly(*a)) == expected


def test_low_bits_of_products_are_known() -> None:
    """Of multiples, whatever they are multiples of; and of copies of bytes."""
    multiple_of_16, multiple_of_4 = partly(0, mask(32) & ~15), partly(0, mask(32) & ~3)
    assert of_binary("mul", 32, multiple_of_16, 16) == mask(32) & ~255
    assert of_binary("mul", 32, multiple_of_16, multiple_of_4) == mask(32) & ~63
    assert of_binary("mul", 32, partly(2, 1), 0x1010101) == 0x1010101
    assert of_binary("mul", 32, partly(0, 3), 6) == mask(32) & ~1
