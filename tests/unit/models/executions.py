"""Executions written down as one line per thread, and random ones.

A thread is a row of events: `Wx1` writes 1 to x, `Ry0` reads 0 from y, `Ry0.acquire` with that order; anything else is
a fence by its name. Writes of a location are coherent in the order of their values; 0 is the initial value.
Dependencies are written `0:1>2`: in thread 0, from event 1 to event 2; a control dependency reaches all later events
too. Updates are written likewise: `amo`, `stadd` (one without a result) or `lxsx`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hypothesis import strategies as st

from dekker.execution import INITIAL_THREAD, PRIMITIVE_RELATIONS, Event, Execution, relation
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Order

Pair = tuple[int, int]

_ACCESS = re.compile(r"([RW])([a-z])(\d+)(?:\.(\w+))?")
_LOCATIONS = "xyz"


def execution(
    *threads: str,
    addr: str = "",
    data: str = "",
    ctrl: str = "",
    amo: str = "",
    lxsx: str = "",
    stadd: str = "",
    **more: str,
) -> Execution:
    rows = [row.split() for row in threads]
    starts = _starts(rows)
    marked = {kind: _positions(text, starts) for kind, text in (("amo", amo), ("lxsx", lxsx), ("stadd", stadd))}
    tags = _tags(marked)
    used = sorted({match[2] for row in rows for token in row if (match := _ACCESS.fullmatch(token))})
    events = [_initial(location) for location in used]
    offset = len(events)
    for thread, row in enumerate(rows):
        events += [_event(token, thread, i, tags.get(starts[thread] + i, frozenset())) for i, token in enumerate(row)]
    pairs = {
        "po": [(i + offset, j + offset) for i, j in _program_order(rows, starts)],
        "rf": list(_reads_from(events)),
        "co": list(_coherence(events)),
        "ctrl": [
            (i + offset, k + offset)
            for i, j in _positions(ctrl, starts)
            for k in range(j, _end_of_thread(j, rows, starts))
        ],
        **{
            kind: [(i + offset, j + offset) for i, j in found]
            for kind, found in (
                ("addr", _positions(addr, starts)),
                ("data", _positions(data, starts)),
                *((name.replace("_", "-"), _positions(text, starts)) for name, text in more.items()),
                ("amo", [*marked["amo"], *marked["stadd"]]),
                ("lxsx", marked["lxsx"]),
            )
        },
    }
    return Execution(tuple(events), {name: relation(len(events), pairs.get(name, ())) for name in PRIMITIVE_RELATIONS})


def _starts(rows: Sequence[Sequence[str]]) -> list[int]:
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    return starts


def _positions(text: str, starts: Sequence[int]) -> list[Pair]:
    found = []
    for word in text.split():
        thread, first, second = map(int, re.split("[:>]", word))
        found.append((starts[thread] + first, starts[thread] + second))
    return found


def _end_of_thread(position: int, rows: Sequence[Sequence[str]], starts: Sequence[int]) -> int:
    return next(starts[i + 1] for i in range(len(rows)) if starts[i] <= position < starts[i + 1])


def _tags(marked: dict[str, list[Pair]]) -> dict[int, frozenset[str]]:
    sorts = {
        "amo": frozenset(("AMO", "RMW")),
        "stadd": frozenset(("AMO", "RMW", "NORET")),
        "lxsx": frozenset(("X", "RMW")),
    }
    return {position: sorts[kind] for kind, found in marked.items() for pair in found for position in pair}


def _initial(location: str) -> Event:
    return Event("W", INITIAL_THREAD, 0, address=_LOCATIONS.index(location), size=4)


def _event(token: str, thread: int, index: int, tags: frozenset[str]) -> Event:
    match = _ACCESS.fullmatch(token)
    if match is None:
        assert token in FENCES, token
        return Event("F", thread, index, fence=token)
    kind, location, value, order = match.groups()
    return Event(
        kind,
        thread,
        index,
        address=_LOCATIONS.index(location),
        size=4,
        value=int(value),
        order=Order(order or "plain"),
        tags=tags,
    )


def _program_order(rows: Sequence[Sequence[str]], starts: Sequence[int]) -> Iterable[Pair]:
    for thread in range(len(rows)):
        members = range(starts[thread], starts[thread + 1])
        yield from ((i, j) for i in members for j in members if i < j)


def _reads_from(events: Sequence[Event]) -> Iterable[Pair]:
    for i, read in enumerate(events):
        if read.kind == "R":
            (write,) = (
                j
                for j, event in enumerate(events)
                if event.kind == "W" and (event.address, event.value) == (read.address, read.value)
            )
            yield write, i


def _coherence(events: Sequence[Event]) -> Iterable[Pair]:
    for i, first in enumerate(events):
        for j, second in enumerate(events):
            if first.kind == second.kind == "W" and first.address == second.address and first.value < second.value:
                yield i, j


_ORDERS = ("plain", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "acquire_pc")
_SOME_FENCES = (
    "sync lwsync eieio isync isb mfence dmb.sy dmb.ld dmb.ishst fence.rw.w fence.w.r fence.tso membar.storeload stbar"
    " c11.acquire c11.seq_cst"
).split()


@st.composite
def random_executions(draw: st.DrawFn, with_fences: bool = True) -> Execution:
    """Any reads-from and coherence, allowed by a model or not; dependencies from reads to later events."""
    rows = draw(
        st.lists(
            st.lists(
                st.sampled_from(("Wx", "Wy", "Rx", "Ry", "F") if with_fences else ("Wx", "Wy", "Rx", "Ry")), max_size=4
            ),
            min_size=2,
            max_size=3,
        )
    )
    writes = {
        location: draw(st.permutations(range(1, 1 + sum(row.count(f"W{location}") for row in rows))))
        for location in "xy"
    }
    counts = {location: len(values) for location, values in writes.items()}
    remaining = {location: list(values) for location, values in writes.items()}
    threads = [" ".join(_draw_event(draw, word, remaining, counts) for word in row) for row in rows]
    return execution(*threads, **_draw_relations(draw, rows))


def _draw_event(draw: st.DrawFn, word: str, remaining: dict[str, list[int]], counts: dict[str, int]) -> str:
    if word == "F":
        return draw(st.sampled_from(_SOME_FENCES))
    kind, location = word[0], word[1]
    value = remaining[location].pop() if kind == "W" else draw(st.integers(0, counts[location]))
    return f"{kind}{location}{value}.{draw(st.sampled_from(_ORDERS))}"


def _draw_relations(draw: st.DrawFn, rows: Sequence[Sequence[str]]) -> dict[str, str]:
    pairs = [
        (f"{thread}:{i}>{j}", row[j])
        for thread, row in enumerate(rows)
        for j in range(len(row))
        for i in range(j)
        if row[i].startswith("R")
    ]
    updates = [
        f"{thread}:{i}>{i + 1}"
        for thread, row in enumerate(rows)
        for i, (first, second) in enumerate(pairwise(row))
        if first[0] == "R" and second[0] == "W" and first[1] == second[1]
    ]
    chosen = {
        kind: _draw_some(draw, [text for text, target in pairs if target in ends]) for kind, ends in _ENDS.items()
    }
    atomic = [draw(st.sampled_from(("amo", "lxsx", ""))) for _ in updates]
    for kind in ("amo", "lxsx"):
        chosen[kind] = " ".join(text for text, sort in zip(updates, atomic, strict=True) if sort == kind)
    return chosen


_ENDS = {
    "addr": ("Rx", "Ry", "Wx", "Wy"),
    "data": ("Wx", "Wy"),
    "ctrl": ("Rx", "Ry", "Wx", "Wy", "F"),
    "pick_addr": ("Rx", "Ry", "Wx", "Wy"),
    "status_data": (),
}


def _draw_some(draw: st.DrawFn, items: Sequence[str]) -> str:
    return " ".join(draw(st.lists(st.sampled_from(items), max_size=2, unique=True))) if items else ""
