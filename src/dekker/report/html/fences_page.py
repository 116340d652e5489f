"""The page of `dekker fences`: the source with the fences, and the cycles that each breaks."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.report.fences_text import NO_HELP, NONE_NEEDED, PLACED, UNDECIDED, WRONG_ANYWAY, FencesReport, FenceView
from dekker.report.fences_text import fences_text as text_of
from dekker.report.html.page import BAD, GOOD, OPEN, Page, Plain, Sources
from dekker.report.html.run_data import run_plain
from dekker.report.picture.view import PO, Column, Edge, Node, RunView
from dekker.transform.describe import AccessView, CycleView

TONES = {NONE_NEEDED: GOOD, PLACED: GOOD, NO_HELP: BAD, WRONG_ANYWAY: BAD, UNDECIDED: OPEN}
MOST_DRAWN = 40
"""Cycles of one fence."""


def fences_page(report: FencesReport, texts: Mapping[str, str]) -> Page:
    """`texts` are the files without the fences."""
    sources = Sources()
    numbers = [sources.add(file, text) for file, text in texts.items()]
    headline, *_ = text_of(report).split("\n")
    facts = [
        ("Model", report.model),
        ("Program", report.program),
        ("Cost", f"{report.cost:g}"),
        ("Critical cycles", f"{report.cycles}{'' if report.complete else ' and more, these are the shortest'}"),
        ("Checks", str(report.checks)),
        ("Verified", report.verified or "no"),
        ("Time", f"{report.time_s:.2f} s"),
    ]
    entry: Plain = {
        "name": report.program,
        "verdict": report.outcome,
        "tone": TONES[report.outcome],
        "sentence": headline,
        "cells": [],
        "facts": [list(fact) for fact in facts],
        "notes": list(report.notes),
        "sources": numbers,
        "fences": [_fence(fence, texts) for fence in report.fences],
    }
    return Page(f"Fences for {report.program} under {report.model}", text_of(report), entries=[entry], sources=sources)


def _fence(fence: FenceView, texts: Mapping[str, str]) -> Plain:
    lines = {file: text.split("\n") for file, text in texts.items()}
    drawn = fence.cycles[:MOST_DRAWN]
    return {
        "file": fence.file,
        "line": fence.line,
        "after": fence.after,
        "text": f"{fence.text}  ({fence.kind})" if fence.kind not in fence.text else fence.text,
        "place": fence.place,
        "cost": f"{fence.cost:g}",
        "without": fence.without,
        "more": fence.more + sum(cycle.alike for cycle in fence.cycles[MOST_DRAWN:]),
        "cycles": [{"title": _title(cycle), "run": run_plain(cycle_view(cycle, lines), ())} for cycle in drawn],
    }


def _title(cycle: CycleView) -> str:
    return f"{cycle.idiom}{f', {cycle.alike} times with other threads' if cycle.alike > 1 else ''}"


def cycle_view(cycle: CycleView, lines: Mapping[str, list[str]]) -> RunView:
    """A critical cycle, drawn like an execution: program order that the model does not keep is dashed."""
    nodes: list[Node] = []
    edges: list[Edge] = []
    first: list[int] = []
    for thread, part in enumerate(cycle.threads):
        first.append(len(nodes))
        nodes += [_access(thread, access, lines) for access in part.accesses]
        if len(part.accesses) > 1:
            edges.append(Edge(first[-1], first[-1] + 1, PO, PO, True, part.unsafe))
    for index, link in enumerate(cycle.links):
        source = first[index] + len(cycle.threads[index].accesses) - 1
        target = first[(index + 1) % len(first)]
        label = f"{link.kind}, early" if link.early else link.kind
        edges.append(Edge(source, target, link.kind, label, True))
    columns = tuple(_column(part.thread) for part in cycle.threads)
    why = "a cycle that the model does not keep in order" if cycle.critical else "a cycle that the model keeps in order"
    return RunView(f"Cycle {cycle.idiom}", columns, tuple(nodes), tuple(edges), why)


def _column(thread: str) -> Column:
    name, _, detail = thread.partition(" (")
    return Column(name, detail.removesuffix(")"))


def _access(thread: int, access: AccessView, lines: Mapping[str, list[str]]) -> Node:
    span = access.spans[0] if access.spans else None
    if span is None:
        return Node(thread, "", access.direction, f"{access.direction} {access.location}", f"in {access.function}")
    text = lines.get(span.source.name, [])
    source = " ".join(text[span.line - 1].split()) if 0 < span.line <= len(text) else ""
    direction = f"{access.direction} {access.location}"
    return Node(thread, "", access.direction, direction, source, span.source.name, span.line, (access.location,))
