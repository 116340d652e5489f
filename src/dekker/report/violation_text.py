"""Violations for a person: what went wrong, where, and the run that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dekker.report.check_report import CheckViolation
from dekker.report.counterexample import OutOfOrder, counterexample_text, finding_text
from dekker.report.execution_text import execution_text, heading
from dekker.report.run_rows import user_frames
from dekker.report.style import LIST, WIDTH, RunStyle
from dekker.source import Diagnostic, Source, Span, whole_call
from dekker.witness import Witness


def violations_text(violations: Iterable[CheckViolation], width: int, style: RunStyle) -> Iterator[str]:
    """Each with its source line, and the run that shows the first."""
    shown = None
    for violation in violations:
        yield from ("", *violation_lines(violation))
        shown = shown or (violation if violation.witness is not None else None)
    if shown is not None and shown.witness is not None:
        head = "The run that shows it:\n\n" if shown.witness.program.sources else ""
        yield from ("", head + _run_itself(shown.witness, shown.order, width, style))


def run_text(witness: Witness, order: OutOfOrder | None, width: int = WIDTH, style: RunStyle = LIST) -> str:
    """A witness alone: what it shows, and the run."""
    if not witness.program.sources or witness.violation is None:
        return f"{heading(witness)}\n\n{execution_text(witness, width)}"
    about = "\n".join(finding_text(witness.violation, witness))
    return f"{heading(witness)}\n{about}\n\n{_run_itself(witness, order, width, style)}\n"


def _run_itself(witness: Witness, order: OutOfOrder | None, width: int, style: RunStyle) -> str:
    """By lines of the source for a program that was compiled, else event by event."""
    if not witness.program.sources or witness.violation is None:
        return f"{heading(witness)}\n\n{execution_text(witness, width)}"
    return counterexample_text(witness, order, width, style=style)


def violation_lines(violation: CheckViolation) -> list[str]:
    finding = violation.finding
    head = Diagnostic(f"{finding.kind}: {finding.message}", place_of(violation)).render("violation")
    return [head, *finding_text(finding, violation.witness)]


def place_of(violation: CheckViolation) -> Span | None:
    """The place in the user's file, which for what happens inside of a library is that of the call."""
    stack = user_frames(violation.finding.stack)
    place, witness = (stack[-1] if stack else None), violation.witness
    own = violation.span
    if place is None or (own is not None and (own.source.name, own.line) == (place.file, place.line)):
        return own
    sources = witness.program.sources if witness is not None else ()
    source = next((Source(item.file, item.text) for item in sources if item.file == place.file), None)
    if source is None or not 0 < place.line <= len(source.line_starts):
        return own
    start = source.line_starts[place.line - 1] + max(0, place.column - 1)
    return whole_call(Span(source, start, start + 1))
