"""The rsmc engine finds the final states that the oracle finds, each in as many traces, on random programs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from tests.strategies.forwarding_chains import forwarding_chains
from tests.strategies.litmus_programs import ANNOTATED, C11, HARDWARE, PLAIN_ACCESSES, RETRIES, programs

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.engines.rsmc.orders import COMMIT_ORDERS, NOT_FOR_UPDATES
from dekker.ir.program import Program
from dekker.ir.text import parse_program, print_program
from dekker.models import OF_C, load_model
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Task

EXAMPLES = 40
CAMPAIGN_EXAMPLES = 1000
ORACLE_S, LOOPS_S = 30.0, 0.5

FLAVOURS = {
    "plain": PLAIN_ACCESSES,
    "updates": HARDWARE,
    "updates that succeed": replace(HARDWARE, exclusives=False, compares=False),
    "retries": replace(RETRIES, max_total=6, max_threads=3),
    "annotated": ANNOTATED,
    "c11": C11,
    "c11 without updates": replace(C11, updates=False),
}
CASES = [
    *((model, "plain") for model in COMMIT_ORDERS if model not in OF_C),
    *((model, "updates") for model in COMMIT_ORDERS if model not in {*OF_C, *NOT_FOR_UPDATES}),
    *((model, "retries") for model in COMMIT_ORDERS if model not in {*OF_C, *NOT_FOR_UPDATES}),
    ("rmo", "updates that succeed"),
    *((model, "annotated") for model in ("aarch64", "riscv")),
    *((model, flavour) for model in OF_C for flavour in ("c11", "c11 without updates")),
]

CHAINED = [model for model in COMMIT_ORDERS if model not in {*OF_C, "armv7"}]


def explored(program: Program, model_name: str, pick_seed: int) -> Result:
    """`pick_seed`, unless 0, draws what is committed next, which must make no difference; nor does it make a difference
    whether continuations wait, as they may if it is even, or are explored where they are found."""
    order = COMMIT_ORDERS[model_name]
    most_waiting = 0 if pick_seed % 2 else order.most_waiting
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(COMMIT_ORDERS, model_name, replace(order, pick_seed=pick_seed, most_waiting=most_waiting))
        return rsmc.run(Task(program, load_model(model_name)))


def compare(program: Program, model_name: str, pick_seed: int, timeout_s: float = ORACLE_S) -> None:
    try:
        found = explored(program, model_name, pick_seed)
    except rsmc.NeedsGuess:
        assert not COMMIT_ORDERS[model_name].address_order
        reject()
    expected = axiomatic.run(Task(program, load_model(model_name), Limits(timeout_s=timeout_s)))
    assume(expected.stopped_by is None)
    assert found.states == expected.states, print_program(program)
    assert found.flags.keys() == expected.flags.keys(), print_program(program)
    assert (found.satisfying, found.violating) == (expected.satisfying, expected.violating)
    assert (found.deadlocks, bool(found.cut)) == (expected.deadlocks, bool(expected.cut)), print_program(program)
    if COMMIT_ORDERS[model_name].in_order:
        assert found.statistics["abandoned"] == 0, print_program(program)


def compare_drawn(data: st.DataObject, model: str, flavour: str) -> None:
    program = data.draw(programs(FLAVOURS[flavour]))
    if FLAVOURS[flavour].retries:
        program = prepare(program, load_model(model), unroll_waits=data.draw(st.booleans()))
    timeout_s = LOOPS_S if FLAVOURS[flavour].retries else ORACLE_S
    compare(program, model, data.draw(st.sampled_from((0, 1, 2, 3))), timeout_s)


def compare_chain(data: st.DataObject, model: str) -> None:
    program = data.draw(forwarding_chains(may_fail=model not in NOT_FOR_UPDATES))
    compare(program, model, data.draw(st.sampled_from((0, 0, 1, 2, 3))), timeout_s=2)


@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_rsmc_agrees_with_the_oracle(model: str, flavour: str, data: st.DataObject) -> None:
    compare_drawn(data, model, flavour)


@pytest.mark.parametrize("model", CHAINED)
@settings(max_examples=EXAMPLES // 2)
@given(data=st.data())
def test_rsmc_agrees_on_what_threads_read_from_themselves(model: str, data: st.DataObject) -> None:
    compare_chain(data, model)


HANDED_ON = "r = load.4 [&z]\nstore.4 [&x] = r add.32 1"
OWN_VALUES = [
    # A selection, each way, and values that only turn up if the guess is right.
    (
        "r = load.4 [&z]\nstore.4 [&x] = (r eq.32 1) ? 1 : 2\na = load.4 [&x]\nstore.4 [&y] = a",
        "r = load.4 [&y]\nstore.4 [&z] = r",
        "",
    ),
    # One alternative depends on a load, the other does not.
    (
        "r = load.4 [&z]\nb = load.4 [&w]\nstore.4 [&x] = (r eq.32 1) ? 1 : b\na = load.4 [&x]\nstore.4 [&y] = a",
        "r = load.4 [&y]\nstore.4 [&z] = r\nstore.4 [&w] = 1",
        "",
    ),
    # It succeeds only because of what it is taken to write.
    (
        "r, s = cmpxchg.4 [&x] 1 -> 2\na = load.4 [&x]\nstore.4 [&y] = a",
        "r = load.4 [&y]\nstore.4 [&x] = (r eq.32 2) ? 1 : 7",
        "",
    ),
    # Or fails, over an own store.
    (
        "store.4 [&x] = 5\nr, s = cmpxchg.4 [&x] 1 -> 2\na = load.4 [&x]\nstore.4 [&y] = a",
        "r = load.4 [&y]\nstore.4 [&x] = (r eq.32 5) ? 1 : 7",
        "",
    ),
    # Updates behind it have their place only if it has.
    (
        "r = load.4 [&z]\na, s = cmpxchg.4 [&x] r -> 0\nrmw.add.4 [&x], 2\na = load.4 [&x]\nstore.4 [&z] = a add.32 1",
        "r = load.4 [&x]\na, s = cmpxchg.4 [&z] 2 -> 3\na = load.4 [&z]\nstore.4 [&x] = a add.32 1",
        "",
    ),
    # What chooses the value is itself left out.
    (
        (
            "r = load.4 [&x]\na, s = cmpxchg.4 [&x] r -> 7\nr = rmw.add.4 [&x], (s eq.32 3) ? 0 : 2\na = load.4 [&x]\n"
            "store.4 [&z] = a add.32 1"
        ),
        "r = load.4 [&z]\na, s = cmpxchg.4 [&z] r -> 1\nr = load.4 [&z]\nstore.4 [&x] = r",
        "",
    ),
    # The read of an update that releases waits for another that a guess leaves out.
    (
        "a, s = cmpxchg.4 [&z] 2 -> 0\nr, s = cmpxchg.4 [&x] a -> 3 release/relaxed\n" + HANDED_ON,
        "r = load.4 [&x]\nstore.4 [&z] = r add.32 1",
        "",
    ),
    # What it is compared with is read later than what it reads.
    (
        "e = load.4 [&x]\na, s = cmpxchg.4 [&z] e add.32 3 -> 2\nstore.4 [&y] = a add.32 1",
        "r = load.4 [&y]\nstore.4 [&x] = (r xor.32 r) sub.32 3",
        "",
    ),
]


@pytest.mark.parametrize("model", ["power", "aarch64", "riscv"])
@pytest.mark.parametrize("bodies", OWN_VALUES)
def test_values_that_are_taken_before_they_are_known(bodies: tuple[str, str, str], model: str) -> None:
    program = three_threads(bodies)
    expected = axiomatic.run(Task(program, load_model(model)))
    for pick_seed in range(6):
        assert explored(program, model, pick_seed).states == expected.states


@pytest.mark.slow
@pytest.mark.parametrize("model", CHAINED)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_rsmc_agrees_on_what_threads_read_from_themselves_campaign(model: str, data: st.DataObject) -> None:
    compare_chain(data, model)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "flavour"), CASES)
@settings(max_examples=CAMPAIGN_EXAMPLES)
@given(data=st.data())
def test_rsmc_agrees_with_the_oracle_campaign(model: str, flavour: str, data: st.DataObject) -> None:
    compare_drawn(data, model, flavour)


UPDATE_OVER_OWN_STORE = """
program update_over_own_store
architecture none

