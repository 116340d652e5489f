"""From files to C in which the delays of a model are spelled out."""

from __future__ import annotations

from collections.abc import Sequence

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
    name = framework_model(Task(program, model))
    chosen = strategy(asked)
    selection = select(program, name, chosen)
    instrumented = instrument(program, name, selection.delayed, buffer, always=True)
    return instrumented_c(program, instrumented, name, chosen.value)
