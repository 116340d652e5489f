"""The replay and the oracle derive executions independently of each other: both must come to the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.corpus.expectations import OWN_CORPUS
from tests.strategies import litmus_programs, odd_programs
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE

from dekker.cat.compiler import compile_model
from dekker.cat.model import Model
from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.axiomatic.engine import Accepted, accepted_executions
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS
from dekker.errors import UnsupportedError
from dekker.execution import Trace, TraceEvent
from dekker.frontends import default_model, parse_program
from dekker.ir.layout import layout
from dekker.ir.passes import apply_passes
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.models import OF_C, load_model, model_names
from dekker.replay import Mismatch, judge, replay
from dekker.replay.machine import COMPLETE
from dekker.source import Source
from dekker.task import Limits, Task

ANYTHING = compile_model(Source("anything.cat", '"anything"\nempty 0 as nothing'))
MOST = 1500
FLAVOURS = [replace(flavour, max_total=6, max_threads=3) for flavour in (HARDWARE, ANNOTATED, C11)]

# Few enough that the test is quick, different enough to use every base relation.
MODELS = ("power", "aarch64", "riscv", "cpp20", "rc11", "rmo")


def candidates(program: Program) -> dict[Trace, Accepted]:
    """All complete executions, whatever the model."""
    found = list(islice(accepted_executions(Task(program, ANYTHING, Limits(unroll=1))), MOST))
    assume(len(found) < MOST)
    return {item.trace(): item for item in found}


def check_same_execution(program: Program, found: Accepted) -> None:
    replayed = replay(program, found.trace())
    expected = found.execution()
    assert replayed.execution.events == expected.events, print_program(program)
    for name, rows in expected.relations.items():
        assert replayed.execution.relations[name] == rows, f"{name}\n{print_program(program)}"
    assert [run.end for run in replayed.runs] == [COMPLETE] * len(program.threads)


def check_same_judgement(program: Program, all_candidates: dict[Trace, Accepted], model: Model) -> None:
    allowed = {item.trace(): item.flags for item in accepted_executions(Task(program, model, Limits(unroll=1)))}
    assert allowed.keys() <= all_candidates.keys()
    for trace in all_candidates:
        judgement = judge(model, replay(program, trace).execution)
        assert judgement.allowed == (trace in allowed), print_program(program)
        if judgement.allowed:
            assert judgement.flags == allowed[trace]


@pytest.mark.parametrize("flavour", FLAVOURS, ids=("hardware", "annotated", "c11"))
@settings(max_examples=40)
@given(data=st.data())
def test_random_programs(flavour: litmus_programs.Flavour, data: st.DataObject) -> None:
    program = data.draw(litmus_programs.programs(flavour))
    found = candidates(program)
    for item in found.values():
        check_same_execution(program, item)
    check_same_judgement(program, found, load_model(data.draw(st.sampled_from(model_names()))))


@settings(max_examples=120)
@given(program=odd_programs.programs(), name=st.sampled_from(MODELS))
def test_odd_programs(program: Program, name: str) -> None:
    found = candidates(program)
    for item in found.values():
        check_same_execution(program, item)
    check_same_judgement(program, found, load_model(name))


@pytest.mark.slow
@settings(max_examples=4000)
@given(program=odd_programs.programs(), name=st.sampled_from(model_names()))
def test_campaign_of_odd_programs(program: Program, name: str) -> None:
    test_odd_programs.hypothesis.inner_test(program, name)  # type: ignore[attr-defined]


def own_corpus() -> list[Path]:
    return sorted(OWN_CORPUS.rglob("*.litmus"))


def test_own_corpus() -> None:
    replayed = 0
    for file in own_corpus():
        program = apply_passes(parse_program(Source(str(file), file.read_text(encoding="utf-8"))))
        model = load_model(default_model(program))
        for item in islice(accepted_executions(Task(program, model)), 40):
            check_same_execution(program, item)
            judgement = judge(model, replay(program, item.trace()).execution)
            assert judgement.allowed
            assert judgement.flags == item.flags
            replayed += 1
    assert replayed > 1000


@settings(max_examples=100)
@given(program=odd_programs.programs())
def test_examples_of_states_and_violations(program: Program) -> None:
    """Each example ends in the state, or shows the violation, that it is kept for."""
    found = axiomatic.run(Task(program, load_model("power"), Limits(unroll=1, timeout_s=10), examples=True))
    assume(found.stopped_by is None)
    assert found.examples.states.keys() == found.states.keys()
    assert found.examples.violations.keys() == found.violations.keys()
    for state, trace in found.examples.states.items():
        values = replay(program, trace).values
        assert tuple(values[item] for item in program.property.observed) == state
    for violation, trace in found.examples.violations.items():
        assert violation in replay(program, trace).violations


def check_rsmc_examples(program: Program, model: Model) -> None:
    try:
        found = rsmc.run(Task(program, model, Limits(unroll=1, timeout_s=10), examples=True))
    except UnsupportedError:
        assume(False)
    assume(found.stopped_by is None)
    # An execution without events is no example.
    assert found.examples.states.keys() == found.states.keys() or not found.examples.states
    for state, trace in found.examples.states.items():
        replayed = replay(program, trace)
        assert tuple(replayed.values[item] for item in program.property.observed) == state, print_program(program)
        assert judge(model, replayed.execution).allowed, print_program(program)
        assert all(run.end == COMPLETE for run in replayed.runs), print_program(program)
    for violation, trace in found.examples.violations.items():
        replayed = replay(program, trace)
        assert violation in replayed.violations, print_program(program)
        assert judge(model, replayed.execution).allowed, print_program(program)


@settings(max_examples=60)
@given(data=st.data())
def test_examples_of_rsmc(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(COMMIT_ORDERS)))
    flavour = C11 if name in OF_C else data.draw(st.sampled_from((HARDWARE, ANNOTATED)))
    check_rsmc_examples(data.draw(litmus_programs.programs(flavour)), load_model(name))


@settings(max_examples=80)
@given(program=odd_programs.programs(), name=st.sampled_from(sorted(COMMIT_ORDERS)))
def test_examples_of_rsmc_in_odd_programs(program: Program, name: str) -> None:
    check_rsmc_examples(program, load_model(name))


# --- traces that were tampered with


def mutations(trace: Trace, addresses: list[int]) -> Iterator[Trace]:
    """Wrong values, addresses, sources and ranks, an event that is missing, one that is there twice."""
    for position, item in enumerate(trace):
        changed: list[TraceEvent] = []
        if item.kind in "RWC":
            changed += [item._replace(value=value) for value in (0, 1, 2, item.value + 1, item.value ^ 0xFF)]
        if item.kind in "RW":
            changed += [item._replace(address=address) for address in addresses]
            changed += [item._replace(size=8), item._replace(kind="F")]
        if item.kind == "R":
            changed += [item._replace(link=link) for link in range(-2, len(trace) + 1)]
        changed.append(item._replace(instruction=item.instruction + 1))
        for other in changed:
            yield (*trace[:position], other, *trace[position + 1 :])
        yield _without(trace, position)
        yield (*trace[:position], item, *trace[position:])
    writes = [position for position, item in enumerate(trace) if item.kind == "W"]
    for first in writes:
        for second in writes:
            yield _swapped(trace, first, second)


def _without(trace: Trace, position: int) -> Trace:
    def moved(item: TraceEvent) -> TraceEvent:
        return item._replace(link=item.link - 1) if item.kind == "R" and item.link > position else item

    return tuple(moved(item) for i, item in enumerate(trace) if i != position)


def _swapped(trace: Trace, first: int, second: int) -> Trace:
    changed = list(trace)
    changed[first] = trace[first]._replace(link=trace[second].link)
    changed[second] = trace[second]._replace(link=trace[first].link)
    return tuple(changed)


def is_execution(program: Program, trace: Trace) -> bool:
    try:
        replayed = replay(program, trace)
    except Mismatch:
        return False
    return all(run.end == COMPLETE for run in replayed.runs)


def reads_its_own_future(trace: Trace) -> bool:
    """The address of the write may depend on the read. The oracle leaves such circles out; no model allows them."""
    return any(
        item.kind == "R" and item.link > position and trace[item.link].thread == item.thread
        for position, item in enumerate(trace)
    )


def check_mutations(program: Program, number: int) -> None:
    """What was tampered with is no execution, or another one that the oracle knows as well."""
    found = candidates(program)
    assume(found)
    trace = list(found)[number % len(found)]
    places = layout(program)
    for changed in islice(mutations(trace, [places.starts["x"], places.starts["x"] + 4]), 400):
        accepted = is_execution(program, changed)
        known = changed in found or (accepted and reads_its_own_future(changed))
        assert accepted == known, (print_program(program), changed)


@settings(max_examples=40)
@given(program=litmus_programs.programs(FLAVOURS[0]), number=st.integers(0, MOST))
def test_mutated_traces(program: Program, number: int) -> None:
    check_mutations(program, number)


@settings(max_examples=60)
@given(program=odd_programs.programs(), number=st.integers(0, MOST))
def test_mutated_traces_of_odd_programs(program: Program, number: int) -> None:
    check_mutations(program, number)
