"""Commit-before orders: no execution that a model allows has a cycle in its order (validity), and whatever is committed
first, every event has a parameter that the model allows (freedom from deadlocks)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tests.strategies.critical_cycles import critical_cycles
from tests.strategies.forwarding_chains import forwarding_chains
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, PLAIN_ACCESSES, programs

from dekker.engines.axiomatic.engine import LimitReached, accepted_executions
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS, NOT_FOR_UPDATES, CommitOrder
from dekker.errors import UnsupportedError
from dekker.execution import Event, Execution
from dekker.frontends import default_model, parse_program
from dekker.ir.fences import ALL_PAIRS, FENCES
from dekker.ir.program import Program
from dekker.ir.text import print_program
from dekker.models import OF_C, load_model
from dekker.result import Result
from dekker.source import Source
from dekker.task import Limits, Task

ROOT = Path(__file__).parents[2]
FIGURE_5 = ROOT / "examples" / "rsmc" / "coherence-and-sync.rsmc"
OWN_CORPUS = sorted((ROOT / "tests" / "corpus" / "tests").rglob("*.litmus"))
EXECUTIONS_PER_PROGRAM, SECONDS_PER_PROGRAM = 60, 0.5
SEEDS = range(1, 13)
FENCES_BETWEEN = ("sync", "lwsync", "dmb.st", "dmb.ld", "mfence")

# With a write that is not committed in program order with earlier accesses of its location, coherence may leave those
# no place. The explorer gives such a run up and goes on looking for races.
NOT_FREE_OF_DEADLOCKS = {"armv7"}

FLAVOURS = {
    "aarch64": ANNOTATED,
    "riscv": ANNOTATED,
    "cpp20": C11,
    "rc11": C11,
    "armv7": PLAIN_ACCESSES,
    "rmo": replace(HARDWARE, exclusives=False, compares=False),
}


def commit_before(execution: Execution, order: CommitOrder) -> list[set[int]]:
    """For each event what must be committed before it, from the relations of a complete execution."""
    events = execution.events
    size = len(events)
    before: list[set[int]] = [set() for _ in range(size)]
    rows = {
        name: [{j for j in range(size) if row >> j & 1} for row in rows] for name, rows in execution.relations.items()
    }
    po = rows["po"]
    # What only chooses the value of a store is not waited for: the value is guessed.
    data_names = ("data",) if order.forwarding_of_updates else ("data", "pick-data")
    sources, data = (
        [{i for i in range(size) for name in names if j in rows.get(name, [set()] * size)[i]} for j in range(size)]
        for names in (("addr", "pick-addr"), data_names)
    )
    for j, event in enumerate(events):
        if event.initial or event.kind == "F":
            continue
        for name in ("addr", "data", "ctrl", "pick-addr", "pick-data", "pick-ctrl"):
            before[j] |= {i for i in range(size) if j in rows.get(name, [set()] * size)[i]}
        written_by = {i for i in range(size) if j in rows["rf"][i] and not events[i].initial}
        forwarded = {i for i in written_by if order.forwarding and forwards(events[i], event, order)}
        before[j] |= written_by - forwarded
        for i in forwarded:
            before[j] |= data[i] | sources[i]
        for i in range(size):
            if j not in po[i]:
                continue
            if order.address_order:  # the engine refuses programs in which it matters to others
                before[j] |= sources[i]
            if order.in_order or is_kept(events, po, i, j, order, bool(forwarded)):
                before[j].add(i)
    return [{i for i in past if events[i].kind != "F"} for past in before]


def forwards(write: Event, read: Event, order: CommitOrder) -> bool:
    if write.thread != read.thread or order.forwarding_of_updates:
        return write.thread == read.thread
    return not write.tags & {"X", "AMO"} and not {"AMO", "RMW"} <= read.tags


def is_kept(events: tuple[Event, ...], po: list[set[int]], i: int, j: int, order: CommitOrder, forwarded: bool) -> bool:
    first, second = events[i], events[j]
    if first.kind == "F":
        return False
    one, other = order.local(first), order.local(second)
    pair = first.kind + second.kind
    fenced = any(
        events[k].kind == "F" and k in po[i] and j in po[k] and orders(events[k], pair, one.only_full_fences)
        for k in range(len(events))
    )
    if fenced or one.before_later or other.after_earlier or (one.strong_release and other.strong_acquire):
        return True
    if first.address != second.address or forwarded:
        return False
    plain = not (first.tags | second.tags) & {"X", "AMO"}
    if second.kind == "W":
        return order.same_location_writes or not plain
    return order.same_location_reads or first.kind == "W"


def orders(fence: Event, pair: str, only_if_full: bool) -> bool:
    kept = FENCES[fence.fence].orders
    return kept == ALL_PAIRS if only_if_full else pair in kept


def has_cycle(before: list[set[int]]) -> bool:
    left = set(range(len(before)))
    while left:
        free = {j for j in left if not before[j] & left}
        if not free:
            return True
        left -= free
    return False


def check_validity(program: Program, model_name: str) -> None:
    task = Task(program, load_model(model_name), Limits(timeout_s=SECONDS_PER_PROGRAM))
    with suppress(LimitReached):
        for accepted in islice(accepted_executions(task), EXECUTIONS_PER_PROGRAM):
            assert not has_cycle(commit_before(accepted.execution(), COMMIT_ORDERS[model_name]))


@pytest.mark.parametrize("name", COMMIT_ORDERS)
@settings(max_examples=40)
@given(data=st.data())
def test_orders_are_valid(name: str, data: st.DataObject) -> None:
    check_validity(data.draw(programs(FLAVOURS.get(name, HARDWARE))), name)


@pytest.mark.parametrize("name", [name for name in COMMIT_ORDERS if name not in (*OF_C, "armv7")])
@settings(max_examples=20)
@given(data=st.data())
def test_orders_are_valid_on_forwarding_chains(name: str, data: st.DataObject) -> None:
    check_validity(data.draw(forwarding_chains(may_fail=name not in NOT_FOR_UPDATES)), name)


@pytest.mark.parametrize("name", [name for name in COMMIT_ORDERS if name not in OF_C])
@settings(max_examples=60)
@given(data=st.data())
def test_orders_are_valid_on_critical_cycles(name: str, data: st.DataObject) -> None:
    check_validity(data.draw(critical_cycles(FENCES_BETWEEN, updates=name not in NOT_FOR_UPDATES)), name)


def test_an_order_that_is_too_strong_is_found_out() -> None:
    """Load buffering is allowed by POWER and has a cycle of program order and reads-from."""
    source = """PPC LB
{ 0:r2=x; 0:r4=y; 1:r2=y; 1:r4=x; }
 P0           | P1           ;
 lwz r1,0(r2) | lwz r1,0(r2) ;
 li r3,1      | li r3,1      ;
 stw r3,0(r4) | stw r3,0(r4) ;
