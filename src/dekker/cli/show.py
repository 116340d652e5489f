"""`dekker show`: a program as engines see it, and its critical cycles."""

from __future__ import annotations

import click

from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.exports import write_answer
from dekker.cli.limits import within_limits
from dekker.errors import InputError
from dekker.frontends import parse_files
from dekker.ir.passes import apply_passes
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import prepare

DEFAULT_CYCLES = 20


@click.command(name="show", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--ir", is_flag=True, help="The program representation (the default).")
@click.option("--passes", is_flag=True, help="As engines get it: loops that only wait are awaits.")
@click.option("--model", "-m", help="As it is under this model: atomics of C compiled for the processor.")
@click.option("--cycles", is_flag=True, help="The critical cycles under --model: where it may differ from sc, and why.")
@click.option("--all", "safe", is_flag=True, help="With cycles that the model keeps in order.")
@click.option("--most", type=click.IntRange(min=0), default=DEFAULT_CYCLES, show_default=True, help="Cycles to print.")
@click.option("--dot", "dot_file", metavar="FILE", help="Draw the cycles for Graphviz; - is stdout.")
@click.option("--json", "json_file", metavar="FILE", help="Write the cycles as a JSON object; - is stdout.")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@within_limits
def command(
    paths: tuple[str, ...],
    ir: bool,
    passes: bool,
    model: str | None,
    cycles: bool,
    safe: bool,
    most: int,
    dot_file: str | None,
    json_file: str | None,
    cc: str | None,
) -> None:
    """Print a program as Dekker represents it, or its critical cycles.

    Several C and C++ files are linked into one program; what follows -- goes to their compiler. A critical cycle is a
    way in which threads may see each other's accesses that sequential consistency excludes and the model may allow.
    Cycles are found without running the program, so that some may be impossible.
    """
    if cycles and (ir or passes):
        raise InputError("--cycles is a view of its own: leave out --ir and --passes")
    if not cycles and (safe or dot_file is not None or json_file is not None):
        raise InputError("--all, --dot and --json are for --cycles")
    program = parse_files(paths, compiler_flags(), cc)
    validate(program)
    if cycles:
        _show_cycles(program, model, safe, most, dot_file, json_file)
        return
    if model is not None:
        program = prepare(program, load_model(model), unroll_waits=not passes)
    elif passes:
        program = apply_passes(program)
    print(print_program(program), end="")


def _show_cycles(
    program: Program, model: str | None, safe: bool, most: int, dot_file: str | None, json_file: str | None
) -> None:
    from dekker.report import cycles_text  # noqa: PLC0415 — other views need no analysis
    from dekker.run.cycles import find_cycles  # noqa: PLC0415

    if model is None:
        raise InputError("cycles are critical under a model", hint="add --model tso, pso, rmo, power, …")
    report = find_cycles(program, model, safe=safe)
    if "-" not in (dot_file, json_file):
        print(cycles_text.cycles_text(report, most))
    if dot_file is not None:
        write_answer(dot_file, cycles_text.cycles_dot(report, most))
    if json_file is not None:
        write_answer(json_file, cycles_text.cycles_json(report))
