"""Which pairs take effect against program order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from dekker.engines.axiomatic import engine as axiomatic
from dekker.execution import Execution
from dekker.ir.text import parse_program
from dekker.models import load_model
from dekker.replay import judge, replay
from dekker.replay.reordering import reordering, with_fences
from dekker.shortest_cycle import shortest_cycle
from dekker.source import Source
from dekker.task import Limits, Task

SB = ("store.4 [&x] = 1", "a = load.4 [&y]"), ("store.4 [&y] = 1", "b = load.4 [&x]")
MP = ("store.4 [&x] = 1", "store.4 [&y] = 1"), ("a = load.4 [&y]", "b = load.4 [&x]")


def execution(threads: tuple[tuple[str, ...], ...], state: tuple[int, ...], observed: str, model: str) -> Execution:
    bodies = "".join(
        f"function P{n}() {{\n{chr(10).join(lines)}\n}}\nthread P{n} runs P{n}\n" for n, lines in enumerate(threads)
    )
    text = f"program t\narchitecture PPC\nobject x[4]\nobject y[4]\n{bodies}observe {observed}\n"
    program = parse_program(Source("t.ir", text))
    found = axiomatic.run(Task(program, load_model(model), Limits(), examples=True)).examples.states[state]
    return replay(program, found).execution


def names(found: Execution, model: str) -> list[tuple[str, str]]:
    order = reordering(load_model(model), found)
    assert order is not None
    texts = [event.span.text if event.span is not None else "" for event in found.events]
    return [(texts[first], texts[second]) for first, second in order.pairs]


def test_an_interleaving_has_none() -> None:
    for state in ((1, 1), (0, 1), (1, 0)):
        assert reordering(load_model("tso"), execution(SB, state, "0:a, 1:b", "tso")) is None


def test_both_sides_of_store_buffering() -> None:
    assert names(execution(SB, (0, 0), "0:a, 1:b", "tso"), "tso") == [SB[0], SB[1]]


@pytest.mark.parametrize(
    ("fences", "pairs"),
    [(("", ""), [0, 1]), (("fence lwsync", ""), [1]), (("", "fence lwsync"), [0])],
)
def test_pairs_that_a_fence_keeps_are_not_named(fences: tuple[str, str], pairs: list[int]) -> None:
    threads = tuple((first, fence, second) for (first, second), fence in zip(MP, fences, strict=True))
    found = names(execution(threads, (1, 0), "1:a, 1:b", "power"), "power")
    assert sorted(found) == sorted(MP[number] for number in pairs)


def test_fences_are_put_behind_the_first_of_a_pair() -> None:
    found = execution(SB, (0, 0), "0:a, 1:b", "tso")
    order = reordering(load_model("tso"), found)
    assert order is not None
    assert not judge(load_model("tso"), with_fences(found, order.pairs)).allowed
    assert judge(load_model("tso"), with_fences(found, order.pairs[:1])).allowed
    assert judge(load_model("tso"), found).allowed


@pytest.mark.parametrize(
    ("rows", "length"),
    [([0b10, 0b100, 0], None), ([0b10, 0b100, 0b1], 3), ([0b10, 0b101, 0b1], 2), ([0b1], 1), ([], None)],
)
def test_shortest_cycles(rows: list[int], length: int | None) -> None:
    cycle = shortest_cycle(rows)
    assert (None if cycle is None else len(cycle) - 1) == length
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert all(rows[a] >> b & 1 for a, b in pairwise(cycle))


def test_a_cycle_among_some_events() -> None:
    rows = [0b10, 0b1, 0b1000, 0b10000, 0b100]
    assert shortest_cycle(rows) in ([0, 1, 0], [1, 0, 1])
    found = shortest_cycle(rows, 0b11100)
    assert found is not None
    assert set(found) == {2, 3, 4}
