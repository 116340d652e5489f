"""The random programs of `dekker fuzz` with decisions that hypothesis makes, and so can shrink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from dekker.fuzz.hardware import (
    ANNOTATED,
    C11,
    DISTANCE,
    HARDWARE,
    LOCATIONS,
    PLAIN_ACCESSES,
    RETRIES,
    Flavour,
    random_program,
)
from dekker.ir.program import Program

__all__ = ["ANNOTATED", "C11", "DISTANCE", "HARDWARE", "LOCATIONS", "PLAIN_ACCESSES", "RETRIES", "Flavour", "programs"]

T = TypeVar("T")


class _Decisions:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def sample(self, choices: Sequence[T]) -> T:
        return self._draw(st.sampled_from(choices))

    def flag(self) -> bool:
        return self._draw(st.booleans())


@st.composite
def programs(draw: st.DrawFn, flavour: Flavour = HARDWARE) -> Program:
    return random_program(_Decisions(draw), flavour)
