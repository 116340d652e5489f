from __future__ import annotations

from dataclasses import replace

import pytest
from tests.agreement.test_checkpoints import racing_writes

from dekker.cluster.coordinator import (
    ID_BITS,
    LONGEST_SLICE_S,
    MOST_UNITS,
    SHORTEST_SLICE_S,
    Call,
    Coordinator,
)
from dekker.cluster.gathering import Gathering
from dekker.cluster.worker import answer, question_of
from dekker.engines.rsmc import engine as rsmc
from dekker.models import load_model
from dekker.native import (
    COUNTED,
    EVERYTHING,
    NOTHING_KNOWN,
    WHOLE_UNIT,
    Exploration,
    Known,
    Request,
    Rest,
    Work,
    explore,
)
from dekker.run.parts import put_together
from dekker.task import Limits, Task


def asked(writes: int) -> Request:
    """What the engine asks of the core."""
    found: list[Request] = []

    def keep(task: Task, request: Request) -> Exploration:
        found.append(request)
        return explore(request)

    rsmc.run(Task(racing_writes(writes), load_model("power"), explorer=keep))
    return found[0]


def units(*depths: int) -> Rest:
    return Rest([(bytes((number,)), depth, 0) for number, depth in enumerate(depths, 1)])


def part(complete: int = 1, **fields: object) -> Exploration:
    statistics = {**dict.fromkeys(COUNTED, 0), "complete": complete}
    return replace(Exploration(statistics, [], {}, [], ""), **fields)  # type: ignore[arg-type]


def called(coordinator: Coordinator, slots: int = 1) -> Call:
    call = coordinator.next_call(slots, 0.0)
    assert call is not None
    return call


def test_the_statistics_are_those_of_the_core() -> None:
    assert set(explore(asked(1)).statistics) == set(COUNTED)


def test_parts_add_up_in_any_order() -> None:
    request = asked(3)
    parts, rest = [], EVERYTHING
    while True:
        found = explore(replace(request, limits=Limits(max_traces=3)), Work(keeps_rest=True, rest=rest))
        parts.append(found)
        rest = found.rest
        if not rest.units:
            break
    assert len(parts) > 3
    expected = put_together(parts)
    for order in (parts, parts[::-1]):
        gathering = Gathering()
        for found in order:
            gathering.add(found)
        total = gathering.total()
        assert total.statistics == expected.statistics
        assert [item[:2] for item in total.states] == [item[:2] for item in expected.states]
        assert (total.flags, total.cut_at, total.n_alone) == (expected.flags, expected.cut_at, expected.n_alone)


def test_the_first_call_is_alone() -> None:
    coordinator = Coordinator(EVERYTHING, 2)
    call = called(coordinator, 4)
    assert call.units == (WHOLE_UNIT,)
    assert call.work().numbers_threads
    assert coordinator.next_call(4, 0.0) is None
    coordinator.take(call, part(rest=units(3, 5)))
    assert not called(coordinator, 4).work().numbers_threads
    assert not called(coordinator, 4).is_first
    assert not coordinator.is_over


def test_an_answer_counts_once() -> None:
    coordinator = Coordinator(units(1, 2), 2)
    first, second = called(coordinator), called(coordinator)
    coordinator.take(first, part(3))
    coordinator.take(first, part(3))
    coordinator.lose(second)
    coordinator.take(second, part(5))
    assert coordinator.statistics["complete"] == 3
    assert coordinator.rest().units == [*second.units]
    third = called(coordinator)
    assert third.units == second.units
    coordinator.take(third, part(5))
    assert coordinator.statistics["complete"] == 8
    assert coordinator.is_over


def test_what_runs_is_left() -> None:
    coordinator = Coordinator(units(1, 2, 3), 2)
    called(coordinator, 3)
    called(coordinator, 3)
    assert sorted(unit[1] for unit in coordinator.rest().units) == [1, 2, 3]


def test_calls_number_reads_apart_also_later() -> None:
    coordinator = Coordinator(units(1, 2), 2)
    first, second = called(coordinator), called(coordinator)
    assert first.work().first_own_id + (1 << ID_BITS) == second.work().first_own_id
    later = Coordinator(coordinator.rest(), 2)
    assert called(later).work().first_own_id > second.work().first_own_id


def test_of_units_for_one_read_the_first_is_kept() -> None:
    coordinator = Coordinator(units(1, 2), 2)
    first, second = called(coordinator), called(coordinator)
    coordinator.take(first, part(asking=[(b"a", 4, 7)]))
    coordinator.take(second, part(asking=[(b"b", 3, 7), (b"c", 3, 8)]))
    assert coordinator.rest().units == [(b"c", 3, 8), (b"a", 4, 7)]
    assert coordinator.rest().slept == [7, 8]
    call = called(coordinator)
    assert set(call.work().rest.slept) == {sleep_id for _, _, sleep_id in call.units}


