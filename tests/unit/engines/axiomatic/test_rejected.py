"""The survey of forbidden outcomes counts what brute force counts."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import HARDWARE, programs

from dekker.cat.compiler import compile_model
from dekker.engines.axiomatic.engine import accepted_executions
from dekker.engines.axiomatic.rejected import rejected
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import layout
from dekker.ir.program import Program
from dekker.ir.property import And, Equals, Formula, Not, Or, Truth
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.replay import judge, replay
from dekker.source import Source
from dekker.task import Limits, Task

ANYTHING = compile_model(Source("anything.cat", '"anything"\nempty 0 as nothing'))
MOST = 1000


@st.composite
def formulas(draw: st.DrawFn, program: Program, depth: int = 2) -> Formula:
    form = draw(st.integers(0, 4)) if depth else 0
    if form == 1:
        return Not(draw(formulas(program, depth - 1)))
    if form in (2, 3):
        operands = tuple(draw(st.lists(formulas(program, depth - 1), max_size=2)))
        return And(operands) if form == 2 else Or(operands)
    if form == 4:
        return Truth(draw(st.booleans()))
    return Equals(draw(st.sampled_from(program.property.observed)), draw(st.integers(0, 3)))


@pytest.mark.parametrize("name", ["sc", "power", "rc11"])
@settings(max_examples=40)
@given(data=st.data())
def test_counts(name: str, data: st.DataObject) -> None:
    program = data.draw(programs(HARDWARE))
    formula = data.draw(formulas(program))
    model, places = load_model(name), layout(program)
    traces = [item.trace() for item in islice(accepted_executions(Task(program, ANYTHING)), MOST)]
    assume(len(traces) < MOST)
    replayed = [(trace, replay(program, trace)) for trace in traces]
    wanted = {trace: item for trace, item in replayed if formula_holds(formula, item.values, places)}
    judgements = {trace: judge(model, item.execution) for trace, item in wanted.items()}
    excluded = Counter(name for found in judgements.values() for name in {check.name for check in found.broken})
    found = rejected(Task(program, model), formula)
    assert found.candidates == len(wanted)
    assert found.allowed == sum(judgement.allowed for judgement in judgements.values())
    assert +Counter(found.excluded) == excluded
    if excluded:
        fewest = min(len(judgement.broken) for judgement in judgements.values() if judgement.broken)
        assert found.closest is not None
        assert len(judgements[found.closest].broken) == fewest
    else:
        assert found.closest is None


def test_the_time_is_kept() -> None:
    stores = "\n".join("store.4 [&x] = 1" for _ in range(4))
    text = "program p\narchitecture PPC\nobject x[8]\n"
    for number in range(3):
        text += f"function P{number}() {{\n{stores}\n}}\nthread P{number} runs P{number}\n"
    program = parse_program(Source("p.ir", text))
    found = rejected(Task(program, load_model("sc"), Limits(timeout_s=1)), Truth(True))
    assert found.stopped_by == "time"
    assert found.candidates > 0
