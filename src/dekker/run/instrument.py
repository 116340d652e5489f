"""From files to C in which the delays of a model are spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dekker.errors import UnsupportedError
from dekker.frontends import parse_files
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.run.transform import framework_model, strategy
from dekker.task import Task
from dekker.transform.c_output import instrumented_c
from dekker.transform.instrument import instrument
from dekker.transform.selection import select

SC = "sc"


def instrument_files(
    paths: Sequence[str],
    model_name: str,
    asked: str | None,
    buffer: int | None = None,
    flags: tuple[str, ...] = (),
    compiler: str | None = None,
) -> str:
    program = parse_files(paths, flags, compiler)
    validate(program)
    return instrumented_text(program, model_name, asked, buffer)


def instrumented_text(program: Program, model_name: str, asked: str | None, buffer: int | None = None) -> str:
    model = load_model(model_name)
    program = prepare(program, model, reduce_updates=False)
    chosen = strategy(asked)
    try:
        name = framework_model(Task(program, model))
        selection = select(program, name, chosen)
        instrumented = instrument(program, name, selection.delayed, buffer, always=True)
    except UnsupportedError as error:
        error.diagnostic = replace(error.diagnostic, hint=_hint(error.diagnostic.hint, model_name))
        raise
    return instrumented_c(program, instrumented, name, chosen.value)


def _hint(said: str | None, model_name: str) -> str | None:
    """There is no other engine here."""
    if model_name == SC:
        return "under sc nothing is delayed: the program is already what `dekker instrument` would write"
    if said is None or "--engine" not in said:
        return said
    return "`dekker check` with --engine rsmc or --engine axiomatic checks the program itself"
