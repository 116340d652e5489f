"""The answer of `dekker compare`: a line for each model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath

from dekker.report.check_report import CheckReport, check_record
from dekker.report.violation_text import place_of
from dekker.result import Result, Verdict

HEADS = ("model", "verdict", "traces", "blocked", "time", "engine", "what")
WIDTHS = (9, 17, 9, 9, 9, 9)
RIGHT = frozenset(("traces", "blocked", "time"))


def table_head() -> str:
    return _line(HEADS)


def table_row(report: CheckReport) -> str:
    """The first violation, or what keeps the verdict from being final."""
    result = report.result
    if report.error is not None:
        return _line((report.model, report.verdict.value, "-", "-", "-", "-", _first_line(report.error)))
    counts = shown_counts(result)
    return _line((report.model, report.verdict.value, *counts, f"{report.time_s:.3f} s", report.engine, what(report)))


def shown_counts(result: Result) -> tuple[str, str]:
    """Executions that are complete, and blocked."""
    return (str(result.complete_executions), str(result.blocked)) if result.counts_executions else ("-", "-")


def comparison_json(reports: Sequence[CheckReport]) -> str:
    """Without the runs that show the violations; `dekker check` has them."""
    files = list(reports[0].paths) if reports else []
    return json.dumps({"files": files, "models": [_record(report) for report in reports]})


def _record(report: CheckReport) -> dict[str, object]:
    result = report.result
    record = check_record(report, witness=False)
    is_counted = result.counts_executions
    return {
        **record,
        "traces": result.complete_executions if is_counted else None,
        "blocked": result.blocked if is_counted else None,
        "error": report.error,
    }


def _line(cells: Sequence[str]) -> str:
    padded = [
        cell.rjust(width) if head in RIGHT else cell.ljust(width)
        for head, cell, width in zip(HEADS, cells, WIDTHS, strict=False)
    ]
    return "  ".join((*padded, cells[-1])).rstrip()


def what(report: CheckReport) -> str:
    result = report.result
    if report.violations:
        first = report.violations[0]
        span = place_of(first)
        place = "" if span is None else f" at {PurePath(span.source.name).name}:{span.line}"
        return f"{first.finding.kind}{place}"
    if report.verdict is Verdict.UNSAFE:
        return "the condition on final states"
    if result.stopped_by is not None:
        return f"stopped by {result.stopped_by}"
    if report.undecided:
        return f"{report.undecided}{f' within --unroll {report.limits.unroll}' if result.cut else ''}"
    return f"{result.cut} cut at --unroll {report.limits.unroll}" if result.cut else ""


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]
