"""Tables of expected results beside litmus tests, and how an engine's records compare with them.

Run as a program it is the full campaign: `python -m tests.corpus.expectations FOLDER... [--timeout S] [--jobs N]`.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dekker.report.record import Record
from dekker.run.batch import BatchOptions, run_file
from dekker.task import Limits

OWN_CORPUS = Path(__file__).parent / "tests"
SHARED_CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


@dataclass(frozen=True)
class Expectation:
    path: Path
    model: str
    observation: str
    positive: int
    negative: int
    states: int

    def __str__(self) -> str:
        return f"{self.path} under {self.model}"


def read_expectations(folder: Path) -> list[Expectation]:
    """The rows of `expected.csv` in a folder."""
    with (folder / "expected.csv").open(encoding="utf-8", newline="") as stream:
        return [
            Expectation(
                folder / row["test"],
                row["model"],
                row["observation"],
                int(row["positive"]),
                int(row["negative"]),
                int(row["states"]),
            )
            for row in csv.DictReader(stream)
        ]


def stratified_sample(folders: Sequence[Path], per_folder: int, seed: int = 0) -> list[Expectation]:
    """As many tests from each folder, the same ones every time."""
    chooser = random.Random(seed)
    chosen: list[Expectation] = []
    for folder in folders:
        rows = read_expectations(folder)
        chosen += chooser.sample(rows, min(per_folder, len(rows)))
    return chosen


def disagreement(expected: Expectation, record: Record) -> str | None:
    """What differs, or None. A run that was stopped disagrees with nothing."""
    if record.error is not None:
        return record.error.rendered
    if record.stopped_by is not None:
        return None
    found = (record.observation, record.positive, record.negative, record.states)
    wanted = (expected.observation, expected.positive, expected.negative, expected.states)
    return None if found == wanted else f"expected {wanted}, found {found}"


def check(expected: Expectation, timeout_s: float | None, engine: str = "axiomatic") -> tuple[Expectation, Record]:
    options = BatchOptions(expected.model, engine, Limits(timeout_s=timeout_s))
    return expected, run_file(str(expected.path), options)


def check_all(
    expectations: Sequence[Expectation], timeout_s: float | None, jobs: int, engine: str
) -> Iterator[tuple[Expectation, Record]]:
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(check, timeout_s=timeout_s, engine=engine), expectations, chunksize=4)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare an engine with tables of expected results.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engine", default="axiomatic")
    parser.add_argument("--sample", type=int, help="only that many tests per folder")
    parser.add_argument("--every", type=int, default=1, help="only every so many tests of each folder")
    arguments = parser.parse_args()
    wrong = 0
    for folder in arguments.folders:
        rows = read_expectations(folder)
        if arguments.sample is not None:
            rows = stratified_sample([folder], arguments.sample)
        wrong += _campaign(folder, rows[:: arguments.every], arguments)
    return 1 if wrong else 0


def _campaign(folder: Path, rows: Sequence[Expectation], arguments: argparse.Namespace) -> int:
    timeout_s: float = arguments.timeout
    started = time.monotonic()
    wrong = unfinished = 0
    slowest = 0.0
    for expected, record in check_all(rows, timeout_s, arguments.jobs, arguments.engine):
        slowest = max(slowest, record.time_s)
        if record.stopped_by is not None:
            unfinished += 1
            print(f"unfinished: {expected}", flush=True)
        elif (difference := disagreement(expected, record)) is not None:
            wrong += 1
            print(f"DIFFERENT: {expected}: {difference}", flush=True)
    print(
        f"{folder.name}: {len(rows)} compared, {wrong} different, {unfinished} unfinished within {timeout_s:g} s, "
        f"slowest {slowest:.1f} s, {time.monotonic() - started:.0f} s in all",
        flush=True,
    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
