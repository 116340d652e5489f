"""Compiled C11 programs do on hardware what C11 allows, and no more.

RC11 forbids cycles of program order and reads-from; processors other than TSO and PSO do not keep a relaxed load before
a later store, so there the comparison is with RC11 without that axiom (`no-thin-air`), as in its authors' proof.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.corpus.expectations import OWN_CORPUS
from tests.reference.exclusive_pairs import with_exclusive_pairs
from tests.strategies.litmus_programs import C11, C11_FENCES, Flavour, programs

from dekker.cat import Model, compile_model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.frontends import parse_program
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import CompareExchange, Fence, Instruction, Load, Order, Rmw, Store
from dekker.ir.passes import apply_passes
from dekker.ir.passes.compile_atomics import compile_atomics
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import PROCESSORS, compile_for
from dekker.source import Source
from dekker.task import Task

IN_ORDER = ("tso", "pso", "ghb-tso", "ghb-pso")
FAILURE_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
EXAMPLES = 25
CAMPAIGN_EXAMPLES = 400

ATOMIC = replace(
    C11,
    read_orders=(Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST),
    write_orders=(Order.RELAXED, Order.RELEASE, Order.SEQ_CST),
)
SYNCHRONISING = replace(
    ATOMIC,
    read_orders=(Order.RELAXED, Order.SEQ_CST),
    write_orders=(Order.RELAXED, Order.SEQ_CST),
    fences=("c11.seq_cst", "c11.acq_rel"),
)


@cache
def reference_model(name: str) -> Model:
    """What C11 allows, as far as the hardware model can be expected to respect it."""
    model = load_model("rc11")
    if name in IN_ORDER:
        return model
    text = model.source.text.replace("acyclic po | rf as no-thin-air\n", "")
    assert text != model.source.text
    return compile_model(Source("rc11-without-no-thin-air.cat", text), "rc11-without-no-thin-air")


def final_states(program: Program, model: Model) -> set[tuple[int, ...]]:
    return set(axiomatic.run(Task(program, model)).states)


def check_inclusion(program: Program, name: str) -> None:
    found = final_states(compile_for(program, load_model(name)), load_model(name))
    assert found, "every program has at least one execution"
    assert found <= final_states(program, reference_model(name))


# --- random programs


@st.composite
def c_programs(draw: st.DrawFn, flavour: Flavour = ATOMIC) -> Program:
    """Programs of C: compare-exchanges may be weak, and fail with any order."""
    program = draw(programs(flavour))

    def varied(instruction: Instruction) -> Instruction:
        if not isinstance(instruction, CompareExchange):
            return instruction
        return replace(instruction, weak=draw(st.booleans()), failure_order=draw(st.sampled_from(FAILURE_ORDERS)))

    functions = (replace(function, body=tuple(map(varied, function.body))) for function in program.functions)
    return replace(program, architecture="C", functions=tuple(functions))


@pytest.mark.parametrize("model", PROCESSORS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_hardware_does_what_c11_allows(model: str, data: st.DataObject) -> None:
    check_inclusion(data.draw(c_programs(data.draw(st.sampled_from((ATOMIC, SYNCHRONISING))))), model)


@pytest.mark.slow
@pytest.mark.parametrize("model", PROCESSORS)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_hardware_does_what_c11_allows_campaign(model: str, data: st.DataObject) -> None:
    check_inclusion(data.draw(c_programs(data.draw(st.sampled_from((ATOMIC, SYNCHRONISING))))), model)
