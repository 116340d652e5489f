"""The native evaluator of models agrees with the oracle's, check by check, on executions of random programs."""

from __future__ import annotations

from functools import cache
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, programs

from dekker.cat.interpreter import evaluate
from dekker.cat.relational import RelationalProgram
from dekker.engines.axiomatic.engine import accepted_executions
from dekker.execution import Execution, base_value
from dekker.models import load_model, model_names
from dekker.native import NativeModel
from dekker.task import Task

EXECUTIONS_PER_PROGRAM = 20


@cache
def native_model(name: str) -> NativeModel:
    return NativeModel(load_model(name).program)


def inputs(program: RelationalProgram, execution: Execution) -> dict[str, int | list[int]]:
    return {item.name: base_value(item.name, execution) for item in program.inputs}


@pytest.mark.parametrize("name", model_names())
@settings(max_examples=25)
@given(data=st.data())
def test_native_and_python_evaluators_agree(name: str, data: st.DataObject) -> None:
    """Executions come from a model that forbids little, so that checks of the others fail often enough."""
    program = data.draw(programs(data.draw(st.sampled_from((HARDWARE, ANNOTATED, C11)))))
    relational = load_model(name).program
    for accepted in islice(accepted_executions(Task(program, load_model("armv7"))), EXECUTIONS_PER_PROGRAM):
        execution = accepted.execution()
        values = inputs(relational, execution)
        size = len(execution.events)
        assert native_model(name).check(size, values) == evaluate(relational, size, values)
