"""One litmus test as text, in the form that herd prints and `mcompare` reads."""

from __future__ import annotations

from dekker.report.record import Outcome, Record


def herd_text(record: Record) -> str:
    if record.error is not None:
        return record.error.rendered
    satisfying, others = record.counts
    lines = [
        f"Test {record.name} {record.kind}",
        f"States {record.states}",
        *(_state(outcome) for outcome in record.outcomes),
        record.verdict,
        "Witnesses",
        f"Positive: {record.positive} Negative: {record.negative}",
        *(f"Flag {flag}" for flag in record.flags),
        f"Condition {record.condition}",
        f"Observation {record.name} {record.observation} {satisfying} {others}",
        *([f"Deadlock {record.deadlocks}"] if record.deadlocks else []),
        *record.notes,
        f"Time {record.name} {record.time_s:.2f}",
    ]
    return "\n".join(lines) + "\n"


def _state(outcome: Outcome) -> str:
    return " ".join(f"{name}={value};" for name, value in outcome.values)
