"""Pictures of executions: what is drawn, where it goes, and what is made of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dekker.report.picture import dot_of, picture_of, svg_of
from dekker.report.picture.causes import out_of_order, shortest
from dekker.report.picture.labels import LABEL_CHARACTER, LABEL_HEIGHT, label_of
from dekker.report.picture.layout import Layout, arrange
from dekker.report.picture.moments import in_order_of_effect
from dekker.report.picture.view import (
    LOCAL,
    STRETCH,
    Column,
    Edge,
    Fold,
    Node,
    RunView,
    fold_text,
    shown,
    with_stretches,
)
from dekker.report.record import Record
from dekker.run.batch import BatchOptions, run_file
from dekker.run.check import CheckOptions, check
from dekker.witness import Witness

LITMUS = Path(__file__).parents[3] / "examples" / "litmus"
OPTIONS = BatchOptions(witness=True, explain=True, picture=True)
BROKEN = CheckOptions("rc11", flags=("-DBROKEN",))
ALLOWED = ("dekker-x86", "observers-aarch64", "message-power", "load-buffering-riscv")


def record_of(name: str) -> Record:
    return run_file(str(LITMUS / f"{name}.litmus"), OPTIONS)


def witness_of(name: str) -> Witness:
    witness = record_of(name).witness
    assert witness is not None
    return witness


def view_of(name: str) -> RunView:
    record = record_of(name)
    assert record.witness is not None
    return picture_of(record.witness, record.order)


# --- what is drawn


def test_the_cycle_of_store_buffering_is_highlighted() -> None:
    view = view_of("dekker-x86")
    cycle = [(view.nodes[e.source].name, e.label, view.nodes[e.target].name) for e in view.edges if e.cycle]
    assert sorted(cycle) == [("a", "po", "b"), ("b", "fr", "c"), ("c", "po", "d"), ("d", "fr", "a")]
    assert {e.label for e in view.edges if e.loose} == {"po"}
    assert [node.initial for node in view.nodes] == [False, True, False, True]
    assert view.initially == (("flag0", "0"), ("flag1", "0"))


def test_without_the_model_the_shortest_cycle_is_found() -> None:
    cause = shortest(witness_of("dekker-x86"))
    assert cause is not None
    assert sorted(name for _, name, _ in cause.steps) == ["fr", "fr", "po", "po"]
    assert cause.loose == ()


def test_what_is_forbidden_shows_the_cycle_of_the_axiom() -> None:
    explanation = record_of("message-power-addr").explanation
    assert explanation is not None
    assert explanation.closest is not None
    view = picture_of(explanation.closest, reasons=explanation.reasons)
    assert {edge.kind for edge in view.edges if edge.cycle} == {"fence", "rf", "addr", "fr"}
    assert view.why == "forbidden by axiom observation"


def test_fences_and_dependencies_are_edges() -> None:
    explanation = record_of("message-power-addr").explanation
    assert explanation is not None
    assert explanation.closest is not None
    edges = {(edge.kind, edge.label) for edge in picture_of(explanation.closest).edges}
    assert {("fence", "lwsync"), ("addr", "addr")} <= edges


def chain(length: int, cycle: int | None = None) -> RunView:
    nodes = [Node(0, f"n{n}", "W", f"W x={n}") for n in range(length)]
    nodes += [Node(1, "r", "R", "R x=0")]
    edges = () if cycle is None else (Edge(length, cycle, "fr", "fr", cycle=True),)
    return with_stretches(RunView("chain", (Column("P0"), Column("P1")), tuple(nodes), edges))


def test_the_accesses_of_a_race_are_marked() -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    report = check([str(LITMUS.parent / "c" / "table1" / "dekker.c")], CheckOptions("rc11"))
    witness = report.violations[0].witness
    assert witness is not None
    told = [node for node in picture_of(witness).nodes if node.told]
    assert {node.thread for node in told} == {1, 2}
    assert len({node.locations for node in told}) == 1


def test_short_threads_are_not_folded() -> None:
    assert not any(node.fold for node in chain(16).nodes)


def test_long_threads_are_folded_around_the_cycle() -> None:
    view = chain(300, cycle=150)
    assert view.nodes[150].fold == ""
    assert [view.nodes[n].fold for n in (149, 151)] == ["", ""]
    (column, _) = shown(view)
    folds = [item for item in column if isinstance(item, Fold)]
    assert [fold.text for fold in folds] == ["147 more", "144 more"]
    assert len(column) == 2 + 1 + 3 + 1 + 4
    assert len(shown(view, everything=True)[0]) == 300


def test_folds_say_what_is_in_them() -> None:
    assert fold_text([LOCAL, LOCAL]) == "2 local"
    assert fold_text([STRETCH]) == "1 more"
    assert fold_text([STRETCH, LOCAL]) == "2 more: 1 local"


# --- where it goes


def boxes_apart(layout: Layout) -> bool:
    boxes = layout.boxes
    return all(
        a.x + a.width < b.x or b.x + b.width < a.x or a.bottom < b.y or b.bottom < a.y
        for n, a in enumerate(boxes)
        for b in boxes[n + 1 :]
    )


@pytest.mark.parametrize("name", ALLOWED)
def test_nothing_lies_on_top_of_something_else(name: str) -> None:
    layout = arrange(view_of(name))
    assert boxes_apart(layout)
    labels = [(*curve.label, len(label_of(curve.edge)) * LABEL_CHARACTER / 2) for curve in layout.curves]
    for n, (x, y, half) in enumerate(labels):
        assert all(abs(x - u) >= half + other or abs(y - v) >= LABEL_HEIGHT for u, v, other in labels[n + 1 :])
        assert not any(box.x < x < box.x + box.width and box.y < y < box.bottom for box in layout.boxes)
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for c in layout.curves for x, y in c.points)


@pytest.mark.parametrize("name", ALLOWED)
def test_edges_end_at_their_nodes(name: str) -> None:
    layout = arrange(view_of(name))
    boxes = {box.item: box for box in layout.boxes}
    for curve in layout.curves:
        for (x, y), number in ((curve.points[0], curve.edge.source), (curve.points[-1], curve.edge.target)):
            box = boxes[number]
            assert x in (box.x, box.x + box.width)
            assert box.y < y < box.bottom


def test_edges_pass_columns_between_nodes() -> None:
    layout = arrange(view_of("observers-aarch64"))
    (far,) = [c for c in layout.curves if c.edge.kind == "fr" and len(c.points) > 7]
    passed = [box for box in layout.boxes if box.thread in (1, 2)]
    stops = far.points[3:-3:3]
    assert len(stops) == 4
    assert not any(box.y < y < box.bottom for _, y in stops for box in passed)


def test_hundreds_of_events_stay_small() -> None:
    assert arrange(chain(500, cycle=250)).height < 900
    assert arrange(chain(500), everything=True).height > 10_000


# --- moment by moment


@pytest.mark.parametrize("name", ALLOWED)
def test_communication_points_forward_in_time(name: str) -> None:
    record = record_of(name)
    witness, order = record.witness, record.order
    assert witness is not None
    view = picture_of(witness, order)
    moments = in_order_of_effect(witness, view, out_of_order(order, witness.model.name))
    when = {view.nodes[moment.nodes[0]].events[0]: n for n, moment in enumerate(moments)}
    assert len(when) == len(view.nodes)
    for relation in ("rf", "co", "fr"):
        assert all(when[a] < when[b] for a, b in witness.relations.get(relation, ()) if a in when and b in when)
    late = {n for moment in moments for n in moment.overtakes}
    first_of_pairs = {a for a, _ in order.pairs} if order is not None else set()
    assert {view.nodes[n].events[0] for n in late} <= first_of_pairs


def test_both_stores_are_pending_while_both_flags_are_read() -> None:
    record = record_of("dekker-x86")
    assert record.witness is not None
    view = picture_of(record.witness, record.order)
    moments = in_order_of_effect(record.witness, view, out_of_order(record.order, "tso"))
    names = [(view.nodes[m.nodes[0]].name, [view.nodes[n].name for n in m.overtakes]) for m in moments]
    assert names[:2] == [("b", ["a"]), ("d", ["c"])]
    assert sorted(pair for m in moments for pair in m.writes) == [("flag0", "1"), ("flag1", "1")]


def test_updates_are_not_torn_apart() -> None:
    pytest.importorskip("ziglang", reason="the compiler is not installed")
    report = check([str(LITMUS.parent / "c" / "atomics" / "michael_scott_queue.c")], BROKEN)
    witness, order = report.violations[0].witness, report.violations[0].order
    assert witness is not None
    view = picture_of(witness, order)
    moments = in_order_of_effect(witness, view, out_of_order(order, witness.model.name))
    updates = [moment.nodes for moment in moments if view.nodes[moment.nodes[0]].kind == "U"]
    assert len(updates) == len(set(updates)) > 2


# --- files


def hostile(witness: Witness) -> Witness:
    bad = '</text><script>alert("&")</script>\u2028\x00'
    events = tuple(replace(event, location=bad, text=bad) for event in witness.events)
    return replace(witness, name=bad, events=events)


def test_pictures_are_well_formed_whatever_the_names_are() -> None:
    text = svg_of(hostile(witness_of("dekker-x86")))
    root = ElementTree.fromstring(text)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "style", "rect", "text", "g", "path", "circle"}
    assert "<script>" in "".join(root.itertext())


def test_pictures_refer_to_nothing_outside() -> None:
    text = svg_of(witness_of("dekker-x86")).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"http|url\(|href|@import", text)


def test_graphs_quote_whatever_the_names_are() -> None:
    text = dot_of(hostile(witness_of("dekker-x86")))
    unquoted = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    assert "script" not in unquoted
    assert unquoted.count("{") == unquoted.count("}") == 3
    assert len(re.findall(r"^  n\d+ -> n\d+ ", text, flags=re.MULTILINE)) == 4
