"""One program checked for assertions, memory safety and deadlocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dekker.errors import InputError
from dekker.execution import DATA_RACE
from dekker.frontends import EXTENSIONS, default_model, parse_program
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.report.check_report import CheckReport
from dekker.result import Result, Verdict, Violation, verdict
from dekker.run.batch import read_text
from dekker.run.engines import run_engine
from dekker.run.prepare import prepare
from dekker.run.splitting import run_splitting
from dekker.source import Source
from dekker.task import Limits, Progress, Task

DEFAULT_UNROLL = 4


@dataclass(frozen=True)
class CheckOptions:
    """`model` None stands for the program's own: rc11 for C. `flags` reach the compiler `cc`; None is the one that
    comes with Dekker."""

    model: str | None = None
    engine: str | None = None
    limits: Limits = Limits(unroll=DEFAULT_UNROLL, counts_known_rounds=False)
    flags: tuple[str, ...] = ()
    cc: str | None = None


def check(paths: Sequence[str], options: CheckOptions, progress: Progress | None = None) -> CheckReport:
    started = time.perf_counter()
    program = read_program(paths, options)
    model = load_model(options.model or default_model(program))
    program = prepare(program, model)
    task = Task(program, model, options.limits, progress=progress)
    engine, result = run_splitting(partial(run_engine, options.engine), task)
    violations = (*result.violations, *_other_violations(result))
    return CheckReport(
        tuple(paths),
        model.name,
        engine,
        options.limits,
        Verdict.UNSAFE if violations else verdict(result, program.property.condition),
        violations,
        result,
        time.perf_counter() - started,
    )


def read_program(paths: Sequence[str], options: CheckOptions) -> Program:
    """Litmus tests and .rsmc programs by themselves; C, C++ and LLVM IR files are linked together."""
    if any(Path(path).suffix in EXTENSIONS for path in paths):
        if len(paths) > 1:
            raise InputError("a litmus test or .rsmc program is checked alone")
        program = parse_program(Source(paths[0], read_text(paths[0])))
        validate(program)
        return program
    from dekker.frontends.c import Options, parse_c  # noqa: PLC0415 — the compiler is not needed for anything else

    return parse_c(paths, Options(flags=options.flags, compiler=options.cc))


def _other_violations(result: Result) -> list[Violation]:
    found = [Violation("data race", "two accesses race, and one is not atomic")] if DATA_RACE in result.flags else []
    found += [Violation(flag, f"the model raises the flag '{flag}'") for flag in result.flags if flag != DATA_RACE]
    if result.deadlocks:
        found.append(Violation("deadlock", "threads wait for ever"))
    return found
