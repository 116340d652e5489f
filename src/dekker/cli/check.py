"""`dekker check`: can this program go wrong?"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dekker.cli.cluster import CLUSTER
from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.dialect import dialect_options
from dekker.cli.exports import Exports, export_options, require_own_file, write_answer
from dekker.cli.limits import JOBS, MEGABYTES, NUMBERS, REUSE, ROUNDS, SECONDS, TRACES
from dekker.cli.main import STATUS_HOLDS, STATUS_UNDECIDED, STATUS_VIOLATED
from dekker.cli.pictures import GRAPH, HTML, texts_of, write_graph, write_page
from dekker.cli.progress import ProgressLine
from dekker.cli.search import search_options
from dekker.cli.witness_files import LAYOUT, NO_COLOR, run_style, terminal_width, write_witness
from dekker.cluster import crew_at, explore_with
from dekker.errors import InputError
from dekker.frontends.dialect import Dialect
from dekker.report.check_report import CheckReport, CheckViolation, check_json, check_text
from dekker.report.estimate_text import estimate_line, lower_bound_line, rough
from dekker.result import Verdict
from dekker.run.check import CheckOptions, check, check_limits, task_to_estimate, undecided
from dekker.run.engines import ALL, ENGINES
from dekker.run.supervision import last_words, supervised
from dekker.task import Search

if TYPE_CHECKING:
    from dekker.cluster.crew import Crew

ESTIMATE_SECONDS = 5.0

STATUS = {
    Verdict.SAFE: STATUS_HOLDS,
    Verdict.SAFE_WITHIN_BOUND: STATUS_HOLDS,
    Verdict.UNSAFE: STATUS_VIOLATED,
    Verdict.UNKNOWN: STATUS_UNDECIDED,
}


@click.command(name="check", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--model", "-m", help="A model's name or a .cat file (default: cpp20 for C and C++).")
@click.option(
    "--engine",
    type=click.Choice(sorted(ENGINES)),
    help="(default: rsmc, in turns with states where it takes long, and axiomatic for what it cannot run; "
    "auto: states first for loops without bound)",
)
@click.option(
    "--unroll",
    type=ROUNDS,
    help="How often a loop goes round whose end depends on what is read; the verdict says if more was needed.  "
    "[default: 1, then 2, then 4, as long as loops are cut]",
)
@click.option("--timeout", type=SECONDS, help="Seconds.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@click.option("--max-traces", type=TRACES, metavar="N", help="Complete executions.")
@click.option("--jobs", "-j", type=JOBS, default=1, show_default=True, help="rsmc, states: threads that explore.")
@click.option("--checkpoint", metavar="FILE", help="rsmc: write now and then what is left, for `dekker resume`.")
@CLUSTER
@click.option("--leaks", is_flag=True, help="Memory that is neither freed nor reachable at the end is a violation.")
@REUSE
@click.option("--no-deadlocks", is_flag=True, help="Threads that wait for ever are no violation.")
@click.option("--nondet", type=NUMBERS, metavar="LOW..HIGH", help="What __VERIFIER_nondet_int gives.  [default: -1..2]")
@click.option("--keep-going", is_flag=True, help="Explore everything, not only up to the first violation.")
@click.option(
    "--exact", is_flag=True, help="Count each execution or state, also where only the names of threads differ."
)
@click.option("--estimate", is_flag=True, help="Only estimate how many executions there are, by random probes.")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@click.option("--json", "json_file", metavar="FILE", help="Write the answer as a JSON object; - is stdout.")
@click.option(
    "--witness", "witness_file", metavar="FILE", help="Write the run that shows the violation, for `dekker replay`."
)
@GRAPH
@HTML
@LAYOUT
@NO_COLOR
@export_options
@dialect_options
@search_options
def command(
    paths: tuple[str, ...],
    model: str | None,
    engine: str | None,
    unroll: int | None,
    timeout: float | None,
    memory: int | None,
    max_traces: int | None,
    jobs: int,
    checkpoint: str | None,
    cluster: str | None,
    leaks: bool,
    reuse: bool,
    no_deadlocks: bool,
    nondet: tuple[int, int] | None,
    keep_going: bool,
    exact: bool,
    estimate: bool,
    cc: str | None,
    json_file: str | None,
    witness_file: str | None,
    graph_file: str | None,
    html_file: str | None,
    layout: str,
    no_color: bool,
    exports: Exports,
    search: Search,
    dialect: Dialect,
) -> int:
    """Check a C or C++ program (or .ll, .litmus, .rsmc, .lang) under a memory model.

    Assertions, memory accesses, data races (under cpp20 and rc11) and deadlocks are checked in every execution. Several
    files are linked into one program; what follows -- goes to the compiler (-D, -I, -std …). Nothing of the program is
    ever executed natively. The first violation ends the search, unless --keep-going is given, and is shown with the run
    that leads to it. What is undefined in C and not checked stands in the JSON report, under "unchecked".
    """
    if checkpoint is not None:
        if estimate:
            raise InputError("--estimate explores nothing, so that there is nothing for --checkpoint to write")
        files = {"--json": json_file, "--witness": witness_file, "--graph": graph_file, "--html": html_file}
        require_own_file(checkpoint, files | exports.files())
    stops = not keep_going and engine != ALL
    limits = check_limits(
        unroll,
        timeout,
        memory,
        max_traces,
        stop_at_first=stops,
        deadlocks=not no_deadlocks,
        counts_executions=exact or not stops or max_traces is not None or not search.symmetry,
    )
    options = CheckOptions(
        model,
        engine,
        limits,
        compiler_flags(),
        cc,
        leaks,
        nondet,
        replace(search, exact=True) if exact else search,
        jobs=jobs,
        checkpoint=checkpoint,
        dialect=dialect,
        reuse=reuse,
    )
    if estimate:
        with crew_at(cluster, jobs) as crew, supervised(limits):
            return _show_estimate(paths, options, crew)

    is_piped = json_file == "-" or exports.take_stdout

    def unanswered(reason: str) -> list[tuple[str, str]]:
        said = undecided(paths, options, reason)
        records = [*([] if json_file is None else [(json_file, check_json(said))]), *exports.answers([said])]
        written = [("" if file == "-" else file, f"{text}\n") for file, text in records]
        return written if is_piped else [("", f"{check_text(said)}\n"), *written]

    with crew_at(cluster, jobs) as crew, ProgressLine() as progress, last_words(unanswered):
        report = check(paths, replace(options, explore=explore_with(crew)), progress)
    if witness_file is not None:
        write_run(witness_file, report)
    if graph_file is not None:
        _draw(graph_file, report)
    if html_file is not None:
        from dekker.report.html.check_pages import check_page  # noqa: PLC0415 — rarely needed

        write_page(html_file, check_page(report, texts_of(paths)))
    if json_file is not None:
        write_answer(json_file, check_json(report))
    exports.write_check(report)
    if not is_piped:
        print(check_text(report, terminal_width(), run_style(layout, no_color)))
    return STATUS[report.verdict]


def _show_estimate(paths: tuple[str, ...], options: CheckOptions, crew: Crew | None) -> int:
    """For as long as --timeout says, or a few seconds. How many there are says nothing about what they show."""
    from dekker.cluster.estimate import estimate_on  # noqa: PLC0415 — few ask for it
    from dekker.run.estimate import NoProbe, estimate  # noqa: PLC0415

    task, seconds = task_to_estimate(paths, options), options.limits.timeout_s or ESTIMATE_SECONDS
    try:
        found = estimate(task, seconds) if crew is None else estimate_on(crew, task, seconds)
    except NoProbe as none:
        print(f"UNKNOWN: {none.diagnostic.message}")
        return STATUS_UNDECIDED
    told = (
        estimate_line(found.mean, found.low, found.high)
        if found.trusted
        else lower_bound_line(found.mean, found.at_least)
    )
    print(f"{told} under {task.model.name}")
    blocked = f", about {rough(found.blocked)} blocked" if found.blocked >= 0.5 else ""
    print(f"  {found.probes} random probes in {found.time_s:.1f} s{blocked}")
    if not found.trusted:
        print("  few probes came to where most executions are, or threads wait for one another")
    return STATUS_UNDECIDED


def write_run(file: str, report: CheckReport) -> None:
    shown = _shown(report)
    if shown is None or shown.witness is None:
        print("there is no run that shows a violation, so there is no witness", file=sys.stderr)
    else:
        write_witness(Path(file), shown.witness)


def _draw(file: str, report: CheckReport) -> None:
    shown = _shown(report)
    if shown is None or shown.witness is None:
        print("there is no run that shows a violation, so there is nothing to draw", file=sys.stderr)
    else:
        write_graph(file, shown.witness, shown.order)


def _shown(report: CheckReport) -> CheckViolation | None:
    return next((item for item in report.violations if item.witness is not None), None)
