"""The oracle's search, stages and pruning lose and invent nothing: it agrees with brute force, under every model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference.brute_force import allowed_executions
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, programs

from dekker.cat.compiler import compile_model
from dekker.cat.model import Model
from dekker.engines.axiomatic.engine import accepted_executions
from dekker.execution import Execution
from dekker.ir.program import Program
from dekker.models import load_model, model_names
from dekker.source import Source
from dekker.task import DEFAULT_UNROLL, Task

FLAVOURS = [replace(flavour, max_total=6, max_threads=3) for flavour in (HARDWARE, ANNOTATED, C11)]
MOST_EXECUTIONS = 3000

ODD_MODELS = [
    '"nothing"\nlet unused = po\n acyclic po as no-cycle',
    '"complement"\nacyclic po-loc | com as uniproc\nirreflexive ~(co | co^-1 | id) & (W * W) & loc as total',
    '"difference"\nlet hb = (po \\ (co; rf)) | rfe\nacyclic hb as hb',
    '"negated"\nacyclic po-loc | com as uniproc\n~empty rf & ext as must-communicate',
    '"final"\nempty [FW]; fr as finals-are-read-last',
    '"recursive"\nlet rec hb = po | (hb; rf; hb) | (co & ext)\nirreflexive hb; fr as observed\nacyclic com | po-loc',
]


def key(execution: Execution) -> object:
    return execution.events, tuple((name, tuple(rows)) for name, rows in sorted(execution.relations.items()))


def check(program: Program, model: Model) -> None:
    expected = Counter(
        key(found) for found in islice(allowed_executions(program, model, DEFAULT_UNROLL), MOST_EXECUTIONS)
    )
    assume(expected.total() < MOST_EXECUTIONS)
    assert Counter(key(found.execution()) for found in accepted_executions(Task(program, model))) == expected


@pytest.mark.parametrize("name", model_names())
@settings(max_examples=12)
@given(data=st.data())
def test_built_in_models(name: str, data: st.DataObject) -> None:
    check(data.draw(programs(data.draw(st.sampled_from(FLAVOURS)))), load_model(name))


@pytest.mark.parametrize("text", ODD_MODELS)
@settings(max_examples=15)
@given(data=st.data())
def test_odd_models(text: str, data: st.DataObject) -> None:
    check(data.draw(programs(FLAVOURS[0])), compile_model(Source("odd.cat", text)))
