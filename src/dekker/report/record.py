"""`Record`: the outcome of one litmus test, complete and free of live objects, so that it can cross processes."""

from __future__ import annotations

from dataclasses import field
from functools import cache, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from dekker.errors import DekkerError
from dekker.ir.layout import layout
from dekker.ir.notation import condition_text, shown_order, value_text
from dekker.ir.program import Program
from dekker.ir.property import Quantifier
from dekker.records import dataclass
from dekker.result import Result, Verdict, verdict
from dekker.source import Diagnostic

if TYPE_CHECKING:
    from dekker.report.counterexample import OutOfOrder
    from dekker.report.explanation import Explanation
    from dekker.witness import Witness

KINDS = {
    Quantifier.EXISTS: "Allowed",
    Quantifier.NOT_EXISTS: "Forbidden",
    Quantifier.FORALL: "Required",
    None: "Required",
}


@dataclass(frozen=True)
class Outcome:
    """A final state, as (name, value) pairs in the order shown, and how many executions end in it."""

    values: tuple[tuple[str, str], ...]
    count: int


@dataclass(frozen=True)
class ErrorRecord:
    message: str
    rendered: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None


@dataclass(frozen=True)
class Record:
    """`positive` executions are those that the condition asks for: under `~exists` the ones that do not satisfy the
    formula. `observation` always speaks about the formula. `verdict` is `Ok` or `No` as the condition asks, `Undef` if
    some execution has undefined behaviour (a flag of the model, or an access outside of all objects) or fails an
    assertion, `Unknown` if a limit was hit before the question was settled or no execution comes to its end, `Error` if
    the test could not be run. `witness` and `explanation` are there if they were asked for and exist; so are, for a
    picture, `order`, which says why the witness is no interleaving, and the text of the file."""

    file: str
    name: str = ""
    model: str = ""
    engine: str = ""
    kind: str = "Required"
    condition: str = ""
    observation: str = ""
    verdict: str = "Error"
    positive: int = 0
    negative: int = 0
    outcomes: tuple[Outcome, ...] = ()
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cut: int = 0
    blocked: int = 0
    deadlocks: int = 0
    abandoned: int = 0
    stopped_by: str | None = None
    time_s: float = 0.0
    error: ErrorRecord | None = field(default=None)
    witness: Witness | None = None
    witness_file: str | None = None
    explanation: Explanation | None = None
    order: OutOfOrder | None = None
    source: str = ""

    @property
    def states(self) -> int:
        return len(self.outcomes)

    @property
    def undecided(self) -> str:
        """Why, if it is."""
        if self.verdict != "Unknown":
            return ""
        return why_undecided(self.stopped_by, bool(self.positive or self.negative))

    @property
    def counts(self) -> tuple[int, int]:
        """Executions that satisfy the formula, whatever its quantifier, and those that do not."""
        if self.kind == KINDS[Quantifier.NOT_EXISTS]:
            return self.negative, self.positive
        return self.positive, self.negative


def record_result(file: str, program: Program, model: str, engine: str, result: Result, time_s: float) -> Record:
    condition = program.property.condition
    negated = condition is not None and condition.quantifier is Quantifier.NOT_EXISTS
    found = _litmus_verdict(program, result)
    return Record(
        file=file,
        name=program.name,
        model=model,
        engine=engine,
        kind=KINDS[condition.quantifier if condition else None],
        condition=condition_text(condition) if condition else "forall (true)",
        observation=result.observation(),
        verdict=found,
        positive=result.violating if negated else result.satisfying,
        negative=result.satisfying if negated else result.violating,
        outcomes=outcomes(program, result),
        flags=tuple(sorted(result.flags)),
        notes=_notes(result, found),
        cut=result.cut,
        blocked=result.blocked,
        abandoned=result.statistics.get("abandoned", 0),
        deadlocks=result.deadlocks,
        stopped_by=result.stopped_by,
        time_s=time_s,
    )


def record_error(file: str, error: DekkerError, model: str = "", engine: str = "") -> Record:
    diagnostic = error.diagnostic
    span = diagnostic.span
    return Record(
        file=file,
        model=model,
        engine=engine,
        error=ErrorRecord(
            diagnostic.message,
            diagnostic.render(),
            span.line if span else None,
            span.column if span else None,
            diagnostic.hint,
        ),
    )


def record_stopped(file: str, model: str, engine: str, reason: str, time_s: float) -> Record:
    """Of a test of which nothing is known but the limit that it met."""
    name = PurePath(file).stem
    return Record(file, name, model, engine, verdict="Unknown", stopped_by=reason, time_s=time_s)


def _litmus_verdict(program: Program, result: Result) -> str:
    if result.flags or result.violations:
        return "Undef"
    match verdict(result, program.property.condition):
        case Verdict.UNSAFE:
            return "No"
        case Verdict.UNKNOWN:
            return "Unknown"
    return "Ok"


def outcomes(program: Program, result: Result) -> tuple[Outcome, ...]:
    """The final states of a result, in the order shown."""
    observed = program.property.observed
    places = layout(program)
    names = [(i, str(observed[i])) for i in shown_order(observed)]
    text = cache(lambda i, value: value_text(observed[i], value, places))
    found = [
        Outcome(tuple((name, text(i, state[i])) for i, name in names), count) for state, count in result.states.items()
    ]
    return tuple(sorted(found, key=lambda outcome: [_value_key(value) for _, value in outcome.values]))


@lru_cache(maxsize=4096)
def _value_key(value: str) -> tuple[int, int, str]:
    try:
        return 0, int(value), ""
    except ValueError:
        return 1, 0, value


def _executions(number: int) -> str:
    return "1 execution" if number == 1 else f"{number} executions"


LIMITS = {
    "events": "more than 32768 events in one execution",
    "sections": "runs in which an atomic section is seen half done",
}
NO_END = "no execution comes to its end"


def limit_text(name: str) -> str:
    return LIMITS.get(name, name)


def said_limit(result: Result) -> str:
    """What stopped the engine, and where."""
    limit = limit_text(result.stopped_by or "")
    return limit if result.too_long_at is None else f"{limit}, at {result.too_long_at}"


def why_undecided(stopped_by: str | None, came_to_end: bool) -> str:
    if stopped_by is not None:
        return f"stopped by {limit_text(stopped_by)}"
    return "the bounds leave it open" if came_to_end else NO_END


def _notes(result: Result, found: str) -> tuple[str, ...]:
    notes = [
        Diagnostic(f"{violation.kind}: {violation.message}", violation.span).render("violation")
        for violation in result.violations
    ]
    if result.cut:
        notes.append(f"Loop bound reached: {result.cut} executions go on beyond it and are not counted")
    if result.blocked:
        notes.append(f"Blocked: {_executions(result.blocked)} where a thread waits or an assumption fails, not counted")
    if result.stopped_by:
        notes.append(f"Stopped by {said_limit(result)}: the counts cover a part only")
    elif found == "Unknown" and not result.came_to_end:
        notes.append(f"Unknown what holds: {NO_END}")
    return tuple(notes)
