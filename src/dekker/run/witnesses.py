"""Witnesses of results, explanations of outcomes that are forbidden, and what a witness was made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.cat.model import Model
from dekker.cat.reasons import Reason, explain
from dekker.errors import DekkerError, InputError
from dekker.execution import Trace
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import layout
from dekker.ir.notation import formula_text
from dekker.ir.program import Program
from dekker.ir.property import Formula, Not, Quantifier, Truth
from dekker.models import FOLDER, load_model, model_names, with_checks
from dekker.replay import Mismatch, Origin, Wanted, check_witness, judge, make_witness, replay
from dekker.report.explanation import Explanation
from dekker.result import Result
from dekker.run.program_texts import program_text, read_program_text
from dekker.source import Source
from dekker.task import Task
from dekker.witness import ModelText, Witness

DEFAULT_EXPLAIN_S = 30.0


# --- from results to witnesses


def deciding_witness(task: Task, engine: str, result: Result) -> Witness | None:
    """An execution that shows why the verdict is what it is: a runtime violation; else one that satisfies the formula
    of `exists` and `~exists`, or violates that of `forall`; else one that raises a flag; else, for `forall`, any."""
    found = next(_deciding_traces(task, result), None)
    return None if found is None else checked_witness(task, engine, found)


def _deciding_traces(task: Task, result: Result) -> Iterator[Trace]:
    program, examples = task.program, result.examples
    places, wanted = layout(program), asked_formula(program)
    yield from examples.violations.values()
    for trace in examples.states.values():
        if formula_holds(wanted, replay(program, trace).values, places):
            yield trace
    if result.flags:
        yield from _flagged_traces(task, result)
    condition = program.property.condition
    if condition is not None and condition.quantifier is Quantifier.FORALL:
        yield from examples.states.values()


def _flagged_traces(task: Task, result: Result) -> Iterator[Trace]:
    """Not every engine says which executions raise a flag; then those are looked at that it gives for final states."""
    yield from result.examples.flags.values()
    for trace in result.examples.states.values():
        if judge(task.model, replay(task.program, trace).execution).flags:
            yield trace


def asked_formula(program: Program) -> Formula:
    """What the condition asks about: the formula of `exists` and `~exists`, the opposite of that of `forall`."""
    condition = program.property.condition
    if condition is None:
        return Truth(True)
    return Not(condition.formula) if condition.quantifier is Quantifier.FORALL else condition.formula


def asked_executions(program: Program, result: Result) -> int:
    """How many executions satisfy what the condition asks about."""
    condition = program.property.condition
    violating = condition is not None and condition.quantifier is Quantifier.FORALL
    return result.violating if violating else result.satisfying


def checked_witness(task: Task, engine: str, trace: Trace, wanted: Wanted | None = None) -> Witness:
    """An engine that delivers what does not replay is wrong, and nobody should see its witness."""
    try:
        witness = _witness(task, engine, trace, wanted)
        problems = check_witness(witness, task.program, task.model)
        if wanted is not None and (witness.violation is None or not wanted(witness.claim, witness.violation)):
            problems.append("it does not show the violation that it is kept for")
    except Mismatch as mismatch:
        problems = [str(mismatch)]
    if problems:
        raise DekkerError(
            f"an execution that the engine {engine} found in '{task.program.name}' does not replay: {problems[0]}",
            hint="this is a defect of Dekker: do not trust the answer",
        )
    return witness


def _witness(task: Task, engine: str, trace: Trace, wanted: Wanted | None = None) -> Witness:
    origin = Origin(program_text(task.program, task.model), engine)
    return make_witness(origin, task.program, task.model, trace, replay(task.program, trace), wanted)


# --- forbidden outcomes


def explanation(task: Task) -> Explanation:
    """Which axioms rule out what the condition asks about."""
    from dekker.engines.axiomatic import engine as axiomatic  # noqa: PLC0415 — slow to load, and few ask for it
    from dekker.engines.axiomatic.rejected import rejected  # noqa: PLC0415

    program, model = task.program, task.model
    formula = asked_formula(program)
    if task.limits.timeout_s is None:
        task = replace(task, limits=replace(task.limits, timeout_s=DEFAULT_EXPLAIN_S))
    found = rejected(task, formula)
    closest: Witness | None = None
    reasons: tuple[Reason, ...] = ()
    if found.closest is not None:
        closest = _witness(task, axiomatic.NAME, found.closest)
        reasons = reasons_against(model, program, closest)
    return Explanation(
        model=model.name,
        formula=f"({formula_text(formula)})",
        candidates=found.candidates,
        excluded=tuple(found.excluded.items()),
        closest=closest,
        reasons=reasons,
        self_justifying=found.self_justifying,
        stopped_by=found.stopped_by,
    )


def reasons_against(model: Model, program: Program, witness: Witness) -> tuple[Reason, ...]:
    """Why the model forbids the execution of a witness; nothing if it allows it."""
    execution = replay(program, witness.trace()).execution
    return tuple(explain(model, execution, judge(model, execution).broken))


# --- from witnesses back to what they were made from


def witnessed_program(witness: Witness) -> Program:
    """The program of a witness, read again and compiled for its model."""
    return read_program_text(witness.program, witnessed_model(witness))


def witnessed_model(witness: Witness) -> Model:
    """The model of a witness: built in, or compiled from the texts that the witness brings along."""
    return load_model_text(witness.model)


def load_model_text(model: ModelText) -> Model:
    from dekker.cat.compiler import compile_model  # noqa: PLC0415 — slow to load, and most models are kept

    if model.text is None:
        if model.name not in model_names():
            raise InputError(f"the witness names the model {model.name!r}, which does not ship, and has no text of it")
        return load_model(model.name)
    embedded = {(item.by, item.path): Source(item.file, item.text) for item in model.includes}
    source = Source(model.file, model.text)
    return with_checks(compile_model(source, model.name, (FOLDER,), embedded), source)
