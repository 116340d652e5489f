"""A batch of litmus tests: find the files, run each, never let one spoil the others."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dekker.engines.axiomatic import engine as axiomatic
from dekker.errors import DekkerError, InputError
from dekker.frontends.litmus import default_model, parse_litmus
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.report.record import Record, record_error, record_result
from dekker.run.fit import require_fit
from dekker.source import Source
from dekker.task import Limits, Task

ENGINES = {axiomatic.NAME: axiomatic.run}

LARGEST_CHUNK = 16


@dataclass(frozen=True)
class BatchOptions:
    """`model` None stands for the architecture's own."""

    model: str | None = None
    engine: str = axiomatic.NAME
    limits: Limits = Limits()


def find_tests(paths: Sequence[str]) -> list[str]:
    """Files as they are, folders searched for `*.litmus`, `@list` files with one path per line."""
    found: list[str] = []
    for path in paths:
        found += _find(path)
    return found


def _find(path: str) -> list[str]:
    if path.startswith("@"):
        return _read_list(path[1:])
    if Path(path).is_dir():
        inside = sorted(str(file) for file in Path(path).rglob("*.litmus"))
        if not inside:
            raise InputError(f"there is no .litmus file in the folder '{path}'")
        return inside
    return [path]


def _read_list(path: str) -> list[str]:
    """Paths in a list are relative to the list; empty lines and lines that start with `#` do not count."""
    lines = [line.strip() for line in read_text(path).splitlines()]
    base = Path(path).parent
    entries = [line for line in lines if line and not line.startswith("#")]
    return [file for entry in entries for file in _find(entry if entry.startswith("@") else str(base / entry))]


def read_text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"cannot read {path!r}: {error}") from None


def run_file(file: str, options: BatchOptions) -> Record:
    """One test. Whatever is wrong with its file is part of its record."""
    started = time.perf_counter()
    model_name = options.model or ""
    try:
        program = parse_litmus(Source(file, read_text(file)))
        validate(program)
        model_name = options.model or default_model(program.architecture)
        model = load_model(model_name)
        require_fit(program, model)
        result = ENGINES[options.engine](Task(program, model, options.limits))
        return record_result(file, program, model.name, options.engine, result, time.perf_counter() - started)
    except DekkerError as error:
        return record_error(file, error, model_name, options.engine)
    except RecursionError:
        return record_error(file, InputError(f"'{file}' is nested too deeply"), model_name, options.engine)


def run_batch(files: Sequence[str], options: BatchOptions, jobs: int) -> Iterator[Record]:
    """Records in the order of the files."""
    work = partial(run_file, options=options)
    if jobs <= 1 or len(files) <= 1:
        yield from map(work, files)
        return
    with ProcessPoolExecutor(min(jobs, len(files)), initializer=_leave_interrupts_to_the_parent) as pool:
        try:
            yield from pool.map(work, files, chunksize=_chunk_size(len(files), jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise


def _chunk_size(files: int, jobs: int) -> int:
    """Small enough that no process is left with much work when the others have finished."""
    return max(1, min(LARGEST_CHUNK, files // (8 * jobs)))


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
