"""Compiled C11 programs do on hardware what C11 allows, and no more.

RC11 forbids cycles of program order and reads-from; processors other than TSO and PSO do not keep a relaxed load before
a later store, so there the comparison is with RC11 without that axiom (`no-thin-air`), as in its authors' proof.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from tests.corpus.expectations import OWN_CORPUS
from tests.reference.exclusive_pairs import with_exclusive_pairs
from tests.strategies.litmus_programs import C11, Flavour, programs

from dekker.cat.compiler import compile_model
from dekker.cat.model import Model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.frontends import parse_program
from dekker.ir.expressions import Address, Const
from dekker.ir.instructions import CompareExchange, Fence, Instruction, Load, Order, Rmw, Store
from dekker.ir.passes import apply_passes
from dekker.ir.passes.compile_atomics import compile_atomics
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue
from dekker.ir.validate import validate
from dekker.models import load_model
from dekker.run.prepare import PROCESSORS, compile_for, prepare
from dekker.source import Source
from dekker.task import Task

IN_ORDER = ("tso", "pso", "ghb-tso", "ghb-pso")
FAILURE_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
EXAMPLES = 10
CAMPAIGN_EXAMPLES = 400

SMALL = replace(C11, max_threads=3, max_total=6)
ATOMIC = replace(
    SMALL,
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
    (included,) = model.includes
    _, _, axioms = included.source.text.partition("\n")
    kept = axioms.replace("acyclic po | rf as no-thin-air\n", "")
    assert kept != axioms
    text = model.source.text.replace(f'include "{included.path}"', kept)
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


@pytest.mark.parametrize("model", PROCESSORS)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_hardware_does_what_c11_allows_of_programs_without_races(model: str, data: st.DataObject) -> None:
    program = data.draw(c_programs(SMALL))
    assume(not axiomatic.run(Task(program, reference_model(model))).flags)
    check_inclusion(program, model)


@pytest.mark.parametrize("model", ["power", "armv7", "aarch64"])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_updates_are_as_good_as_exclusive_pairs(model: str, data: st.DataObject) -> None:
    program = compile_for(data.draw(c_programs()), load_model(model))
    assume(any(isinstance(item, Rmw) for function in program.functions for item in function.body))
    check_pairs(program, model)


def check_pairs(program: Program, model: str) -> None:
    pairs = with_exclusive_pairs(program)
    validate(pairs)
    final = final_states(apply_passes(pairs), load_model(model))
    assert final == final_states(apply_passes(program), load_model(model))


@pytest.mark.parametrize("model", [name for name in PROCESSORS if not name.startswith("ghb-")])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_engines_agree_on_compiled_programs(model: str, data: st.DataObject) -> None:
    program = prepare(data.draw(c_programs()), load_model(model))
    task = Task(program, load_model(model))
    try:
        found = rsmc.run(task)
    except UnsupportedError:
        reject()
    assert found.states == axiomatic.run(task).states


# --- the corpus


C_TESTS = sorted(OWN_CORPUS.glob("*/C/*.litmus"))


@pytest.mark.parametrize("model", PROCESSORS)
@pytest.mark.parametrize("path", C_TESTS, ids=lambda path: path.stem)
def test_corpus(path: Path, model: str) -> None:
    program = parse_program(Source(str(path), path.read_text(encoding="utf-8")))
    reference = axiomatic.run(Task(prepare(program, load_model("rc11")), reference_model(model)))
    found = axiomatic.run(Task(prepare(program, load_model(model)), load_model(model)))
    assert found.states
    assert reference.flags or set(found.states) <= set(reference.states)


def test_there_is_a_corpus() -> None:
    assert len(C_TESTS) >= 16


# --- classics

MODELS = dict(zip("TSRP78VC", ("tso", "pso", "rmo", "power", "armv7", "aarch64", "riscv", "rc11"), strict=True))

# Name, the models that allow it by their letters, an outcome, and threads. Orders stand behind a dot; `r0=x!1` is an
# exchange, `r0=x?9` a compare-exchange that expects 9, `F` a fence.
CLASSICS = """
SB+rlx        | TSRP78VC | 0:r0=0 1:r0=0 | x=1.rlx; r0=y.rlx // y=1.rlx; r0=x.rlx
SB+rel-acq    | TSRP7VC  | 0:r0=0 1:r0=0 | x=1.rel; r0=y.acq // y=1.rel; r0=x.acq
SB+sc         |          | 0:r0=0 1:r0=0 | x=1.sc; r0=y.sc // y=1.sc; r0=x.sc
SB+sc+rlx     | P8VC     | 0:r0=0 1:r0=0 | x=1.sc; r0=y.rlx // y=1.sc; r0=x.rlx
SB+F.acq_rel  | TSRPVC   | 0:r0=0 1:r0=0 | x=1.rlx; F.acq_rel; r0=y.rlx // y=1.rlx; F.acq_rel; r0=x.rlx
SB+F.sc       |          | 0:r0=0 1:r0=0 | x=1.rlx; F.sc; r0=y.rlx // y=1.rlx; F.sc; r0=x.rlx
SB+xchg.rlx   | P78VC    | 0:r1=0 1:r1=0 | r0=x!1.rlx; r1=y.rlx // r0=y!1.rlx; r1=x.rlx
SB+xchg.sc    | P8C      | 0:r1=0 1:r1=0 | r0=x!1.sc; r1=y.rlx // r0=y!1.sc; r1=x.rlx
SB+xchg.sc+sc |          | 0:r1=0 1:r1=0 | r0=x!1.sc; r1=y.sc // r0=y!1.sc; r1=x.sc
SB+failed-cas |          | 0:r0=0 1:r0=0 | x=1.sc; r0=y?9.sc // y=1.sc; r0=x?9.sc
MP+rlx        | SRP78VC  | 1:r0=1 1:r1=0 | x=1.rlx; y=1.rlx // r0=y.rlx; r1=x.rlx
MP+rel+rlx    | P78VC    | 1:r0=1 1:r1=0 | x=1.rlx; y=1.rel // r0=y.rlx; r1=x.rlx
MP+rel-acq    |          | 1:r0=1 1:r1=0 | x=1.rlx; y=1.rel // r0=y.acq; r1=x.rlx
MP+fences     |          | 1:r0=1 1:r1=0 | x=1.rlx; F.rel; y=1.rlx // r0=y.rlx; F.acq; r1=x.rlx
MP+sc         |          | 1:r0=1 1:r1=0 | x=1.sc; y=1.sc // r0=y.sc; r1=x.sc
MP+cas        |          | 1:r0=1 1:r1=0 | x=1.rlx; y=1.rel // r0=y?1.acq; r1=x.rlx
MP+failed-cas |          | 1:r0=1 1:r1=0 | x=1.rlx; y=1.rel // r0=y?9.acq; r1=x.rlx
LB+rlx        | RP78V    | 0:r0=1 1:r0=1 | r0=x.rlx; y=1.rlx // r0=y.rlx; x=1.rlx
LB+acq        |          | 0:r0=1 1:r0=1 | r0=x.acq; y=1.rlx // r0=y.acq; x=1.rlx
LB+rel        |          | 0:r0=1 1:r0=1 | r0=x.rlx; y=1.rel // r0=y.rlx; x=1.rel
IRIW+rlx      | P78VC    | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | x=1.rlx // r0=x.rlx; r1=y.rlx // y=1.rlx // r0=y.rlx; r1=x.rlx
IRIW+rel-acq  | PC       | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | x=1.rel // r0=x.acq; r1=y.acq // y=1.rel // r0=y.acq; r1=x.acq
IRIW+sc       |          | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | x=1.sc // r0=x.sc; r1=y.sc // y=1.sc // r0=y.sc; r1=x.sc
IRIW+F.sc |  | 1:r0=1 1:r1=0 3:r0=1 3:r1=0 | x=1.rlx // r0=x.rlx; F.sc; r1=y.rlx // y=1.rlx // r0=y.rlx; F.sc; r1=x.rlx
WRC+rel-acq   |          | 1:r0=1 2:r0=1 2:r1=0 | x=1.rlx // r0=x.rlx; y=1.rel // r0=y.acq; r1=x.rlx
WRC+acq       |          | 1:r0=1 2:r0=1 2:r1=0 | x=1.rel // r0=x.acq; y=1.rel // r0=y.acq; r1=x.rlx
2+2W+rlx      | SRP78VC  | x=1 y=1 | x=1.rlx; y=2.rlx // y=1.rlx; x=2.rlx
2+2W+rel      | C        | x=1 y=1 | x=1.rel; y=2.rel // y=1.rel; x=2.rel
2+2W+sc       |          | x=1 y=1 | x=1.sc; y=2.sc // y=1.sc; x=2.sc
CoRR+rlx      |          | 1:r0=1 1:r1=0 | x=1.rlx // r0=x.rlx; r1=x.rlx
MP+sc+rlx     |          | 1:r0=1 1:r1=0 | x=1.rlx; y=1.sc // r0=y.sc; r1=x.rlx
MP+F.acq_rel  |          | 1:r0=1 1:r1=0 | x=1.rlx; F.acq_rel; y=1.rlx // r0=y.rlx; F.acq_rel; r1=x.rlx
MP+xchg.rel   |          | 1:r0=1 1:r1=0 | x=1.rlx; r0=y!1.rel // r0=y!2.acq; r1=x.rlx
MP+cas.rel    |          | 1:r0=2 1:r1=0 | x=1.rlx; r0=y?0.rel // r0=y?2.acq; r1=x.rlx
LB+xchg.rel   |          | 0:r0=1 1:r0=1 | r0=x.rlx; r1=y!1.rel // r0=y.acq; x=1.rlx
LB+cas.rel    |          | 0:r0=1 1:r0=2 | r0=x.rlx; r1=y?0.rel // r0=y.acq; x=1.rlx
MP+xchg.acq_r |          | 1:r0=1 1:r1=0 | x=1.rlx; r0=y!1.acq_rel // r0=y!2.acq_rel; r1=x.rlx
MP+cas.acq_rel |          | 1:r0=2 1:r1=0 | x=1.rlx; r0=y?0.acq_rel // r0=y?2.acq_rel; r1=x.rlx
LB+xchg.acq_rel |          | 0:r0=1 1:r0=1 | r0=x.rlx; r1=y!1.acq_rel // r0=y.acq; x=1.rlx
LB+cas.acq_rel |          | 0:r0=1 1:r0=2 | r0=x.rlx; r1=y?0.acq_rel // r0=y.acq; x=1.rlx
MP+xchg.sc    |          | 1:r0=1 1:r1=0 | x=1.rlx; r0=y!1.sc // r0=y!2.sc; r1=x.rlx
MP+cas.sc     |          | 1:r0=2 1:r1=0 | x=1.rlx; r0=y?0.sc // r0=y?2.sc; r1=x.rlx
LB+xchg.sc    |          | 0:r0=1 1:r0=1 | r0=x.rlx; r1=y!1.sc // r0=y.acq; x=1.rlx
LB+cas.sc     |          | 0:r0=1 1:r0=2 | r0=x.rlx; r1=y?0.sc // r0=y.acq; x=1.rlx
LB+sc         |          | 0:r0=1 1:r0=1 | r0=x.sc; y=1.rlx // r0=y.sc; x=1.rlx
LB+rlx-sc     |          | 0:r0=1 1:r0=1 | r0=x.rlx; y=1.sc // r0=y.rlx; x=1.sc
LB+F.acq      |          | 0:r0=1 1:r0=1 | r0=x.rlx; F.acq; y=1.rlx // r0=y.rlx; F.acq; x=1.rlx
LB+F.rel      |          | 0:r0=1 1:r0=1 | r0=x.rlx; F.rel; y=1.rlx // r0=y.rlx; F.rel; x=1.rlx
LB+F.acq_rel  |          | 0:r0=1 1:r0=1 | r0=x.rlx; F.acq_rel; y=1.rlx // r0=y.rlx; F.acq_rel; x=1.rlx
S+sc          |          | 1:r0=1 x=2 | x=2.rlx; y=1.sc // r0=y.acq; x=1.rlx
S+F.acq_rel   |          | 1:r0=1 x=2 | x=2.rlx; F.acq_rel; y=1.rlx // r0=y.rlx; F.acq_rel; x=1.rlx
SB+sc+xchg    |          | 0:r0=0 1:r0=0 | x=1.sc; r0=y!2.sc // y=1.sc; r0=x!2.sc
SB+sc+cas     |          | 0:r0=0 1:r0=0 | x=1.sc; r0=y?0.sc // y=1.sc; r0=x?0.sc
Z6.U          | PC       | 1:r0=1 1:r1=3 2:r0=0 | x=1.sc; y=1.rel // r0=y!2.sc; r1=y.rlx // y=3.sc; r0=x.sc
"""

ORDERS = {"rlx": "relaxed", "rel": "release", "acq": "acquire", "sc": "seq_cst"}


FAILED = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}


def classics() -> list[object]:
    rows = (re.split(r" *\| ?", line) for line in CLASSICS.strip().splitlines())
    return [pytest.param(threads, outcome, allowed, id=name) for name, allowed, outcome, threads in rows]


def parse_classic(threads: str, outcome: str) -> tuple[Program, tuple[int, ...]]:
    bodies = [tuple(map(statement, text.split(";"))) for text in threads.split("//")]
    functions = tuple(Function(f"P{number}", (), body) for number, body in enumerate(bodies))
    started = tuple(Thread(function.name, function.name) for function in functions)
    expected = {observable(name): int(value) for name, value in (item.split("=") for item in outcome.split())}
    objects = (Object("x", 8), Object("y", 8))
    program = Program("classic", "C", objects, functions, started, Property(observed=tuple(expected)))
    return program, tuple(expected.values())


def statement(text: str) -> Instruction:
    text, _, order_text = text.strip().partition(".")
    order = Order(ORDERS.get(order_text, order_text))
    if text == "F":
        return Fence(f"c11.{order.value}")
    left, right = text.split("=")
    location, mark, number = re.fullmatch(r"(\w+)([!?]?)(\d*)", right).groups()  # type: ignore[union-attr]
    if mark == "!":
        return Rmw(left, "xchg", Address(location), Const(int(number)), 4, order)
    if mark == "?":
        return CompareExchange(
            left, None, Address(location), Const(int(number)), Const(2), 4, order, FAILED.get(order, order)
        )
    if left.startswith("r"):
        return Load(left, Address(location), 4, order)
    return Store(Address(left), Const(int(right)), 4, order)


def observable(name: str) -> Observable:
    thread, colon, register = name.partition(":")
    return RegisterValue(int(thread), register) if colon else MemoryValue(name)


@pytest.mark.parametrize(("threads", "outcome", "allowed"), classics())
def test_classics(threads: str, outcome: str, allowed: str) -> None:
    program, state = parse_classic(threads, outcome)
    models = {letter: load_model(name) for letter, name in MODELS.items()}
    found = [letter for letter, model in models.items() if state in final_states(prepare(program, model), model)]
    assert "".join(found) == allowed


def test_reservations_of_power_hold_for_updates() -> None:
    program, _ = parse_classic("r0=x!1.rlx; r1=y!2.rlx // r0=y!1.rlx; r1=x!2.rlx", "x=1 y=1")
    check_pairs(compile_atomics(program, "power"), "power")