object x[8]

function P0() {
  r0 = load.4 [&x]
  r1 = rmw.xchg.4 [&x], 2
}

function P1() {
  r0 = load.4 [&x]
  r1 = load.4 exclusive [&x]
  store.4 [&x] = 4
  r2 = store-conditional.4 [&x] = 4
}

function P2() {
  store.4 [&x] = 5
}

thread P0 runs P0
thread P1 runs P1
thread P2 runs P2

observe 0:r0, 0:r1, 1:r0, 1:r1, 1:r2, [x].4
"""

MIXED_UPDATES = """
program mixed_updates
architecture none

object x[8]
object y[8]

function P0() {
  store.4 [&y] = 1
  r, s = cmpxchg.4 [&x] 0 -> 2
}

function P1() {
  r = rmw.xchg.4 [&x], 11
  q1 = load.4 [&x]
  q2 = rmw.add.4 [&y], q1 add.32 1
}

function P2() {
  r = rmw.add.4 [&x], 21
  q1 = rmw.xchg.4 [&y], r add.32 1
}

thread P0 runs P0
thread P1 runs P1
thread P2 runs P2

observe 0:r, 1:r, 2:r, [x].4, [y].4
"""


# What takes the place of the store-conditional may be taken back.
PLACE_TAKEN = """
program place_taken
architecture none

