"""Runs a case: Dekker in a fresh process, then the other tools on the same input. What comes out is a `Row`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.languages import Inexpressible
from benchmarks.measure import PATIENCE, Job, Measurement
from benchmarks.sets.case import Case
from benchmarks.tools.process import Process, run_measured
from benchmarks.tools.tool import Counts, Tool

ROOT = Path(__file__).parents[1]
GRACE_S = 30.0


@dataclass(frozen=True)
class Options:
    engine: str = "rsmc"
    repeat: int = 3
    timeout_s: float = 60.0
    tools: tuple[Tool, ...] = ()
    verdict: bool = False


@dataclass(frozen=True)
class ToolRow:
    """What another tool needed. `ratio` is its CPU time over that of Dekker for parsing and exploring, best of each;
    `note` says why there is none, or what is odd."""

    tool: str
    seconds: tuple[float, ...] = ()
    counts: Counts = field(default_factory=Counts)
    peak_mb: float = 0.0
    ratio: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Row:
    """`problems` make the run fail: counts that are wrong. `notes` say what was refused, or not finished."""

    case: Case
    measured: Measurement = field(default_factory=Measurement)
    tools: tuple[ToolRow, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def traces(self) -> int:
        return sum(self.measured.traces.values())

    @property
    def best_s(self) -> float | None:
        return min(self.measured.engine_s, default=None)

    @property
    def own_s(self) -> float | None:
        return own_seconds(self.measured)

    @property
    def median_s(self) -> float | None:
        return median(self.measured.engine_s) if self.measured.engine_s else None

    @property
    def complete(self) -> bool:
        found = self.measured
        return bool(found.engine_s) and not found.unfinished and not found.refused


def own_seconds(measured: Measurement) -> float | None:
    """For parsing and exploring, if that came to an end."""
    return min(measured.engine_s) + measured.parse_s if measured.engine_s and not measured.unfinished else None


def own_runs(measured: Measurement) -> int:
    """Complete executions, or states."""
    return measured.statistics.get("states", sum(measured.traces.values()))


def run_case(case: Case, options: Options) -> Row:
    if case.skipped:
        return Row(case, notes=(case.skipped,))
    with tempfile.TemporaryDirectory(prefix="dekker-benchmark-") as name:
        folder = Path(name)
        files = _write(case, folder)
        # Those that are generated have the numbers of traces that herd counts, which unrolls all loops.
        is_generated = bool(case.texts)
        job = Job(
            files,
            case.model,
            case.engine or options.engine,
            options.repeat,
            options.timeout_s,
            case.flags,
            case.unroll,
            is_generated,
            case.buffer,
            options.verdict,
        )
        measured, failure = _measured(job)
        tools = tuple(_beside(tool, case, files, measured, options, folder) for tool in options.tools)
        wrong_counts = () if options.verdict else _wrong_counts(case, measured)
        problems = (*wrong_counts, *_violations(case, measured))
    return Row(case, measured, tools, problems, (*failure, *_notes(measured)))


def _write(case: Case, folder: Path) -> list[str]:
    written = []
    for name, text in case.texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        written.append(str(folder / name))
    return [*written, *case.files]


def _measured(job: Job) -> tuple[Measurement, tuple[str, ...]]:
    """The engine keeps its time limit itself; a single test that does not is stopped from outside."""
    limit = 2 * PATIENCE * job.timeout_s + GRACE_S if len(job.files) == 1 else None
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.measure"],
            input=json.dumps(asdict(job)),
            capture_output=True,
            text=True,
            timeout=limit,
            cwd=ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Measurement(), ("stopped: it did not keep its time limit",)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        return Measurement(), (f"crashed: {lines[-1]}",)
    return Measurement(**json.loads(done.stdout)), ()


def _wrong_counts(case: Case, measured: Measurement) -> Iterator[str]:
    for file, traces in measured.traces.items():
        wanted = case.expected.get(Path(file).name if case.texts else file)
        if wanted is not None and wanted != traces and file not in measured.unfinished:
            yield f"{case.label}: {Path(file).name} has {traces} complete traces, expected {wanted}"


def _violations(case: Case, measured: Measurement) -> Iterator[str]:
    if case.must_hold and measured.violations:
        yield f"{case.label}: {measured.violations[0]}"


def _notes(measured: Measurement) -> Iterator[str]:
    if measured.unfinished:
        yield f"not finished in time: {_some(measured.unfinished)}"
    if measured.refused:
        file, reason = next(iter(measured.refused.items()))
        yield f"refused: {len(measured.refused)}, the first is {Path(file).name}: {reason}"


def _some(files: Sequence[str]) -> str:
    names = ", ".join(Path(file).name for file in files[:3])
    return names if len(files) <= 3 else f"{names} and {len(files) - 3} more"


def _beside(
    tool: Tool,
    case: Case,
    files: Sequence[str],
    measured: Measurement,
    options: Options,
    folder: Path,
) -> ToolRow:
    program = shutil.which(tool.program)
    if program is None:
        return ToolRow(tool.name, note="not on PATH")
    try:
        model = case.model or next(iter(measured.models), "")
        command = [program, *tool.arguments(case, files, model, folder)]
    except Inexpressible as reason:
        return ToolRow(tool.name, note=str(reason))
    runs = list(_runs(command, options, folder))
    counts = tool.read(runs[0].output)
    seconds = tuple(run.seconds for run in runs)
    peak = max(run.peak_mb for run in runs)
    note = _oddity(tool, runs[0], counts, own_runs(measured), options)
    own_s = own_seconds(measured)
    usable = own_s is not None and own_s > 0 and (not note or runs[0].timed_out or counts.traces is not None)
    return ToolRow(tool.name, seconds, counts, peak, min(seconds) / own_s if usable and own_s else None, note)


def _runs(command: Sequence[str], options: Options, folder: Path) -> Iterator[Process]:
    spent = 0.0
    for _ in range(options.repeat):
        run = run_measured(command, options.timeout_s, str(folder))
        yield run
        spent += run.seconds
        if run.timed_out or run.status != 0 or spent >= options.timeout_s:
            return


def _oddity(tool: Tool, run: Process, counts: Counts, own_traces: int, options: Options) -> str:
    if run.timed_out:
        return f"stopped after {options.timeout_s:g} s: the ratio is at least this"
    if run.status not in tool.statuses:
        lines = run.output.strip().splitlines() or ["no output"]
        return f"failed with status {run.status}: {lines[-1][:80]}"
    if counts.traces is not None and counts.traces != own_traces:
        return f"counts differ: {counts.traces} against {own_traces}"
    return ""
