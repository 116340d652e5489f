"""The answer of `dekker check`, for a person and for a program."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dekker.result import Result, Verdict, Violation
from dekker.source import Diagnostic
from dekker.task import Limits

STATISTICS = ("complete", "blocked", "deadlocks", "abandoned", "cut", "failed", "commits", "checks")


@dataclass(frozen=True)
class CheckReport:
    """What was checked, and what was found. `error` says why there is no answer, if there is none."""

    paths: tuple[str, ...]
    model: str
    engine: str
    limits: Limits
    verdict: Verdict
    violations: tuple[Violation, ...]
    result: Result
    time_s: float
    error: str | None = None


def check_text(report: CheckReport) -> str:
    """The verdict with what it covers, then each violation with its source line."""
    lines = [f"{report.verdict.value} under {report.model}: {_coverage(report)} ({report.engine})"]
    for violation in report.violations:
        lines += ["", Diagnostic(f"{violation.kind}: {violation.message}", violation.span).render("violation")]
    return "\n".join(lines)


def _coverage(report: CheckReport) -> str:
    result = report.result
    runs = f"{result.complete_executions} complete executions"
    if result.blocked:
        runs += f", {result.blocked} blocked"
    if result.stopped_by is not None:
        return f"{runs}; stopped by {result.stopped_by}, the rest was not explored"
    if report.verdict is Verdict.SAFE_WITHIN_BOUND:
        return f"{runs}; {result.cut} more were cut where a loop went round too often (--unroll {report.limits.unroll})"
    return runs


def check_json(report: CheckReport) -> str:
    return json.dumps(check_record(report))


def check_record(report: CheckReport) -> dict[str, object]:
    result = report.result
    violations = [_violation(violation) for violation in report.violations]
    return {
        "verdict": report.verdict.value,
        "files": list(report.paths),
        "model": report.model,
        "engine": report.engine,
        "complete": result.stopped_by is None and not result.cut,
        "bounds": {"unroll": report.limits.unroll, "stopped_by": result.stopped_by},
        "stats": {name: result.statistics[name] for name in STATISTICS if name in result.statistics},
        "violation": violations[0] if violations else None,
        "violations": violations,
        "time_s": round(report.time_s, 6),
    }


def _violation(violation: Violation) -> dict[str, object]:
    span = violation.span
    place = {"file": span.source.name, "line": span.line, "column": span.column} if span is not None else {}
    return {"kind": violation.kind, "message": violation.message, **place}
