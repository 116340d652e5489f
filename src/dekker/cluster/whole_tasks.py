"""Tests and checks that are done by one worker each, as a whole and with any engine.

Texts travel, since workers may see none of our files: tests as they are written, models that do not ship, and programs
of checks as they were compiled here, since workers may have another compiler.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TypeVar

from dekker.cluster.crew import Crew, DeadlyWork, Patience, wait_for_one
from dekker.cluster.explorer import CrewExplorer
from dekker.engines.rsmc.engine import NAME as RSMC
from dekker.errors import InputError
from dekker.frontends import read_text
from dekker.ir.program import Program
from dekker.models import is_built_in, load_model
from dekker.replay.record import model_text
from dekker.report.check_report import CheckReport
from dekker.report.record import Record, record_error
from dekker.run.batch import BatchOptions, Test, chunk_size, run_test
from dekker.run.check import CheckOptions
from dekker.run.compare import compare, program_and_models, report_under
from dekker.run.witnesses import load_model_text
from dekker.task import Progress
from dekker.witness import ModelText

Item = TypeVar("Item")
T = TypeVar("T")

CHUNKS_PER_SLOT = 3
LOOK_S = 1.0


def run_tests(
    crew: Crew, tests: Sequence[Test], options: BatchOptions, progress: Progress | None = None
) -> Iterator[Record]:
    """Records in the order of the tests. A test that is alone is explored by all."""
    if len(tests) == 1 and options.engine in (None, RSMC):
        yield run_test(tests[0], replace(options, explore=CrewExplorer(crew)), progress=progress)
        return
    if options.model is not None and not is_built_in(model := load_model(options.model)):
        options = replace(options, model_text=model_text(model))
    size = chunk_size(len(tests), max(1, crew.slots()))
    chunks = [tests[start : start + size] for start in range(0, len(tests), size)]
    run = partial(_run_chunk, options=options)
    for chunk, done in in_order(crew, run, map(_travelling, chunks)):
        try:
            yield from done.result()
        except DeadlyWork:
            yield from _one_by_one(crew, run, chunk)


def _one_by_one(crew: Crew, run: Callable[[list[Test]], list[Record]], tests: Iterable[Test]) -> Iterator[Record]:
    """One of them is deadly; the others are not to suffer from it."""
    for (test,), done in in_order(crew, run, ([test] for test in tests)):
        try:
            yield from done.result()
        except DeadlyWork as error:
            yield record_error(test.path, error)


def _run_chunk(tests: list[Test], options: BatchOptions) -> list[Record]:
    return [run_test(test, options) for test in tests]


def _travelling(tests: Sequence[Test]) -> list[Test]:
    return [test if test.error is not None else _with_text(test) for test in tests]


def _with_text(test: Test) -> Test:
    try:
        return test if test.text is not None else replace(test, text=read_text(test.path))
    except InputError as error:
        return replace(test, error=error)


def compare_on(
    crew: Crew, paths: Sequence[str], names: Sequence[str], options: CheckOptions, progress: Progress | None = None
) -> Iterator[CheckReport]:
    """What the rsmc engine checks is explored by all, one model after the other; other engines have one worker for each
    model."""
    if options.engine in (None, RSMC):
        yield from compare(paths, names, replace(options, explore=CrewExplorer(crew)), progress)
        return
    program, models = program_and_models(paths, names, options)
    check = partial(_report_under, program=program, options=options)
    for _, done in in_order(crew, check, map(model_text, models)):
        yield replace(done.result(), paths=tuple(paths))


def _report_under(model: ModelText, program: Program, options: CheckOptions) -> CheckReport:
    return report_under(program, load_model_text(model), options)


def in_order(crew: Crew, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[tuple[Item, Future[T]]]:
    """Items with what was done, in their order."""
    coming, sent = iter(items), deque[tuple[Item, Future[T]]]()
    ahead = next(coming, None)
    patience = Patience(crew)
    try:
        while ahead is not None or sent:
            at_work = [future for _, future in sent if not future.done()]
            for _ in range(CHUNKS_PER_SLOT * patience.slots() - len(at_work)):
                if ahead is None:
                    break
                sent.append((ahead, crew.submit(function, ahead)))
                ahead = next(coming, None)
            if not sent or not sent[0][1].done():
                wait_for_one([future for _, future in sent if future is sent[0][1] or not future.done()], LOOK_S)
            while sent and sent[0][1].done():
                yield sent.popleft()
    finally:
        for _, future in sent:
            future.cancel()
