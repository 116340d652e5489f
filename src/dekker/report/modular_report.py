"""The answer of `dekker modular`, for a person and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dekker.modular_result import Counts, Finding, ModularResult, PathStep, counts_text, covers
from dekker.report.record import NO_END
from dekker.result import Verdict
from dekker.source import Diagnostic, Span

_LIMITS = {
    "states": "the limit of states (--max-states)",
    "time": "the limit of time (--timeout)",
    "memory": "the limit of memory (--memory)",
    "interrupt": "an interrupt",
}


def modular_text(result: ModularResult) -> str:
    lines = [f"{result.verdict.value} under {result.model} for {covers(result)}", *_counted(result)]
    lines += why_unknown(result)
    lines += (f"  {note}" for note in result.notes)
    for finding in result.findings[:1] if result.instance else result.findings:
        lines += ["", *_finding(finding, result)]
    return "\n".join(lines)


def _counted(result: ModularResult) -> Iterator[str]:
    how = "" if result.concrete is None else f" with {result.concrete} concrete threads"
    yield f"  {result.n_states} states{how}, {result.time_s:.2f} s"


def why_unknown(result: ModularResult) -> Iterator[str]:
    if result.stopped_by is not None:
        yield f"  the search was stopped by {_LIMITS.get(result.stopped_by, result.stopped_by)}"
    elif result.verdict is Verdict.UNKNOWN and not (result.came_to_end or result.findings or result.unbounded):
        yield f"  {NO_END}: nothing goes wrong in these states, but in none of them all threads have ended"
    for item in result.unbounded:
        where = "a loop" if item.loop is None else f"the loop at {item.loop}"
        yield f"  {item.thread_class} has no bound: in {where}, {item.why}"
    if result.verdict is Verdict.UNKNOWN and result.findings and not result.instance:
        tried = f"; {counts_text(result.tried)} do not" if result.tried else ""
        yield f"  the abstraction reaches a bad state, but no instance that was tried shows it{tried}"
        yield "  more concrete threads may rule it out (--concrete), larger instances may show it (--instances)"


def _finding(finding: Finding, result: ModularResult) -> Iterator[str]:
    yield Diagnostic(finding.message, finding.span).render("violation")
    if result.instance:
        yield f"shown by {counts_text(result.instance)}:"
    elif result.concrete is not None:
        yield "in the abstraction:"
    yield ""
    yield from _table(finding.steps) if finding.steps else ("  at the start",)
    yield ""
    if finding.memory:
        yield f"  memory: {', '.join(f'{name} = {value}' for name, value in finding.memory)}"
    for name, place in finding.threads:
        yield f"  {name}: {place}"


def _table(steps: Sequence[PathStep]) -> Iterator[str]:
    width = max((len(step.thread) for step in steps), default=0)
    rows = [(step.thread, _what(step), _where(step.span)) for step in steps]
    wide = max((len(what) for _, what, _ in rows), default=0)
    for thread, what, where in rows:
        yield f"  {thread:<{width}}  {what:<{wide}}  {where}".rstrip()


def _what(step: PathStep) -> str:
    return f"{step.text}, comes to {step.arrives}" if step.arrives else step.text


def _where(span: Span | None) -> str:
    return "" if span is None else f"{span.line}| {' '.join(span.source.line(span.line).split())}"


def modular_json(result: ModularResult) -> str:
    record = {
        "verdict": result.verdict.value,
        "model": result.model,
        "engine": "modular",
        "covers": covers(result),
        "threads": _counts(result.threads),
        "concrete": result.concrete,
        "states": result.n_states,
        "statistics": result.statistics,
        "stopped_by": result.stopped_by,
        "unbounded": [
            {"class": item.thread_class, "loop": _position(item.loop), "why": item.why} for item in result.unbounded
        ],
        "instance": _counts(result.instance) or None,
        "tried": _counts(result.tried) or None,
        "notes": list(result.notes),
        "findings": [_finding_record(finding) for finding in result.findings],
        "time_s": round(result.time_s, 3),
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


def _counts(counts: Counts) -> dict[str, int | str]:
    return {name: "many" if count is None else count for name, count in counts}


def _position(span: Span | None) -> str | None:
    return None if span is None else str(span)


def _finding_record(finding: Finding) -> dict[str, object]:
    return {
        "kind": finding.kind,
        "message": finding.message,
        "position": _position(finding.span),
        "memory": dict(finding.memory),
        "threads": dict(finding.threads),
        "steps": [
            {"thread": step.thread, "text": step.text, "position": _position(step.span), "arrives": step.arrives}
            for step in finding.steps
        ],
    }
