"""Many random programs, one number after the other, over processes that stay, or a cluster."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, process_time

from dekker.cluster.crew import Crew, Patience, wait_for_one
from dekker.errors import DekkerError
from dekker.fuzz.judgement import judge
from dekker.fuzz.kinds import KINDS, kind_of
from dekker.fuzz.shrink import shrink
from dekker.ir.text import parse_program as parse_representation
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.source import Source

CHUNK = 25
SHRINK_S = 60.0
LOOK_S = 1.0


@dataclass(frozen=True)
class Problem:
    """A program that engines disagree about: as it was drawn, and made small, in the program representation."""

    seed: int
    kind: str
    model: str
    message: str
    text: str
    extension: str
    small: str


@dataclass
class Coverage:
    """What was run: programs by kind, model, engines that gave an answer, and reasons why nothing was compared."""

    programs: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    violated: int = 0
    cpu_s: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Coverage) -> None:
        self.programs += other.programs
        self.kinds += other.kinds
        self.models += other.models
        self.engines += other.engines
        self.skipped += other.skipped
        self.violated += other.violated
        self.cpu_s += other.cpu_s
        self.problems += other.problems

    @property
    def compared(self) -> int:
        return self.programs - self.skipped.total() - len(self.problems)


def run_programs(seeds: Sequence[int], kinds: Sequence[str]) -> Coverage:
    """In this process."""
    coverage = Coverage()
    started = process_time()
    for seed in seeds:
        _run_program(seed, kind_of(seed, kinds), coverage)
    coverage.cpu_s = process_time() - started
    return coverage


def _run_program(seed: int, kind: str, coverage: Coverage) -> None:
    drawn = KINDS[kind](seed)
    coverage.programs += 1
    coverage.kinds[kind] += 1
    coverage.models[drawn.model] += 1
    judgement = judge(drawn.program, drawn.model, seed)
    coverage.engines.update(judgement.engines)
    coverage.violated += judgement.violated
    if judgement.skipped:
        coverage.skipped[judgement.skipped] += 1
    if judgement.problem:
        small = shrink(print_program(drawn.program), partial(_is_wrong, model=drawn.model, seed=seed), SHRINK_S)
        coverage.problems.append(
            Problem(seed, kind, drawn.model, judgement.problem, drawn.text, drawn.extension, small)
        )


def _is_wrong(text: str, model: str, seed: int) -> bool:
    try:
        program = parse_representation(Source("shrunk.ir", text))
        validate(program)
    except DekkerError:
        return False
    return bool(judge(program, model, seed).problem)


@dataclass(frozen=True)
class Extent:
    """How long a campaign goes on: so many programs, so many seconds, or until it is interrupted."""

    first_seed: int = 0
    number: int | None = None
    seconds: float | None = None


def campaign(
    extent: Extent,
    kinds: Sequence[str],
    jobs: int,
    progress: Callable[[Coverage], None] = lambda coverage: None,
    crew: Crew | None = None,
) -> tuple[Coverage, bool]:
    """What was covered, and whether it came to its end. Without a `crew`, processes do the work."""
    coverage = Coverage()
    with ExitStack() as stack:
        if crew is None:
            pool = stack.enter_context(ProcessPoolExecutor(jobs, initializer=_leave_interrupts_to_the_parent))
            parts = _parts(pool.submit, lambda: jobs, extent, kinds)
        else:
            parts = _parts(crew.submit, Patience(crew).slots, extent, kinds)
        try:
            for part in parts:
                coverage.add(part)
                progress(coverage)
        except KeyboardInterrupt:
            parts.close()
            return coverage, False
    return coverage, True


def _parts(
    submit: Callable[..., Future[Coverage]], slots: Callable[[], int], extent: Extent, kinds: Sequence[str]
) -> Generator[Coverage, None, None]:
    deadline = None if extent.seconds is None else monotonic() + extent.seconds
    chunks = _chunks(extent)
    running: set[Future[Coverage]] = set()
    try:
        while True:
            is_over = deadline is not None and monotonic() > deadline
            while not is_over and len(running) < 2 * slots():
                chunk = next(chunks, None)
                if chunk is None:
                    is_over = True
                    break
                running.add(submit(run_programs, chunk, kinds))
            if is_over and not running:
                return
            wait_for_one(running, LOOK_S)
            for future in [future for future in running if future.done()]:
                running.remove(future)
                yield future.result()
    finally:
        for future in running:
            future.cancel()


def _chunks(extent: Extent) -> Iterator[range]:
    start = extent.first_seed
    end = None if extent.number is None else start + extent.number
    while end is None or start < end:
        following = start + CHUNK if end is None else min(end, start + CHUNK)
        yield range(start, following)
        start = following


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
