"""Runs litmus tests or programs in C with an engine and measures it.

As a program it reads a `Job` and prints a `Measurement`, both as JSON, so that each row of a benchmark has a process,
and therefore a peak of memory, of its own.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from dekker.errors import DekkerError
from dekker.frontends import c, litmus, read_text
from dekker.frontends.c import parse_c
from dekker.frontends.litmus import default_model, parse_litmus
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.result import Result
from dekker.run.engines import ENGINES
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import DEFAULT_UNROLL, Limits, Search, Task

TELL_OF_PROGRESS = ("rsmc", "states")
PATIENCE = 10
"""As many times the limit may pass on a clock while others use the processors."""


@dataclass(frozen=True)
class Job:
    """`model` None stands for that of each test's architecture. `timeout_s` is per test, of CPU time for the engines
    that tell of their progress, and no further repetition begins once they have taken as long altogether. `flags` are
    for the compiler of C. `unroll_waits` is for litmus tests that are counted as herd does, `buffer` for the states
    engine. Where only the `verdict` is asked for, the run ends with the first violation, and numbers of executions mean
    nothing."""

    files: list[str]
    model: str | None = None
    engine: str = "rsmc"
    repeat: int = 1
    timeout_s: float = 60.0
    flags: Sequence[str] = ()
    unroll: int = DEFAULT_UNROLL
    unroll_waits: bool = False
    buffer: int | None = None
    verdict: bool = False


@dataclass
class Measurement:
    """Seconds are of CPU time. `engine_s` has an entry for each repetition and covers the calls of the engine only;
    `parse_s` is for parsing and validation, the C compiler included. `refused` says why for tests that could not be
    run; `unfinished` are tests that hit the time limit. `start_mb` is the peak of memory just before the engine's first
    call. `violations` are messages of runtime errors, flags of the model, and deadlocks."""

    models: list[str] = field(default_factory=list)
    traces: dict[str, int] = field(default_factory=dict)
    blocked: int = 0
    cut: int = 0
    statistics: dict[str, int] = field(default_factory=dict)
    parse_s: float = 0.0
    engine_s: list[float] = field(default_factory=list)
    start_mb: float = 0.0
    peak_mb: float = 0.0
    unfinished: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


def main() -> None:
    job = Job(**json.load(sys.stdin))
    json.dump(asdict(measure(job)), sys.stdout)


def measure(job: Job) -> Measurement:
    found = Measurement()
    _import_front_ends()
    tasks = _tasks(job, found)
    found.models = sorted({task.model.name for task in tasks.values()})
    found.start_mb = peak_of_memory_mb()
    run = ENGINES[job.engine]
    results = _repetition(run, tasks, found, job.timeout_s)
    for _ in range(job.repeat - 1):
        if found.unfinished or not results or sum(found.engine_s) >= job.timeout_s:
            break
        _repetition(run, tasks, found, job.timeout_s)
    found.peak_mb = peak_of_memory_mb()
    _count(results, found)
    return found


def _import_front_ends() -> None:
    """Architectures are loaded when first needed, which is no part of parsing."""
    for module in pkgutil.walk_packages(litmus.__path__, f"{litmus.__name__}."):
        importlib.import_module(module.name)


def _tasks(job: Job, found: Measurement) -> dict[str, Task]:
    tasks = {}
    for file in job.files:
        in_c = file.endswith(".c")
        try:
            source = Source(file, read_text(file))
            started = _cpu_seconds()
            program = parse_c([file], c.Options(flags=tuple(job.flags))) if in_c else parse_litmus(source)
            validate(program)
            found.parse_s += _cpu_seconds() - started
            model = load_model(job.model or default_model(program.architecture))
            program = prepare(program, model, unroll_waits=job.unroll_waits)
            limits = Limits(
                job.unroll,
                timeout_s=_patience_s(job),
                stop_at_first=job.verdict,
                counts_known_rounds=not in_c,
                counts_executions=not job.verdict,
            )
            tasks[file] = Task(program, model, limits, search=Search(buffer=job.buffer))
        except DekkerError as error:
            found.refused[file] = error.diagnostic.message
    return tasks


def _cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _patience_s(job: Job) -> float:
    """Of wall time."""
    return job.timeout_s * (PATIENCE if job.engine in TELL_OF_PROGRESS else 1)


def _is_in_time(deadline: float, counts: dict[str, int]) -> bool:
    return time.process_time() < deadline


def _repetition(
    run: Callable[[Task], Result], tasks: dict[str, Task], found: Measurement, timeout_s: float
) -> dict[str, Result]:
    results, seconds = {}, 0.0
    for file, task in tasks.items():
        if file in found.refused:
            continue
        try:
            started = time.process_time()
            results[file] = run(replace(task, progress=partial(_is_in_time, started + timeout_s)))
            seconds += time.process_time() - started
        except DekkerError as error:
            found.refused[file] = error.diagnostic.message
    found.unfinished = [file for file, result in results.items() if result.stopped_by is not None]
    if results:
        found.engine_s.append(seconds)
    return results


def _count(results: dict[str, Result], found: Measurement) -> None:
    statistics: Counter[str] = Counter()
    for file, result in results.items():
        found.traces[file] = result.complete_executions
        found.blocked += result.blocked
        found.cut += result.cut
        found.violations += [*(violation.message for violation in result.violations), *result.flags]
        found.violations += ["deadlock"] if result.deadlocks else []
        statistics.update(result.statistics or {"candidates": result.candidates})
    found.statistics = dict(statistics)


def peak_of_memory_mb() -> float:
    """Of this process since it began to run this program; `getrusage` alone would count what its parent used, too."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    except (OSError, StopIteration):
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


if __name__ == "__main__":
    main()
