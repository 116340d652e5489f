"""The oracle reaches exactly the final states of operational machines: store buffers for SC, TSO and PSO, out-of-order
execution for RMO."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference import out_of_order, store_buffers
from tests.reference.store_buffers import Buffers
from tests.strategies.critical_cycles import critical_cycles
from tests.strategies.litmus_programs import HARDWARE, PLAIN_ACCESSES, programs

from dekker.engines.axiomatic.engine import run
from dekker.ir.expressions import Address, Binary, Const, Reg, Select
from dekker.ir.instructions import (
    MEMORY_ACCESSES,
    Assert,
    Assign,
    Branch,
    CompareExchange,
    Fence,
    Instruction,
    Load,
    Rmw,
    Store,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue
from dekker.models import load_model
from dekker.task import Task

# One that orders everything, one for each pair of accesses, some for several pairs, and one that orders nothing.
FENCES = (
    "mfence",
    "membar.loadload",
    "membar.loadstore",
    "membar.storeload",
    "stbar",
    "fence.w.rw",
    "lwsync",
    "isync",
)
MAX_EVENTS = 8


def is_small(program: Program) -> bool:
    """Few programs are larger, but those take the oracle minutes."""
    instructions = [instruction for function in program.functions for instruction in function.body]
    accesses = sum(isinstance(instruction, MEMORY_ACCESSES) for instruction in instructions)
    updates = sum(isinstance(instruction, Rmw | CompareExchange) for instruction in instructions)
    return accesses + updates <= MAX_EVENTS


PROGRAMS = {
    "random": programs(replace(PLAIN_ACCESSES, fences=FENCES, max_total=7)).filter(is_small),
    "random-updates": programs(replace(HARDWARE, fences=FENCES, max_total=7)).filter(is_small),
    "cycles": critical_cycles(FENCES, updates=False),
    "cycles-updates": critical_cycles(FENCES),
}
MODELS = ("sc", "tso", "pso", "rmo")
EXAMPLES = 50
CAMPAIGN_EXAMPLES = 3000


def final_states(program: Program, model: str) -> set[tuple[int, ...]]:
    if model == "rmo":
        return out_of_order.explore(program)
    return store_buffers.explore(program, Buffers(model)).final


def check_agreement(program: Program, model: str) -> None:
    assert set(run(Task(program, load_model(model))).states) == final_states(program, model)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_final_states(kind: str, model: str, data: st.DataObject) -> None:
    check_agreement(data.draw(PROGRAMS[kind]), model)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", PROGRAMS)
@settings(max_examples=CAMPAIGN_EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_final_states_campaign(kind: str, model: str, data: st.DataObject) -> None:
    check_agreement(data.draw(PROGRAMS[kind]), model)


def test_a_selected_value_depends_on_the_condition() -> None:
    """Each thread stores 1 only if it loaded 1."""
    chosen = Select(Binary("eq", 32, Reg("r0"), Const(1)), Const(1), Const(0))
    functions = tuple(
        Function(name, (), (Load("r0", Address(source), 4), Assign("r1", chosen), Store(Address(target), Reg("r1"), 4)))
        for name, source, target in (("P0", "x", "y"), ("P1", "y", "x"))
    )
    check_agreement(two_threads(functions, RegisterValue(0, "r0"), RegisterValue(1, "r0")), "rmo")


@pytest.mark.parametrize(
    ("buffers", "fences", "failed"),
    [
        (Buffers.NONE, (), set()),
        (Buffers.PER_THREAD, (), set()),
        (Buffers.PER_LOCATION, (), {"alone"}),
        (Buffers.PER_LOCATION, (Fence("stbar"),), set()),
    ],
)
def test_spin_lock(buffers: Buffers, fences: tuple[Fence, ...], failed: set[str]) -> None:
    """The store-buffer machines handle loops: under PSO the release of a lock overtakes stores of the section."""
    lock, data = Address("x"), Address("y")
    body: tuple[Instruction, ...] = (
        Rmw("r0", "xchg", lock, Const(1), 4),
        Branch(Reg("r0"), "spin"),
        Load("r1", data, 4),
        Assert(Binary("eq", 32, Reg("r1"), Const(0)), "alone"),
        Store(data, Const(1), 4),
        Store(data, Const(0), 4),
        *fences,
        Store(lock, Const(0), 4),
    )
    functions = tuple(Function(name, (), body, {"spin": 0}) for name in ("P0", "P1"))
    outcome = store_buffers.explore(two_threads(functions, MemoryValue("x"), MemoryValue("y")), buffers)
    assert outcome.failed == failed
    assert outcome.final == {(0, 0)}


def two_threads(functions: tuple[Function, ...], *observed: Observable) -> Program:
    objects = (Object("x", 8), Object("y", 8))
    threads = tuple(Thread(function.name, function.name) for function in functions)
    return Program("hand-written", "none", objects, functions, threads, Property(observed=observed))
