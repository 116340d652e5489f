"""Many random programs, one number after the other, over processes that stay, or a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import field
from functools import partial
from math import inf
from time import monotonic, process_time

from dekker.cluster.crew import Crew, Patience, wait_for_one
from dekker.errors import DekkerError
from dekker.fuzz.judgement import judge
from dekker.fuzz.kinds import KINDS, kind_of
from dekker.fuzz.shrink import shrink
from dekker.ir.text import parse_program as parse_representation
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.records import dataclass
from dekker.run.checkpoint import Interrupts, noted_interrupts
from dekker.run.processes import worker_processes
from dekker.source import Source

CHUNK = 25
SHRINK_S = 60.0
LOOK_S = 1.0
CHUNK_S = 2.0
"""Programs that begin later wait for another turn, so that what was found is known soon."""


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
    """What was run: programs by number, kind, model, engines that gave an answer, and reasons why nothing was
    compared. `numbers` are in order, with gaps between them."""

    programs: int = 0
    numbers: list[range] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    violated: int = 0
    cpu_s: float = 0.0
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: Coverage) -> None:
        self.programs += other.programs
        self.numbers = _joined([*self.numbers, *other.numbers])
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


def _joined(numbers: list[range]) -> list[range]:
    found: list[range] = []
    for part in sorted(numbers, key=lambda part: part.start):
        if found and found[-1].stop == part.start:
            found[-1] = range(found[-1].start, part.stop)
        else:
            found.append(part)
    return found


def run_programs(seeds: range, kinds: Sequence[str], seconds: float = inf) -> Coverage:
    """In this process: the first, and as many others as begin in so many seconds."""
    coverage = Coverage()
    started, started_cpu = monotonic(), process_time()
    for seed in seeds:
        if coverage.programs and monotonic() - started > seconds:
            break
        _run_program(seed, kind_of(seed, kinds), coverage)
    coverage.numbers = [seeds[: coverage.programs]] if coverage.programs else []
    coverage.cpu_s = process_time() - started_cpu
    return coverage


def _run_program(seed: int, kind: str, coverage: Coverage) -> None:
    drawn = KINDS[kind].draw(seed)
    coverage.programs += 1
    coverage.kinds[kind] += 1
    coverage.models[drawn.model] += 1
    judgement = judge(drawn.program, drawn.model, seed, twin=drawn.twin)
    coverage.engines.update(judgement.engines)
    coverage.violated += judgement.violated
    if judgement.skipped:
        coverage.skipped[judgement.skipped] += 1
    if judgement.problem:
        small = print_program(drawn.program)
        if drawn.twin is None or _is_wrong(small, drawn.model, seed):
            small = shrink(small, partial(_is_wrong, model=drawn.model, seed=seed), SHRINK_S)
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
    coverage: Coverage,
    progress: Callable[[Coverage], None] = lambda coverage: None,
    crew: Crew | None = None,
) -> bool:
    """Adds to `coverage` what was covered, as it comes; whether it came to its end. Without a `crew`, processes do the
    work. After Ctrl-C what runs is waited for, until the next one."""
    running: dict[Future[Coverage], range] = {}
    with ExitStack() as stack:
        interrupts = stack.enter_context(noted_interrupts())
        if crew is None:
            pool = stack.enter_context(worker_processes(jobs))
            parts = _parts(pool.submit, lambda: jobs, extent, kinds, running, interrupts)
        else:
            stack.callback(lambda: [future.cancel() for future in running])
            parts = _parts(crew.submit, Patience(crew).slots, extent, kinds, running, interrupts)
        for part in parts:
            coverage.add(part)
            progress(coverage)
    return not interrupts.seen


def _parts(
    submit: Callable[..., Future[Coverage]],
    slots: Callable[[], int],
    extent: Extent,
    kinds: Sequence[str],
    running: dict[Future[Coverage], range],
    interrupts: Interrupts,
) -> Iterator[Coverage]:
    """One chunk for each that works, so that none is begun late. They are told how much time is left, not until when:
    clocks of other machines differ."""
    deadline = inf if extent.seconds is None else monotonic() + extent.seconds
    coming = _Numbers(_chunks(extent))
    while True:
        left_s = 0.0 if interrupts.seen else deadline - monotonic()
        while left_s > 0 and len(running) < slots() and (chunk := coming.take()) is not None:
            running[submit(run_programs, chunk, kinds, min(CHUNK_S, left_s))] = chunk
        if not running and (left_s <= 0 or coming.are_over):
            return
        interrupts.raised = interrupts.seen
        wait_for_one(running, LOOK_S)
        done = [future for future in running if future.done()]
        for future in sorted(done, key=lambda future: future.exception() is not None):
            part, chunk = future.result(), running.pop(future)
            coming.put_back(chunk[part.programs :])
            yield part


class _Numbers:
    """Of programs that are still to be run."""

    def __init__(self, chunks: Iterator[range]) -> None:
        self._chunks = chunks
        self._back: list[range] = []
        self._ahead = next(chunks, None)

    @property
    def are_over(self) -> bool:
        return self._ahead is None and not self._back

    def take(self) -> range | None:
        if self._back:
            return self._back.pop()
        taken, self._ahead = self._ahead, next(self._chunks, None)
        return taken

    def put_back(self, numbers: range) -> None:
        if numbers:
            self._back.append(numbers)


def _chunks(extent: Extent) -> Iterator[range]:
    start = extent.first_seed
    end = None if extent.number is None else start + extent.number
    while end is None or start < end:
        following = start + CHUNK if end is None else min(end, start + CHUNK)
        yield range(start, following)
        start = following
