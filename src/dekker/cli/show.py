"""`dekker show`: a program as engines see it."""

from __future__ import annotations

import click

from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.frontends import parse_files
from dekker.ir.passes import apply_passes
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import prepare


@click.command(name="show", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--ir", is_flag=True, help="The program representation (the default, and so far the only view).")
@click.option("--passes", is_flag=True, help="As engines get it: loops that only wait are awaits.")
@click.option("--model", "-m", help="As it is under this model: atomics of C compiled for the processor.")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
def command(paths: tuple[str, ...], ir: bool, passes: bool, model: str | None, cc: str | None) -> None:
    """Print a program as Dekker represents it.

    Several C and C++ files are linked into one program; what follows -- goes to their compiler.
    """
    program = parse_files(paths, compiler_flags(), cc)
    validate(program)
    if model is not None:
        program = prepare(program, load_model(model), unroll_waits=not passes)
    elif passes:
        program = apply_passes(program)
    print(print_program(program), end="")
