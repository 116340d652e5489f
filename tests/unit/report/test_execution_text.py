"""Executions for a person: they fit the width, nothing is lost, and strange texts do no harm."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_witness import SB, WITNESS, example, witness_of

from dekker.cat.reasons import Link, Reason
from dekker.report.execution_text import event_text, execution_text, heading
from dekker.report.explanation import label, reasons_text
from dekker.witness import Finding, Witness, WitnessFrame

POWER = witness_of(example("message-power"), "power")


@pytest.mark.parametrize("witness", [WITNESS, POWER], ids=("sb", "mp"))
def test_side_by_side_or_one_below_the_other(witness: Witness) -> None:
    wide, narrow = execution_text(witness, 120), execution_text(witness, 60)
    assert max(map(len, wide.splitlines())) <= 120
    assert max(map(len, narrow.splitlines())) <= 60
    assert any("P0" in line and "P1" in line for line in wide.splitlines())
    assert not any("P0" in line and "P1" in line for line in narrow.splitlines())
    for event in witness.events:
        if event.thread >= 0:
            shown = f"{event.name}: {event_text(event)}"
            assert shown in wide
            assert shown in narrow
            assert event.text in wide


def test_all_edges_are_shown() -> None:
    text = execution_text(WITNESS)
    assert "  rf  init(flag0) -> d, init(flag1) -> b\n" in text
    assert "  co  init(flag0) -> a, init(flag1) -> c\n" in text
    assert "  fr  b -> c, d -> a\n" in text
    changed = replace(WITNESS, relations={**WITNESS.relations, "ctrl": ((3, 4), (3, 5), (2, 3))})
    assert "  ctrl  b -> c d, a -> b\n" in execution_text(changed)


def test_only_the_nearest_write_after_a_read() -> None:
    changed = replace(WITNESS, relations={"co": ((0, 2), (0, 4), (2, 4)), "fr": ((5, 2), (5, 4))})
    assert "  fr  d -> a\n" in execution_text(changed)


@given(st.text(min_size=1, max_size=20))
def test_strange_texts(text: str) -> None:
    events = tuple(replace(event, text=text, location=text, shown=text) for event in WITNESS.events)
    threads = tuple(replace(thread, name=text) for thread in WITNESS.threads)
    shown = execution_text(replace(WITNESS, events=events, threads=threads, final=((text, text),)))
    lines = execution_text(WITNESS).splitlines()
    assert len([c for c in shown if not c.isprintable() and c != "\n"]) == 0
    assert len(shown.splitlines()) in (len(lines), len(lines) + 4)


def test_headings() -> None:
    assert heading(WITNESS) == r"Execution of dekker-x86 under tso: satisfies (0:EAX=0 /\ 1:EAX=0)"
    finding = Finding("assertion", "x", 0, (WitnessFrame("main", "p.c", 3, 1),))
    failed = replace(WITNESS, claim="assertion", violation=finding)
    assert heading(failed) == "Execution of dekker-x86 under tso: assertion: p.c:3:1: x"
    assert SB.name == WITNESS.name


def test_labels() -> None:
    assert label(Link(0, 1, ("ppo", "ii", "dp", "addr"))) == "ppo: addr"
    assert label(Link(0, 1, ("obs", "rfe"))) == "rfe"
    assert label(Link(0, 1, ("po",))) == "po"


def test_reasons() -> None:
    inner = (Link(2, 3, ("po",)), Link(3, 4, ("fr",)))
    cycle = Reason("axiom", "acyclic", False, (Link(2, 4, ("prop",), (inner,)), Link(4, 2, ("co",))))
    pair = Reason("atomic", "empty", False, (Link(2, 4, (), ((Link(2, 4, ("rmw",)),), inner)),))
    nothing = Reason("some", "empty", True, ())
    assert reasons_text((cycle, pair, nothing), WITNESS).splitlines() == [
        "forbidden by axiom `axiom`, a cycle:",
        "  a (W flag0=1) -prop-> c (W flag1=1) -co-> a",
        "    where a -prop-> c is a -po-> b -fr-> c",
        "forbidden by axiom `atomic`, what must not be:",
        "  a (W flag0=1) -rmw-> c (W flag1=1)",
        "  and at the same time a -po-> b -fr-> c",
        "forbidden by axiom `some`, which asks for something that is not there",
    ]