object x[8]

function P0() {
  r0 = rmw.max.4 [&x], 1
  r1 = load.4 [&x]
  r2 = load.4 [&x]
}

function P1() {
  r0 = load.4 [&x]
  r1 = load.4 exclusive [&x]
  store.4 [&x] = r1 add.32 1
  r2 = store-conditional.4 [&x] = 5
}

function P2() {
  store.4 [&x] = 6
}

function P3() {
  r0 = load.4 [&x]
}

thread P0 runs P0
thread P1 runs P1
thread P2 runs P2
thread P3 runs P3

exists 0:r1 = 2
observe 0:r0, 0:r1, 0:r2, 1:r0, 1:r1, 1:r2, 3:r0, [x].4
"""


# Does not wait for what it is compared with.
GUESSED = (
    "r = load.4 [&y]\nstore.4 [&x] = r",
    "a = load.4 [&x]\nr, s = cmpxchg.4 [&z] a -> 5\nq = load.4 [&z]\nstore.4 [&y] = q",
    "store.4 [&z] = 7",
)
COMPARE_EXCHANGES = [
    # Fails early: what follows the fence is then free.
    ("r = load.4 [&x]\nstore.4 [&y] = r", "r, s = cmpxchg.4 [&y] 0 -> 3\nfence dmb.st\nstore.4 [&x] = 1", ""),
    ("r = load.4 [&x]\nstore.4 [&y] = 1", "r, s = cmpxchg.4 [&y] 0 -> 3\nfence dmb.st\nstore.4 [&x] = 1", ""),
    GUESSED,
    ("r = load.4 [&z]\nstore.4 [&x] = r", "a = load.4 [&x]\nr, s = cmpxchg.4 [&z] a -> 1\nstore.4 [&z] = 3", ""),
    ("store.4 [&x] = 1\nr = load.4 [&z]", "a = load.4 [&x]\nr, s = cmpxchg.4 [&z] a -> 3\nstore.4 [&z] = 3", ""),
    ("r = load.4 [&y]", "a = load.4 [&y]\nr, s = cmpxchg.4 [&y] 0 -> 1", ""),
    # A load-linked with a store between, behind an own store.
    (
        "r = load.4 [&y]\nstore.4 [&x] = 1",
        "r = load.4 [&x]\nstore.4 [&y] = 1",
        (
            "r = load.4 exclusive [&x]\nbranch r ne.32 0 -> end\nstore.4 [&x] = 2\ns = store-conditional.4 [&x] = 3\n"
            "store.4 [&x] = 4\nend:"
        ),
    ),
    # A later update behind a fence.
    (
        "r, s = cmpxchg.4 [&x] 0 -> 1\nfence eieio\nrmw.or.4 [&y], 2",
        "r = rmw.or.4 [&x], 2",
        "r, s = cmpxchg.4 [&y] 0 -> 5",
    ),
    # A store-conditional that has to succeed, and a load that sees it or not.
    ("v = load.4 [&x]\nr = v", "a = load.4 exclusive [&x]\ns = store-conditional.4 [&x] = 1\nassume s eq.64 0", ""),
    (
        "r = load.4 exclusive [&x]\nbranch r ne.32 0 -> end\nq = store-conditional.4 [&x] = 1\nr = q add.32 5\nend:",
        "a = load.4 exclusive [&x]\ns = store-conditional.4 [&x] = 1\nassume s eq.64 0",
        "",
    ),
    # A store-conditional that has to succeed and goes elsewhere unless its load sees an odd number.
    (
        (
            "r = load.4 exclusive [&y]\nq = store-conditional.4 [&x add.64 ((r and.64 1) mul.64 128)] = 3\n"
            "assume q eq.64 0"
        ),
        "a = load.4 exclusive [&y]\ns = store-conditional.4 [&y] = a add.32 1",
        "r = load.4 [&y]",
    ),
    # A load has the value of an own update before that finds a place, which it may not find in this run.
    (
        (
            "store.4 [&z] = 1\nfence dmb.st\na = rmw.xchg.4 [&x], 11\nr = load.4 [&x]\nt = r xor.64 r\n"
            "d = rmw.xchg.4 [&y add.64 t], 12"
        ),
        "a = load.4 [&y]\nt = a xor.64 a\nr = rmw.xchg.4 [&x add.64 t], 22",
        "",
    ),
    (
        "store.4 [&z] = 1\nfence dmb.st\na = rmw.xchg.4 [&x], 11\nr, s = cmpxchg.4 [&x] 0 -> 13\nstore.4 [&y] = r",
        "a = load.4 [&y]\nt = a xor.64 a\nr = rmw.xchg.4 [&x add.64 t], 22",
        "",
    ),
    # The halves of an update that are parted, and what else comes between.
    (
        "p = load.4 [&y]\nfence dmb.st\nstore.4 [&x] = 11\nr = load.4 [&x]\nt = r xor.64 r\nstore.4 [&y add.64 t] = 12",
        (
            "store.4 [&z] = 1\nfence dmb.st\na = rmw.add.4 [&y], 21\nr = load.4 [&y]\nt = r xor.64 r\n"
            "store.4 [&x add.64 t] = 22"
        ),
        "",
    ),
    (
        "store.4 [&x] = 11\nr, s = cmpxchg.4 [&x] 11 -> 13\nt = r xor.64 r\nstore.4 [&y add.64 t] = 12",
        "a = load.4 [&y]\nt = a xor.64 a\nr = rmw.xchg.4 [&x add.64 t], 22",
        "",
    ),
    # What rests on the first half of an update, and comes back to the location of it, does not need the second half.
    (
        "r = load.4 [&x]",
        "a = load.4 [&y]\nt = a xor.64 a\nstore.4 [&x add.64 t] = 1",
        "r = rmw.xchg.4 [&x], 2\nt = r xor.64 r\nstore.4 [&y add.64 t] = 2",
    ),
    (
        "r = rmw.xchg.4 [&x], 3",
        "a = load.4 [&y]\nt = a xor.64 a\nstore.4 [&x add.64 t] = 1",
        "store.4 [&z] = 1\nr = rmw.add.4 [&x], 2\nt = r xor.64 r\nstore.4 [&y add.64 t] = 2",
    ),
    # What rests on the success of a store-conditional needs its place, which another update has taken.
    (
        "r = load.4 [&z]",
        "r = rmw.xchg.4 [&x], 1",
        "r = load.4 exclusive [&x]\ns = store-conditional.4 [&x] = 3\nbranch s ne.64 0 -> end\nstore.4 [&z] = 3\nend:",
    ),
    (
        "r = load.4 [&z]",
        "a = load.4 exclusive [&x]\ns = store-conditional.4 [&x] = 1",
        "r = load.4 exclusive [&x]\ns = store-conditional.4 [&x] = 3\nt = s xor.64 s\nstore.4 [&z add.64 t] = 3",
    ),
    # An assertion is a branch.
    ("r = load.4 [&y]", 'r = load.4 [&x]\nassert r ne.32 0, "not yet"\nstore.4 [&y] = 2', "store.4 [&x] = 1"),
]


def three_threads(bodies: tuple[str, str, str]) -> Program:
    functions = "".join(f"function P{i}() {{\n{body}\n}}\n" for i, body in enumerate(bodies))
    threads = "".join(f"thread P{i} runs P{i}\n" for i in range(len(bodies)))
    objects = "object w[8]\nobject x[8]\nobject y[8]\nobject z[8]\n"
    observed = "observe 0:r, 1:r, 1:a, 1:s, 2:r, 2:s, [x].4, [y].4, [z].4\n"
    text = f"program small\narchitecture none\n{objects}{functions}{threads}{observed}"
    return parse_program(Source("regression", text))


@pytest.mark.parametrize("model", [name for name in COMMIT_ORDERS if name not in {*OF_C, *NOT_FOR_UPDATES}])
@pytest.mark.parametrize(
    "text",
    [UPDATE_OVER_OWN_STORE, MIXED_UPDATES, PLACE_TAKEN],
    ids=["own store between", "parted halves", "place taken"],
)
def test_updates_that_were_lost_or_found_twice(text: str, model: str) -> None:
    program = parse_program(Source("regression", text))
    expected = axiomatic.run(Task(program, load_model(model)))
    for pick_seed in range(6):
        assert explored(program, model, pick_seed).states == expected.states


PAIR = "r = load.4 exclusive [&x]\nbranch r ne.32 1 -> end\ns = store-conditional.4 [&x] = 1\nassume s eq.64 0\nend:\n"


@pytest.mark.parametrize("model", ["power", "aarch64", "riscv"])
@pytest.mark.parametrize("other", ["store.4 [&x] = 1", "store.4 [&x] = 2", "r = rmw.add.4 [&x], 1"])
def test_an_own_store_that_is_taken_back_with_the_update_of_it(other: str, model: str) -> None:
    """The update is needed, and the store that it reads from early is not."""
    program = three_threads((f"a = load.4 [&y]\n{PAIR}", f"store.4 [&x] = 1\n{PAIR}store.4 [&y] = 1", other))
    expected = axiomatic.run(Task(program, load_model(model)))
    for pick_seed in range(30):
        assert explored(program, model, pick_seed).states == expected.states


@pytest.mark.parametrize("model", [name for name in COMMIT_ORDERS if name not in {*OF_C, *NOT_FOR_UPDATES}])
@pytest.mark.parametrize("bodies", COMPARE_EXCHANGES)
def test_updates_that_may_fail(bodies: tuple[str, str, str], model: str) -> None:
    program = three_threads(bodies)
    expected = axiomatic.run(Task(program, load_model(model)))
    for pick_seed in range(6):
        found = explored(program, model, pick_seed)
        assert found.states == expected.states
        assert found.violations.keys() == expected.violations.keys()
