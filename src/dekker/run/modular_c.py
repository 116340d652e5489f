"""C programs for the modular engine: compiled for the processor of the model, then taken apart into classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dekker.engines.modular.from_program import system_of_program
from dekker.frontends import parse_files
from dekker.ir.thread_classes import System
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import prepare


def system_of_c(
    paths: Sequence[str], counts: Mapping[str, int | None], model: str, flags: Sequence[str], cc: str | None
) -> System:
    program = parse_files(paths, flags, cc)
    validate(program)
    return system_of_program(prepare(program, load_model(model), unroll_waits=True), counts)
