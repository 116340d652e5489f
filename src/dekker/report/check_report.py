"""The answer of `dekker check`, for a person and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dekker.records import dataclass
from dekker.report.record import NO_END, said_limit, why_undecided
from dekker.report.schedule_text import schedule_record, schedule_text
from dekker.report.style import LIST, WIDTH, RunStyle
from dekker.result import LEFT_OUT, MERGED, UP_TO_RENAMING, Result, Verdict
from dekker.source import Span
from dekker.task import Limits

if TYPE_CHECKING:
    from dekker.report.counterexample import OutOfOrder
    from dekker.witness import Finding, Frames, Witness

STATISTICS = (
    *("complete", "blocked", "deadlocks", "abandoned", "cut", "failed", LEFT_OUT, UP_TO_RENAMING, "commits", "checks"),
    *("states", "transitions", "final_states", "visited_bytes", "buffer", "largest_buffer", MERGED),
)


@dataclass(frozen=True)
class CheckViolation:
    """What went wrong, where the program says so, and the run that shows it as far as the engine gives one; `order`
    says whether that is an interleaving."""

    finding: Finding
    span: Span | None = None
    witness: Witness | None = None
    order: OutOfOrder | None = None


@dataclass(frozen=True)
class CheckReport:
    """What was checked, and what was found. `error` says why there is no answer, if there is none. `ranges` are those
    of numbers that the program leaves open, where not all were tried. `reuse`: memory that was freed might be allocated
    again; None if that can make no difference. `unchecked` is what is undefined in the language of the program, and not
    looked for."""

    paths: tuple[str, ...]
    model: str
    engine: str
    limits: Limits
    verdict: Verdict
    violations: tuple[CheckViolation, ...]
    result: Result
    time_s: float
    error: str | None = None
    ranges: tuple[tuple[int, int], ...] = ()
    unchecked: tuple[str, ...] = ()
    reuse: bool | None = None

    @property
    def undecided(self) -> str:
        """Why, if it is."""
        if self.verdict is not Verdict.UNKNOWN:
            return ""
        return why_undecided(self.result.stopped_by, self.result.came_to_end)


# --- for a person


def check_text(report: CheckReport, width: int = WIDTH, style: RunStyle = LIST) -> str:
    """The verdict with what it covers, each violation with its source line, and the run that shows the first."""
    lines = [f"{report.verdict.value} under {report.model}: {coverage(report)} ({report.engine})"]
    lines += (f"{'':2}{line}" for line in fine_print(report))
    if report.violations:
        from dekker.report.violation_text import violations_text  # noqa: PLC0415 — slow to load

        lines += violations_text(report.violations, width, style)
    if report.result.examples.schedule:
        lines += ["", schedule_text(report.result.examples.schedule)]
    return "\n".join(lines)


def coverage(report: CheckReport) -> str:
    result = report.result
    if not result.counts_executions:
        merged = " up to renaming of threads" if result.statistics.get(MERGED) else ""
        runs = f"{_count(result.statistics['states'], 'state')}{merged}, {_count(len(result.states), 'outcome')}"
    else:
        runs = _count(result.complete_executions, "complete execution")
    if result.blocked and result.counts_executions:
        runs += f", {result.blocked} blocked"
    differences = {
        "the names of alike threads": result.is_up_to_renaming,
        "the order of writes that nobody sees": result.is_up_to_order,
    }
    if any(differences.values()):
        runs += f", up to {' and '.join(name for name, is_open in differences.items() if is_open)}"
    if result.stopped_by == "violation":
        return f"stopped at the first violation, after {runs}; --keep-going explores all"
    if result.stopped_by is not None:
        return f"{runs}; stopped by {said_limit(result)}, the rest was not explored"
    return runs


def cuts(report: CheckReport) -> Iterator[str]:
    result, bound = report.result, report.limits.unroll
    for low, high in report.ranges:
        yield f"numbers that the program leaves open were from {low} to {high} (--nondet)"
    if report.reuse is False and not report.violations:
        yield "memory that was freed was never allocated again (--reuse)"
    if not result.cut:
        return
    rounds = "once" if bound == 1 else f"{bound} times"
    runs = f"{_count(result.cut, 'more execution')} {'was' if result.cut == 1 else 'were'} cut"
    if not result.cut_at:
        yield f"{runs} where a loop went round more than {rounds} (--unroll {bound})"
    for span in result.cut_at:
        yield f"{runs} where the loop at {span} went round more than {rounds} (--unroll {bound})"
        runs = "or"


def missing_ends(report: CheckReport) -> Iterator[str]:
    """Why nothing that was seen makes a verdict."""
    result = report.result
    if report.undecided != NO_END:
        return
    if result.cut:
        yield f"{NO_END} within the bound, so that what follows these loops was not checked: try a larger --unroll"
    elif not result.counts_executions:
        states = _count(result.statistics["states"], "state")
        yield f"{NO_END}: nothing goes wrong in {states}, but in none of them all threads have ended"
    elif result.blocked:
        yield f"{NO_END}: each stops where a thread waits or an assumption fails"
    else:
        yield NO_END


def fine_print(report: CheckReport) -> Iterator[str]:
    """What the verdict is limited to, and what it lacks."""
    yield from cuts(report)
    yield from missing_ends(report)
    yield from engine_limits(report.result)


def engine_limits(result: Result) -> Iterator[str]:
    if result.bound:
        yield result.bound
    if result.choice:
        yield f"this engine, because {result.choice}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# --- for a program


def check_json(report: CheckReport) -> str:
    return json.dumps(check_record(report), ensure_ascii=False)


def check_record(report: CheckReport, *, witness: bool = True) -> dict[str, object]:
    """`witness`: with the run that shows the first violation."""
    result = report.result
    stats: dict[str, object] = {name: result.statistics[name] for name in STATISTICS if name in result.statistics}
    return {
        "verdict": report.verdict.value,
        **({"undecided": report.undecided} if report.undecided else {}),
        "model": report.model,
        "engine": report.engine,
        "complete": result.stopped_by is None and not result.cut and not result.bound,
        "bounds": {
            "unroll": report.limits.unroll,
            "cut": [_place(span) for span in result.cut_at],
            "nondet": [list(pair) for pair in report.ranges],
            "reuse": report.reuse,
            "stopped_by": result.stopped_by,
            **({"too_long_at": _place(result.too_long_at)} if result.too_long_at is not None else {}),
            **({"other": result.bound} if result.bound else {}),
        },
        "stats": {
            **stats,
            **({"choice": result.choice} if result.choice else {}),
            "time_s": round(report.time_s, 6),
            "violations": len(report.violations),
        },
        "violation": _violation(report.violations, witness) if report.violations else None,
        **({"unchecked": list(report.unchecked)} if report.unchecked else {}),
        **({"schedule": schedule_record(result.examples.schedule)} if result.examples.schedule else {}),
    }


def _violation(violations: tuple[CheckViolation, ...], with_witness: bool) -> dict[str, object]:
    """The first, perhaps with its witness, and the others without."""
    from dekker.witness import to_plain  # noqa: PLC0415 — slow to load

    first, *others = violations
    witness = None if first.witness is None or not with_witness else to_plain(first.witness)
    found = {**_described(first), "witness": witness}
    return found | ({"others": [_described(item) for item in others]} if others else {})


def _described(violation: CheckViolation) -> dict[str, object]:
    from dekker.report.violation_text import place_of  # noqa: PLC0415 — slow to load

    finding, span, witness = violation.finding, place_of(violation), violation.witness
    thread = finding.thread if finding.thread >= 0 else None
    return {
        "kind": finding.kind,
        "message": finding.message,
        **(_place(span) if span is not None else {"file": None, "line": None, "column": None}),
        "thread": thread,
        "function": witness.threads[thread].function if witness is not None and thread is not None else None,
        "stack": _frames(finding.stack),
        "notes": [{"message": n.message, "thread": n.thread, "stack": _frames(n.stack)} for n in finding.notes],
    }


def _frames(frames: Frames) -> list[dict[str, object]]:
    """The innermost call first."""
    return [
        {"function": frame.function, "file": frame.file, "line": frame.line, "column": frame.column}
        for frame in reversed(frames)
    ]


def _place(span: Span) -> dict[str, object]:
    return {"file": span.source.name, "line": span.line, "column": span.column}
