"""How much work the transformation leaves to a checker for sequential consistency, by how delays are selected (Fig. 11
of Alglave, Kroening, Nimal and Tautschnig, ESOP 2013).

    python -m benchmarks.selections [--timeout S] [--every N] [PATH...]

Paths are litmus tests, C programs and folders of either; without any, the project's own litmus tests for PPC and X86,
and the mutual exclusion of `examples/c/table1`. What is outside of the framework is left out. For each model, a row has
the sums over those programs that every selection finishes in time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dekker.errors import DekkerError
from dekker.frontends import parse_files
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run import transform
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task
from dekker.transform.selection import Strategy, select

ROOT = Path(__file__).parents[1]
MODELS = ("tso", "pso", "rmo", "power")
EXAMPLES = ("dekker", "peterson", "pgsql_bnd", "dcl_singleton")


@dataclass(frozen=True)
class Run:
    delayed: int
    states: int
    seconds: float


@dataclass
class Row:
    strategy: str
    delayed: int = 0
    states: int = 0
    seconds: float = 0.0

    def add(self, run: Run) -> None:
        self.delayed += run.delayed
        self.states += run.states
        self.seconds += run.seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--timeout", type=float, default=5.0, help="seconds for each run")
    parser.add_argument("--every", type=int, default=1, help="only every Nth program")
    options = parser.parse_args(arguments)
    paths = _programs(options.paths)[:: options.every]
    print("| model | programs | selection | delayed accesses | states | seconds |")
    print("|---|---|---|---|---|---|")
    for model in MODELS:
        _table(model, paths, options.timeout)


def _programs(paths: list[Path]) -> list[Path]:
    if not paths:
        tests = ROOT / "tests" / "corpus" / "tests"
        paths = [folder for name in ("PPC", "X86") for folder in sorted(tests.rglob(name))]
        paths += [ROOT / "examples" / "c" / "table1" / f"{name}.c" for name in EXAMPLES]
    inside = (sorted((*path.rglob("*.litmus"), *path.rglob("*.c"))) if path.is_dir() else [path] for path in paths)
    return [path for group in inside for path in group]


def _table(model: str, paths: list[Path], timeout: float) -> None:
    rows = [Row(strategy.value) for strategy in Strategy]
    finished = 0
    for path in paths:
        runs = [_run(path, model, row.strategy, timeout) for row in rows]
        found = [run for run in runs if run is not None]
        if len(found) < len(rows):
            continue
        finished += 1
        for row, run in zip(rows, found, strict=True):
            row.add(run)
    for row in rows:
        print(
            f"| {model} | {finished} | {row.strategy} | {row.delayed} | {row.states} | {row.seconds:.2f} |", flush=True
        )


def _run(path: Path, model: str, strategy: str, timeout: float) -> Run | None:
    """None if it is outside of the framework, or not finished."""
    try:
        program = _prepared(path, model)
        started = time.process_time()
        task = Task(program, load_model(f"ghb-{model}"), Limits(timeout_s=timeout), search=Search(select=strategy))
        result = transform.run(task)
        seconds = time.process_time() - started
        delayed = len(select(program, model, Strategy(strategy)).delayed)
    except DekkerError:
        return None
    return None if result.stopped_by else Run(delayed, result.statistics["states"], seconds)


def _prepared(path: Path, model: str) -> Program:
    program = parse_files((str(path),))
    validate(program)
    return prepare(program, load_model(f"ghb-{model}"))


if __name__ == "__main__":
    main()