def test_a_unit_that_was_let_in_and_left_is_kept() -> None:
    coordinator = Coordinator(replace(units(1), units=[(b"a", 4, 7)], slept=[7]), 2)
    call = called(coordinator)
    coordinator.take(call, part(rest=Rest([(b"a", 4, 7)], slept=[7])))
    assert coordinator.rest().units == [(b"a", 4, 7)]


def test_what_contradicts_makes_all_start_again() -> None:
    coordinator = Coordinator(units(1, 2, 3), 2)
    trusts, writes, late = (called(coordinator, 3) for _ in range(3))
    relied: Known = (*NOTHING_KNOWN[:4], [(16, 1)], *NOTHING_KNOWN[5:])
    wrote: Known = (*NOTHING_KNOWN[:3], [(16, 2)], *NOTHING_KNOWN[4:-1], [(0, 0, 2)])
    coordinator.take(trusts, part(4, rest=Rest(known=relied)))
    assert coordinator.statistics["complete"] == 4
    coordinator.take(writes, part(4, rest=Rest(known=wrote)))
    assert coordinator.statistics["complete"] == 0
    assert coordinator.started_again
    coordinator.take(late, part(4))
    assert coordinator.statistics["complete"] == 0
    call = called(coordinator)
    assert call.is_first
    assert call.known[3] == [(16, 2)]
    assert call.known[4] == []
    assert call.known[-1] == [(0, 0, 2)]


def test_threads_get_the_same_number_for_all() -> None:
    coordinator = Coordinator(units(1, 2), 3)
    first, second = called(coordinator), called(coordinator)
    coordinator.take(first, part(unknown_thread=(0, 1)))
    coordinator.take(second, part(unknown_thread=(0, 1)))
    again = called(coordinator)
    assert again.known[-1] == [(0, 1, 3)]
    coordinator.take(again, part(unknown_thread=(3, 0)))
    assert called(coordinator).known[-1] == [(0, 1, 3), (3, 0, 4)]
    assert coordinator.statistics["complete"] == 0


def test_no_more_traces_are_counted_than_wanted() -> None:
    coordinator = Coordinator(units(*range(1, 9)), 2, max_traces=10)
    calls = [coordinator.next_call(2, 0.0) for _ in range(6)]
    wanted = [call.max_traces or 0 for call in calls if call is not None]
    assert sum(wanted) <= 10
    for call in calls:
        if call is not None:
            coordinator.take(call, part(call.max_traces or 0, rest=units(9)))
    while not coordinator.is_over:
        call = called(coordinator, 2)
        coordinator.take(call, part(call.max_traces or 0, rest=units(9)))
    assert coordinator.stopped_by == "traces"
    assert coordinator.take_found().statistics["complete"] == 10


def test_nothing_is_stopped_that_has_no_more_traces() -> None:
    coordinator = Coordinator(units(1), 2, max_traces=3)
    call = called(coordinator)
    coordinator.take(call, part(3, rest=units(5)))
    coordinator.take(called(coordinator), part(0))
    assert coordinator.is_over
    assert coordinator.stopped_by == ""


@pytest.mark.parametrize("reason", ["violation", "events"])
def test_what_ends_one_ends_all(reason: str) -> None:
    coordinator = Coordinator(units(1, 2), 2)
    first, second = called(coordinator), called(coordinator)
    coordinator.take(first, part(stopped_by=reason))
    assert coordinator.is_over
    coordinator.take(second, part(9))
    assert coordinator.statistics["complete"] == 1
    assert coordinator.rest().units == [*second.units]


def test_slices_are_short_at_first_and_when_there_is_little_to_do() -> None:
    many = Coordinator(units(*range(1, 200)), 2)
    slices = [many.next_call(2, elapsed) for elapsed in (0.0, 1.0, 1000.0)]
    assert [call.slice_s for call in slices if call is not None] == [SHORTEST_SLICE_S, 0.1, LONGEST_SLICE_S]
    few = Coordinator(units(1, 2), 2)
    assert called(few, 2).slice_s == SHORTEST_SLICE_S


def test_many_units_are_taken_from_the_deep_end() -> None:
    coordinator = Coordinator(units(*range(1, 200)), 2)
    assert len(called(coordinator, 1).units) == MOST_UNITS
    assert min(unit[1] for unit in called(coordinator, 1).units) > 60
    few = Coordinator(units(*range(1, 9)), 2)
    assert called(few, 1).units[-1][1] == 1


def test_a_worker_says_if_it_does_not_know_the_question() -> None:
    request = asked(2)
    call = replace(called(Coordinator(EVERYTHING, 2)), slice_s=60.0)
    digest = request.digest()
    assert answer(call, digest, None) is None
    found = answer(call, digest, question_of(request))
    assert found is not None
    again = answer(call, digest, None)
    assert again is not None
    assert again.statistics == found.statistics
