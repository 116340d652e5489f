"""One program under several models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dekker.cat.model import Model
from dekker.errors import LimitReached, ModelError, UnsupportedError
from dekker.frontends import default_model
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.report.check_report import CheckReport
from dekker.result import Result, Verdict
from dekker.run.check import CheckOptions, check_program, read_program, undecided
from dekker.run.fit import require_fit
from dekker.run.prepare import compile_for
from dekker.run.supervision import supervised
from dekker.task import Progress

USUAL_MODELS = ("sc", "tso", "pso", "power", "aarch64")


def compare(
    paths: Sequence[str], names: Sequence[str], options: CheckOptions, progress: Progress | None = None
) -> Iterator[CheckReport]:
    """A report for each model, as soon as it is there; the program is read once. After an interrupt the rest is not
    run."""
    program, models = program_and_models(paths, names, options)
    interrupted = False
    for model in models:
        report = _not_run(model, options) if interrupted else report_under(program, model, options, progress)
        interrupted = interrupted or report.result.stopped_by == "interrupt"
        yield replace(report, paths=tuple(paths))


def program_and_models(
    paths: Sequence[str], names: Sequence[str], options: CheckOptions
) -> tuple[Program, list[Model]]:
    """Without names these are the usual models and the program's own, as far as they know its fences and memory
    orders."""
    with supervised(options.limits):
        models = [load_model(name) for name in dict.fromkeys(names)]
        program = read_program(paths, options)
        return program, models or fitting_models(program)


def fitting_models(program: Program) -> list[Model]:
    """The usual ones and the program's own, as far as they know its fences and memory orders."""
    names = dict.fromkeys((*USUAL_MODELS, default_model(program)))
    return [model for model in map(load_model, names) if _fits(program, model)]


def _fits(program: Program, model: Model) -> bool:
    try:
        require_fit(compile_for(program, model), model)
    except ModelError:
        return False
    return True


def _not_run(model: Model, options: CheckOptions) -> CheckReport:
    result = Result(stopped_by="interrupt")
    return CheckReport((), model.name, "", options.limits, Verdict.UNKNOWN, (), result, 0.0, "not run: interrupted")


def report_under(
    program: Program, model: Model, options: CheckOptions, progress: Progress | None = None
) -> CheckReport:
    """What one model or engine cannot handle is left undecided there; it does not spoil the others."""
    try:
        with supervised(options.limits):
            return check_program(program, model, options, progress)
    except LimitReached as limit:
        return replace(undecided((), options, limit.reason), model=model.name)
    except (ModelError, UnsupportedError) as error:
        result = Result(stopped_by="error")
        engine = options.engine or ""
        return CheckReport((), model.name, engine, options.limits, Verdict.UNKNOWN, (), result, 0.0, str(error))
