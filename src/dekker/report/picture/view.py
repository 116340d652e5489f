"""A run as it is drawn: threads, what they do in program order, and how that is tied together.

Drawn is what a reader needs to see the run. Left out is what follows from the rest: initial writes (reads of initial
values are marked), coherence and from-reads that follow from others, those inside of a thread, where program order
says the same, and control dependencies to all but the first event after a branch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from dekker.records import dataclass

PO, RF, CO, FR = "po", "rf", "co", "fr"
ADDR, DATA, CTRL, RMW, FENCE, OTHER = "addr", "data", "ctrl", "rmw", "fence", "other"
RELATIONS = (PO, RF, CO, FR, ADDR, DATA, CTRL, RMW, FENCE, OTHER)

LOCAL, LIBRARY, STRETCH = "local", "library", "stretch"
"""Why a node is folded: only its thread can see it, it happens inside of a library, or it is one of many."""

MOST_SHOWN = 16
"""Nodes of a thread; of longer ones the stretches are folded that have no part in the cycle."""
FIRST_SHOWN, LAST_SHOWN, AROUND_CYCLE = 2, 4, 1


@dataclass(frozen=True, slots=True)
class Column:
    """A thread, and what there is to say about it besides."""

    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What a thread does at one point: an event, a statement, or a call of a library. `kind` is `R`, `W`, `U` (an
    update), `F`, `call`, `print` or `end`. `source` is the text of the line, or the part of it that begins at `column`,
    if that is not 0. What went wrong has to do with it if it is `told` of. `moment` is when it happens, for runs that
    are drawn in the order of time."""

    thread: int
    name: str
    kind: str
    text: str
    source: str = ""
    file: str = ""
    line: int = 0
    locations: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    fold: str = ""
    initial: bool = False
    moment: int = -1
    column: int = 0
    told: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """`source` and `target` are positions in the nodes. `loose` program order is not kept by the model."""

    source: int
    target: int
    kind: str
    label: str
    cycle: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class RunView:
    """Nodes of a thread stand in program order, threads one after the other. `initially` and `finally_` are values of
    locations; `why` says what the highlighted cycle means."""

    title: str
    columns: tuple[Column, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    why: str = ""
    initially: tuple[tuple[str, str], ...] = ()
    finally_: tuple[tuple[str, str], ...] = ()
    timed: bool = False

    def on_cycle(self) -> frozenset[int]:
        return frozenset(end for edge in self.edges if edge.cycle for end in (edge.source, edge.target))


@dataclass(frozen=True, slots=True)
class Fold:
    """Neighbours of one thread that are drawn as one."""

    thread: int
    nodes: tuple[int, ...]
    text: str


def with_stretches(view: RunView) -> RunView:
    """Long threads with what has no part in the cycle, or in what went wrong, marked to be folded."""
    important = view.on_cycle() | {n for n, node in enumerate(view.nodes) if node.told}
    nodes = list(view.nodes)
    for thread in range(len(view.columns)):
        own = [n for n, node in enumerate(nodes) if node.thread == thread and not node.fold]
        if len(own) <= MOST_SHOWN:
            continue
        kept = {*own[:FIRST_SHOWN], *own[-LAST_SHOWN:]}
        for position, number in enumerate(own):
            if number in important:
                kept.update(own[max(0, position - AROUND_CYCLE) : position + AROUND_CYCLE + 1])
        for number in own:
            if number not in kept:
                nodes[number] = replace(nodes[number], fold=STRETCH)
    return replace(view, nodes=tuple(nodes))


def shown(view: RunView, everything: bool = False) -> list[list[int | Fold]]:
    """For each thread what is drawn."""
    found: list[list[int | Fold]] = []
    for thread in range(len(view.columns)):
        own = [n for n, node in enumerate(view.nodes) if node.thread == thread]
        items: list[int | Fold] = []
        for folded, group in groupby(own, key=lambda n: bool(view.nodes[n].fold) and not everything):
            numbers = tuple(group)
            if folded:
                items.append(Fold(thread, numbers, fold_text([view.nodes[n].fold for n in numbers])))
            else:
                items += numbers
        found.append(items)
    return found


def fold_text(reasons: Iterable[str]) -> str:
    """What is in a fold, such as `12 more: 8 local, 4 library`."""
    listed = list(reasons)
    counts = [(listed.count(reason), reason) for reason in (LOCAL, LIBRARY) if reason in listed]
    parts = ", ".join(f"{count} {reason}" for count, reason in counts)
    total = len(listed)
    if not parts:
        return f"{total} more"
    return parts if sum(count for count, _ in counts) == total else f"{total} more: {parts}"
