"""The pages of `dekker check` and `dekker compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dekker.report.check_report import (
    CheckReport,
    CheckViolation,
    check_text,
    coverage,
    fine_print,
)
from dekker.report.comparison import shown_counts, table_head, table_row, what
from dekker.report.html.page import BAD, GOOD, OPEN, Heading, Page, Plain, Sources
from dekker.report.html.run_data import allowed_run, witness_sources
from dekker.report.violation_text import place_of, violation_lines
from dekker.result import Verdict

TONES = {
    Verdict.SAFE: GOOD,
    Verdict.SAFE_WITHIN_BOUND: GOOD,
    Verdict.UNSAFE: BAD,
    Verdict.UNKNOWN: OPEN,
}
SENTENCES = {
    Verdict.SAFE: "No execution goes wrong.",
    Verdict.SAFE_WITHIN_BOUND: "No execution within the bound goes wrong.",
    Verdict.UNSAFE: "There is an execution that goes wrong.",
    Verdict.UNKNOWN: "There is no answer within the limits.",
}
COLUMNS = (
    Heading("Model"),
    Heading("Verdict", verdict=True),
    Heading("Executions", number=True),
    Heading("Blocked", number=True),
    Heading("Seconds", number=True),
    Heading("Engine"),
    Heading("What"),
)


def check_page(report: CheckReport, texts: Mapping[str, str]) -> Page:
    """`texts` are the files that were checked."""
    sources = Sources()
    entry = _entry(report, texts, sources)
    return Page(f"{_files(report)} under {report.model}", check_text(report), entries=[entry], sources=sources)


def comparison_page(reports: Sequence[CheckReport], texts: Mapping[str, str]) -> Page:
    sources = Sources()
    entries = [_entry(report, texts, sources) for report in reports]
    text = "\n".join((table_head(), *map(table_row, reports)))
    names = _files(reports[0]) if reports else ""
    models = ", ".join(report.model for report in reports)
    facts = [("Files", names), *_bounds(reports[0])] if reports else []
    return Page(f"{names} under {models}", text, facts, columns=COLUMNS, entries=entries, sources=sources)


def _files(report: CheckReport) -> str:
    return ", ".join(report.paths)


def _entry(report: CheckReport, texts: Mapping[str, str], sources: Sources) -> Plain:
    shown = next((item for item in report.violations if item.witness is not None), None)
    entry: Plain = {
        "name": report.model,
        "verdict": report.verdict.value,
        "tone": TONES[report.verdict],
        "sentence": SENTENCES[report.verdict] if report.error is None else "The program could not be checked.",
        "cells": _cells(report),
        "facts": _facts(report),
        "notes": [*fine_print(report)] if report.error is None else [],
        "findings": [_finding(violation) for violation in report.violations],
    }
    if report.error is not None:
        entry |= {"text": report.error, "textTitle": "Why"}
    if shown is not None and shown.witness is not None:
        entry["run"] = allowed_run(shown.witness, shown.order, report.result.examples.schedule)
        entry["run"]["heading"] = "The run that shows it"
        entry["sources"] = witness_sources(shown.witness, sources)
    else:
        entry["sources"] = [sources.add(file, text) for file, text in texts.items()]
    return entry


def _facts(report: CheckReport) -> list[list[str]]:
    facts = [("Model", report.model), ("Engine", report.engine), ("Files", _files(report))]
    if report.error is None:
        facts += [("Covered", coverage(report))]
    facts += [*_bounds(report), ("Time", f"{report.time_s:.2f} s")]
    return [list(fact) for fact in facts if fact[1]]


def _bounds(report: CheckReport) -> list[tuple[str, str]]:
    limits = report.limits
    given = {
        "time": f"{limits.timeout_s:g} s" if limits.timeout_s else "",
        "memory": f"{limits.memory_mb} MB" if limits.memory_mb else "",
        "executions": str(limits.max_traces or ""),
    }
    listed = ", ".join(f"{name} {value}" for name, value in given.items() if value)
    return [("Loops", f"up to {limits.unroll} rounds (--unroll)"), ("Limits", listed or "none")]


def _cells(report: CheckReport) -> list[str]:
    result = report.result
    if report.error is not None:
        return [report.model, report.verdict.value, "", "", "", "", report.error.split("\n", 1)[0]]
    counts = (*shown_counts(result), f"{report.time_s:.3f}")
    return [report.model, report.verdict.value, *counts, report.engine, what(report)]


def _finding(violation: CheckViolation) -> Plain:
    finding, place = violation.finding, place_of(violation)
    where = f"{place.source.name}:{place.line}: " if place is not None else ""
    first, *others = violation_lines(violation)
    shown = first.split("\n")[1:]
    return {"title": f"{where}{finding.kind}: {finding.message}", "lines": [*shown, *others]}
