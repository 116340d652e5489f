"""Which processor the atomics of a C program are compiled for: the one that the model describes."""

from __future__ import annotations

from dekker.cat.model import Model
from dekker.ir.passes.compile_atomics import compile_atomics
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import is_built_in

PROCESSORS = {
    **{name: name for name in ("tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv")},
    **{f"ghb-{name}": name for name in ("tso", "pso", "rmo", "power")},
}
"""By the name of the model. Under `sc` and `rc11` the orders of C11 stay; so they do under a user's own model, whatever
its name, because nobody knows which processor it is about."""


def compile_for(program: Program, model: Model) -> Program:
    """The program as it runs where the model holds."""
    processor = PROCESSORS.get(model.name) if is_built_in(model) else None
    if processor is None:
        return program
    compiled = compile_atomics(program, processor)
    if compiled is not program:
        validate(compiled)
    return compiled
