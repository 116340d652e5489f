"""A batch of litmus tests: find the files, run each, never let one spoil the others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dekker.cat.model import Model
from dekker.errors import DekkerError, InputError, LimitReached, UnsupportedError
from dekker.frontends import EXTENSIONS, default_model, is_c, parse_files, parse_program, read_text
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.native import Explore, explorer_with
from dekker.records import dataclass
from dekker.report.record import Record, record_error, record_result, record_stopped
from dekker.resources import Command
from dekker.result import Result
from dekker.run.engines import TRANSFORM, run_engine
from dekker.run.prepare import prepare
from dekker.run.supervision import supervised
from dekker.source import Source
from dekker.task import Limits, Progress, Search, Task, Watcher

if TYPE_CHECKING:
    from dekker.run.side_by_side import Death
    from dekker.witness import ModelText

LARGEST_CHUNK = 16
DEFAULT_SEARCH = Search()


@dataclass(frozen=True)
class BatchOptions:
    """`model` None stands for the architecture's own, `engine` None for the first that can run the test. `witness` asks
    for an execution that decides the condition, `explain` for the reasons if there is none. `unroll_waits` leaves loops
    that only wait as they are. `picture`: all that is needed to draw the witness and its source. `jobs` threads explore
    each test, or whoever `explore` asks. `model_text` is that of `model`, if there is no such file here."""

    model: str | None = None
    engine: str | None = None
    limits: Limits = Limits()
    witness: bool = False
    explain: bool = False
    unroll_waits: bool = False
    search: Search = DEFAULT_SEARCH
    picture: bool = False
    jobs: int = 1
    explore: Explore | None = None
    model_text: ModelText | None = None


@dataclass(frozen=True)
class Test:
    """A file to run, or why there is none at that path, or a text that is called so."""

    path: str
    error: InputError | None = None
    text: str | None = None


def find_tests(paths: Sequence[str]) -> list[Test]:
    """Files as they are, folders searched for `EXTENSIONS`, `@list` files with one path per line. A path that leads
    nowhere is a test with an error, so that the others still run."""
    return [test for path in paths for test in _find(path, frozenset())]


def _find(path: str, lists: frozenset[str]) -> list[Test]:
    try:
        if path.startswith("@"):
            return _read_list(path[1:], lists)
        if Path(path).is_dir():
            return _search_folder(path)
    except InputError as error:
        return [Test(path, error)]
    except (OSError, ValueError) as error:
        return [Test(path, InputError(f"cannot read {path!r}: {error}"))]
    return [Test(path)]


def _search_folder(path: str) -> list[Test]:
    with os.scandir(path):
        pass
    inside = sorted(str(file) for extension in EXTENSIONS for file in Path(path).rglob(f"*{extension}"))
    if not inside:
        raise InputError(f"there is no {' or '.join(EXTENSIONS)} file in the folder '{path}'")
    return [Test(file) for file in inside]


def _read_list(path: str, lists: frozenset[str]) -> list[Test]:
    """Paths in a list are relative to the list; empty lines and lines that start with `#` do not count."""
    resolved = str(Path(path).resolve())
    if resolved in lists:
        raise InputError(f"the list '{path}' contains itself")
    lines = [line.strip() for line in read_text(path).splitlines()]
    base = Path(path).parent
    entries = [line for line in lines if line and not line.startswith("#")]
    if not entries:
        raise InputError(f"the list '{path}' names no test")
    return [test for entry in entries for test in _find(_relative(entry, base), lists | {resolved})]


def _relative(entry: str, base: Path) -> str:
    return f"@{base / entry[1:]}" if entry.startswith("@") else str(base / entry)


def run_file(file: str, options: BatchOptions) -> Record:
    return run_test(Test(file), options)


def run_test(test: Test, options: BatchOptions, *, raises: bool = False, progress: Progress | None = None) -> Record:
    """Whatever is wrong with its file is part of its record, unless it is to be raised; a defect of Dekker must not
    stop a batch."""
    if test.error is not None:
        return record_error(test.path, test.error, options.model or "", options.engine or "")
    started = time.perf_counter()
    try:
        with supervised(options.limits, memory_factor=2 if options.search.compact else 1):
            return _run_test(test, options, raises=raises, progress=progress)
    except LimitReached as limit:
        model, engine = options.model or "", options.engine or ""
        return record_stopped(test.path, model, engine, limit.reason, time.perf_counter() - started)


def _run_test(test: Test, options: BatchOptions, *, raises: bool, progress: Progress | None) -> Record:
    file, started = test.path, time.perf_counter()
    model_name = options.model or ""
    try:
        program = _read(test)
        model_name = options.model or default_model(program)
        model = load_model(model_name) if options.model_text is None else _from_text(options.model_text)
        program = prepare(program, model, unroll_waits=options.unroll_waits, reduce_updates=options.engine != TRANSFORM)
        examples = options.witness or options.explain
        task = Task(
            program,
            model,
            options.limits,
            examples,
            progress,
            search=options.search,
            jobs=options.jobs,
            explorer=explorer_with(options.explore),
        )
        if isinstance(progress, Watcher):
            progress.watch(task)
        engine, result = run_engine(options.engine, task)
        record = record_result(file, program, model.name, engine, result, time.perf_counter() - started)
        record = _with_evidence(record, task, result, options) if task.examples else record
        if options.picture:
            record = replace(record, source=read_text(file) if test.text is None else test.text)
        return record
    except DekkerError as error:
        if raises:
            raise
        return record_error(file, error, model_name, options.engine or "")
    except RecursionError:
        nested = InputError(f"'{file}' is nested too deeply")
        if raises:
            raise nested from None
        return record_error(file, nested, model_name, options.engine or "")
    except MemoryError:
        raise
    except Exception as error:
        if raises or os.environ.get("DEKKER_DEBUG"):
            raise
        return record_error(file, _defect(file, f"{type(error).__name__}: {error}"), model_name, options.engine or "")


def _read(test: Test) -> Program:
    if is_c(test.path):
        raise InputError(
            f"'{test.path}' is a program, not a litmus test: it has no condition on final states",
            hint="use `dekker check`, which looks for violations",
        )
    program = parse_files((test.path,)) if test.text is None else parse_program(Source(test.path, test.text))
    validate(program)
    return program


def _from_text(model: ModelText) -> Model:
    from dekker.run.witnesses import load_model_text  # noqa: PLC0415 — slow to load

    return load_model_text(model)


def _with_evidence(record: Record, task: Task, result: Result, options: BatchOptions) -> Record:
    from dekker.run.witnesses import asked_executions, deciding_witness, explanation  # noqa: PLC0415 — slow to load

    witness = deciding_witness(task, record.engine, result)
    record = replace(record, witness=witness)
    if options.picture and witness is not None:
        from dekker.run.violations import out_of_order  # noqa: PLC0415 — slow to load

        record = replace(record, order=out_of_order(task.model, task.program, witness))
    if not options.explain or result.stopped_by is not None or asked_executions(task.program, result):
        return record
    try:
        found = explanation(task)
    except UnsupportedError as error:
        return replace(record, notes=(*record.notes, f"No explanation: {error.diagnostic.message}"))
    interrupted = found.stopped_by == "interrupt"
    return replace(record, explanation=found, stopped_by="interrupt" if interrupted else None)


def _defect(file: str, what: str) -> DekkerError:
    message = f"internal error in '{file}': {what}"
    return DekkerError(message, hint="this is a defect of Dekker; DEKKER_DEBUG=1 shows where it happened")


def run_batch(
    tests: Sequence[Test], options: BatchOptions, jobs: int, progress: Progress | None = None
) -> Iterator[Record]:
    """Records in the order of the tests; `progress` hears of tests that run in this process. A test that is alone has
    all jobs for itself. Several tests of a command with limits run in other processes, because a limit may have to end
    one. After Ctrl-C, tests that were done behind the one that is waited for come before the exception."""
    work = partial(run_test, options=replace(options, jobs=jobs) if len(tests) == 1 else options)
    limited = options.limits.timeout_s is not None or options.limits.memory_mb is not None
    if len(tests) <= 1 or (jobs <= 1 and not (limited and Command.is_one)):
        yield from map(partial(work, progress=progress), tests)
        return
    from dekker.run.side_by_side import run_side_by_side  # noqa: PLC0415 — slow to load

    size = chunk_size(len(tests), jobs)
    chunks = [tests[start : start + size] for start in range(0, len(tests), size)]
    yield from run_side_by_side(work, chunks, min(jobs, len(tests)), partial(_record_of_death, options=options))


def _record_of_death(test: Test, death: Death, options: BatchOptions) -> Record:
    model, engine = options.model or "", options.engine or ""
    if death.limit:
        return record_stopped(test.path, model, engine, death.limit, death.time_s)
    error = _defect(test.path, f"its process ended with status {death.status}")
    if death.status == -signal.SIGKILL:
        hint = "there was probably not enough memory: run with fewer --jobs, or with --memory"
        error = DekkerError(f"the process that ran '{test.path}' was killed", hint=hint)
    return record_error(test.path, error, model, engine)


def chunk_size(tests: int, jobs: int) -> int:
    """Small enough that no process is left with much work when the others have finished."""
    return max(1, min(LARGEST_CHUNK, tests // (8 * jobs)))
