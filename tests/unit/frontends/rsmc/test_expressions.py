"""Expressions of the RSMC language against an evaluator of their own."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.frontends.litmus.sequential import execute

from dekker.frontends.rsmc import parse_rsmc
from dekker.frontends.rsmc.expressions import MOST_OPERATORS
from dekker.ir.expressions import registers
from dekker.ir.instructions import Load
from dekker.ir.validate import validate
from dekker.source import Source


def wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def divide(left: int, right: int) -> int:
    if right == 0:
        return 0
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left: int, right: int) -> int:
    return left - right * divide(left, right) if right else 0


def shift(left: int, right: int) -> int:
    return left << right if 0 <= right < 64 else 0


def shift_back(left: int, right: int) -> int:
    return left >> (right if 0 <= right < 64 else 63)


Operator = Callable[[int, int], int]
TABLE: list[dict[str, Operator]] = [
    {"||": lambda a, b: bool(a) or bool(b)},
    {"&&": lambda a, b: bool(a) and bool(b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"<<": shift, ">>": shift_back},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": divide, "%": remainder},
]
MARKS = [mark for level in TABLE for mark in level]
UNARY: dict[str, Callable[[int], int]] = {"-": operator.neg, "~": operator.invert, "!": lambda a: int(a == 0)}

Part = tuple[str, int]


def flat_value(operands: list[int], marks: list[str]) -> int:
    """Splits at the last operator that binds least, because all operators associate to the left."""
    for level in TABLE:
        for index in reversed(range(len(marks))):
            if marks[index] in level:
                left = flat_value(operands[: index + 1], marks[:index])
                right = flat_value(operands[index + 1 :], marks[index + 1 :])
                return wrap(int(level[marks[index]](left, right)))
    return operands[0]


@st.composite
def chains(draw: st.DrawFn, operands: st.SearchStrategy[Part]) -> Part:
    parts = draw(st.lists(operands, min_size=1, max_size=4))
    marks = draw(st.lists(st.sampled_from(MARKS), min_size=len(parts) - 1, max_size=len(parts) - 1))
    text = parts[0][0] + "".join(f" {mark} {part[0]}" for mark, part in zip(marks, parts[1:], strict=True))
    return text, flat_value([value for _, value in parts], marks)


@st.composite
def operands_of(draw: st.DrawFn, inner: st.SearchStrategy[Part]) -> Part:
    text, value = draw(chains(inner))
    mark = draw(st.sampled_from(["", *UNARY]))
    return f"{mark}({text})", wrap(UNARY[mark](value)) if mark else value


NUMBERS = st.one_of(st.integers(-3, 70), st.integers(-(1 << 63), (1 << 63) - 1))
LEAVES = st.one_of(
    NUMBERS.map(lambda value: (str(value), value)),
    st.sampled_from([("r", 5), ("s", -7), ("zero", 0), ("0x2a", 42), ("18446744073709551615", -1)]),
)


def is_accepted(part: Part) -> bool:
    return len(re.findall(r"[^\w\s)]", part[0])) <= MOST_OPERATORS


EXPRESSIONS = chains(st.recursive(LEAVES, operands_of, max_leaves=8)).filter(is_accepted)


@given(EXPRESSIONS)
def test_values(expression: Part) -> None:
    text, value = expression
    program = parse_rsmc(Source("t.rsmc", f"thread P: r := 5; s := -7; zero := 0\nresult := {text}\n"))
    validate(program)
    assert wrap(execute(program, {}).registers["result"]) == value


@pytest.mark.parametrize("text", ["r*0", "r ^ r", "r - r", "r & 0", "r = r", "!(r || 1)", "0 && r"])
def test_nothing_that_depends_on_a_register_is_simplified(text: str) -> None:
    program = parse_rsmc(Source("t.rsmc", f"x = 0\nthread P: r := x; s := [&x + ({text})]"))
    load = program.functions[0].body[1]
    assert isinstance(load, Load)
    assert registers(load.address) == {"r"}


@pytest.mark.parametrize("mark", MARKS)
def test_long_expressions_are_valid_up_to_the_limit(mark: str) -> None:
    text = "r" + f" {mark} r" * MOST_OPERATORS
    validate(parse_rsmc(Source("t.rsmc", f"thread P: r := 1; s := {text}")))