exists (0:r1=1 /\\ 1:r1=1)
"""
    program = parse_program(Source("LB.litmus", source))
    executions = [accepted.execution() for accepted in accepted_executions(Task(program, load_model("power")))]
    assert any(has_cycle(commit_before(execution, COMMIT_ORDERS["sc"])) for execution in executions)
    assert not any(has_cycle(commit_before(execution, COMMIT_ORDERS["power"])) for execution in executions)


def run_with(program: Program, model_name: str, order: CommitOrder, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.setitem(COMMIT_ORDERS, model_name, order)
    try:
        return rsmc.run(Task(program, load_model(model_name)))
    except rsmc.NeedsGuess:
        assert not order.address_order
        reject()


def results_by_seed(
    program: Program, model_name: str, order: CommitOrder, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Result]:
    for seed in SEEDS:
        yield run_with(program, model_name, replace(order, pick_seed=seed), monkeypatch)


def test_figure_5_needs_program_order_per_location(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_program(Source(str(FIGURE_5), FIGURE_5.read_text()))
    power = COMMIT_ORDERS["power"]
    without = replace(power, same_location_reads=False, same_location_writes=False)
    assert any(result.statistics["stuck"] for result in results_by_seed(program, "power", without, monkeypatch))
    assert not any(result.statistics["stuck"] for result in results_by_seed(program, "power", power, monkeypatch))


@pytest.mark.parametrize("name", COMMIT_ORDERS)
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_is_committed_first(name: str, data: st.DataObject) -> None:
    program = data.draw(programs(FLAVOURS.get(name, HARDWARE)))
    with pytest.MonkeyPatch.context() as monkeypatch:
        usual = run_with(program, name, COMMIT_ORDERS[name], monkeypatch)
        drawn = run_with(
            program, name, replace(COMMIT_ORDERS[name], pick_seed=data.draw(st.integers(1, 99))), monkeypatch
        )
    assert drawn.states == usual.states, print_program(program)
    if name not in NOT_FREE_OF_DEADLOCKS:
        assert drawn.statistics["stuck"] == usual.statistics["stuck"] == 0, print_program(program)


def is_refused(program: Program, name: str) -> bool:
    try:
        rsmc.commit_order(Task(program, load_model(name)))
    except UnsupportedError:
        return True
    return False


@pytest.mark.parametrize("seed", [1, 2])
def test_own_corpus_whatever_is_committed_first(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in OWN_CORPUS:
        program = parse_program(Source(str(file), file.read_text()))
        name = default_model(program)
        order = COMMIT_ORDERS[name]
        if is_refused(program, name):
            continue
        usual = run_with(program, name, order, monkeypatch)
        drawn = run_with(program, name, replace(order, pick_seed=seed), monkeypatch)
        monkeypatch.setitem(COMMIT_ORDERS, name, order)
        assert drawn.states == usual.states, file
        assert usual.statistics["stuck"] == 0, file
        assert name in NOT_FREE_OF_DEADLOCKS or drawn.statistics["stuck"] == 0, file
