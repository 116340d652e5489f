"""The transformation beside the other engines: it follows loops that others cut, counts states instead of
executions, looks for no thread that waits for ever, and delays only so many accesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from dekker.cat.model import Model
from dekker.errors import UnsupportedError
from dekker.ir.instructions import Await, Join, Spawn
from dekker.ir.program import Program
from dekker.ir.property import Condition, Quantifier, Truth
from dekker.result import Result
from dekker.run import transform
from dekker.run.engines import JOINS, MEMORY_VIOLATIONS, Disagreement
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task
from dekker.transform.selection import Strategy

TRANSFORMED = transform.NAME
BUFFER = 4
ENDS_OF_COMPARISON = MEMORY_VIOLATIONS | {"uninitialised"}
"""A delayed store that goes wrong lets its thread go on, where other engines end it."""
TIMEOUT_S = 0.3
SHARE = 1 / 6
"""Of the programs under models that other engines know as well."""
ANY_STATE = Condition(Quantifier.EXISTS, Truth(True))
STRATEGIES = tuple(item.value for item in Strategy)


def run_transformed(program: Program, model: Model, limits: Limits, seed: int) -> Result | None:
    """None: not the same model, or outside of the framework, or not to the end, or not its turn. The seed chooses how
    accesses are selected."""
    random = Random(f"selection {seed}")
    has_turn = model.name in transform.SAME_AS_THEIRS and random.random() < SHARE
    if not (has_turn or model.name.startswith(transform.PREFIX)):
        return None
    limits = replace(limits, timeout_s=min(limits.timeout_s or TIMEOUT_S, TIMEOUT_S))
    if program.architecture == "C":  # its final states are looked at only if asked for
        program = replace(program, property=replace(program.property, condition=ANY_STATE))
    search = Search(select=random.choice(STRATEGIES), buffer=BUFFER)
    try:
        found = transform.run(Task(prepare(program, model, reduce_updates=False), model, limits, search=search))
    except UnsupportedError:
        return None
    return None if found.stopped_by is not None or "--buffer" in found.bound else found


def require_same_when_transformed(task: Task, results: Mapping[str, Result], transformed: Result) -> None:
    for name, result in results.items():
        about = _difference(result, transformed)
        if about and not (about == "states" and _ends_while_exchanges_wait(task)):
            raise Disagreement(
                f"{name} and {TRANSFORMED} disagree on '{task.program.name}' under {task.model.name} about {about}"
            )


def _ends_while_exchanges_wait(task: Task) -> bool:
    """The program may end while a thread waits, not while it goes round in a loop. A loop of exchanges that store what
    they find is the one for other engines, and the other for the transformation."""
    steps = [step for function in task.program.functions for step in function.body]
    waits = any(isinstance(step, Await) for step in steps)
    return waits and sum(isinstance(step, Join) for step in steps) < sum(isinstance(step, Spawn) for step in steps)


def _difference(other: Result, transformed: Result) -> str:
    whole = other.stopped_by is None and not other.cut and not other.bound
    ours, theirs = _kinds(transformed), _kinds(other)
    if not (MEMORY_VIOLATIONS | JOINS).isdisjoint(ours & theirs):
        return ""  # others go on behind an access to memory that is not there, or have another thread come second
    if not theirs <= ours or (whole and ours != theirs):
        return "violations"
    if not (ours | theirs).isdisjoint(ENDS_OF_COMPARISON):
        return ""
    missing = other.states.keys() - transformed.states.keys()
    extra = transformed.states.keys() - other.states.keys() if whole else frozenset()
    return "states" if (missing and not transformed.bound) or extra else ""


def _kinds(result: Result) -> set[str]:
    """What a delayed access does wrong has no place."""
    return {violation.kind for violation in result.violations}
