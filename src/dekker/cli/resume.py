"""`dekker resume`: go on where a check was stopped, or killed."""

from __future__ import annotations

import click

from dekker.cli.check import STATUS, write_run
from dekker.cli.cluster import CLUSTER
from dekker.cli.exports import require_own_file, write_answer
from dekker.cli.limits import JOBS, MEGABYTES, SECONDS, TRACES
from dekker.cli.progress import ProgressLine
from dekker.cli.witness_files import terminal_width
from dekker.cluster import crew_at, explore_with
from dekker.report.check_report import check_json, check_text
from dekker.run.check import CheckOptions, resume
from dekker.task import Limits


@click.command(name="resume")
@click.argument("file", metavar="FILE")
@click.option("--timeout", type=SECONDS, help="Seconds from now on.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@click.option("--max-traces", type=TRACES, metavar="N", help="Complete executions, with those found before.")
@click.option("--jobs", "-j", type=JOBS, default=1, show_default=True, help="Threads that explore.")
@CLUSTER
@click.option("--json", "json_file", metavar="FILE", help="Write the answer as a JSON object; - is stdout.")
@click.option(
    "--witness", "witness_file", metavar="FILE", help="Write the run that shows the violation, for `dekker replay`."
)
def command(
    file: str,
    timeout: float | None,
    memory: int | None,
    max_traces: int | None,
    jobs: int,
    cluster: str | None,
    json_file: str | None,
    witness_file: str | None,
) -> int:
    """Go on with what FILE, written by `dekker check --checkpoint FILE`, has left.

    The file stands alone: the program, the model and all options are in it, and it may come from another machine. It is
    written again now and then. A file of a check that came to its end gives the answer again.
    """
    require_own_file(file, {"--json": json_file, "--witness": witness_file})
    limits = Limits(timeout_s=timeout, memory_mb=memory, max_traces=max_traces)
    with crew_at(cluster, jobs) as crew, ProgressLine() as progress:
        report = resume(file, CheckOptions(limits=limits, jobs=jobs, explore=explore_with(crew)), progress)
    if witness_file is not None:
        write_run(witness_file, report)
    if json_file is not None:
        write_answer(json_file, check_json(report))
    if json_file != "-":
        print(check_text(report, terminal_width()))
    return STATUS[report.verdict]
