"""The core computes with floating-point numbers as the tables of `ir.floating` say."""

from __future__ import annotations

import math
import struct
from itertools import product
from random import Random

import pytest

from dekker.engines.rsmc import engine as rsmc
from dekker.ir.expressions import Binary, Const, Expr, Unary, evaluate_binary, evaluate_unary
from dekker.ir.floating import FLOAT_BINARY_OPERATORS, FLOAT_UNARY_OPERATORS, INTEGER_TO_FLOAT
from dekker.ir.instructions import Assign
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import Property, RegisterValue
from dekker.models import load_model
from dekker.task import Task

SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    3e38,
    -3.5e38,
    1e-45,
    2.0**63,
    -(2.0**63),
    2.0**64,
    1e300,
    float("inf"),
    float("nan"),
)


def computed(expressions: list[Expr]) -> list[int]:
    """By the core."""
    names = [f"r{i}" for i in range(len(expressions))]
    body = tuple(Assign(name, expression) for name, expression in zip(names, expressions, strict=True))
    observed = tuple(RegisterValue(0, name) for name in names)
    program = Program(
        "sums", "none", (), (Function("P0", (), body),), (Thread("P0", "P0"),), Property(observed=observed)
    )
    (state,) = rsmc.run(Task(program, load_model("sc"))).states
    return list(state)


def patterns(width: int, random: Random, count: int) -> list[int]:
    """Special numbers, numbers of usual size, and any bits."""
    form = "<f" if width == 32 else "<d"
    usual = [random.uniform(-1e6, 1e6) for _ in range(count)]
    numbers = [*(value for value in SPECIAL if width == 64 or abs(value) < 3.4e38 or math.isnan(value)), *usual]
    encoded = [int.from_bytes(struct.pack(form, value), "little") for value in numbers]
    return encoded + [random.getrandbits(width) for _ in range(count)]


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("op", FLOAT_BINARY_OPERATORS)
def test_binary_operators(op: str, width: int) -> None:
    random = Random(f"{op}{width}")
    operands = patterns(width, random, 30)
    pairs = [
        *product(operands[:12], repeat=2),
        *((random.choice(operands), random.choice(operands)) for _ in range(300)),
    ]
    found = computed([Binary(op, width, Const(a), Const(b)) for a, b in pairs])
    for (a, b), value in zip(pairs, found, strict=True):
        assert value == evaluate_binary(op, width, a, b), (hex(a), hex(b))


@pytest.mark.parametrize("width", [8, 32, 64])
@pytest.mark.parametrize("op", FLOAT_UNARY_OPERATORS)
def test_unary_operators(op: str, width: int) -> None:
    random = Random(f"{op}{width}")
    if op in INTEGER_TO_FLOAT:
        operands = [0, 1, (1 << width) - 1, 1 << (width - 1), *(random.getrandbits(width) for _ in range(300))]
    elif width == 8:
        pytest.skip("there are no numbers of 8 bits")
    else:
        operands = patterns(width, random, 200)
    found = computed([Unary(op, width, Const(a)) for a in operands])
    for a, value in zip(operands, found, strict=True):
        assert value == evaluate_unary(op, width, a), hex(a)
