"""The plain relational algebra against sets of pairs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dekker.cat import algebra
from dekker.execution import from_read, pairs, relation

SIZE = 6
Pairs = set[tuple[int, int]]
pair_sets = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)))


def rows(content: Pairs) -> list[int]:
    return relation(SIZE, content)


def closure(content: Pairs) -> Pairs:
    while True:
        grown = content | {(a, d) for a, b in content for c, d in content if b == c}
        if grown == content:
            return content
        content = grown


@given(pair_sets, pair_sets)
def test_binary_operations(left: Pairs, right: Pairs) -> None:
    assert set(pairs(algebra.union(rows(left), rows(right)))) == left | right
    assert set(pairs(algebra.intersection(rows(left), rows(right)))) == left & right
    assert set(pairs(algebra.difference(rows(left), rows(right)))) == left - right
    composed = {(a, d) for a, b in left for c, d in right if b == c}
    assert set(pairs(algebra.composition(rows(left), rows(right)))) == composed


@given(pair_sets)
def test_unary_operations(content: Pairs) -> None:
    everything = {(a, b) for a in range(SIZE) for b in range(SIZE)}
    assert set(pairs(algebra.inverse(rows(content)))) == {(b, a) for a, b in content}
    assert set(pairs(algebra.transitive_closure(rows(content)))) == closure(content)
    assert set(pairs(algebra.reflexive(rows(content)))) == content | {(a, a) for a in range(SIZE)}
    assert set(pairs(algebra.complement(rows(content)))) == everything - content


@given(pair_sets)
def test_tests(content: Pairs) -> None:
    cyclic = any(a == b for a, b in closure(content))
    assert algebra.is_acyclic(rows(content)) == (not cyclic)
    assert algebra.is_irreflexive(rows(content)) == all(a != b for a, b in content)


@given(pair_sets, pair_sets)
def test_from_read(rf: Pairs, co: Pairs) -> None:
    expected = {(read, later) for write, read in rf for first, later in co if write == first and read != later}
    assert set(pairs(from_read(rows(rf), rows(co)))) == expected
