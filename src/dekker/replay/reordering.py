"""Which pairs of accesses a model lets take effect against program order in an execution.

An execution that no interleaving explains has a cycle of program order and communication. On a shortest one, among
plain accesses if there is one rather than inside of library calls, some steps along program order are not kept. They
are found by asking which fences would forbid the execution: strong fences between all these pairs do; those are taken
away again, one by one, as long as the rest forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from dekker.cat.model import Model
from dekker.execution import Event, Execution, Relation, base_value
from dekker.records import dataclass
from dekker.replay.judge import judge
from dekker.shortest_cycle import shortest_cycle

Pair = tuple[int, int]

COMMUNICATION = ("rf", "co", "fr")
STRONG_FENCES = ("mfence", "c11.seq_cst")
"""For processors and for C11."""


@dataclass(frozen=True, slots=True)
class Reordering:
    """`cycle` holds each step with its relation. `pairs` are in program order; they are not kept in that order."""

    cycle: tuple[tuple[int, str, int], ...]
    pairs: tuple[Pair, ...]


def reordering(model: Model, execution: Execution, beside: frozenset[int] = frozenset()) -> Reordering | None:
    """None if the execution is one of an interleaving. Events `beside` the point are on the cycle only if each goes
    through some."""
    relations = {name: _rows(name, execution) for name in ("po", *COMMUNICATION)}
    together = [0] * len(execution.events)
    for rows in relations.values():
        together = [a | b for a, b in zip(together, rows, strict=True)]
    plain = sum(1 << n for n, event in enumerate(execution.events) if event.span is None or "(" not in event.span.text)
    relevant = ~sum(1 << n for n in beside)
    cycle = None
    for among in dict.fromkeys((plain & relevant, relevant, plain, -1)):
        cycle = cycle or shortest_cycle(together, among)
    if cycle is None:
        return None
    steps = tuple((a, _relation(relations, a, b), b) for a, b in pairwise(cycle))
    own = [(a, b) for a, name, b in steps if name == "po"]
    return Reordering(steps, tuple(_needed(model, execution, own)))


def _rows(name: str, execution: Execution) -> Relation:
    value = base_value(name, execution)
    assert not isinstance(value, int)
    return value


def _relation(relations: dict[str, Relation], source: int, target: int) -> str:
    """Communication says more than program order."""
    names = (*COMMUNICATION, "po")
    return next(name for name in names if relations[name][source] >> target & 1)


def _needed(model: Model, execution: Execution, pairs: list[Pair]) -> list[Pair]:
    needed = list(pairs)
    if judge(model, with_fences(execution, needed)).allowed:
        return needed
    for pair in pairs:
        fewer = [other for other in needed if other != pair]
        if not judge(model, with_fences(execution, fewer)).allowed:
            needed = fewer
    return needed


def with_fences(execution: Execution, pairs: Iterable[Pair], kinds: tuple[str, ...] = STRONG_FENCES) -> Execution:
    """The execution with fences right behind the first event of each pair; new events come last."""
    events = list(execution.events)
    po = list(execution.relations["po"])
    for first, _ in pairs:
        thread = events[first].thread
        for kind in kinds:
            new = len(events)
            later = po[first]
            po = [row | 1 << new if n == first or row >> first & 1 else row for n, row in enumerate(po)]
            po.append(later)
            events.append(Event("F", thread, new, fence=kind))
    added = len(events) - len(execution.events)
    relations = {name: [*rows, *[0] * added] for name, rows in execution.relations.items() if name != "po"}
    return Execution(tuple(events), {**relations, "po": po})
