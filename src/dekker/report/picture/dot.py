"""A run as a graph for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dekker.report.picture.colours import CYCLE_LIGHT, LOOKS
from dekker.report.picture.labels import label_of
from dekker.report.picture.layout import foot_of, head_of
from dekker.report.picture.view import PO, Edge, Fold, RunView, shown


def dot_text(view: RunView, everything: bool = False) -> str:
    """Threads are clusters, so that `dot` draws them side by side."""
    return "\n".join(_lines(view, everything)) + "\n"


def _lines(view: RunView, everything: bool) -> Iterator[str]:
    items = shown(view, everything)
    drawn = {item for column in items for item in column if isinstance(item, int)}
    ordered = {(edge.source, edge.target) for edge in view.edges if edge.kind == PO}
    cycle = view.on_cycle()
    yield "digraph run {"
    yield f"  label={quoted(_caption(view))}; labelloc=t; fontname=Helvetica; newrank=true; splines=true;"
    yield '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=Courier, fontsize=11];'
    yield "  edge [fontname=Helvetica, fontsize=10];"
    for thread, (column, listed) in enumerate(zip(view.columns, items, strict=True)):
        yield f"  subgraph cluster_{thread} {{"
        yield f"    label={quoted(column.name + (chr(10) + column.detail if column.detail else ''))}; color=gray80;"
        for item in listed:
            yield f"    {_node(view, item, item in cycle)}"
        for a, b in pairwise(listed):
            if (a, b) not in ordered:
                yield f'    {_name(a)} -> {_name(b)} [color="{LOOKS[PO].light}"];'
        yield "  }"
    for edge in view.edges:
        if edge.source in drawn and edge.target in drawn:
            yield f"  {_edge(edge)}"
    yield "}"


def _caption(view: RunView) -> str:
    return "\n".join(line for line in (view.title, f"highlighted: {view.why}" if view.why else "") if line)


def _name(item: int | Fold) -> str:
    return f"f{item.nodes[0]}" if isinstance(item, Fold) else f"n{item}"


def _node(view: RunView, item: int | Fold, cycle: bool) -> str:
    if isinstance(item, Fold):
        return f"{_name(item)} [label={quoted(f'… {item.text}')}, style=dotted, fontsize=9];"
    label = "\n".join(line for line in (head_of(view, item), foot_of(view, item)) if line)
    look = f', fillcolor="{CYCLE_LIGHT}", penwidth=2' if cycle else ""
    return f"{_name(item)} [label={quoted(label)}{look}];"


def _edge(edge: Edge) -> str:
    look = LOOKS[edge.kind]
    style = ", style=dashed" if edge.loose or look.dash else ""
    width = ", penwidth=2.5" if edge.cycle else ""
    return (
        f"n{edge.source} -> n{edge.target} [label={quoted(label_of(edge))}, "
        f'color="{look.light}", fontcolor="{look.light}"{style}{width}, constraint=false];'
    )


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
