"""`dekker explain`: why is this possible here, and not there?"""

from __future__ import annotations

from dataclasses import replace

import click

from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.dialect import dialect_options
from dekker.cli.limits import MEGABYTES, NUMBERS, REUSE, ROUNDS, SECONDS, TRACES
from dekker.cli.main import STATUS_HOLDS, STATUS_UNDECIDED
from dekker.cli.witness_files import terminal_width
from dekker.frontends import default_model
from dekker.frontends.dialect import Dialect
from dekker.models import load_model
from dekker.report.why import UNDECIDED, why_text
from dekker.run.check import CheckOptions, check_limits, read_program
from dekker.run.engines import ENGINES
from dekker.run.supervision import supervised
from dekker.run.why import why


@click.command(name="explain", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--model", "-m", help="A model's name or a .cat file (default: that of the program).")
@click.option("--versus", metavar="MODEL", help="Another model: the difference between the two on this program.")
@click.option("--engine", type=click.Choice(sorted(ENGINES)), help="(default: rsmc, and axiomatic for the rest)")
@click.option("--unroll", type=ROUNDS, help="Rounds of each loop.  [default: 1, then 2, then 4]")
@click.option("--timeout", type=SECONDS, help="Seconds for each model.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@click.option("--max-traces", type=TRACES, metavar="N", help="Complete executions for each model.")
@click.option("--leaks", is_flag=True, help="Memory that is neither freed nor reachable at the end is a violation.")
@REUSE
@click.option("--nondet", type=NUMBERS, metavar="LOW..HIGH", help="What __VERIFIER_nondet_int gives.  [default: -1..2]")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@dialect_options
def command(
    paths: tuple[str, ...],
    model: str | None,
    versus: str | None,
    engine: str | None,
    unroll: int | None,
    timeout: float | None,
    memory: int | None,
    max_traces: int | None,
    leaks: bool,
    nondet: tuple[int, int] | None,
    reuse: bool,
    cc: str | None,
    dialect: Dialect,
) -> int:
    """Explain why an outcome is possible under a memory model and not under sc, or why it is impossible.

    The outcome is what the condition of a litmus test asks about, or the first violation of another program. Shown are
    a run, which accesses take effect out of order in it, why sc forbids that, and which fences and dependencies would
    forbid it here. With --versus, all outcomes of the two models are compared.

    Status 0: it is explained. 2: the input is at fault. 3: undecided within the limits.
    """
    limits = check_limits(unroll, timeout, memory, max_traces)
    options = CheckOptions(None, engine, limits, compiler_flags(), cc, leaks, nondet, reuse=reuse, dialect=dialect)
    for_both = replace(limits, timeout_s=None if timeout is None else 2 * timeout)
    with supervised(for_both):
        program = read_program(paths, options)
        if leaks:
            program = replace(program, property=replace(program.property, leaks=True))
        chosen = load_model(model or default_model(program))
        found = why(program, chosen, options, None if versus is None else load_model(versus))
    print(why_text(found, terminal_width()))
    undecided = UNDECIDED in (found.answer.status, found.other.status if found.other is not None else "")
    return STATUS_UNDECIDED if undecided else STATUS_HOLDS
