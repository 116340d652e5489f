"""`dekker replay`: is this witness true?"""

from __future__ import annotations

import click

from dekker.cli.limits import within_limits
from dekker.cli.main import STATUS_HOLDS, STATUS_VIOLATED
from dekker.cli.pictures import GRAPH, write_graph
from dekker.cli.witness_files import LAYOUT, NO_COLOR, run_style, terminal_width
from dekker.errors import InputError
from dekker.frontends import read_text
from dekker.models import load_model
from dekker.replay import deviations
from dekker.report.explanation import reasons_text
from dekker.report.violation_text import run_text
from dekker.run.fit import require_fit
from dekker.run.violations import out_of_order
from dekker.run.witnesses import reasons_against, witnessed_model, witnessed_program
from dekker.witness import from_json


@click.command(name="replay")
@click.argument("path", metavar="WITNESS.json")
@click.option("--model", "-m", help="Judge the execution by this model (a name or a .cat file) instead of its own.")
@click.option("--quiet", "-q", is_flag=True, help="Only say whether it holds.")
@GRAPH
@LAYOUT
@NO_COLOR
@within_limits
def command(path: str, model: str | None, quiet: bool, graph_file: str | None, layout: str, no_color: bool) -> int:
    """Check a witness from scratch, and show its execution.

    The program in the witness is read again and run with the values that its reads are said to return; addresses,
    values, dependencies, final values and the axioms of the model are worked out anew, without any engine.

    Status 0: it holds. 1: it does not, or the model given by --model forbids the execution. 2: it is no witness.
    """
    witness = from_json(read_text(path), path)
    try:
        program, own = witnessed_program(witness), witnessed_model(witness)
        problems = deviations(witness, program, own)
    except RecursionError:
        raise InputError(f"the program or the model in '{path}' is nested too deeply") from None
    if problems:
        print(f"{path} does not hold:")
        print("\n".join(f"- {problem}" for problem in problems))
        return STATUS_VIOLATED
    judge = own if model is None else load_model(model)
    require_fit(program, judge)
    reasons = reasons_against(judge, program, witness)
    width = terminal_width()
    order = out_of_order(own, program, witness) if witness.violation or graph_file is not None else None
    if not quiet:
        print(run_text(witness, order, width, run_style(layout, no_color)))
    if graph_file is not None:
        write_graph(graph_file, witness, order, reasons)
    if reasons:
        print(f"{judge.name} forbids this execution\n{reasons_text(reasons, witness, width)}", end="")
        return STATUS_VIOLATED
    print(f"{path} holds: {own.name} allows this execution" if model is None else f"{judge.name} allows this execution")
    return STATUS_HOLDS
