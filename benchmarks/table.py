"""Rows as text, at most 120 columns wide, and as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.peers import Peer, peer_of, ratio
from benchmarks.row import Options, Row, ToolRow
from benchmarks.sets import MEMORY
from benchmarks.sets.case import Case

WIDTH = 120


@dataclass(frozen=True)
class Column:
    """`own` is what stands in Dekker's line, given the pace of this machine, and `beside` in that of another tool."""

    name: str
    width: int
    own: Callable[[Row, float | None], str]
    beside: Callable[[ToolRow], str] = lambda tool: ""


Layout = tuple[Column, ...]
COLUMNS = (
    Column("", 20, lambda row, _: row.case.label, lambda tool: f"  {tool.tool}"),
    Column("model", 7, lambda row, _: _model(row)),
    Column("traces", 8, lambda row, _: _traces(row), lambda tool: _count(tool.counts.traces)),
    Column("blocked", 8, lambda row, _: str(row.measured.blocked), lambda tool: _count(tool.counts.blocked)),
    Column("work", 9, lambda row, _: _work(row)),
    Column("checks", 9, lambda row, _: _statistic(row, "checks")),
    Column("parse s", 8, lambda row, _: seconds_text(row.measured.parse_s)),
    Column("best s", 8, lambda row, _: seconds_text(row.best_s), lambda tool: seconds_text(min(tool.seconds))),
    Column("median s", 8, lambda row, _: seconds_text(row.median_s), lambda tool: seconds_text(median(tool.seconds))),
    Column(
        "traces/s",
        9,
        lambda row, _: _rate(row.traces, row.best_s),
        lambda tool: _rate(tool.counts.traces or 0, min(tool.seconds)),
    ),
    Column("peak MB", 7, lambda row, _: f"{row.measured.peak_mb:.0f}", lambda tool: f"{tool.peak_mb:.0f}"),
    Column("ratio", 7, lambda row, _: "", lambda tool: _ratio(tool.ratio)),
)
CUT = Column("cut", 9, lambda row, _: str(row.measured.cut))
_COMMON = {column.name: column for column in COLUMNS}
DEAD_ENDS = (
    *(_COMMON[name] for name in ("", "model")),
    replace(_COMMON["traces"], name="complete", width=9),
    replace(_COMMON["blocked"], width=9),
    Column("abandoned", 9, lambda row, _: _statistic(row, "abandoned")),
    CUT,
    *(_COMMON[name] for name in ("work", "best s", "peak MB", "ratio")),
)
BESIDE_PEERS = (
    *(_COMMON[name] for name in ("", "model")),
    replace(_COMMON["traces"], name="runs", width=9),
    replace(_COMMON["blocked"], width=9),
    Column("abandoned", 9, lambda row, _: _statistic(row, "abandoned")),
    replace(_COMMON["best s"], width=7),
    Column("peer", 7, lambda row, _: _of_peer(row, lambda peer: peer.tool)),
    Column("its runs", 14, lambda row, _: _of_peer(row, _peer_runs)),
    Column("its s", 6, lambda row, _: _of_peer(row, lambda peer: f"{peer.seconds:.3g}")),
    Column("scaled", 6, lambda row, pace: _ratio(ratio(row, pace))),
    _COMMON["ratio"],
)
LAYOUTS = {"gallery": DEAD_ENDS, "families": BESIDE_PEERS, "state-spaces": BESIDE_PEERS}
LEFT_ALIGNED = 2
WASTE = 0.1
GROWTH_MB = 2.0
"""More than this between the smallest and the largest number of traces is growth, not noise."""

LEGEND = """\
work: commits (rsmc) or candidates (axiomatic); checks: parameters checked against the model; parse, best and median:
CPU seconds, the engine's apart from parsing; ratio: the other tool's CPU seconds, all included, over parse + best."""
LEGENDS = {
    COLUMNS: LEGEND,
    DEAD_ENDS: "abandoned: runs that were followed in vain; cut: runs that go on beyond the loop bound.",
    BESIDE_PEERS: """\
runs: complete executions, or states; peer: what another tool needed elsewhere, its runs complete+blocked; scaled:
Dekker's seconds over its seconds, at the pace of that machine; ratio: a tool's that ran beside over Dekker's.""",
}


