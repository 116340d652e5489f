"""What a Python program can ask: `check`, `compare`, `litmus`, and their answers.

A program is a path (C and C++ files may be several, which are linked together), or a text if `language` names its
language. Whatever is wrong with the input or the call is a `DekkerError` with file, line and column; what an engine
finds is in the answer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from dekker.cat.model import Model
from dekker.cluster import crew_at, explore_with
from dekker.errors import InputError, LimitReached
from dekker.frontends import default_model, parse_files
from dekker.frontends.dialect import Dialect
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.report.check_report import CheckReport, CheckViolation, check_json, check_text
from dekker.report.execution_text import execution_text, heading
from dekker.report.explanation import explanation_text
from dekker.report.herd import herd_text
from dekker.report.json_lines import json_line
from dekker.report.record import Record, outcomes
from dekker.report.style import WIDTH
from dekker.report.violation_text import place_of
from dekker.result import Verdict
from dekker.run.batch import BatchOptions, Test, find_tests, run_batch, run_test
from dekker.run.check import CheckOptions, check_limits, check_program, undecided
from dekker.run.compare import USUAL_MODELS, fitting_models
from dekker.run.engines import ALL, ENGINES
from dekker.run.from_text import program_from_text, text_name
from dekker.run.prepare import with_reuse
from dekker.run.supervision import supervised
from dekker.task import DEFAULT_UNROLL as DEFAULT_LITMUS_UNROLL
from dekker.task import Limits, Progress
from dekker.witness import Witness

if TYPE_CHECKING:
    from dekker.cluster.crew import Crew

__all__ = ["LitmusResult", "Result", "Violation", "check", "compare", "litmus"]

PathLike = str | os.PathLike[str]
State = dict[str, str]
"""Names and final values, as a person reads them."""


@dataclass(frozen=True)
class Violation:
    """What goes wrong, and where: `file` is None, and `line` and `column` are 0, if that is no place. `witness` is the
    run that shows it, as far as the engine gives one."""

    kind: str
    message: str
    file: str | None
    line: int
    column: int
    witness: Witness | None = field(repr=False)


@dataclass(frozen=True)
class Result:
    """The answer of `check`. `str(result)` is what `dekker check` prints. `program` is None if a limit was met
    before it was read."""

    report: CheckReport = field(repr=False)
    program: Program | None = field(repr=False)
    options: CheckOptions = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        return self.report.verdict

    @property
    def holds(self) -> bool:
        """The property holds, fully or within the bound. An undecided program does not hold."""
        return self.verdict in (Verdict.SAFE, Verdict.SAFE_WITHIN_BOUND)

    @property
    def model(self) -> str:
        return self.report.model

    @property
    def engine(self) -> str:
        return self.report.engine

    @property
    def executions(self) -> int | None:
        """Complete ones, in which all threads end. Engines that search states do not count them: None."""
        result = self.report.result
        return result.complete_executions if result.counts_executions else None

    @property
    def blocked(self) -> int:
        """Executions in which a thread waits or an assumption fails."""
        return self.report.result.blocked

    @property
    def cut(self) -> int:
        """Executions that go on beyond the bound on loops."""
        return self.report.result.cut

    @property
    def stopped_by(self) -> str | None:
        """The limit, or the first violation, that ended the search before it had seen everything."""
        return self.report.result.stopped_by

    @property
    def bound(self) -> str:
        """What the verdict is limited to; empty if everything was covered."""
        found = self.report.result
        parts = [f"loops go round at most {self.report.limits.unroll} times"] if found.cut else []
        parts += [f"numbers that are left open are from {low} to {high}" for low, high in self.report.ranges]
        parts += [found.bound] if found.bound else []
        parts += [f"stopped by {found.stopped_by}"] if found.stopped_by else []
        return "; ".join(parts)

    @property
    def states(self) -> list[tuple[State, int]]:
        """Final states that the program's condition shows, and how many executions end in each. C programs have no
        such condition."""
        found = () if self.program is None else outcomes(self.program, self.report.result)
        return [(dict(outcome.values), outcome.count) for outcome in found if outcome.values]

    @property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(map(_violation, self.report.violations))

    @property
    def counterexample(self) -> Witness | None:
        """The run that shows the first violation; `dekker.witness.to_json` writes it for `dekker replay`."""
        return next((item.witness for item in self.report.violations if item.witness is not None), None)

    @property
    def statistics(self) -> dict[str, int]:
        """The work that the engine counted, under its own names."""
        return dict(self.report.result.statistics)

    @property
    def time_s(self) -> float:
        return self.report.time_s

    def text(self, width: int = WIDTH) -> str:
        """What `dekker check` prints on a terminal that is so wide."""
        return check_text(self.report, width)

    def explain(self, versus: str | None = None, width: int = WIDTH) -> str:
        """What `dekker explain` prints: why the violation is possible, and not under sc; or why there is none. With
        `versus`, how the outcomes differ from those of that model. The program is checked again."""
        from dekker.report.why import why_text  # noqa: PLC0415 — slow to load
        from dekker.run.why import why  # noqa: PLC0415

        if self.program is None:
            raise InputError(f"the program was not read: stopped by {self.stopped_by}")
        other = None if versus is None else load_model(versus)
        model = load_model(self.options.model or self.model)
        return why_text(why(self.program, model, self.options, other), width)

    def to_json(self) -> str:
        """What `dekker check --json` writes; `dekker schema check` prints its schema."""
        return check_json(self.report)

    def picture(self) -> str | None:
        """The run that shows the first violation, as SVG."""
        from dekker.report.picture import svg_of  # noqa: PLC0415 — rarely needed

        shown = next((item for item in self.report.violations if item.witness is not None), None)
        return None if shown is None or shown.witness is None else svg_of(shown.witness, shown.order)

    def _repr_html_(self) -> str:
        found = "; ".join(f"{item.kind}: {item.message}" for item in self.violations)
        return _for_notebooks(f"{self.verdict.value} under {self.model}{f': {found}' if found else ''}", self.picture())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        covered = (
            f"{self.executions} executions" if self.executions is not None else f"{self.statistics['states']} states"
        )
        return f"<Result {self.verdict.value} under {self.model}: {covered}>"


@dataclass(frozen=True)
class LitmusResult:
    """The answer to one litmus test. `str(result)` is what `dekker litmus` prints."""

    record: Record = field(repr=False)

    @property
    def file(self) -> str:
        return self.record.file

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def model(self) -> str:
        return self.record.model

    @property
    def engine(self) -> str:
        return self.record.engine

    @property
    def verdict(self) -> str:
        """`Ok` and `No`: whether the condition holds as it is quantified. `Undef`: some execution has undefined
        behaviour. `Unknown`: a limit was hit before the question was settled. `Error`: see `error`."""
        return self.record.verdict

    @property
    def condition(self) -> str:
        return self.record.condition

    @property
    def observation(self) -> str:
        """How often the formula of the condition was seen to hold: `Always`, `Sometimes` or `Never`."""
        return self.record.observation

    @property
    def positive(self) -> int:
        """Executions that the condition asks for."""
        return self.record.positive

    @property
    def negative(self) -> int:
        return self.record.negative

    @property
    def states(self) -> list[tuple[State, int]]:
        return [(dict(outcome.values), outcome.count) for outcome in self.record.outcomes]

    @property
    def flags(self) -> tuple[str, ...]:
        """Of the model, such as `data-race`."""
        return self.record.flags

    @property
    def stopped_by(self) -> str | None:
        return self.record.stopped_by

    @property
    def witness(self) -> Witness | None:
        """An execution that decides the condition, if there is one and `explain` asked for it."""
        return self.record.witness

    @property
    def error(self) -> str | None:
        """Why the test could not be run, with its position."""
        return None if self.record.error is None else self.record.error.rendered

    @property
    def time_s(self) -> float:
        return self.record.time_s

    def explain(self, width: int = WIDTH) -> str:
        """The execution that decides the condition, or which axioms forbid it; needs `explain=True`."""
        if self.record.explanation is not None:
            return explanation_text(self.record.explanation, width)
        if self.record.witness is not None:
            return f"{heading(self.record.witness)}\n\n{execution_text(self.record.witness, width)}"
        return ""

    def to_json(self) -> str:
        """A line of what `dekker litmus --json` writes."""
        return json_line(self.record)

    def picture(self) -> str | None:
        """The execution that decides the condition, or the one closest to it that is forbidden, as SVG; needs
        `explain=True`."""
        from dekker.report.picture import svg_of  # noqa: PLC0415 — rarely needed

        found = self.record.explanation
        if self.record.witness is not None:
            return svg_of(self.record.witness, self.record.order)
        if found is not None and found.closest is not None:
            return svg_of(found.closest, reasons=found.reasons)
        return None

    def _repr_html_(self) -> str:
        text = self.error or f"{self.verdict} under {self.model}: {self.observation} {self.condition}"
        return _for_notebooks(f"{self.name or self.file}: {text}", self.picture())

    def __str__(self) -> str:
        return herd_text(self.record)

    def __repr__(self) -> str:
        return f"<LitmusResult {self.name or self.file} {self.verdict} under {self.model}>"


def _for_notebooks(text: str, picture: str | None) -> str:
    return f"<p><b>{escape(text)}</b></p>{picture or ''}"


# --- questions


class CheckArguments(TypedDict, total=False):
    """`engine` is one of those of `dekker check`. `language` (c, c++, llvm, litmus, rsmc or lang) says that the
    program is a text. `unroll` is how often loops go round whose end depends on what is read; without it that
    is 1, then 2, then 4, as long as loops are cut. `timeout` is in seconds, `memory` in megabytes, `max_traces`
    in complete executions. `keep_going` explores all instead of stopping at the first violation. `leaks`:
    memory that is lost at the end is a violation; `deadlocks`: so are threads that wait for ever (the default);
    `overflow`: so is that of signed numbers.
    `reuse`: an allocation may also return memory of its size that was freed. `nondet` is the range of numbers
    that the program leaves open. `assert_branches`: what follows an `assert` depends on it. `volatile`: accesses to
    volatile variables are "plain" (the default) or "relaxed" atomics. `flags` reach the compiler `cc`. `progress` is
    called now and then with what the engine counts. `jobs` threads explore (rsmc, states); `cluster` is the address
    of a Dask scheduler, or `local`: its workers explore instead (rsmc)."""

    engine: str | None
    language: str | None
    unroll: int | None
    timeout: float | None
    memory: int | None
    max_traces: int | None
    keep_going: bool
    leaks: bool
    reuse: bool
    deadlocks: bool
    nondet: tuple[int, int] | None
    overflow: bool
    assert_branches: bool
    volatile: str
    flags: Sequence[str]
    cc: str | None
    progress: Progress | None
    jobs: int
    cluster: str | None


class LitmusArguments(TypedDict, total=False):
    """Limits are those of each test. `language` (litmus or rsmc) says that tests are texts. `explain` asks for an
    execution that decides the condition, or for the axioms that forbid it. `jobs` tests run side by side, or as many as
    the Dask cluster at the address `cluster` has workers for."""

    engine: str | None
    language: str | None
    unroll: int
    timeout: float | None
    memory: int | None
    max_traces: int | None
    explain: bool
    jobs: int
    cluster: str | None


def check(
    program: PathLike | Sequence[PathLike], model: str | None = None, **arguments: Unpack[CheckArguments]
) -> Result:
    """Whether a program can go wrong under a memory model: a path, several paths of C and C++ files, or a text with its
    `language`. `model` is a name or a .cat file (default: cpp20 for C). For the others see `CheckArguments`."""
    started = time.perf_counter()
    options = replace(_check_options(**arguments), model=model)
    language, read = arguments.get("language"), None
    with crew_at(arguments.get("cluster"), options.jobs) as crew:
        asked = replace(options, explore=explore_with(crew))
        try:
            with supervised(options.limits):
                read = _read(program, language, options)
                chosen = load_model(model or default_model(read))
                report = check_program(read, chosen, asked, arguments.get("progress"))
        except LimitReached as limit:
            report = undecided((), options, limit.reason)
    report = replace(report, paths=_names(program, language), time_s=time.perf_counter() - started)
    return Result(report, read, replace(options, model=model or report.model))


def compare(
    program: PathLike | Sequence[PathLike], models: Sequence[str] = (), **arguments: Unpack[CheckArguments]
) -> dict[str, Result]:
    """The same under several models; without names, the usual ones that know the program's fences. The program is read
    once. What a model or engine cannot handle raises an error, as `check` does. Limits are those of each model; if one
    is met before the program is read, all are undecided."""
    options = _check_options(**arguments)
    language = arguments.get("language")
    paths = _names(program, language)
    with crew_at(arguments.get("cluster"), options.jobs) as crew:
        asked = replace(options, explore=explore_with(crew))
        try:
            with supervised(options.limits):
                read = _read(program, language, options)
                found = {name: load_model(name) for name in models}
                found = found or {model.name: model for model in fitting_models(read)}
        except LimitReached as limit:
            report = undecided(paths, options, limit.reason)
            asked_for = models or USUAL_MODELS
            return {name: Result(replace(report, model=name), None, replace(options, model=name)) for name in asked_for}
        reports = {name: _under(read, model, asked, arguments.get("progress")) for name, model in found.items()}
    return {
        name: Result(replace(report, paths=paths), read, replace(options, model=name))
        for name, report in reports.items()
    }


def _under(program: Program, model: Model, options: CheckOptions, progress: Progress | None) -> CheckReport:
    try:
        with supervised(options.limits):
            return check_program(program, model, options, progress)
    except LimitReached as limit:
        return replace(undecided((), options, limit.reason), model=model.name)


@overload  # a str is a sequence, too
def litmus(  # type: ignore[overload-overlap]
    tests: PathLike, model: str | None = ..., **arguments: Unpack[LitmusArguments]
) -> LitmusResult: ...


@overload
def litmus(
    tests: Sequence[PathLike], model: str | None = ..., **arguments: Unpack[LitmusArguments]
) -> list[LitmusResult]: ...


def litmus(
    tests: PathLike | Sequence[PathLike], model: str | None = None, **arguments: Unpack[LitmusArguments]
) -> LitmusResult | list[LitmusResult]:
    """Litmus tests and .rsmc programs under a memory model (default: that of their architecture).

    One test, a path or a text with its `language`, gives one answer, and raises what is wrong with it. A list of
    paths, folders and `@list` files, or of texts, gives a list of answers: one that cannot be run says so in `error`
    and does not spoil the others. For the other arguments see `LitmusArguments`.
    """
    options, jobs = _batch_options(model, **arguments)
    if model is not None:
        load_model(model)
    language = arguments.get("language")
    with crew_at(arguments.get("cluster"), jobs) as crew:
        if not isinstance(tests, str | os.PathLike):
            found = list(_tests(tests, language))
            return [LitmusResult(record) for record in _records(crew, found, options, jobs)]
        test = Test(_path(tests)) if language is None else Test(text_name(language), text=os.fspath(tests))
        return LitmusResult(run_test(test, replace(options, explore=explore_with(crew)), raises=True))


def _records(crew: Crew | None, tests: list[Test], options: BatchOptions, jobs: int) -> Iterator[Record]:
    if crew is None:
        return run_batch(tests, options, jobs)
    from dekker.cluster.whole_tasks import run_tests  # noqa: PLC0415 — few need it

    return run_tests(crew, tests, options)


def _tests(tests: Sequence[PathLike], language: str | None) -> Iterator[Test]:
    for item in tests:
        if language is None:
            yield from find_tests([_path(item)])
        else:
            yield Test(text_name(language), text=os.fspath(item))


def _check_options(
    *,
    engine: str | None = None,
    unroll: int | None = None,
    timeout: float | None = None,
    memory: int | None = None,
    max_traces: int | None = None,
    keep_going: bool = False,
    leaks: bool = False,
    reuse: bool = False,
    deadlocks: bool = True,
    nondet: tuple[int, int] | None = None,
    overflow: bool = False,
    assert_branches: bool = False,
    volatile: str = "plain",
    flags: Sequence[str] = (),
    cc: str | None = None,
    language: str | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    cluster: str | None = None,
) -> CheckOptions:
    if volatile not in ("plain", "relaxed"):
        raise InputError(f"volatile is '{volatile}'; it has to be 'plain' or 'relaxed'")
    dialect = Dialect(assert_branches, volatile == "relaxed", overflow)
    _require_limits(unroll, timeout, memory, max_traces)
    stops = not keep_going and engine != ALL
    limits = check_limits(unroll, timeout, memory, max_traces, stop_at_first=stops, deadlocks=deadlocks)
    options = CheckOptions(None, _engine(engine), limits, tuple(flags), cc, leaks, nondet, jobs=jobs, reuse=reuse)
    return replace(options, dialect=dialect)


def _batch_options(
    model: str | None,
    *,
    engine: str | None = None,
    unroll: int = DEFAULT_LITMUS_UNROLL,
    timeout: float | None = None,
    memory: int | None = None,
    max_traces: int | None = None,
    explain: bool = False,
    jobs: int = 1,
    language: str | None = None,
    cluster: str | None = None,
) -> tuple[BatchOptions, int]:
    _require_limits(unroll, timeout, memory, max_traces)
    limits = Limits(unroll, timeout, memory, max_traces)
    return BatchOptions(model, _engine(engine), limits, witness=explain, explain=explain, picture=explain), jobs


def _require_limits(unroll: int | None, timeout: float | None, memory: int | None, max_traces: int | None) -> None:
    if unroll is not None and unroll < 0:
        raise InputError(f"unroll is {unroll}; loops go round 0 times or more often")
    for name, value in (("timeout", timeout), ("memory", memory), ("max_traces", max_traces)):
        if value is not None and value <= 0:
            raise InputError(f"{name} is {value}; it has to be above 0, or None for no limit")


def _engine(name: str | None) -> str | None:
    if name is not None and name not in ENGINES:
        raise InputError(f"there is no engine '{name}'", hint=f"engines are {', '.join(sorted(ENGINES))}")
    return name


def _path(item: PathLike) -> str:
    path = os.fspath(item)
    if "\n" in path:
        raise InputError("a text was given in the place of a path", hint="say what it is, for instance language='c'")
    return path


def _names(program: PathLike | Sequence[PathLike], language: str | None) -> tuple[str, ...]:
    """What its files are called; a text has a name that says what it is."""
    several = [program] if isinstance(program, str | os.PathLike) else list(program)
    if language is None:
        return tuple(map(_path, several))
    if len(several) != 1:
        raise InputError("only files are linked together: give one text")
    return (text_name(language),)


def _read(program: PathLike | Sequence[PathLike], language: str | None, options: CheckOptions) -> Program:
    names = _names(program, language)
    reading = (options.flags, options.cc, options.nondet, options.dialect)
    if language is None:
        read = parse_files(names, *reading)
        validate(read)
    else:
        (text,) = [program] if isinstance(program, str | os.PathLike) else program
        read = program_from_text(os.fspath(text), language, *reading)
    if options.reuse:
        read = with_reuse(read)
    if options.leaks:
        read = replace(read, property=replace(read.property, leaks=True))
    return read


def _violation(found: CheckViolation) -> Violation:
    finding, span = found.finding, place_of(found)
    if span is None:
        return Violation(finding.kind, finding.message, None, 0, 0, found.witness)
    return Violation(finding.kind, finding.message, span.source.name, span.line, span.column, found.witness)
