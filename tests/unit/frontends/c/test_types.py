"""Sizes, alignments and offsets of LLVM types."""

from __future__ import annotations

import pytest

from dekker.frontends.c.llvm.types import (
    BYTE,
    FLOATS,
    INT,
    LONG,
    POINTER,
    Array,
    DataLayout,
    Integer,
    Leaf,
    Named,
    Opaque,
    SizeUnknown,
    Struct,
    Type,
    Vector,
    type_text,
)

NODE = Struct((INT, LONG, Array(3, BYTE), POINTER))


@pytest.mark.parametrize(
    ("kind", "size", "align"),
    [
        (Integer(1), 1, 1),
        (Integer(24), 4, 4),
        (Integer(33), 8, 8),
        (Integer(72), 16, 16),
        (Integer(128), 16, 16),
        (FLOATS["x86_fp80"], 16, 16),
        (Array(3, Integer(16)), 6, 2),
        (Vector(2, FLOATS["float"]), 8, 8),
        (NODE, 32, 8),
        (Struct((BYTE, INT), packed=True), 5, 1),
        (Named("node"), 32, 8),
        (Struct(()), 0, 1),
    ],
)
def test_sizes_and_alignments(kind: Type, size: int, align: int) -> None:
    layout = DataLayout({"node": NODE})
    assert (layout.size(kind), layout.align(kind)) == (size, align)


def test_offsets_respect_alignment() -> None:
    assert DataLayout({}).offsets(NODE) == (0, 8, 16, 24)


def test_an_access_of_an_odd_width_touches_only_its_bytes() -> None:
    assert DataLayout({}).store_size(Integer(24)) == 3


def test_leaves_are_all_scalars_in_order() -> None:
    kind = Struct((BYTE, Array(2, Struct((INT, BYTE)))))
    found = DataLayout({}).leaves(kind)
    assert found == (Leaf(0, BYTE), Leaf(4, INT), Leaf(8, BYTE), Leaf(12, INT), Leaf(16, BYTE))


def test_wide_integers_are_two_leaves() -> None:
    assert DataLayout({}).leaves(Integer(72)) == (Leaf(0, LONG), Leaf(8, BYTE))


def test_a_type_without_size_says_so() -> None:
    with pytest.raises(SizeUnknown, match="void"):
        DataLayout({}).size(Opaque("void"))


def test_types_print_as_llvm_writes_them() -> None:
    kind = Struct((Array(2, POINTER), Vector(4, INT), Named("x")), packed=True)
    assert type_text(kind) == "<{ [2 x ptr], <4 x i32>, %x }>"
