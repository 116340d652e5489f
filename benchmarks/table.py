"""Rows as text, at most 120 columns wide, and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.row import Options, Row, ToolRow
from benchmarks.sets import MEMORY

WIDTH = 120
COLUMNS = (
    ("", 20),
    ("model", 7),
    ("traces", 8),
    ("blocked", 8),
    ("work", 9),
    ("checks", 9),
    ("parse s", 8),
    ("best s", 8),
    ("median s", 8),
    ("traces/s", 9),
    ("peak MB", 7),
    ("ratio", 7),
)
LEFT_ALIGNED = 2
GROWTH_MB = 2.0
"""More than this between the smallest and the largest number of traces is growth, not noise."""

LEGEND = """\
work: commits (rsmc) or candidates (axiomatic); checks: parameters checked against the model; parse, best and median:
CPU seconds, the engine's apart from parsing; ratio: the other tool's CPU seconds, all included, over parse + best."""


def heading() -> str:
    line = _line([name for name, _ in COLUMNS])
    return f"{line}\n{'-' * len(line)}"


def row_text(row: Row) -> str:
    lines = [_own_line(row)]
    lines += [_tool_line(tool) for tool in row.tools if tool.note != "not on PATH"]
    lines += [_wrapped(f"  {note}") for note in row.notes]
    lines += [_wrapped(f"  WRONG: {problem}") for problem in row.problems]
    return "\n".join(lines)


def _own_line(row: Row) -> str:
    found = row.measured
    model = row.case.model or ",".join(found.models)
    if not found.engine_s:
        return _line([row.case.label, model])
    work = found.statistics.get("commits", found.statistics.get("candidates"))
    checks = found.statistics.get("checks")
    cells = [row.case.label, model, _more(row.traces, bool(found.unfinished)), str(found.blocked)]
    cells += [_count(work), _count(checks), seconds_text(found.parse_s), seconds_text(row.best_s)]
    return _line([*cells, seconds_text(row.median_s), _rate(row.traces, row.best_s), f"{found.peak_mb:.0f}"])


def _tool_line(tool: ToolRow) -> str:
    if not tool.seconds:
        return _wrapped(f"  {tool.tool}: {tool.note}")
    best = min(tool.seconds)
    cells = [f"  {tool.tool}", "", _count(tool.counts.traces), _count(tool.counts.blocked), "", "", ""]
    cells += [seconds_text(best), seconds_text(median(tool.seconds)), _rate(tool.counts.traces or 0, best)]
    ratio = "" if tool.ratio is None else f"{tool.ratio:.3g}"
    line = _line([*cells, f"{tool.peak_mb:.0f}", ratio])
    return f"{line}\n{_wrapped(f'    {tool.note}')}" if tool.note else line


def seconds_text(seconds: float | None) -> str:
    """Three digits that count, no exponent."""
    if seconds is None:
        return ""
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:#.3g}" if seconds >= 0.001 else f"{seconds:.6f}"


def _count(number: int | None) -> str:
    return "" if number is None else str(number)


def _more(number: int, at_least: bool) -> str:
    return f">{number}" if at_least else str(number)


def _rate(traces: int, seconds: float | None) -> str:
    return f"{traces / seconds:.0f}" if seconds and traces else ""


def _line(cells: Sequence[str]) -> str:
    padded = []
    for index, ((_, width), cell) in enumerate(zip(COLUMNS, cells, strict=False)):
        padded.append(cell.ljust(width) if index < LEFT_ALIGNED else cell.rjust(width))
    return " ".join(padded).rstrip()


def _wrapped(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


@dataclass(frozen=True)
class Conclusion:
    """`holds` is False where a run must fail."""

    text: str
    holds: bool


def conclusions(rows: Sequence[Row]) -> Iterator[Conclusion]:
    """What several rows say together."""
    for name in MEMORY:
        models = dict.fromkeys(row.case.model for row in rows if row.case.set_name == name)
        for model in models:
            of_one = [row for row in rows if (row.case.set_name, row.case.model) == (name, model) and row.complete]
            if len(of_one) > 1:
                yield _growth(name, of_one)


def _growth(name: str, memory: Sequence[Row]) -> Conclusion:
    fewest, most = min(memory, key=lambda row: row.traces), max(memory, key=lambda row: row.traces)
    growth = most.measured.peak_mb - fewest.measured.peak_mb
    flat = growth <= GROWTH_MB
    peaks = " and ".join(f"{row.measured.peak_mb:.1f} MB for {row.traces}" for row in (fewest, most))
    verdict = "does not grow" if flat else "GROWS"
    return Conclusion(f"{name}: memory {verdict} with the number of traces: {peaks}", flat)


def missing_tools(rows: Sequence[Row]) -> list[str]:
    missing = {tool.tool: None for row in rows for tool in row.tools if tool.note == "not on PATH"}
    return list(missing)


def as_json(rows: Sequence[Row], options: Options) -> dict[str, object]:
    return {
        "format": 1,
        "engine": options.engine,
        "repeat": options.repeat,
        "timeout_s": options.timeout_s,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "rows": [_row_object(row) for row in rows],
        "conclusions": [conclusion.text for conclusion in conclusions(rows)],
    }


def _row_object(row: Row) -> dict[str, object]:
    found = row.measured
    return {
        "set": row.case.set_name,
        "label": row.case.label,
        "model": row.case.model or ",".join(found.models),
        "tests": len(row.case.texts) + len(row.case.files),
        "traces": row.traces,
        "expected": sum(row.case.expected.values()) if row.case.expected else None,
        "complete": row.complete,
        "blocked": found.blocked,
        "cut": found.cut,
        "statistics": found.statistics,
        "parse_s": found.parse_s,
        "engine_s": found.engine_s,
        "best_s": row.best_s,
        "median_s": row.median_s,
        "traces_per_s": row.traces / row.best_s if row.best_s else None,
        "start_mb": found.start_mb,
        "peak_mb": found.peak_mb,
        "tools": [_tool_object(tool) for tool in row.tools],
        "problems": list(row.problems),
        "notes": list(row.notes),
    }


def _tool_object(tool: ToolRow) -> dict[str, object]:
    return {
        "tool": tool.tool,
        "seconds": list(tool.seconds),
        "traces": tool.counts.traces,
        "blocked": tool.counts.blocked,
        "peak_mb": tool.peak_mb,
        "ratio": tool.ratio,
        "note": tool.note,
    }
