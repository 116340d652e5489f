"""Explanations of failing checks lead from base relations to the failure, without a gap."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.models.executions import execution, random_executions

from dekker.cat.compiler import compile_model
from dekker.cat.interpreter import base_values, evaluate
from dekker.cat.model import Model
from dekker.cat.reasons import Chain, Link, Reason, explain, shortest_cycle
from dekker.execution import Execution, base_names, base_value, pairs, relation
from dekker.ir.fences import FENCES
from dekker.models import load_model, model_names
from dekker.source import Source

SB = execution("Wx1 Ry0", "Wy1 Rx0")
MP_SYNC = execution("Wx1 lwsync Wy1", "Ry1 Rx0", addr="1:0>1")


def reasons(model: Model, candidate: Execution) -> list[Reason]:
    outcomes = evaluate(model.program, len(candidate.events), base_values(model, candidate))
    broken = [
        check for check, holds in zip(model.program.checks, outcomes, strict=True) if not check.flag and not holds
    ]
    return explain(model, candidate, broken)


def only(text: str, candidate: Execution) -> Chain:
    (reason,) = reasons(compile_model(Source("m.cat", f'"m"\n{text}')), candidate)
    return reason.chain


def leaves(chain: Chain) -> Iterator[Link]:
    for link in chain:
        for path in link.because:
            yield from leaves(path)
        if not link.because:
            yield link


def demand_no_gap(chain: Chain, source: int, target: int) -> None:
    assert chain[0].source == source
    assert chain[-1].target == target
    assert all(first.target == second.source for first, second in pairwise(chain))
    for link in chain:
        for path in link.because:
            demand_no_gap(path, link.source, link.target)


def demand_true(reason: Reason, candidate: Execution) -> None:
    chain = reason.chain
    target = chain[-1].target if reason.kind == "empty" else chain[0].source
    demand_no_gap(chain, chain[0].source, target)
    for link in leaves(chain):
        name = link.names[-1]
        if base_names().get(name) == "rel":
            value = base_value(name, candidate)
            assert not isinstance(value, int)
            assert (link.source, link.target) in pairs(value), link
        elif name in FENCES:
            between = {candidate.events[event].fence for _, event in pairs(candidate.relations["po"])}
            assert name in between


def test_a_cycle_of_base_relations() -> None:
    (reason,) = reasons(load_model("sc"), SB)
    assert (reason.check, reason.kind) == ("sc", "acyclic")
    assert sorted(link.names[-1] for link in reason.chain) == ["fr", "fr", "po", "po"]
    demand_true(reason, SB)


def test_names_of_the_file_and_the_base_relation_behind_them() -> None:
    (reason,) = reasons(load_model("power"), MP_SYNC)
    assert reason.check == "observation"
    shown = {link.names[-1]: link.names[0] for link in reason.chain}
    assert shown == {"fre": "fre", "addr": "ppo", "lwsync": "prop", "rfe": "hb"}
    demand_true(reason, MP_SYNC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("empty po & rf as m", ["po", "rf"]),
        ("irreflexive po; fr; po; fr as m", ["po", "fr", "po", "fr"]),
        ("irreflexive (po | fr)+ as m", ["po", "fr", "po", "fr"]),
        ("let both = po; fr\nacyclic both as m", ["po", "fr", "po", "fr"]),
        ("let rec hb = po | fr | (hb; hb)\nirreflexive hb as m", ["po", "fr", "po", "fr"]),
        ("acyclic (po^-1 | fr^-1) as m", ["fr^-1", "po^-1", "fr^-1", "po^-1"]),
        ("irreflexive po?; fr*; po; fr as m", ["po", "fr", "po", "fr"]),
        ("acyclic (po \\ rf) | (fr & ext) as m", ["po", "fre", "po", "fre"]),
    ],
)
def test_every_operation_is_taken_apart(text: str, expected: list[str]) -> None:
    candidate = execution("Wx1 Rx1") if text.startswith("empty") else SB
    chain = only(text, candidate)
    found = [link.names[-1] for link in leaves(chain)]
    assert found in (expected, expected[1:] + expected[:1])


def test_the_names_of_a_file_come_before_those_it_includes() -> None:
    """In power.cat, `fence` is another name for `fence-order` of the included file."""
    found = set(load_model("power").names.values())
    assert {"fence", "ppo", "ii", "ic", "ci", "cc", "rfe"} <= found
    assert "fence-order" not in found


def test_a_set_that_should_be_empty() -> None:
    (link,) = only("empty [R] as m", SB)
    assert link.source == link.target
    assert SB.events[link.source].kind == "R"


def test_a_check_that_wants_something() -> None:
    assert only("~empty rmw as m", SB) == ()


def test_nested_fixpoints() -> None:
    text = "let rec a = po | (a; b) and b = fr | (b; a; b)\nirreflexive a; b as m"
    chain = only(text, SB)
    demand_no_gap(chain, chain[0].source, chain[0].source)
    assert [link.names[-1] for link in leaves(chain)] in (["po", "fr", "po", "fr"],)


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_shortest_cycles(content: set[tuple[int, int]]) -> None:
    found = shortest_cycle(relation(7, content))
    lengths = [n for n in range(1, 8) if _has_closed_walk(content, n)]
    assert (found is None) == (not lengths)
    if found is not None:
        assert found[0] == found[-1]
        assert all(step in content for step in pairwise(found))
        assert len(found) - 1 == min(lengths)


def _has_closed_walk(content: set[tuple[int, int]], length: int) -> bool:
    reached = {(a, b) for a, b in content}
    for _ in range(length - 1):
        reached = {(a, d) for a, b in reached for c, d in content if b == c}
    return any(a == b for a, b in reached)


@pytest.mark.parametrize("name", model_names())
@settings(max_examples=25)
@given(candidate=random_executions())
def test_explanations_are_true(name: str, candidate: Execution) -> None:
    for reason in reasons(load_model(name), candidate):
        demand_true(reason, candidate)
