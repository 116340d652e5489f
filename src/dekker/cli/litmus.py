"""`dekker litmus`: files, folders and lists of litmus tests."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from dekker.cli.cluster import CLUSTER
from dekker.cli.exports import JUNIT, Exports
from dekker.cli.limits import JOBS, MEGABYTES, ROUNDS, SECONDS, TRACES
from dekker.cli.main import STATUS_HOLDS, STATUS_INPUT, STATUS_UNDECIDED, STATUS_VIOLATED
from dekker.cli.pictures import GRAPH, HTML, write_graph, write_page
from dekker.cli.progress import ProgressLine
from dekker.cli.search import SELECT
from dekker.cli.witness_files import WitnessWriter, terminal_width
from dekker.cluster import crew_at
from dekker.errors import InputError
from dekker.models import load_model
from dekker.report.estimate_text import rough
from dekker.report.herd import herd_text
from dekker.report.record import Record
from dekker.resources import resident_mb
from dekker.run.batch import BatchOptions, Test, find_tests, run_batch
from dekker.run.engines import ENGINES
from dekker.run.supervision import supervised
from dekker.task import DEFAULT_UNROLL, Limits, Search

if TYPE_CHECKING:
    from dekker.cluster.crew import Crew
    from dekker.report.html.litmus_page import LitmusPage

FEWEST_FOR_BAR = 10
"""For fewer tests, each has a line of its own."""


@click.command(name="litmus")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--model", "-m", help="A model's name or a .cat file (default: that of the test's architecture).")
@click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    help="`all` runs every engine that applies and fails if they differ (default: rsmc, and axiomatic for what that "
    "cannot run).",
)
@click.option(
    "--unroll",
    type=ROUNDS,
    default=DEFAULT_UNROLL,
    show_default=True,
    help="How often each backward branch is followed on a path; executions that need more are counted as cut.",
)
@click.option(
    "--unroll-waits",
    is_flag=True,
    help="Follow loops that only wait round by round, up to --unroll; else their last round stands for all.",
)
@click.option("--timeout", type=SECONDS, help="Seconds per test.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that a process may hold.")
@click.option("--max-traces", type=TRACES, metavar="N", help="Complete executions per test.")
@click.option(
    "--jobs",
    "-j",
    type=JOBS,
    default=1,
    show_default=True,
    help="Tests run side by side; of one test, threads (rsmc, states).",
)
@CLUSTER
@click.option("--json", "json_file", metavar="FILE", help="Write one JSON object per test and line; - is stdout.")
@click.option(
    "--witness",
    "witness_path",
    metavar="PATH",
    help="Write an execution that decides the condition, for `dekker replay`: to that file, or for several tests to "
    "files in that folder.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show an execution that decides the condition; if there is none, which axioms forbid it.",
)
@GRAPH
@HTML
@JUNIT
@SELECT
@click.option("--quiet", "-q", is_flag=True, help="No text per test.")
def command(
    paths: tuple[str, ...],
    model: str | None,
    engine: str | None,
    unroll: int,
    unroll_waits: bool,
    timeout: float | None,
    memory: int | None,
    max_traces: int | None,
    jobs: int,
    cluster: str | None,
    json_file: str | None,
    witness_path: str | None,
    explain: bool,
    graph_file: str | None,
    html_file: str | None,
    junit_file: str | None,
    select: str | None,
    quiet: bool,
) -> int:
    """Run litmus tests: files, folders (searched for *.litmus and *.rsmc), or @FILE with one path per line.

    Prints what herd prints for each test. `Ok` and `No` say whether the test's condition holds as it is quantified;
    a test that cannot be read is reported and the others still run. C and C++ programs are for `dekker check`.
    """
    limits = Limits(unroll, timeout, memory, max_traces)
    if model is not None:
        with supervised(limits):
            load_model(model)
    tests = find_tests(paths)
    search = Search(select=select)
    if graph_file is not None and len(tests) != 1:
        raise InputError("--graph draws one test", hint="--html makes a page of many")
    draws = graph_file is not None or html_file is not None
    reasons = explain or (draws and len(tests) == 1)
    options = BatchOptions(
        model, engine, limits, draws or witness_path is not None, reasons, unroll_waits, search, draws
    )
    writer = None if witness_path is None else WitnessWriter(witness_path, len(tests))
    page = None if html_file is None else _page(limits, reasons)
    exports = Exports(junit=junit_file)
    tally: Counter[str] = Counter()
    kept: list[Record] = []
    started = time.monotonic()
    with crew_at(cluster, jobs) as crew, _json_output(json_file) as json_stream, _progress(len(tests)) as advance:
        try:
            line = ProgressLine() if len(tests) < FEWEST_FOR_BAR else None
            for record in _records(tests, options, jobs, line, crew):
                if line is not None:
                    line.clear()
                tally[record.verdict] += 1
                tally["stopped"] += record.stopped_by is not None
                if writer is not None:
                    record = writer.write(record)
                if junit_file is not None:
                    kept.append(record)
                _show(record, json_stream, quiet or json_stream is sys.stdout or exports.take_stdout, explain)
                if graph_file is not None:
                    _draw(graph_file, record)
                if page is not None:
                    page.add(record)
                advance()
                if record.stopped_by == "interrupt":
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            tally["interrupted"] += 1
    if html_file is not None and page is not None:
        write_page(html_file, page.page(len(tests)))
    exports.write_litmus(kept)
    _summarise(tally, len(tests), time.monotonic() - started)
    return _status(tally)


def _records(
    tests: list[Test], options: BatchOptions, jobs: int, progress: ProgressLine | None, crew: Crew | None
) -> Iterator[Record]:
    if crew is None:
        return run_batch(tests, options, jobs, progress)
    from dekker.cluster.whole_tasks import run_tests  # noqa: PLC0415 — few need it

    return run_tests(crew, tests, options, progress)


def _show(record: Record, json_stream: TextIO | None, quiet: bool, explain: bool) -> None:
    if json_stream is not None:
        from dekker.report.json_lines import json_line  # noqa: PLC0415 — slow to load

        print(json_line(record), file=json_stream, flush=True)
    if record.error is not None:
        print(herd_text(record), file=sys.stderr)
    elif not quiet:
        print(herd_text(record))
        if explain:
            _explain(record)


def _explain(record: Record) -> None:
    from dekker.report.execution_text import execution_text, heading  # noqa: PLC0415 — slow to load
    from dekker.report.explanation import explanation_text  # noqa: PLC0415

    width = terminal_width()
    if record.explanation is not None:
        print(explanation_text(record.explanation, width))
    elif record.witness is not None:
        print(f"{heading(record.witness)}\n\n{execution_text(record.witness, width)}")


def _draw(file: str, record: Record) -> None:
    """The execution that decides the condition, or else the one that comes closest to it."""
    explanation = record.explanation
    if record.witness is not None:
        write_graph(file, record.witness, record.order)
    elif explanation is not None and explanation.closest is not None:
        write_graph(file, explanation.closest, reasons=explanation.reasons)
    elif record.error is None:
        print(f"{record.name}: no execution decides the condition, so there is nothing to draw", file=sys.stderr)


def _page(limits: Limits, explained: bool) -> LitmusPage:
    from dekker.report.html.litmus_page import LitmusPage  # noqa: PLC0415 — rarely needed

    return LitmusPage(limits, explained)


def _summarise(tally: Counter[str], total: int, seconds: float) -> None:
    interrupted, stopped_early = tally.pop("interrupted", 0), tally.pop("stopped", 0)
    done = sum(tally.values())
    if total > 1 or interrupted:
        parts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.items()))
        stopped = " (interrupted)" if interrupted else ""
        print(f"{done} of {total} tests in {seconds:.1f} s: {parts}{stopped}", file=sys.stderr)
    if interrupted or stopped_early:
        tally["Unknown"] += 1


def _status(tally: Counter[str]) -> int:
    if tally["Error"]:
        return STATUS_INPUT
    if tally["Unknown"]:
        return STATUS_UNDECIDED
    return STATUS_VIOLATED if tally["No"] or tally["Undef"] else STATUS_HOLDS


@contextmanager
def _json_output(file: str | None) -> Iterator[TextIO | None]:
    if file is None:
        yield None
    elif file == "-":
        yield sys.stdout
    else:
        with _open_for_writing(file) as stream:
            yield stream


def _open_for_writing(file: str) -> TextIO:
    try:
        return Path(file).open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write '{file}': {error.strerror}") from None


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal, for more than a handful of tests: how many are done, how fast, how long the others will
    take, and the memory."""
    if total < FEWEST_FOR_BAR or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # noqa: PLC0415 — costs start-up time, rarely needed
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    about = TextColumn("{task.fields[about]}")
    columns = (TextColumn("litmus"), BarColumn(), MofNCompleteColumn(), about, TimeRemainingColumn())
    started, done = time.monotonic(), count(1)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("litmus", total=total, about="")

        def advance() -> None:
            rate = next(done) / max(1e-9, time.monotonic() - started)
            progress.update(bar, advance=1, about=f"{rough(rate)}/s {resident_mb():.0f} MB")

        yield advance
