"""Models under which an execution stays allowed without some of its reads and fences."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, programs

from dekker.cat.compiler import compile_model
from dekker.cat.forgetting import forgets_reads
from dekker.cat.interpreter import base_values, evaluate
from dekker.cat.model import Model
from dekker.engines.axiomatic.engine import accepted_executions
from dekker.execution import Execution, pairs, relation
from dekker.models import load_model, model_names
from dekker.source import Source
from dekker.task import Task

FORGETFUL = [
    "acyclic po | com as a",
    "acyclic po \\ (po; [W]; po) as a",
    "acyclic po \\ (co; rf) as a",
    "acyclic po \\ (fr; po) as a",
    "acyclic ~(co | co^-1) & (W * W) as a",
    "acyclic co \\ co+ as a",
    "empty [FW]; fr as a",
    "empty [domain(data)]; po; [range(rmw)] as a",
    "let rec hb = po | (hb; rf; hb) | (co & ext)\nirreflexive hb; fr as a",
    "acyclic po | com as a\nflag ~empty rf as a",
]
ATTENTIVE = [
    "acyclic po \\ (po; data) as a",
    "acyclic po \\ (po; po) as a",
    "acyclic po \\ (po; [F]; po) as a",
    "acyclic ~(po; po) as a",
    "~empty rf & ext as a",
    "irreflexive co \\ (rf; po)+ as a",
    "empty (_ * _) \\ po* as a",
    "empty [W \\ domain(rf)]; co as a",
    'include "c11_base.cat"\nacyclic po as a',
    "let rec chain = po \\ (rf; po) | (chain; chain)\nacyclic chain as a",
]
MOST_EXECUTIONS = 20
FLAVOURS = [replace(flavour, max_total=5, max_threads=2) for flavour in (HARDWARE, ANNOTATED, C11)]


def model(text: str) -> Model:
    return compile_model(Source("t.cat", f'"t"\n{text}\n'))


@pytest.mark.parametrize("name", model_names())
def test_models_that_ship_forget_reads(name: str) -> None:
    assert forgets_reads(load_model(name).program)


@pytest.mark.parametrize("text", FORGETFUL)
def test_forgetful(text: str) -> None:
    assert forgets_reads(model(text).program)


@pytest.mark.parametrize("text", ATTENTIVE)
def test_attentive(text: str) -> None:
    assert not forgets_reads(model(text).program)


def without(execution: Execution, gone: set[int]) -> Execution:
    """The execution without some events."""
    kept = [index for index in range(len(execution.events)) if index not in gone]
    position = {old: new for new, old in enumerate(kept)}
    relations = {
        name: relation(len(kept), ((position[a], position[b]) for a, b in pairs(rows) if not {a, b} & gone))
        for name, rows in execution.relations.items()
    }
    return Execution(tuple(execution.events[index] for index in kept), relations)


def is_allowed(judge: Model, execution: Execution) -> bool:
    results = evaluate(judge.program, len(execution.events), base_values(judge, execution))
    return all(holds or check.flag for check, holds in zip(judge.program.checks, results, strict=True))


@pytest.mark.parametrize("name", model_names())
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_allowed_stays_allowed_without_reads_and_fences(name: str, data: st.DataObject) -> None:
    judge = load_model(name)
    program = data.draw(programs(data.draw(st.sampled_from(FLAVOURS))))
    found = list(islice(accepted_executions(Task(program, judge)), MOST_EXECUTIONS))
    execution = data.draw(st.sampled_from(found)).execution()
    sources = {source for name in ("amo", "lxsx") for source, _ in pairs(execution.relations[name])}
    removable = [i for i, event in enumerate(execution.events) if event.kind in "RF" and i not in sources]
    assume(removable)
    gone = data.draw(st.sets(st.sampled_from(removable), min_size=1))
    assert is_allowed(judge, without(execution, gone))
