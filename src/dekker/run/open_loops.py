"""Loops that only what is read can end: how many rounds they take cannot be told from the text.

A loop is what lies between a backward jump, other than an await, and its target. It is open if no exit from it depends
on numbers that the thread computes by itself; recursion counts as an open loop, too.
"""

from __future__ import annotations

from dekker.ir.expressions import Address, registers
from dekker.ir.flow import defined
from dekker.ir.instructions import (
    Assign,
    Branch,
    Call,
    Choose,
    CompareExchange,
    Exit,
    Instruction,
    Join,
    Jump,
    Load,
    Return,
    Rmw,
    StoreConditional,
)
from dekker.ir.program import Function, Program
from dekker.source import Span

_READS = (Load, Rmw, CompareExchange, StoreConditional, Call, Join, Choose)


def open_loop(program: Program) -> tuple[str, Span | None] | None:
    """The first one: the name of its function, and where it is."""
    for function in program.functions:
        for index, step in enumerate(function.body):
            if isinstance(step, Jump | Branch) and function.labels[step.target] <= index:
                if _is_open(function, function.labels[step.target], index):
                    return function.name, function.span(index)
            elif isinstance(step, Call) and step.function == Address(function.name):
                return function.name, function.span(index)
    return None


def _is_open(function: Function, first: int, last: int) -> bool:
    body = function.body[first : last + 1]
    unknown = _unknown(body)
    return not any(
        _is_counted_exit(function, step, first, last, index, unknown) for index, step in enumerate(body, first)
    )


def _is_counted_exit(
    function: Function, step: Instruction, first: int, last: int, index: int, unknown: frozenset[str]
) -> bool:
    if not isinstance(step, Branch):
        return False
    following = (function.labels[step.target], index + 1)
    leaves = any(not first <= place <= last or _ends(function, place) for place in following)
    known = registers(step.condition)
    return leaves and bool(known) and known.isdisjoint(unknown)


def _ends(function: Function, place: int) -> bool:
    return place >= len(function.body) or isinstance(function.body[place], Return | Exit)


def _unknown(body: tuple[Instruction, ...]) -> frozenset[str]:
    """Registers whose values come from reads in the loop."""
    found = {name for step in body if isinstance(step, _READS) for name in defined(step) if isinstance(name, str)}
    while True:
        more = {
            step.dst
            for step in body
            if isinstance(step, Assign) and step.dst not in found and not found.isdisjoint(registers(step.value))
        }
        if not more:
            return frozenset(found)
        found |= more
