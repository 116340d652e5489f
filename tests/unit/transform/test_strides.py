"""Where in its element an access is."""

from __future__ import annotations

import pytest

from dekker.ir.instructions import Store
from dekker.ir.text import parse_program
from dekker.source import Source
from dekker.transform.points_to import analyse
from dekker.transform.strides import ANYWHERE, Stride, find_strides, overlap

PLACES = {
    "&a add.64 (i mul.64 16)": Stride(0, 16),
    "(&a add.64 ((sext.32 i) mul.64 16)) add.64 20": Stride(4, 16),
    "(&a add.64 (i mul.64 16)) sub.64 4": Stride(12, 16),
    "(&a add.64 (i mul.64 24)) add.64 (i mul.64 16)": Stride(0, 8),
    "&a add.64 ((i mul.64 2) shl.64 3)": Stride(0, 16),
    "&a add.64 i": ANYWHERE,
    "&a xor.64 (i mul.64 16)": ANYWHERE,
    "p add.64 4": Stride(4, 8),
}


@pytest.mark.parametrize("address", PLACES)
def test_addresses(address: str) -> None:
    text = f"""program "p"
architecture C

object a[96]
object n[8]

function main() {{
  i = load.8 [&n]
  p = call &next(&a add.64 (i mul.64 24))
  p = &a add.64 8
  store.1 [{address}] = 1
}}

function next(q) {{
  return q add.64 16
}}

thread main runs main
"""
    program = parse_program(Source("program.ir", text))
    (store,) = (step for step in program.function_by_name["main"].body if isinstance(step, Store))
    assert find_strides(analyse(program)).of("main", store.address) == PLACES[address]


@pytest.mark.parametrize(
    ("first", "size", "second", "other", "expected"),
    [
        (Stride(0, 0), 4, Stride(4, 0), 4, False),
        (Stride(0, 0), 5, Stride(4, 0), 4, True),
        (Stride(1, 8), 3, Stride(4, 8), 4, False),
        (Stride(1, 8), 3, Stride(12, 0), 4, False),
        (Stride(1, 8), 3, Stride(11, 0), 4, True),
        (Stride(6, 8), 4, Stride(0, 8), 1, True),
        (Stride(0, 16), 4, Stride(4, 24), 4, False),
        (Stride(0, 16), 4, Stride(8, 24), 4, True),
        (Stride(0, 8), 1, ANYWHERE, 1, True),
    ],
)
def test_what_may_overlap(first: Stride, size: int, second: Stride, other: int, *, expected: bool) -> None:
    assert overlap(first, size, second, other) is expected
    assert overlap(second, other, first, size) is expected
