"""A run, as the page's script reads it. What is empty is left out: a page may hold thousands."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.cat.reasons import Reason
from dekker.report.counterexample import OutOfOrder
from dekker.report.html.page import Plain, Sources
from dekker.report.picture.causes import forbidding, out_of_order, shortest
from dekker.report.picture.moments import Moment, in_order_of_effect, of_schedule
from dekker.report.picture.of_witness import run_view
from dekker.report.picture.view import Edge, Node, RunView
from dekker.result import ScheduleStep
from dekker.source import is_library
from dekker.witness import Witness

EFFECTS, SCHEDULE, PATH = "effects", "schedule", "path"
"""What the moments of a run are: an order of effects, the steps of an engine with its buffers, or just steps."""


def allowed_run(witness: Witness, order: OutOfOrder | None, schedule: Sequence[ScheduleStep] = ()) -> Plain:
    """An execution of the model, moment by moment."""
    cause = out_of_order(order, witness.model.name) or shortest(witness)
    view = run_view(witness, cause)
    moments = of_schedule(schedule, witness, view) if schedule else in_order_of_effect(witness, view, cause)
    return {**run_plain(view, moments), "told": SCHEDULE if schedule else EFFECTS}


def forbidden_run(witness: Witness, reasons: Sequence[Reason]) -> Plain:
    """An execution that the model does not allow, so that there is no order of its events to show."""
    view = run_view(witness, forbidding(reasons) or shortest(witness))
    return {**run_plain(view, ()), "heading": f"What {witness.model.name} forbids: the execution closest to allowed"}


def run_plain(view: RunView, moments: Sequence[Moment]) -> Plain:
    found: Plain = {
        "title": view.title,
        "columns": [{"name": column.name, "detail": column.detail} for column in view.columns],
        "nodes": [_node(node) for node in view.nodes],
        "edges": [_edge(edge) for edge in view.edges],
        "moments": [_moment(moment) for moment in moments],
        "initially": [list(pair) for pair in view.initially],
        "finally": [list(pair) for pair in view.finally_],
        "why": view.why,
        "timed": view.timed,
    }
    return _filled(found, "columns", "nodes", "edges")


def _node(node: Node) -> Plain:
    found: Plain = {
        "thread": node.thread,
        "name": node.name,
        "kind": node.kind,
        "text": node.text,
        "source": node.source,
        "file": node.file,
        "line": node.line,
        "column": node.column,
        "locations": list(node.locations),
        "fold": node.fold,
        "initial": node.initial,
        "told": node.told,
    }
    return _filled(found, "thread") | ({"moment": node.moment} if node.moment >= 0 else {})


def _edge(edge: Edge) -> list[object]:
    found: list[object] = [edge.source, edge.target, edge.kind]
    if edge.label != edge.kind or edge.cycle:
        found += [edge.label, int(edge.cycle), int(edge.loose)]
    return found


def _moment(moment: Moment) -> Plain:
    found: Plain = {
        "thread": moment.thread,
        "nodes": list(moment.nodes),
        "overtakes": list(moment.overtakes),
        "writes": [list(pair) for pair in moment.writes],
        "text": moment.text,
        "file": moment.file,
        "line": moment.line,
        "buffers": [[thread, list(entries)] for thread, entries in moment.buffers or ()],
    }
    return _filled(found, "thread")


def _filled(found: Plain, *always: str) -> Plain:
    return {key: value for key, value in found.items() if value or key in always}


def witness_sources(witness: Witness, sources: Sources) -> list[int]:
    """The files of a witness in which something happens, else the first."""
    if not witness.program.sources:
        return [sources.add(witness.program.file, witness.program.text)]
    used = {frame.file for event in witness.events for frame in event.callers} | {
        event.file for event in witness.events
    }
    shown = [item for item in witness.program.sources if item.file in used and not is_library(item.file)]
    return [sources.add(item.file, item.text) for item in shown or witness.program.sources[:1]]
