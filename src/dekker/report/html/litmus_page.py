"""The page of `dekker litmus`: one test, or a table of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dekker.report.explanation import explanation_text
from dekker.report.herd import herd_text
from dekker.report.html.page import BAD, GOOD, OPEN, Heading, Page, Plain, Sources
from dekker.report.html.run_data import allowed_run, forbidden_run
from dekker.report.record import LIMITS, Record
from dekker.task import Limits

TONES = {"Ok": GOOD, "No": BAD, "Undef": BAD, "Unknown": OPEN, "Error": BAD}
COLUMNS = (
    Heading("Test"),
    Heading("Verdict", verdict=True),
    Heading("Observation"),
    Heading("States", number=True),
    Heading("Positive", number=True),
    Heading("Negative", number=True),
    Heading("Model"),
    Heading("Engine"),
    Heading("Seconds", number=True),
    Heading("Condition", long=True),
    Heading("File", long=True),
)
MOST_CHARACTERS = 24_000_000
"""Of pictures in one file; a browser opens that quickly. What comes later has its row and its facts only."""
MOST_OUTCOMES = 200


class LitmusPage:
    """Takes records one by one, because their witnesses are large and what is shown of them is not."""

    def __init__(self, limits: Limits, explained: bool) -> None:
        self.limits = limits
        self.explained = explained
        self.sources = Sources()
        self.entries: list[Plain] = []
        self.texts: list[str] = []
        self.verdicts: Counter[str] = Counter()
        self.size = 0
        self.without_picture = 0

    def add(self, record: Record) -> None:
        self.verdicts[record.verdict] += 1
        if len(self.texts) < 100:
            self.texts.append(herd_text(record))
        self.entries.append(self._entry(record))

    def page(self, total: int) -> Page:
        """`total` tests were to be run."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        facts = [
            ("Tests", f"{len(self.entries)} of {total}"),
            ("Verdicts", counts),
            ("Limits", _limits_text(self.limits)),
        ]
        notes = []
        if self.without_picture:
            notes.append(f"{self.without_picture} tests have no picture here, to keep this file small: run them alone")
        if len(self.entries) < total:
            notes.append(f"{total - len(self.entries)} tests were not run")
        if total > 1 and not self.explained:
            notes.append("forbidden outcomes are explained with --explain")
        title = self.entries[0]["name"] if len(self.entries) == 1 else f"{len(self.entries)} litmus tests"
        many = len(self.entries) != 1
        return Page(title, "\n".join(self.texts), facts if many else (), notes, COLUMNS, self.entries, self.sources)

    def _entry(self, record: Record) -> Plain:
        entry: Plain = {
            "name": record.name or record.file,
            "verdict": record.verdict,
            "tone": TONES[record.verdict],
            "sentence": _sentence(record),
            "cells": _cells(record),
            "facts": [list(fact) for fact in _facts(record, self.limits)],
            "notes": list(record.notes),
            "findings": [{"title": f"Flag {flag}", "lines": []} for flag in record.flags],
            "outcomes": [[_state(outcome.values), outcome.count] for outcome in record.outcomes[:MOST_OUTCOMES]],
        }
        left_out = len(record.outcomes) - MOST_OUTCOMES
        if left_out > 0:
            entry["notes"].append(f"{left_out} more final states are not listed")
        if record.error is not None:
            entry |= {"text": record.error.rendered, "textTitle": "Error"}
        elif record.explanation is not None:
            entry |= {"text": explanation_text(record.explanation), "textTitle": "Why the outcome is forbidden"}
        if record.source:
            self._add_picture(entry, record)
        return {key: value for key, value in entry.items() if value != []}

    def _add_picture(self, entry: Plain, record: Record) -> None:
        if self.size > MOST_CHARACTERS:
            self.without_picture += 1
            return
        run = _run(record)
        self.size += len(str(run)) + len(record.source)
        entry["sources"] = [self.sources.add(record.file, record.source)]
        if run is not None:
            entry["run"] = run
        elif record.explanation is None:
            entry["notes"].append("no execution decides the condition; --explain says why")


def _run(record: Record) -> Plain | None:
    explanation = record.explanation
    if record.witness is not None:
        return allowed_run(record.witness, record.order)
    if explanation is not None and explanation.closest is not None:
        return forbidden_run(explanation.closest, explanation.reasons)
    return None


def _sentence(record: Record) -> str:
    if record.error is not None:
        return "The test could not be run."
    said = {
        "Never": "No execution satisfies",
        "Sometimes": "Some executions satisfy",
        "Always": "All executions satisfy",
    }
    formula = record.condition.partition(" ")[2] or record.condition
    return f"{said[record.observation]} {formula}"


def _facts(record: Record, limits: Limits) -> list[tuple[str, str]]:
    facts = [
        ("Model", record.model),
        ("Engine", record.engine),
        ("File", record.file),
        ("Condition", record.condition),
        ("Observation", " ".join(map(str, (record.observation, *record.counts))) if record.observation else ""),
        ("Loops", f"up to {limits.unroll} rounds (--unroll)" if record.error is None else ""),
        ("Limits", _limits_text(limits)),
        ("Stopped by", LIMITS.get(record.stopped_by, record.stopped_by) if record.stopped_by else ""),
        ("Time", f"{record.time_s:.3f} s" if record.error is None else ""),
    ]
    return [fact for fact in facts if fact[1]]


def _limits_text(limits: Limits) -> str:
    given = {
        "time": f"{limits.timeout_s:g} s per test" if limits.timeout_s else "",
        "memory": f"{limits.memory_mb} MB" if limits.memory_mb else "",
        "executions": str(limits.max_traces or ""),
    }
    return ", ".join(f"{name} {value}" for name, value in given.items() if value) or "none"


def _cells(record: Record) -> list[str]:
    error = record.error is not None
    counts = ["", "", ""] if error else [str(record.states), str(record.positive), str(record.negative)]
    return [
        record.name or record.file,
        record.verdict,
        record.observation,
        *counts,
        record.model,
        record.engine,
        "" if error else f"{record.time_s:.3f}",
        record.error.message if record.error is not None else record.condition,
        record.file,
    ]


def _state(values: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"{name}={value};" for name, value in values)
