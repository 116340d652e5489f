"""How the analyses name what a program does: accesses by their place in the code."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.ir.instructions import MEMORY_ACCESSES, Instruction
from dekker.ir.program import Program
from dekker.records import dataclass
from dekker.source import Span


@dataclass(frozen=True, order=True, slots=True)
class AccessPoint:
    """An instruction that accesses memory: its function and index in the body. Both halves of an update are one."""

    function: str
    index: int


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
