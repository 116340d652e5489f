"""Why an outcome is possible under a model and not under another: asks both, and the model about its runs.

The outcome is what the condition of a program asks about, or the first violation of one that has none. Where it is
impossible, the closest candidate of the oracle is looked at, or for programs without a condition a run of a weaker
model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from dekker.cat.model import Model
from dekker.cat.reasons import Reason
from dekker.errors import InputError, ModelError, UnsupportedError
from dekker.execution import Trace
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import layout
from dekker.ir.notation import formula_text, shown_order, value_text
from dekker.ir.program import Program
from dekker.models import load_model, shipped_as
from dekker.records import dataclass
from dekker.replay import replay
from dekker.replay.remedies import keeper, remedies
from dekker.replay.reordering import STRONG_FENCES
from dekker.report.check_report import CheckReport, CheckViolation
from dekker.report.violation_text import place_of
from dekker.report.why import (
    IMPOSSIBLE,
    POSSIBLE,
    UNDECIDED,
    WITHIN_BOUND,
    Advice,
    Answer,
    Difference,
    Story,
    Why,
)
from dekker.result import Result
from dekker.run.check import CheckOptions, check_program
from dekker.run.engines import TRANSFORM, run_engine
from dekker.run.fit import require_fit
from dekker.run.prepare import prepare
from dekker.run.splitting import run_splitting
from dekker.run.violations import out_of_order
from dekker.run.witnesses import (
    asked_formula,
    checked_witness,
    explanation,
    reasons_against,
    witnessed_model,
    witnessed_program,
)
from dekker.task import Task
from dekker.transform.fence_kinds import fences_of_model
from dekker.witness import FLAG, Witness

WEAKER = ("tso", "pso", "rmo", "power", "armv7", "aarch64")
"""Where a violation is looked for that a stronger model does not have."""
DEFAULT_VERSUS = "sc"


def why(program: Program, model: Model, options: CheckOptions, versus: Model | None = None) -> Why:
    """With `versus`, all outcomes of the two models; else the outcome that is asked about, and sc."""
    ask = _Condition if program.property.condition is not None else _Violations
    if versus is not None:
        return _compare(ask, program, (model, versus), options)
    other = load_model(DEFAULT_VERSUS)
    here = ask(program, model, options)
    answer = _answer(here)
    same = shipped_as(model) == other.name
    if here.witness is None:
        return _impossible(here, answer, None if same else _answer(ask(program, other, options)))
    if same:
        return Why(here.outcome, answer, None, _story(here.witness))
    if here.witness.claim == FLAG:
        return _flagged(here, answer, here.witness)
    there = ask(program, other, options, wanted=here.key)
    shown = there.witness if there.witness is not None else here.witness
    return Why(here.outcome, answer, _answer(there), _story(shown, None if there.witness is not None else other))


def _flagged(question: Question, answer: Answer, witness: Witness) -> Why:
    """Which other models have no word for."""
    story = _story(witness)
    note = f"{question.model.name} calls this wrong by a flag; a model without that flag says nothing about it."
    if story.order is None:
        note += " The run itself is one under sc: no access has to take effect out of order for it."
    return Why(question.outcome, answer, None, story, notes=(note,))


# --- questions


@dataclass
class _Condition:
    """Whether a final state is possible that the condition asks about."""

    program: Program
    model: Model
    options: CheckOptions
    wanted: str = ""

    def __post_init__(self) -> None:
        limits = replace(self.options.limits, stop_at_first=False)
        prepared = prepare(self.program, self.model, reduce_updates=self.options.engine != TRANSFORM)
        task = Task(prepared, self.model, limits, examples=True, search=self.options.search)
        self.task, (self.engine, self.result) = run_splitting(partial(run_engine, self.options.engine), task)
        self.outcome = f"({formula_text(asked_formula(self.program))})"
        self.key = self.outcome
        trace = next(self._asked(), None)
        self.witness = None if trace is None else checked_witness(self.task, self.engine, trace)

    def _asked(self) -> Iterator[Trace]:
        places, formula = layout(self.task.program), asked_formula(self.program)
        for trace in self.result.examples.states.values():
            if formula_holds(formula, replay(self.task.program, trace).values, places):
                yield trace

    @property
    def bounded(self) -> bool:
        return bool(self.result.cut or self.result.bound)

    outcomes_name = "final states"

    def outcomes(self) -> dict[str, Trace | None]:
        observed, places = self.program.property.observed, layout(self.task.program)
        shown = shown_order(observed)
        return {
            " ".join(f"{observed[i]}={value_text(observed[i], state[i], places)};" for i in shown): trace
            for state, trace in sorted(self.result.examples.states.items())
        }

    def witness_of(self, outcome: str) -> Witness | None:
        trace = self.outcomes()[outcome]
        return None if trace is None else checked_witness(self.task, self.engine, trace)


@dataclass
class _Violations:
    """Whether a violation is possible: the first one, or the `wanted` one."""

    program: Program
    model: Model
    options: CheckOptions
    wanted: str = ""

    def __post_init__(self) -> None:
        options = self.options
        if self.wanted:
            options = replace(options, limits=replace(options.limits, stop_at_first=False))
        self.report: CheckReport = check_program(self.program, self.model, options)
        self.result: Result = self.report.result
        found = {_violation_key(item): item for item in self.report.violations}
        shown = found.get(self.wanted) if self.wanted else next(iter(found.values()), None)
        self.key = self.wanted or ("" if shown is None else _violation_key(shown))
        self.outcome = "a violation" if not self.key else f"the violation “{self.key}”"
        self.witness = None if shown is None else shown.witness
        if shown is not None and self.witness is None:
            raise UnsupportedError(f"the engine {self.report.engine} gives no run that could be explained")

    @property
    def bounded(self) -> bool:
        return bool(self.result.cut or self.result.bound or self.report.ranges)

    outcomes_name = "violations"

    def outcomes(self) -> dict[str, Trace | None]:
        return dict.fromkeys(map(_violation_key, self.report.violations))

    def witness_of(self, outcome: str) -> Witness | None:
        return next((item.witness for item in self.report.violations if _violation_key(item) == outcome), None)


Question = _Condition | _Violations


def _violation_key(item: CheckViolation) -> str:
    span = place_of(item)
    return f"{item.finding.kind}: {item.finding.message}{f' at {span}' if span is not None else ''}"


def _answer(question: Question) -> Answer:
    result = question.result
    runs = result.complete_executions
    covered = f"{runs} complete execution{'' if runs == 1 else 's'}"
    if result.stopped_by is not None:
        covered += ", up to the first violation" if result.stopped_by == "violation" else f", {result.stopped_by} limit"
    if result.cut:
        covered += f", loops at most {result.rounds or question.options.limits.unroll} times round"
    if question.witness is not None:
        return Answer(question.model.name, POSSIBLE, covered)
    if result.stopped_by is not None or not result.came_to_end:
        return Answer(question.model.name, UNDECIDED, covered)
    return Answer(question.model.name, WITHIN_BOUND if question.bounded else IMPOSSIBLE, covered)


# --- stories


def _story(witness: Witness, forbidden_by: Model | None = None) -> Story:
    program = witnessed_program(witness)
    model = witnessed_model(witness)
    order = out_of_order(model, program, witness)
    name = "" if forbidden_by is None else forbidden_by.name
    reasons = () if forbidden_by is None else _reasons(forbidden_by, program, witness)
    if order is None:
        return Story(witness, None, (), (), name, reasons)
    execution = replay(program, witness.trace()).execution
    shipped = shipped_as(model)
    kinds = STRONG_FENCES if shipped is None else fences_of_model(shipped)
    found = remedies(model, execution, order.pairs, kinds)
    return Story(
        witness,
        order,
        tuple(keeper(execution, pair) for pair in order.pairs),
        tuple(Advice(item.pair, item.fence, item.dependencies) for item in found),
        name,
        reasons,
    )


def _reasons(model: Model, program: Program, witness: Witness) -> tuple[Reason, ...]:
    """None where the model does not know what the program does."""
    try:
        require_fit(program, model)
    except ModelError:
        return ()
    return reasons_against(model, program, witness)


# --- what is impossible


def _impossible(question: Question, answer: Answer, other: Answer | None) -> Why:
    if answer.status == UNDECIDED:
        return Why(question.outcome, answer, None)
    if isinstance(question, _Condition):
        return _forbidden_state(question, answer, other)
    return _safe_program(question, answer)


def _forbidden_state(question: _Condition, answer: Answer, other: Answer | None) -> Why:
    try:
        found = explanation(question.task)
    except UnsupportedError as error:
        return Why(question.outcome, answer, other, notes=(f"No explanation: {error.diagnostic.message}",))
    if found.closest is None:
        text = (
            "No choice of sources for the reads and of an order of the writes gives these values, whatever the model."
        )
        if found.self_justifying:
            text = "The values could only come from themselves, out of thin air."
        return Why(question.outcome, answer, other, candidates=text)
    text = f"{found.candidates} candidate execution{'s have' if found.candidates != 1 else ' has'} it; none is allowed."
    story = Story(found.closest, None, (), (), question.model.name, found.reasons)
    return Why(question.outcome, answer, other, story, candidates=text)


def _safe_program(question: _Violations, answer: Answer) -> Why:
    """A run of a weaker model that goes wrong, and why this one forbids it."""
    tried = []
    for name in WEAKER:
        if name == shipped_as(question.model):
            continue
        try:
            weaker = _Violations(question.program, load_model(name), question.options)
            if weaker.witness is None:
                tried.append(name)
                continue
            program = witnessed_program(weaker.witness)
            require_fit(program, question.model)
            reasons = reasons_against(question.model, program, weaker.witness)
        except (ModelError, UnsupportedError):
            continue
        if reasons:
            story = replace(_story(weaker.witness), forbidden_by=question.model.name, reasons=reasons)
            return Why(weaker.outcome, answer, _answer(weaker), story)
    note = f"Nor is one possible under {', '.join(tried)}: it is not the memory model that keeps the property."
    return Why(question.outcome, answer, notes=(note,) if tried else ())


# --- two models


def _compare(
    ask: type[_Condition | _Violations], program: Program, models: tuple[Model, Model], options: CheckOptions
) -> Why:
    options = replace(options, limits=replace(options.limits, stop_at_first=False))
    if models[0].program == models[1].program:
        raise InputError("--versus names the same model")
    here, there = (ask(program, model, options) for model in models)
    answers = tuple(map(_answer, (here, there)))
    notes = tuple(
        f"Under {question.model.name} not everything was explored, so that more differences are possible."
        for question in (here, there)
        if question.result.stopped_by is not None or question.result.cut or question.result.bound
    )
    only = tuple((one.model.name, tuple(_only(one, two))) for one, two in ((here, there), (there, here)))
    shared = len(here.outcomes().keys() & there.outcomes().keys())
    return Why(here.outcomes_name, answers[0], answers[1], only=only, compared=True, notes=notes, shared=shared)


def _only(one: Question, two: Question) -> Iterator[Difference]:
    for outcome in one.outcomes():
        if outcome not in two.outcomes():
            witness = one.witness_of(outcome)
            yield Difference(outcome, None if witness is None else _story(witness, two.model))
