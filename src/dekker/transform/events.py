"""How the analyses name what a program does: accesses by their place in the code, and pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dekker.ir.instructions import MEMORY_ACCESSES, Instruction
from dekker.ir.program import Program
from dekker.source import Span


@dataclass(frozen=True, order=True, slots=True)
class AccessPoint:
    """An instruction that accesses memory: its function and index in the body. Both halves of an update are one."""

    function: str
    index: int


@dataclass(frozen=True, order=True, slots=True)
class Delay:
    """`first` may take effect after `second`. Both are of one thread, in program order; or `first` is a write that a
    read of another thread, `second`, may see before all threads do (POWER)."""

    first: AccessPoint
    second: AccessPoint


def access_points(program: Program) -> Iterator[AccessPoint]:
    """All accesses of the program, those that no thread reaches included."""
    for function in program.functions:
        for index, instruction in enumerate(function.body):
            if isinstance(instruction, MEMORY_ACCESSES):
                yield AccessPoint(function.name, index)


def instruction_at(program: Program, point: AccessPoint) -> Instruction:
    return program.function_by_name[point.function].body[point.index]


def span_of(program: Program, point: AccessPoint) -> Span | None:
    return program.function_by_name[point.function].span(point.index)