def layout_of(case: Case) -> Layout:
    return LAYOUTS.get(case.set_name, COLUMNS)


def legends(cases: Sequence[Case]) -> list[str]:
    return [LEGENDS[layout] for layout in dict.fromkeys(map(layout_of, cases))]


def heading(layout: Layout = COLUMNS) -> str:
    line = _line(layout, [column.name for column in layout])
    return f"{line}\n{'-' * len(line)}"


def row_text(row: Row, pace: float | None = None) -> str:
    layout = layout_of(row.case)
    lines = [_own_line(layout, row, pace)]
    lines += [_tool_line(layout, tool) for tool in row.tools if tool.note != "not on PATH"]
    lines += [_wrapped(f"  {note}") for note in row.notes]
    if row.measured.cut and CUT not in layout:
        lines.append(f"  {row.measured.cut} runs go on beyond the loop bound")
    lines += [_wrapped(f"  WRONG: {problem}") for problem in row.problems]
    return "\n".join(lines)


def _own_line(layout: Layout, row: Row, pace: float | None) -> str:
    if not row.measured.engine_s:
        layout = layout[:LEFT_ALIGNED]
    return _line(layout, [column.own(row, pace) for column in layout])


def _tool_line(layout: Layout, tool: ToolRow) -> str:
    if not tool.seconds:
        return _wrapped(f"  {tool.tool}: {tool.note}")
    line = _line(layout, [column.beside(tool) for column in layout])
    return f"{line}\n{_wrapped(f'    {tool.note}')}" if tool.note else line


def _model(row: Row) -> str:
    return row.case.model or ",".join(row.measured.models)


def _traces(row: Row) -> str:
    found = row.measured
    return _more(found.statistics.get("states", row.traces), bool(found.unfinished))


def _work(row: Row) -> str:
    return _statistic(row, "commits") or _statistic(row, "candidates")


def _statistic(row: Row, name: str) -> str:
    return _count(row.measured.statistics.get(name))


def _of_peer(row: Row, text: Callable[[Peer], str]) -> str:
    peer = peer_of(row.case)
    return "" if peer is None else text(peer)


def _peer_runs(peer: Peer) -> str:
    return _count(peer.runs) + (f"+{peer.blocked}" if peer.blocked else "")


def _ratio(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"


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


def _line(layout: Layout, cells: Sequence[str]) -> str:
    padded = []
    for index, (column, cell) in enumerate(zip(layout, cells, strict=True)):
        padded.append(cell.ljust(column.width) if index < LEFT_ALIGNED else cell.rjust(column.width))
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
    yield from _dead_ends([row for row in rows if layout_of(row.case) is DEAD_ENDS and row.measured.engine_s])


def _dead_ends(rows: Sequence[Row]) -> Iterator[Conclusion]:
    if rows:
        yield _listed("not ended", [row for row in rows if row.measured.unfinished])
        wasted = [row for row in rows if row.measured.statistics.get("abandoned", 0) > WASTE * row.traces]
        yield _listed(f"abandoned more than {WASTE:.0%} of the complete ones", wasted)


def _listed(what: str, rows: Sequence[Row]) -> Conclusion:
    names = ", ".join(f"{row.case.label} {row.case.model}" for row in rows)
    return Conclusion(f"{what}: {names or 'none'}", holds=True)


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


def as_json(rows: Sequence[Row], options: Options, pace: float | None = None) -> dict[str, object]:
    return {
        "format": 1,
        "engine": options.engine,
        "repeat": options.repeat,
        "timeout_s": options.timeout_s,
        "verdict": options.verdict,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "pace": pace,
        "rows": [_row_object(row, pace) for row in rows],
        "conclusions": [conclusion.text for conclusion in conclusions(rows)],
    }


def _row_object(row: Row, pace: float | None) -> dict[str, object]:
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
        "scaled_ratio": ratio(row, pace),
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
