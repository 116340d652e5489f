"""`dekker compare`: where does this program go wrong?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dekker.cli.check import STATUS
from dekker.cli.cluster import CLUSTER
from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.dialect import dialect_options
from dekker.cli.exports import JUNIT, SARIF, Exports, write_answer
from dekker.cli.limits import MEGABYTES, REUSE, ROUNDS, SECONDS, TRACES
from dekker.cli.main import STATUS_HOLDS, STATUS_UNDECIDED, STATUS_VIOLATED
from dekker.cli.pictures import HTML, texts_of, write_page
from dekker.cli.progress import ProgressLine
from dekker.cluster import crew_at
from dekker.errors import InputError
from dekker.frontends.dialect import Dialect
from dekker.report.check_report import CheckReport
from dekker.report.comparison import comparison_json, table_head, table_row
from dekker.run.check import CheckOptions, check_limits
from dekker.run.compare import USUAL_MODELS, compare
from dekker.run.engines import ENGINES

if TYPE_CHECKING:
    from dekker.cluster.crew import Crew


@click.command(name="compare", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option(
    "--models",
    "-m",
    multiple=True,
    help="Names of models or .cat files with commas between, once or several times (default: "
    f"{','.join(USUAL_MODELS)} and the program's own, cpp20 for C, as far as they know its fences).",
)
@click.option(
    "--engine", type=click.Choice(sorted(ENGINES)), help="(default: rsmc, and axiomatic for what that cannot run)"
)
@click.option(
    "--unroll",
    type=ROUNDS,
    help="How often a loop goes round whose end depends on what is read; the table says if more was needed.  "
    "[default: 1, then 2, then 4, as long as loops are cut]",
)
@click.option("--timeout", type=SECONDS, help="Seconds per model.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@click.option("--max-traces", type=TRACES, metavar="N", help="Complete executions per model.")
@click.option("--keep-going", is_flag=True, help="Explore everything, not only up to the first violation.")
@click.option("--no-deadlocks", is_flag=True, help="Threads that wait for ever are no violation.")
@REUSE
@CLUSTER
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@click.option("--json", "json_file", metavar="FILE", help="Write the answers as a JSON object; - is stdout.")
@HTML
@SARIF
@JUNIT
@dialect_options
def command(
    paths: tuple[str, ...],
    models: tuple[str, ...],
    engine: str | None,
    unroll: int | None,
    timeout: float | None,
    memory: int | None,
    max_traces: int | None,
    keep_going: bool,
    no_deadlocks: bool,
    reuse: bool,
    cluster: str | None,
    cc: str | None,
    json_file: str | None,
    html_file: str | None,
    sarif_file: str | None,
    junit_file: str | None,
    dialect: Dialect,
) -> int:
    """Check a C or C++ program (or .ll, .litmus, .rsmc, .lang) under several memory models.

    One line for each: verdict, complete executions, those that are blocked, time, and the first violation, which ends
    the search under that model unless --keep-going is given. A model that cannot handle the program leaves its line
    undecided. Status 1 if any model shows a violation, else 3 if any is undecided.
    """
    limits = check_limits(unroll, timeout, memory, max_traces, stop_at_first=not keep_going, deadlocks=not no_deadlocks)
    options = CheckOptions(None, engine, limits, compiler_flags(), cc, reuse=reuse, dialect=dialect)
    exports = Exports(sarif=sarif_file, junit=junit_file)
    reports: list[CheckReport] = []
    progress = ProgressLine()
    with crew_at(cluster, 1) as crew:
        for report in _reports(paths, _names(models), options, progress, crew):
            progress.clear()
            if json_file != "-" and not exports.take_stdout:
                _show(report, first=not reports)
            reports.append(report)
    if json_file is not None:
        write_answer(json_file, comparison_json(reports))
    if html_file is not None:
        from dekker.report.html.check_pages import comparison_page  # noqa: PLC0415 — rarely needed

        write_page(html_file, comparison_page(reports, texts_of(paths)))
    exports.write_checks(reports)
    return _status(reports)


def _reports(
    paths: tuple[str, ...], names: list[str], options: CheckOptions, progress: ProgressLine, crew: Crew | None
) -> Iterator[CheckReport]:
    if crew is None:
        return compare(paths, names, options, progress)
    from dekker.cluster.whole_tasks import compare_on  # noqa: PLC0415 — few need it

    return compare_on(crew, paths, names, options, progress)


def _names(models: tuple[str, ...]) -> list[str]:
    names = [name.strip() for listed in models for name in listed.split(",") if name.strip()]
    if models and not names:
        raise InputError("--models names no model", hint="`dekker models` lists those that ship")
    return names


def _show(report: CheckReport, first: bool) -> None:
    if first:
        print(table_head())
    print(table_row(report), flush=True)
    if report.error is not None and report.result.stopped_by != "interrupt":
        print(report.error, file=sys.stderr)


def _status(reports: list[CheckReport]) -> int:
    found = {STATUS[report.verdict] for report in reports}
    return next((status for status in (STATUS_VIOLATED, STATUS_UNDECIDED) if status in found), STATUS_HOLDS)
