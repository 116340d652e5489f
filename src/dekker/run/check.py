"""One program checked for assertions, memory safety and deadlocks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dekker.cat.model import Model
from dekker.engines.rsmc.engine import NAME as RSMC
from dekker.errors import InputError, LimitReached
from dekker.frontends import default_model, is_c, model_by_name, parse_files
from dekker.frontends.dialect import DEFAULT_DIALECT, Dialect
from dekker.interrupts import search_begins
from dekker.ir.instructions import Choose
from dekker.ir.passes.reuse import frees_and_allocates, reuses_freed_memory
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import OF_C, load_model
from dekker.native import Explore, explore, explorer_with
from dekker.records import dataclass
from dekker.report.check_report import CheckReport, CheckViolation
from dekker.result import Result, Verdict, verdict
from dekker.run.engines import TRANSFORM, run_engine
from dekker.run.prepare import prepare, with_reuse
from dekker.run.slices import DEFAULT_EVERY_S, NOT_BEGUN
from dekker.run.slices import Progress as Done
from dekker.run.splitting import run_splitting
from dekker.run.supervision import supervised
from dekker.source import Span, is_library
from dekker.task import Explorer, Limits, Progress, Search, Task, Watcher

ARCHITECTURE_OF_C = "C"
UNCHECKED = (
    *("strict aliasing", "alignment", "unsequenced side effects", "computations with unrelated pointers"),
    *("indices beyond an inner array", "writes to constants", "calls with another type than the function has"),
    *("memory that is released otherwise than it was allocated", "a std::mutex that ends while it is locked"),
    *("spin locks and read locks that another thread unlocks", "allocations that fail"),
    *("shifts by numbers of a wider type",),
)
OPEN_POINTERS = "pointers that the program leaves open were null, or pointed to no object"
FIRST_UNROLL, DEFAULT_UNROLL = 1, 4
DEFAULT_SEARCH = Search()


def check_limits(
    unroll: int | None = None,
    timeout_s: float | None = None,
    memory_mb: int | None = None,
    max_traces: int | None = None,
    *,
    stop_at_first: bool = True,
    deadlocks: bool = True,
    counts_executions: bool = True,
) -> Limits:
    """Of a check. If nobody says how often loops go round, that grows to the default."""
    return Limits(
        FIRST_UNROLL if unroll is None else unroll,
        timeout_s,
        memory_mb,
        max_traces,
        counts_known_rounds=False,
        stop_at_first=stop_at_first,
        deadlocks=deadlocks,
        deepest=DEFAULT_UNROLL if unroll is None else None,
        counts_executions=counts_executions,
    )


@dataclass(frozen=True)
class CheckOptions:
    """`model` None stands for the program's own: cpp20 for C. `flags` reach the compiler `cc`; None is the one that
    comes with Dekker. `leaks`: memory that is lost at the end is a violation. `reuse`: what was freed may be allocated
    again. `nondet` is the range of numbers that
    the program leaves open, and `dialect` what the user decides about its meaning. `jobs` threads explore. To go on
    from, the file `checkpoint` is written every `checkpoint_s` seconds. `explore`, if any, stands in for the core's,
    which the rsmc engine asks: a cluster does."""

    model: str | None = None
    engine: str | None = None
    limits: Limits = field(default_factory=check_limits)
    flags: tuple[str, ...] = ()
    cc: str | None = None
    leaks: bool = False
    nondet: tuple[int, int] | None = None
    search: Search = DEFAULT_SEARCH
    jobs: int = 1
    checkpoint: str | None = None
    checkpoint_s: float = DEFAULT_EVERY_S
    explore: Explore | None = None
    dialect: Dialect = DEFAULT_DIALECT
    reuse: bool = False


def check(paths: Sequence[str], options: CheckOptions, progress: Progress | None = None) -> CheckReport:
    """If a limit is met where no engine looks at it, what there is to say is that it was."""
    started = time.perf_counter()
    try:
        with supervised(options.limits, memory_factor=2 if options.search.compact else 1):
            report = _check(paths, options, progress)
    except LimitReached as limit:
        report = undecided(paths, options, limit.reason)
    return replace(report, paths=tuple(paths), time_s=time.perf_counter() - started)


def undecided(paths: Sequence[str], options: CheckOptions, reason: str) -> CheckReport:
    """Nothing was found before the limit. A program that was not read yet may have a model of its own."""
    model, engine = options.model or model_by_name(paths) or "its model", options.engine or RSMC
    return CheckReport(
        tuple(paths),
        model,
        engine,
        options.limits,
        Verdict.UNKNOWN,
        (),
        Result(stopped_by=reason),
        0.0,
        unchecked=_unchecked(model, options) if any(map(is_c, paths)) else (),
    )


def _check(paths: Sequence[str], options: CheckOptions, progress: Progress | None) -> CheckReport:
    if options.checkpoint is not None:
        from dekker.run.checkpoint_file import require_place  # noqa: PLC0415 — rarely needed

        require_place(options.checkpoint)
    program = read_program(paths, options)
    if options.leaks:
        program = replace(program, property=replace(program.property, leaks=True))
    model = load_model(options.model or default_model(program))
    try:
        return check_program(program, model, options, progress, {"paths": list(paths)})
    except LimitReached as limit:
        return undecided(paths, replace(options, model=model.name), limit.reason)


def _explorer(options: CheckOptions, about: dict[str, Any] | None) -> Explorer | None:
    if options.checkpoint is None and options.explore is None:
        return None
    if options.engine not in (None, RSMC):
        problem = "does not explore on a cluster" if options.explore is not None else "writes no checkpoints"
        raise InputError(f"the engine {options.engine} {problem}", hint=f"use --engine {RSMC}")
    if options.checkpoint is None:
        return explorer_with(options.explore)
    return _checkpoints(options.checkpoint, about or {}, options)


def _checkpoints(file: str, about: dict[str, Any], options: CheckOptions, done: Done = NOT_BEGUN) -> Explorer:
    from dekker.run.checkpoint import Checkpoints  # noqa: PLC0415 — slow to load, and rarely needed

    return Checkpoints(Path(file), about, options.checkpoint_s, done, options.explore or explore)


def resume(file: str, options: CheckOptions, progress: Progress | None = None) -> CheckReport:
    """Goes on from a checkpoint. Of the options, only limits of time, memory and traces, and jobs, count."""
    from dekker.run.checkpoint import read_checkpoint  # noqa: PLC0415
    from dekker.run.checkpoint_file import require_place  # noqa: PLC0415

    started = time.perf_counter()
    checkpoint = read_checkpoint(Path(file))
    task, about = checkpoint.task, checkpoint.about
    if not checkpoint.progress.finished or task.limits.unroll != (task.limits.deepest or task.limits.unroll):
        require_place(file)
    explorer = _checkpoints(file, about, options, checkpoint.progress)
    limits = replace(
        task.limits,
        timeout_s=options.limits.timeout_s,
        memory_mb=options.limits.memory_mb,
        max_traces=options.limits.max_traces,
    )
    task = replace(task, limits=limits, progress=progress, jobs=options.jobs, explorer=explorer)
    options = replace(options, model=task.model.name, engine=RSMC, limits=limits)
    try:
        with supervised(limits):
            report = check_task(task, options)
    except LimitReached as limit:
        report = undecided(about.get("paths", ()), options, limit.reason)
    return replace(report, paths=tuple(about.get("paths", ())), time_s=time.perf_counter() - started)


def check_program(
    program: Program,
    model: Model,
    options: CheckOptions,
    progress: Progress | None = None,
    about: dict[str, Any] | None = None,
) -> CheckReport:
    """A program that was read before, under one of several models. `about` is for the checkpoint."""
    program = prepare(program, model, reduce_updates=options.engine != TRANSFORM)
    task = Task(
        program,
        model,
        options.limits,
        examples=True,
        progress=progress,
        search=options.search,
        jobs=options.jobs,
        explorer=_explorer(options, about),
    )
    return check_task(task, options)


def check_task(task: Task, options: CheckOptions) -> CheckReport:
    search_begins()
    started = time.perf_counter()
    progress = task.progress
    program, model = task.program, task.model
    if isinstance(progress, Watcher):
        progress.watch(task)
    task, (engine, result) = run_splitting(partial(run_engine, options.engine), task)
    if not task.limits.deadlocks:
        result = replace(result, deadlocks=0)
    result = replace(result, bound="; ".join((*filter(None, (result.bound,)), *_open(program))))
    found = verdict(result, program.property.condition)
    violations = _violations(task, engine, result)
    ranges = partial_ranges(program)
    return CheckReport(
        (),
        model.name,
        engine,
        _limits_used(task.limits, result),
        Verdict.UNSAFE if violations else _bounded(found, ranges),
        violations,
        result,
        time.perf_counter() - started,
        ranges=ranges,
        reuse=_reuse(program),
        unchecked=_unchecked(model.name, options) if program.architecture == ARCHITECTURE_OF_C else (),
    )


def _open(program: Program) -> Iterator[str]:
    """What the program leaves open, and was not tried in full."""
    if leaves_pointers_open(program):
        yield OPEN_POINTERS
    if program.property.given:
        yield f"the environment gave one value each: {', '.join(program.property.given)}"


def _unchecked(model: str, options: CheckOptions) -> tuple[str, ...]:
    """What is undefined in C, and may be in the program all the same."""
    found = UNCHECKED if options.dialect.overflow else (*UNCHECKED, "overflow of signed numbers (--overflow)")
    return found if model in OF_C else (*found, "data races", "accesses that nothing orders after an allocation")


def _limits_used(limits: Limits, result: Result) -> Limits:
    """A bound that cuts nothing is as good as any."""
    if limits.deepest is None:
        return limits
    if result.rounds is not None and (result.cut or result.stopped_by is not None):
        return replace(limits, unroll=result.rounds)
    return replace(limits, unroll=limits.deepest)


def task_to_estimate(paths: Sequence[str], options: CheckOptions) -> Task:
    """How many executions there are does not depend on which go wrong."""
    program = read_program(paths, options)
    model = load_model(options.model or default_model(program))
    limits = options.limits
    unroll = limits.unroll if limits.deepest is None else limits.deepest
    return Task(
        prepare(program, model), model, replace(limits, unroll=unroll, stop_at_first=False, counts_executions=True)
    )


def _violations(task: Task, engine: str, result: Result) -> tuple[CheckViolation, ...]:
    wrong = result.violations or result.flags or result.deadlocks
    if not wrong and verdict(result, task.program.property.condition) is not Verdict.UNSAFE:
        return ()
    from dekker.run.violations import violations_of  # noqa: PLC0415 — most programs need no replay

    return tuple(violations_of(task, engine, result))


def partial_ranges(program: Program) -> tuple[tuple[int, int], ...]:
    """Of numbers of which not all are tried that the program would take."""
    steps = (step for function in program.functions for step in function.body)
    chosen = (step for step in steps if isinstance(step, Choose) and step.partial and not step.pointer)
    return tuple(sorted({(step.low, step.high) for step in chosen}))


def leaves_pointers_open(program: Program) -> bool:
    steps = (step for function in program.functions for step in function.body)
    return any(isinstance(step, Choose) and step.pointer for step in steps)


def _reuse(program: Program) -> bool | None:
    return reuses_freed_memory(program) if frees_and_allocates(program, _is_of_user) else None


def _is_of_user(span: Span | None) -> bool:
    """Nobody but `std::thread` has pointers to what it allocates itself."""
    return span is None or "/__thread/" not in span.source.name or not is_library(span.source.name)


def _bounded(found: Verdict, ranges: tuple[tuple[int, int], ...]) -> Verdict:
    return Verdict.SAFE_WITHIN_BOUND if ranges and found is Verdict.SAFE else found


def read_program(paths: Sequence[str], options: CheckOptions) -> Program:
    program = parse_files(paths, options.flags, options.cc, options.nondet, options.dialect)
    validate(program)
    return with_reuse(program) if options.reuse else program
