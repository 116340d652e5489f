"""Which of several fences of the same cost people would rather have: not in a loop, where it is executed again and
again; in a source rather than in a header; where no braces have to be added."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.ir.flow import predecessors, successors
from dekker.ir.program import Function
from dekker.run.fence_markers import Marked, marker_of

_LOOP, _HEADER, _BRACES = 1.0, 0.5, 0.25


def dislike(marked: Marked) -> Mapping[int, float]:
    """For every marker."""
    found: dict[int, float] = {}
    for function in marked.program.functions:
        depths = loop_depths(function)
        for index, depth in enumerate(depths):
            marker = marker_of(function.span(index))
            if marker is not None:
                found[marker] = max(found.get(marker, 0.0), depth * _LOOP + _kind_of_place(marked, marker))
    return found


def _kind_of_place(marked: Marked, marker: int) -> float:
    _, gap = marked.place(marker)
    return marked.in_header(marker) * _HEADER + (gap.wrap is not None) * _BRACES


def loop_depths(function: Function) -> list[int]:
    """In how many loops of the function each instruction is: loops go back to an earlier instruction."""
    before = predecessors(function)
    loops: dict[int, set[int]] = {}
    for last in range(len(function.body)):
        for first in successors(function, last):
            if first <= last:
                loop = loops.setdefault(first, {first})
                pending = [last]
                while pending:
                    index = pending.pop()
                    if index not in loop:
                        loop.add(index)
                        pending += before[index]
    return [sum(index in loop for loop in loops.values()) for index in range(len(function.body))]
