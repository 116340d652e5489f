"""Conditions mean what they should: an execution that satisfies one contains the cycle. Checked on all coherence orders
of the abstract tests, without instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import pytest

from dekker.generate import DIALECTS, enumerate_cycles, parse_cycle
from dekker.generate.cycles import Cycle, resolve
from dekker.generate.edges import Kind
from dekker.generate.names import name_and_rotation
from dekker.generate.synthesis import Access, Test, synthesise

VOCABULARY = DIALECTS["PPC"].vocabulary
POOL = "Rfe Fre Coe Rfi Fri Coi PodRR PodRW PodWR PodWW PosRR PosRW PosWR PosWW".split()
DETOURS = [
    "DetourW PodRW Rfe PodRW Coe",
    "DetourWW PodWR Fri Rfe PodRR Fre",
    "PodWW Rfe DetourRW PodWR Fre",
    "PodWW Coe DetourWW Coi PodWR Fre",
    "FrLeave PodWW CoBack Rfe PodRW Rfe",
    "CoLeave CoLeave CoBack RfBack PodRW Coe PodWW Coe",
]

Order = tuple[int, ...]


def test_satisfied_conditions_witness_the_cycle() -> None:
    cycles = [*enumerate_cycles("PPC", POOL, 5, redundant=True), *(parse_cycle(text) for text in DETOURS)]
    assert len(cycles) > 900
    for words in cycles:
        cycle, test = make(words)
        for location in test.locations:
            for order in orders_that_satisfy(test, location):
                assert communications_hold(cycle, test, location, order), (words, location, order)


def test_some_execution_satisfies_the_condition() -> None:
    """Without asking for coherence, which some cycles contradict within a thread."""
    for words in enumerate_cycles("PPC", POOL, 5, redundant=True):
        cycle, test = make(words)
        for location in test.locations:
            orders = [o for o in every_order(test, location) if communications_hold(cycle, test, location, o)]
            assert any(final_value_fits(test, location, order) for order in orders), words


@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("PodWW Coe PodWW Coe", {}),
        ("PodWW Coe PosWW Coe PodWW Coe", {"y": [1, 2]}),
        ("Coe PodWW Coe PodWW Coe", {"x": [1, 2]}),
        ("Coe Coe PodWW Coe PodWW Coe", {"x": [1, 2, 3]}),
        ("PodWW Coe PodWW Coi Coe", {}),
        ("PodWW Rfe Fri Rfe PodRW Coe", {}),
    ],
)
def test_observers_read_what_nothing_else_orders(text: str, observed: dict[str, list[int]]) -> None:
    cycle, test = make(parse_cycle(text))
    observers = [thread for thread in test.threads if thread[0].access.index >= len(cycle)]
    assert {t[0].access.location: [step.access.value for step in t] for t in observers} == observed


def make(words: Sequence[str]) -> tuple[Cycle, Test]:
    _, cycle = name_and_rotation(resolve(words, VOCABULARY), VOCABULARY)
    return cycle, synthesise(cycle, VOCABULARY.plain)


def accesses(test: Test, location: str) -> Iterator[tuple[int, Access]]:
    for number, thread in enumerate(test.threads):
        yield from ((number, step.access) for step in thread if step.access.location == location)


def every_order(test: Test, location: str) -> Iterator[Order]:
    """Coherence orders as values, the initial one first."""
    writes = [access.value for _, access in accesses(test, location) if access.direction == "W"]
    assert len(set(writes)) == len(writes)
    yield from ((0, *order) for order in permutations(writes))


def final_value_fits(test: Test, location: str, order: Order) -> bool:
    return dict(test.finals).get(location, order[-1]) == order[-1]


def orders_that_satisfy(test: Test, location: str) -> Iterator[Order]:
    for order in every_order(test, location):
        if final_value_fits(test, location, order) and coherent(test, location, order):
            yield order


def coherent(test: Test, location: str, order: Order) -> bool:
    """Nothing in a thread goes back in coherence order: later accesses are of the same or a later write, a read
    before a write of an earlier one."""
    seen: dict[int, tuple[int, str]] = {}
    for thread, access in accesses(test, location):
        if access.direction == "R" and not access.checked:
            continue
        rank = order.index(access.value)
        last, direction = seen.get(thread, (0, "W"))
        if rank < last or (rank == last and access.direction == "W" and direction == "R"):
            return False
        seen[thread] = (rank, access.direction)
    return True


def communications_hold(cycle: Cycle, test: Test, location: str, order: Order) -> bool:
    by_index = {access.index: access for _, access in accesses(test, location)}
    for i, edge in enumerate(cycle):
        if i not in by_index or not edge.communicates:
            continue
        source, target = by_index[i], by_index[(i + 1) % len(cycle)]
        if edge.kind is Kind.READS_FROM:
            if not target.checked or source.value != target.value:
                return False
        elif order.index(source.value) >= order.index(target.value):
            return False
        else:
            assert source.direction == "W" or source.checked
    return True
