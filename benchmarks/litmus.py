"""Parse, validate and run batches of litmus tests; herd7 on the same files, where it is on PATH."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from dekker.frontends.litmus import default_model, parse_litmus
from dekker.ir.validate import validate
from dekker.run.batch import BatchOptions, find_tests, run_file
from dekker.source import Source
from dekker.task import Limits

OWN_CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "tests"
TIMEOUT_S = 60.0

T = TypeVar("T")


def main(folders: Iterable[str]) -> None:
    for folder in folders:
        _measure(folder, [test.path for test in find_tests([folder])])


def _measure(folder: str, files: list[str]) -> None:
    print(f"{folder}: {len(files)} tests")
    texts = [(file, Path(file).read_bytes().decode("utf-8", errors="replace")) for file in files]
    parsed = _timed("parse, first time", len(files), lambda: [parse_litmus(Source(*text)) for text in texts])
    _timed("parse, again", len(files), lambda: [parse_litmus(Source(*text)) for text in texts])
    _timed("validate", len(files), lambda: list(map(validate, parsed)))
    options = BatchOptions(limits=Limits(timeout_s=TIMEOUT_S))
    started = time.process_time()
    records = [run_file(file, options) for file in files]
    seconds = time.process_time() - started
    executions = sum(record.positive + record.negative for record in records)
    unfinished = sum(record.stopped_by is not None for record in records)
    print(
        f"  oracle: {seconds:.2f} s CPU, {1000 * seconds / len(files):.2f} ms a test, {executions} executions, "
        f"{executions / seconds:.0f} executions/s, {unfinished} unfinished within {TIMEOUT_S:g} s"
    )
    _herd(files, {default_model(program.architecture) for program in parsed}, seconds)


def _timed(what: str, count: int, work: Callable[[], list[T]]) -> list[T]:
    started = time.process_time()
    result = work()
    seconds = time.process_time() - started
    print(f"  {what}: {seconds:.3f} s CPU, {1000 * seconds / count:.3f} ms a test")
    return result


def _herd(files: list[str], models: set[str], own_seconds: float) -> None:
    herd = shutil.which("herd7")
    if herd is None:
        print("  herd7 is not on PATH: no comparison")
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([herd, *files], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"  herd7 ({', '.join(sorted(models))}): {seconds:.2f} s CPU; ratio herd7/oracle {seconds / own_seconds:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:] or [str(OWN_CORPUS)])
