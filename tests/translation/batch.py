"""Many translated tests compiled at once: a compiler's start takes longer than what it does for one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.translation.to_c import PRELUDE, translate

from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_program
from dekker.frontends.c.driver import compile_file
from dekker.frontends.c.linking import Linkage, link
from dekker.frontends.c.llvm.module import Module
from dekker.frontends.c.lowering.unit import lower_program
from dekker.frontends.c.runtime import RUNTIME
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task


@dataclass(frozen=True)
class Pair:
    """A litmus test, and what became of its translation."""

    litmus: Program
    c: Program


@dataclass(frozen=True)
class Answer:
    """Executions by what they are; those that satisfy the formula of the condition are `positive`."""

    positive: int
    negative: int
    blocked: int
    cut: int
    flags: frozenset[str]


def litmus_program(name: str, text: str) -> Program:
    program = parse_program(Source(name, text))
    validate(program)
    return program


def compile_pairs(folder: Path, programs: Sequence[Program]) -> Iterator[Pair]:
    """Through a file in the folder."""
    file = folder / "batch.c"
    parts = [translate(program, f"T{number}_") for number, program in enumerate(programs)]
    file.write_text("\n".join((PRELUDE, *parts)), encoding="utf-8")
    source = compile_file(str(file)).source
    linkage = link([(Module(source), True)])
    for number, program in enumerate(programs):
        yield Pair(program, _lowered(linkage, f"T{number}_main", source))


def _lowered(linkage: Linkage, main: str, source: Source) -> Program:
    linkage.shared["main"] = replace(linkage.shared[main], name="main")
    program = lower_program(main, linkage, RUNTIME, (-1, 2), source)
    validate(program)
    return program


def litmus_answer(program: Program, model: str, limits: Limits) -> Answer:
    result = rsmc.run(_task(program, model, limits))
    assert result.stopped_by is None
    assert not result.violations, result.violations
    return Answer(result.satisfying, result.violating, result.blocked, result.cut, frozenset(result.flags))


def c_answer(program: Program, model: str, limits: Limits) -> Answer:
    """What satisfies the formula ends in `reach_error`, and everything else is complete."""
    result = rsmc.run(_task(program, model, limits))
    assert result.stopped_by is None
    assert {violation.message for violation in result.violations} <= {"`reach_error` is called"}, result.violations
    failed = result.statistics["failed"]
    return Answer(failed, result.complete_executions, result.blocked, result.cut, frozenset(result.flags))


def _task(program: Program, model_name: str, limits: Limits) -> Task:
    model = load_model(model_name)
    return Task(prepare(program, model), model, limits)
