"""`dekker show`: a program as engines see it."""

from __future__ import annotations

import click

from dekker.frontends import parse_program
from dekker.ir.passes import apply_passes
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.batch import read_text
from dekker.run.prepare import prepare
from dekker.source import Source


@click.command(name="show")
@click.argument("path", metavar="PROGRAM")
@click.option("--ir", is_flag=True, help="The program representation (the default, and so far the only view).")
@click.option("--passes", is_flag=True, help="As engines get it: loops that only wait are awaits.")
@click.option("--model", "-m", help="As it is under this model: atomics of C compiled for the processor.")
def command(path: str, ir: bool, passes: bool, model: str | None) -> None:
    """Print a program as Dekker represents it."""
    program = parse_program(Source(path, read_text(path)))
    validate(program)
    if model is not None:
        program = prepare(program, load_model(model), unroll_waits=not passes)
    elif passes:
        program = apply_passes(program)
    print(print_program(program), end="")
