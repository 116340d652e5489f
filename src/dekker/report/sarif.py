"""Answers as SARIF 2.1.0, which tools for code review read: a result for each violation, with its run as code flow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from urllib.parse import quote

from dekker.errors import UnsupportedError
from dekker.report.check_report import CheckReport, CheckViolation
from dekker.report.counterexample import row_texts
from dekker.report.run_rows import Row, Rows, user_frames
from dekker.report.svcomp import interleaving
from dekker.report.violation_text import place_of
from dekker.witness import Witness, WitnessFrame

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    "assertion": "An assertion can fail",
    "memory": "Memory can be accessed outside of all objects",
    "use after free": "Memory can be used after it was freed",
    "use before allocation": "An access is not ordered after the allocation of its object",
    "double free": "Memory can be freed twice",
    "release": "Something can be freed that was not allocated",
    "leak": "Memory can be lost",
    "uninitialised value": "What was never set can decide, or reach other threads",
    "use after scope": "A local variable can be used when it is gone",
    "overflow": "The result of signed arithmetic can be too large",
    "deadlock": "Threads can wait for ever",
    "data race": "Two accesses can race, and one is not atomic",
    "final state": "The condition on final states does not hold",
}


def sarif_log(reports: Sequence[CheckReport], version: str) -> str:
    """A run for each report: a program may be checked under several models. `version` is that of this program."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, version) for report in reports]}
    return json.dumps(log, indent=1, ensure_ascii=False)


def _run(report: CheckReport, version: str) -> dict[str, object]:
    kinds = list(dict.fromkeys(item.finding.kind for item in report.violations))
    driver: dict[str, object] = {"name": "Dekker", "version": version, "rules": [_rule(kind) for kind in kinds]}
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"dekker/{report.model}/"},
        "invocations": [_invocation(report)],
        "artifacts": [{"location": _artifact(path)} for path in report.paths],
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, kinds, report) for item in report.violations],
        "properties": {"verdict": report.verdict.value, "model": report.model, "engine": report.engine},
    }


def _rule(kind: str) -> dict[str, object]:
    text = _RULES.get(kind, f"The program can go wrong: {kind}")
    return {"id": rule_id(kind), "shortDescription": {"text": text}, "defaultConfiguration": {"level": "error"}}


def rule_id(kind: str) -> str:
    return kind.replace(" ", "-")


def _invocation(report: CheckReport) -> dict[str, object]:
    """Whatever keeps the answer from being final is a notification."""
    notes = []
    if report.error is not None:
        notes.append(report.error)
    elif report.undecided:
        notes.append(f"undecided under {report.model}: {report.undecided}")
    if report.result.cut:
        notes.append(f"loops went round at most {report.limits.unroll} times (--unroll)")
    found = [{"level": "warning", "message": {"text": note}} for note in notes]
    return {"executionSuccessful": report.error is None, **({"toolExecutionNotifications": found} if found else {})}


def _result(item: CheckViolation, kinds: list[str], report: CheckReport) -> dict[str, object]:
    finding, witness = item.finding, item.witness
    text = f"{finding.kind} under {report.model}: {finding.message}"
    if item.order is not None:
        text += f". The run is none under sc: {report.model} does not keep all accesses in program order."
    span = place_of(item)
    region = None if span is None else _region(span.line, span.column, span.column + span.end - span.start)
    place = None if span is None else _physical(span.source.name, region)
    related = [
        _location(frame, note.message)
        for note in finding.notes
        if (frame := _innermost(user_frames(note.stack))) is not None
    ]
    return {
        "ruleId": rule_id(finding.kind),
        "ruleIndex": kinds.index(finding.kind),
        "level": "error",
        "message": {"text": text},
        "locations": [] if place is None else [{"physicalLocation": place}],
        **({"relatedLocations": [{"id": n, **found} for n, found in enumerate(related, 1)]} if related else {}),
        **({"codeFlows": [_code_flow(witness, item)]} if witness is not None and witness.program.sources else {}),
    }


def _code_flow(witness: Witness, item: CheckViolation) -> dict[str, object]:
    rows = Rows(witness)
    texts = row_texts(rows)
    moments = _moments(witness) if item.order is None else {}
    flows = []
    for number, thread in enumerate(witness.threads):
        told = zip(rows.rows[number], texts[number], strict=True)
        locations = [_step(row, text, moments) for row, text in told if row.place is not None]
        locations += list(_end(number, item, len(moments)))
        if locations:
            name = f"thread {number} ({thread.function})"
            flows.append({"id": name, "message": {"text": name}, "locations": locations})
    return {"message": {"text": f"A run under {witness.model.name}"}, "threadFlows": flows}


def _moments(witness: Witness) -> dict[tuple[int, ...], int]:
    """When each row comes in an interleaving, from 1."""
    try:
        steps = [step for step in interleaving(witness) if step.row is not None]
    except UnsupportedError:
        return {}
    return {step.row.events: number for number, step in enumerate(steps, 1) if step.row is not None}


def _step(row: Row, text: str, moments: dict[tuple[int, ...], int]) -> dict[str, object]:
    assert row.place is not None
    order = moments.get(row.events)
    return {
        "location": _location(row.place, text),
        "nestingLevel": len(row.frames) - 1,
        **({"executionOrder": order} if order is not None else {}),
    }


def _end(thread: int, item: CheckViolation, last: int) -> Iterator[dict[str, object]]:
    finding = item.finding
    place = _innermost(user_frames(finding.stack)) if finding.thread == thread else None
    if place is not None:
        order = {"executionOrder": last + 1} if last else {}
        yield {"location": _location(place, finding.message), "importance": "essential", **order}


def _innermost(frames: Sequence[WitnessFrame]) -> WitnessFrame | None:
    return frames[-1] if frames and frames[-1].line else None


def _location(frame: WitnessFrame, text: str) -> dict[str, object]:
    place = _physical(frame.file, _region(frame.line, frame.column) if frame.line else None)
    return {"physicalLocation": place, "message": {"text": text}}


def _physical(file: str, region: dict[str, int] | None) -> dict[str, object]:
    return {"artifactLocation": _artifact(file), **({"region": region} if region is not None else {})}


def _region(line: int, column: int, end: int = 0) -> dict[str, int]:
    found = {"startLine": line}
    if column > 0:
        found["startColumn"] = column
    if end > column > 0:
        found["endColumn"] = end
    return found


def _artifact(file: str) -> dict[str, object]:
    path = PurePath(file)
    return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}
