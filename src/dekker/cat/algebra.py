"""Relational algebra on plain lists of integers: bit j of row i is the pair (i, j)."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.execution import Relation


def union(left: Relation, right: Relation) -> Relation:
    return [a | b for a, b in zip(left, right, strict=True)]


def intersection(left: Relation, right: Relation) -> Relation:
    return [a & b for a, b in zip(left, right, strict=True)]


def difference(left: Relation, right: Relation) -> Relation:
    return [a & ~b for a, b in zip(left, right, strict=True)]


def complement(rows: Relation) -> Relation:
    everything = (1 << len(rows)) - 1
    return [everything & ~row for row in rows]


def composition(left: Relation, right: Relation) -> Relation:
    result = []
    for row in left:
        reached = 0
        while row:
            low = row & -row
            reached |= right[low.bit_length() - 1]
            row ^= low
        result.append(reached)
    return result


def inverse(rows: Relation) -> Relation:
    result = [0] * len(rows)
    for i, row in enumerate(rows):
        bit = 1 << i
        while row:
            low = row & -row
            result[low.bit_length() - 1] |= bit
            row ^= low
    return result


def reflexive(rows: Relation) -> Relation:
    return [row | 1 << i for i, row in enumerate(rows)]


def transitive_closure(rows: Relation) -> Relation:
    result = list(rows)
    for k, bit in enumerate(1 << i for i in range(len(rows))):
        through = result[k]
        if through:
            result = [row | through if row & bit else row for row in result]
    return result


def identity_on(members: int, size: int) -> Relation:
    return [members & 1 << i for i in range(size)]


def cross(sources: int, targets: int, size: int) -> Relation:
    return [targets if sources >> i & 1 else 0 for i in range(size)]


def domain(rows: Relation) -> int:
    return sum(1 << i for i, row in enumerate(rows) if row)


def codomain(rows: Relation) -> int:
    result = 0
    for row in rows:
        result |= row
    return result


def is_irreflexive(rows: Sequence[int]) -> bool:
    return not any(row >> i & 1 for i, row in enumerate(rows))


def is_acyclic(rows: Sequence[int]) -> bool:
    """Repeatedly remove events without a successor among those that remain."""
    remaining = (1 << len(rows)) - 1
    while remaining:
        kept = sum(1 << i for i, row in enumerate(rows) if remaining >> i & 1 and row & remaining)
        if kept == remaining:
            return False
        remaining = kept
    return True
