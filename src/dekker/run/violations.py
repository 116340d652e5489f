"""What is wrong with a program according to a result, each thing with a run that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dekker.cat.model import Model
from dekker.errors import UnsupportedError
from dekker.execution import DATA_RACE, USE_BEFORE_ALLOCATION, Trace
from dekker.ir.notation import condition_text
from dekker.ir.program import Program
from dekker.replay import Wanted, replay
from dekker.replay.failures import waiting_reads
from dekker.replay.findings import kind_of_flag, races
from dekker.replay.reordering import reordering
from dekker.report.check_report import CheckViolation
from dekker.report.counterexample import OutOfOrder
from dekker.result import Result, Verdict, Violation, verdict
from dekker.run.witnesses import checked_witness, deciding_witness
from dekker.source import Span
from dekker.task import Task
from dekker.witness import DEADLOCK, FLAG, Finding, Witness, WitnessFrame

NO_THREAD = -1
MOST_EVENTS = 3_000
"""Of a run that is replayed and shown; relations between more take too long."""

_FLAGS = {
    DATA_RACE: "two accesses race, and one is not atomic",
    USE_BEFORE_ALLOCATION: "nothing orders an access after the allocation of its object",
}


def violations_of(task: Task, engine: str, result: Result) -> Iterator[CheckViolation]:
    """Runtime violations, flags of the model, deadlocks; else a final state that the condition does not want."""
    found = False
    for violation in result.violations:
        found = True
        trace = result.examples.violations.get(violation)
        yield _shown(task, engine, trace, _place_is(violation), _unshown(violation), violation.span)
    for flag in result.flags:
        found = True
        message = _FLAGS.get(flag, f"the model raises '{flag}'")
        name = kind_of_flag(flag)
        finding = Finding(name, message, NO_THREAD, ())
        trace = result.examples.flags.get(flag)
        first = _shown(task, engine, trace, _flag_is(name), finding, None)
        yield first
        if flag == DATA_RACE and first.witness is not None and trace is not None and not task.limits.stop_at_first:
            others = races(task.model, replay(task.program, trace))
            yield from (CheckViolation(other, span) for other, span in others if other != first.finding)
    if result.deadlocks:
        found = True
        finding = Finding(DEADLOCK, "threads wait for ever", NO_THREAD, ())
        yield _shown(task, engine, result.examples.deadlock, _deadlock_is, finding, None)
    if not found and verdict(result, task.program.property.condition) is Verdict.UNSAFE:
        yield _wrong_final_state(task, engine, result)


def _shown(
    task: Task, engine: str, trace: Trace | None, wanted: Wanted, unshown: Finding, span: Span | None
) -> CheckViolation:
    if trace is None:
        return CheckViolation(unshown, span)
    if len(trace) > MOST_EVENTS:
        said = f"{unshown.message} (in a run of {len(trace)} steps, too long to be replayed and shown)"
        return CheckViolation(replace(unshown, message=said), span)
    try:
        witness = checked_witness(task, engine, trace, wanted)
        order = out_of_order(task.model, task.program, witness)
    except UnsupportedError:
        return CheckViolation(unshown, span)
    return CheckViolation(witness.violation or unshown, span, witness, order)


def out_of_order(model: Model, program: Program, witness: Witness) -> OutOfOrder | None:
    """Nothing for an interleaving."""
    replayed = replay(program, witness.trace())
    beside = frozenset[int]() if witness.claim == DEADLOCK else waiting_reads(replayed.runs, replayed.execution)
    found = reordering(model, replayed.execution, beside)
    return None if found is None else OutOfOrder(found.cycle, found.pairs)


def _unshown(violation: Violation) -> Finding:
    """As the engine says it."""
    return Finding(violation.kind, violation.message, NO_THREAD, ())


def _place_is(violation: Violation) -> Wanted:
    span = violation.span
    place = (span.source.name, span.line, span.column) if span is not None else ("", 0, 0)

    def wanted(claim: str, finding: Finding) -> bool:
        frame = finding.place or WitnessFrame("", "", 0, 0)
        return claim == violation.kind and (frame.file, frame.line, frame.column) == place

    return wanted


def _flag_is(name: str) -> Wanted:
    return lambda claim, finding: claim == FLAG and finding.kind == name


def _deadlock_is(claim: str, finding: Finding) -> bool:
    return claim == DEADLOCK


def _wrong_final_state(task: Task, engine: str, result: Result) -> CheckViolation:
    condition = task.program.property.condition
    assert condition is not None
    finding = Finding("final state", f"{condition_text(condition)} does not hold", NO_THREAD, ())
    return CheckViolation(finding, None, deciding_witness(task, engine, result))
