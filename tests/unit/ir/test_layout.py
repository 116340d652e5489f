"""Where objects and functions live, and how values are shown."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.litmus_programs import DISTANCE

from dekker.ir.expressions import Address
from dekker.ir.layout import FUNCTIONS_START, GAP, OBJECTS_START, layout
from dekker.ir.program import Function, Object, Program

PROGRAM = Program(
    "p",
    "C",
    (Object("x", 8), Object("empty", 0), Object("buffer", 100, align=256), Object("y", 4, align=1)),
    (Function("main", (), ()), Function("thread", (), ())),
    (),
)
LAYOUT = layout(PROGRAM)

OBJECTS = st.lists(
    st.builds(Object, st.text(max_size=3), st.integers(0, 5000), st.just(()), st.sampled_from((1, 8, 16, 64, 4096))),
    unique_by=lambda item: item.name,
    max_size=8,
)


@given(OBJECTS, st.lists(st.text(max_size=3), unique=True, max_size=4))
def test_symbols_are_aligned_apart_and_below_31_bits(objects: list[Object], functions: list[str]) -> None:
    program = Program("p", "C", tuple(objects), tuple(Function(name, (), ()) for name in functions), ())
    placed = layout(program)
    assert set(placed.starts) == {*(item.name for item in objects), *functions}
    ranges = sorted((start, start + placed.sizes[name]) for name, start in placed.starts.items())
    assert all(first[1] + GAP // 2 <= second[0] for first, second in pairwise(ranges))
    assert all(start >= FUNCTIONS_START and end < 1 << 31 for start, end in ranges)
    for item in objects:
        assert placed.starts[item.name] % max(item.align, GAP) == 0
        assert placed.starts[item.name] >= OBJECTS_START


@given(OBJECTS, st.data())
def test_locate_is_the_way_back_from_resolve(objects: list[Object], data: st.DataObject) -> None:
    placed = layout(Program("p", "C", tuple(objects), (), ()))
    for item in objects:
        offset = data.draw(st.integers(0, max(0, item.size - 1)))
        place = Address(item.name, offset)
        assert placed.locate(placed.resolve(place)) == place
        assert placed.locate(placed.resolve(Address(item.name, max(1, item.size)))) is None
        assert placed.locate(placed.resolve(Address(item.name, -1))) is None


def test_functions_have_addresses_of_one_byte() -> None:
    assert LAYOUT.resolve(Address("main")) == FUNCTIONS_START
    assert LAYOUT.locate(FUNCTIONS_START + GAP) == Address("thread")
    assert LAYOUT.locate(FUNCTIONS_START + 1) is None


def test_an_object_hides_the_function_of_its_name() -> None:
    placed = layout(replace(PROGRAM, objects=(Object("main", 4),)))
    assert placed.resolve(Address("main")) == OBJECTS_START
    assert placed.sizes["main"] == 4


def test_addresses_wrap_at_64_bits() -> None:
    assert LAYOUT.resolve(Address("x", -OBJECTS_START - 1)) == (1 << 64) - 1


@pytest.mark.parametrize("value", [0, 1, FUNCTIONS_START - 1, OBJECTS_START - 1, OBJECTS_START + 8, 1 << 40, 1 << 63])
def test_other_addresses_belong_to_nothing(value: int) -> None:
    assert LAYOUT.locate(value) is None


@pytest.mark.parametrize(
    ("value", "width", "shown"),
    [
        (OBJECTS_START, 64, "x"),
        (OBJECTS_START + 4, 64, "x+4"),
        (OBJECTS_START, 32, "x"),
        (OBJECTS_START | 5 << 32, 32, "x"),
        (OBJECTS_START, 8, "0"),
        (0, 64, "0"),
        (5, 32, "5"),
        ((1 << 32) - 1, 32, "-1"),
        ((1 << 32) - 1, 64, "4294967295"),
        ((1 << 64) - 1, 64, "-1"),
        ((1 << 64) - 1, 8, "-1"),
        (255, 8, "-1"),
        (127, 8, "127"),
    ],
)
def test_show(value: int, width: int, shown: str) -> None:
    assert LAYOUT.show(value, width) == shown


def test_neighbouring_objects_have_the_distance_that_random_programs_count_on() -> None:
    program = Program("t", "none", (Object("x", 8), Object("y", 8)), (), ())
    starts = layout(program).starts
    assert starts["y"] - starts["x"] == DISTANCE
