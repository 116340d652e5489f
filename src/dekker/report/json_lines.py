"""One litmus test as one JSON object on one line."""

from __future__ import annotations

import json

from dekker.report.explanation import explanation_text
from dekker.report.record import Record


def json_line(record: Record) -> str:
    return json.dumps(_error_object(record) if record.error else _object(record), ensure_ascii=False)


def _object(record: Record) -> dict[str, object]:
    fields: dict[str, object] = {
        "file": record.file,
        "name": record.name,
        "model": record.model,
        "engine": record.engine,
        "observation": record.observation,
        "positive": record.positive,
        "negative": record.negative,
        "states": record.states,
        "verdict": record.verdict,
        "condition": record.condition,
        "outcomes": [{"state": dict(outcome.values), "count": outcome.count} for outcome in record.outcomes],
        "time_s": round(record.time_s, 6),
    }
    optional = {
        "flags": list(record.flags),
        "notes": list(record.notes),
        "cut": record.cut,
        "blocked": record.blocked,
        "deadlocks": record.deadlocks,
        "abandoned": record.abandoned,
        "stopped_by": record.stopped_by,
        "witness": record.witness_file,
        "explanation": explanation_text(record.explanation) if record.explanation else None,
    }
    return fields | {key: value for key, value in optional.items() if value}


def _error_object(record: Record) -> dict[str, object]:
    assert record.error is not None
    error = {
        "message": record.error.message,
        "line": record.error.line,
        "column": record.error.column,
        "hint": record.error.hint,
    }
    return {
        "file": record.file,
        "model": record.model or None,
        "engine": record.engine or None,
        "error": {key: value for key, value in error.items() if value is not None},
    }
