"""From a program as it was read to the one that engines run under a model."""

from __future__ import annotations

from functools import partial

from dekker.cat.forgetting import forgets_reads
from dekker.cat.model import Model
from dekker.execution import DATA_RACE
from dekker.ir.instructions import Load
from dekker.ir.passes import apply_passes
from dekker.ir.passes.compile_atomics import compile_atomics
from dekker.ir.passes.fences_of_c import fences_of_c
from dekker.ir.passes.idling import leave_out_idling
from dekker.ir.passes.reuse import reuse_freed_memory
from dekker.ir.passes.specification import tighten
from dekker.ir.passes.waiting import wait_in_loops
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import OF_C, shipped_as
from dekker.run.fit import require_fit

PROCESSORS = {
    **{name: name for name in ("tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv")},
    "ibm370": "tso",
    **{f"ghb-{name}": name for name in ("tso", "pso", "rmo", "power")},
}
"""For which processor the atomics of C are compiled, by the name of the model. Under `sc` and the models of C they
stay; so they do under a user's own model, whatever its name, because nobody knows which processor it is about."""

QUIET_EXCHANGES = frozenset(("sc", "tso", "pso", *OF_C, "power", "aarch64", "riscv"))
"""Models under which an exchange that changes nothing may be left out of a waiting loop (`ir.passes.waiting`), and a
compare-exchange that fails out of a loop that tries again (`ir.passes.retrying`)."""


CONTROL = frozenset(("ctrl", "pick-ctrl", "status-ctrl"))


def prepare(program: Program, model: Model, *, unroll_waits: bool = False, reduce_updates: bool = True) -> Program:
    """The program for an engine. `unroll_waits` leaves loops that only wait as they are. Without `reduce_updates` so
    stay those that an await alone does not stand for: whoever takes awaits for assumptions needs that."""
    if not CONTROL & {item.name for item in model.program.inputs}:
        program = tighten(program)
    elif shipped_as(model) is None:  # it may say that a datum orders writes only
        program = tighten(program, Load)
    waits = not unroll_waits and forgets_reads(model.program)
    quiet = reduce_updates and shipped_as(model) in QUIET_EXCHANGES
    passes = (leave_out_idling, partial(wait_in_loops, quiet_exchanges=quiet, data_races=DATA_RACE in model.checks))
    awaiting = apply_passes(program, passes) if waits else program
    compiled = compile_for(awaiting, model)
    require_fit(compiled, model)
    return apply_passes(compiled, passes) if waits and compiled is not awaiting else compiled


def with_reuse(program: Program) -> Program:
    """The program in which memory that was freed may be allocated again."""
    changed = reuse_freed_memory(program)
    if changed is not program:
        validate(changed)
    return changed


def compile_for(program: Program, model: Model) -> Program:
    """The program as it runs where the model holds."""
    name = shipped_as(model) or ""
    if name in OF_C:
        return fences_of_c(program)
    processor = PROCESSORS.get(name)
    if processor is None:
        return program
    compiled = compile_atomics(program, processor)
    if compiled is not program:
        validate(compiled)
    return compiled
