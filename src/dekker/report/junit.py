"""Answers as JUnit XML, which CI servers read.

A violated property is a failure; a program that could not be read, or an answer that a limit cut short, is an error:
nobody should take either for a success.
"""

from __future__ import annotations

from collections.abc import Sequence

from dekker.records import dataclass
from dekker.report.check_report import CheckReport, check_text
from dekker.report.execution_text import execution_text, heading
from dekker.report.herd import herd_text
from dekker.report.record import Record
from dekker.report.violation_text import place_of
from dekker.report.xml_text import Element, xml_document
from dekker.result import Verdict


@dataclass(frozen=True)
class _Case:
    """`problem` is `failure` or `error`, or nothing."""

    suite: str
    name: str
    time_s: float
    problem: str = ""
    kind: str = ""
    message: str = ""
    details: str = ""
    file: str = ""


def junit_of_checks(reports: Sequence[CheckReport]) -> str:
    """A suite for the program, a case for each model."""
    return _document("dekker check", [_check_case(report) for report in reports])


def junit_of_litmus(records: Sequence[Record]) -> str:
    """A suite for each model, a case for each test."""
    return _document("dekker litmus", [_litmus_case(record) for record in records])


def _check_case(report: CheckReport) -> _Case:
    program = " ".join(report.paths)
    case = (program, f"{program} under {report.model}", report.time_s)
    file = report.paths[0] if report.paths else ""
    if report.error is not None:
        return _Case(*case, "error", "refused", report.error.split("\n", 1)[0], report.error, file)
    if report.verdict is Verdict.UNKNOWN:
        message = f"undecided: {report.undecided}"
        return _Case(*case, "error", "undecided", message, check_text(report), file)
    if report.verdict is not Verdict.UNSAFE:
        return _Case(*case, file=file)
    if not report.violations:
        return _Case(*case, "failure", "violated", "the property is violated", check_text(report), file)
    first = report.violations[0]
    span = place_of(first)
    where = "" if span is None else f"{span}: "
    return _Case(*case, "failure", first.finding.kind, f"{where}{first.finding.message}", check_text(report), file)


def _litmus_case(record: Record) -> _Case:
    case = (record.model or "no model", record.name or record.file, record.time_s)
    if record.error is not None:
        return _Case(*case, "error", "refused", record.error.message, record.error.rendered, record.file)
    if record.verdict == "Unknown":
        message = f"undecided: {record.undecided}"
        return _Case(*case, "error", "undecided", message, herd_text(record), record.file)
    if record.verdict == "Ok":
        return _Case(*case, file=record.file)
    message = f"{record.condition} does not hold" if record.verdict == "No" else "undefined behaviour"
    return _Case(*case, "failure", record.verdict, message, _litmus_details(record), record.file)


def _litmus_details(record: Record) -> str:
    shown = herd_text(record)
    if record.witness is not None:
        shown += f"\n{heading(record.witness)}\n\n{execution_text(record.witness)}"
    return shown


def _document(name: str, cases: Sequence[_Case]) -> str:
    root = Element("testsuites", {"name": name, **_counts(cases)})
    for suite in dict.fromkeys(case.suite for case in cases):
        inside = [case for case in cases if case.suite == suite]
        element = root.add("testsuite", {"name": suite, **_counts(inside)})
        for case in inside:
            _add_case(element, case)
    return xml_document(root)


def _counts(cases: Sequence[_Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.problem == "failure" for case in cases)),
        "errors": str(sum(case.problem == "error" for case in cases)),
        "skipped": "0",
        "time": f"{sum(case.time_s for case in cases):.3f}",
    }


def _add_case(suite: Element, case: _Case) -> None:
    attributes = {"name": case.name, "classname": case.suite, "time": f"{case.time_s:.3f}"}
    element = suite.add("testcase", attributes | ({"file": case.file} if case.file else {}))
    if case.problem:
        element.add(case.problem, {"type": case.kind, "message": case.message}, case.details)
