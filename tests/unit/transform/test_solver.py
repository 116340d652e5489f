"""Cheapest covers: what decides between those that cost the same."""

from __future__ import annotations

from dekker.transform.solver import cheapest_cover


def test_ties_decide_between_covers_of_the_same_cost() -> None:
    assert cheapest_cover([1, 1, 1], [[0, 1], [1, 2]], ties=[0, 0, 0]) == {1}
    assert cheapest_cover([1, 2, 1], [[0, 1], [1, 2]], ties=[0, 1, 0]) == {0, 2}
    assert cheapest_cover([1, 2, 1], [[0, 1], [1, 2]], ties=[1, 1, 1]) == {1}
    assert cheapest_cover([1, 1], [[0, 1]], ties=[1, 0]) == {1}


def test_ties_never_outweigh_costs() -> None:
    assert cheapest_cover([1, 1.00001], [[0, 1]], ties=[1000, 0]) == {0}
    assert cheapest_cover([1e-3, 1.1e-3, 1e6], [[0, 1], [2]], ties=[1000, 0, 0]) == {0, 2}
