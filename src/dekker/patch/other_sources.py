"""Gaps in litmus tests and in programs of the RSMC paper: before every instruction, as the reader found them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dekker.ir.program import Program
from dekker.patch import Gap, Sheet
from dekker.patch.c_source import c_sheet
from dekker.source import Span

_SHORTEST = len("fence rw,rw ")
_FIRST_FUNCTION = re.compile(r"^[ \t]*(?:static[ \t]+)?(?:void[ \t]+)?P\d+[ \t]*\(", re.MULTILINE)


def litmus_sheet(path: str, text: str, program: Program) -> Sheet:
    """A new row above that of each instruction; for C, statements."""
    if program.architecture == "C":
        found = _FIRST_FUNCTION.search(text)
        return c_sheet(path, text, found.start() if found is not None else len(text))
    return Sheet(path, text, tuple(_row_gap(text, span) for span in _spans(program)))


def rsmc_sheet(path: str, text: str, program: Program) -> Sheet:
    """Behind the labels of an instruction, so that jumps to them come to what is put in."""
    return Sheet(path, text, tuple(_gap_before(span) for span in _spans(program)))


def _gap_before(span: Span) -> Gap:
    line, column = span.source.line(span.line), span.column
    statement = line[column - 1 :].partition(";")[0].strip()
    beside = f"before `{statement};`" if line[: column - 1].strip() else ""
    return Gap(span.line, span.start, column=column, beside=beside)


def _spans(program: Program) -> Iterable[Span]:
    """Several instructions of the representation may come from one of the text."""
    found: dict[tuple[int, int], Span] = {}
    for function in program.functions:
        for index in range(len(function.body)):
            span = function.span(index)
            if span is not None:
                found.setdefault((span.source.position(span.start)[0], span.start), span)
    return [found[key] for key in sorted(found)]


def _row_gap(text: str, span: Span) -> Gap:
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    row = text[start:] if end < 0 else text[start:end]
    cells = row.rstrip().rstrip(";").split("|")
    column = row[: span.start - start].count("|")
    left = "|".join(" " * len(cell) for cell in cells[:column])
    left += ("|" if column else "") + " " * (len(cells[column]) - len(cells[column].lstrip()))
    right = "|".join(" " * len(cell) for cell in cells[column + 1 :])
    behind = ("|" + right if column + 1 < len(cells) else "") + ";\n"
    width = len(cells[column].lstrip())
    return Gap(span.line, start, before=left, behind=behind, width=max(width, _SHORTEST), column=span.column)
