"""Candidate executions: events, the relations between them, and the vocabulary in which models speak about them.

A relation over n events is a list of n integers: bit j of row i says that (i, j) is in it. A set is one integer.
`BASE_SETS` and `BASE_RELATIONS` are all the names a `.cat` file can use without defining them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NamedTuple

from dekker.ir.fences import ALL_PAIRS, FENCES
from dekker.ir.instructions import Order
from dekker.records import dataclass
from dekker.source import Span

Relation = list[int]

INITIAL_THREAD = -1


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` is `R`, `W` or `F`. `tags` holds `X` (load-linked, store-conditional), `AMO` (half of a read-modify-write
    instruction), `RMW` (half of a successful atomic update of either sort), `NORET` (its read half has no result
    register), `QUIET` (an exchange that only read, because what it would write was there), and for fences the tag of
    their kind. `index` is the position in the thread's program order."""

    kind: str
    thread: int
    index: int
    address: int = 0
    size: int = 0
    value: int = 0
    order: Order = Order.PLAIN
    tags: frozenset[str] = frozenset()
    fence: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def initial(self) -> bool:
        return self.thread == INITIAL_THREAD

    @property
    def accesses_memory(self) -> bool:
        return self.kind != "F"


@dataclass(frozen=True)
class Execution:
    """Events and primitive relations; `relations` has the keys of `PRIMITIVE_RELATIONS`."""

    events: tuple[Event, ...]
    relations: dict[str, Relation]


class TraceEvent(NamedTuple):
    """One step of a trace, the form in which engines deliver an execution.

    `kind` is `R`, `W`, `F`, or `C` for a value that `choose` gave. A trace may begin with one of kind `P`: its
    `value` is the number of accesses and fences of the first thread, before it starts another, that are not in the
    trace: their effect belongs to the initial state. `instruction` is the position in the function that runs, which
    is `function` where that is said.
    `link` is for a read the position in the trace of the write it takes its value from, -1 for the initial one; for
    a write its rank in the coherence order of its location, 1 for the first after the initial one. A failed
    compare-exchange has only its R, a failed store-conditional nothing.
    """

    thread: int
    instruction: int
    kind: str
    address: int = 0
    size: int = 0
    value: int = 0
    link: int = 0
    function: str = ""


Trace = tuple[TraceEvent, ...]
"""Threads one after the other, each in program order."""

FROM_INITIAL = -1


_ACQUIRES = frozenset((Order.ACQUIRE, Order.ACQ_REL, Order.SEQ_CST))
_RELEASES = frozenset((Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))

_ORDER_TAGS = {
    "RLX": Order.RELAXED,
    "CON": Order.CONSUME,
    "ACQ": Order.ACQUIRE,
    "REL": Order.RELEASE,
    "ACQ_REL": Order.ACQ_REL,
    "SC": Order.SEQ_CST,
}


def _access_order(order: Order) -> Callable[[Event], bool]:
    return lambda event: event.kind != "F" and event.order is order


def _fence_tag(tag: str) -> Callable[[Event], bool]:
    return lambda event: event.kind == "F" and FENCES[event.fence].tag == tag


def _order_or_fence(tag: str) -> Callable[[Event], bool]:
    access, fence = _access_order(_ORDER_TAGS[tag]), _fence_tag(tag)
    return lambda event: access(event) or fence(event)


def _fence_orders(pair: str) -> Callable[[Event], bool]:
    return lambda event: event.kind == "F" and pair in FENCES[event.fence].orders


def _tagged(tag: str) -> Callable[[Event], bool]:
    return lambda event: tag in event.tags


BASE_SETS: dict[str, Callable[[Event], bool]] = {
    "_": lambda event: True,
    "M": lambda event: event.kind != "F",
    "R": lambda event: event.kind == "R",
    "W": lambda event: event.kind == "W",
    "F": lambda event: event.kind == "F",
    "IW": lambda event: event.initial,
    "X": _tagged("X"),
    "AMO": _tagged("AMO"),
    "NORET": _tagged("NORET"),
    "QUIET": _tagged("QUIET"),
    # Orders. A: reads with acquire, L: writes with release; AQ and RL: both halves of an update, too.
    "A": lambda event: event.kind == "R" and event.order in _ACQUIRES,
    "Q": lambda event: event.kind == "R" and event.order is Order.ACQUIRE_PC,
    "L": lambda event: event.kind == "W" and event.order in _RELEASES,
    "AQ": lambda event: event.kind != "F" and event.order in _ACQUIRES,
    "RL": lambda event: event.kind != "F" and event.order in _RELEASES,
    "NA": lambda event: event.kind != "F" and not event.initial and event.order is Order.PLAIN,
    "ATOMIC": lambda event: event.kind != "F" and event.order.atomic,
    **{tag: _order_or_fence(tag) for tag in _ORDER_TAGS},
    # Fences by what they order (whatever their architecture), then by name.
    "FULL": lambda event: event.kind == "F" and FENCES[event.fence].orders == ALL_PAIRS,
    **{f"Fence{pair}": _fence_orders(pair) for pair in sorted(ALL_PAIRS)},
    **{kind.tag: _fence_tag(kind.tag) for kind in FENCES.values() if kind.tag not in _ORDER_TAGS},
}

BASE_RELATIONS: dict[str, str] = {
    "po": "program order: total within a thread, initial writes take no part",
    "rf": "reads-from: a write and the reads that take its value",
    "co": "coherence: total over the writes of a location, the initial write first",
    "fr": "from-read: a read and the writes that are coherence-after the one it reads",
    "loc": "pairs of accesses to the same location",
    "int": "pairs of events of the same thread",
    "ext": "pairs of events of different threads (initial writes are in no thread)",
    "id": "identity",
    "addr": "address dependency from a read",
    "data": "data dependency from a read to a write",
    "ctrl": "control dependency from a read to everything after the branch",
    "pick-addr": "address dependency through the condition of a conditional select",
    "pick-data": "data dependency through the condition of a conditional select",
    "pick-ctrl": "control dependency through the condition of a conditional select",
    "status-addr": "address dependency from a successful store-conditional through its status register",
    "status-data": "data dependency from a successful store-conditional through its status register",
    "status-ctrl": "control dependency from a successful store-conditional through its status register",
    "rmw": "read and write halves of a successful atomic update",
    "amo": "the part of rmw that comes from single instructions",
    "lxsx": "the part of rmw that comes from load-linked/store-conditional pairs",
    "allocation": "the first event of a thread behind an allocation, and the accesses of other threads to the object",
}

# Final writes depend on coherence, so they are a base set without a predicate on events.
FINAL_WRITES = "FW"

DATA_RACE = "data-race"
"""The flag that models raise for two accesses that race, if one is not atomic."""

USE_BEFORE_ALLOCATION = "use-before-allocation"
"""The flag for accesses that nothing orders after the allocation of their object."""

DYNAMIC_NAMES = frozenset(("rf", "co", "fr", FINAL_WRITES))

PRIMITIVE_RELATIONS = (
    "po",
    "rf",
    "co",
    "addr",
    "data",
    "ctrl",
    "pick-addr",
    "pick-data",
    "pick-ctrl",
    "status-addr",
    "status-data",
    "status-ctrl",
    "amo",
    "lxsx",
    "allocation",
)


PICK_RELATIONS = {"pick-addr": "addr", "pick-data": "data", "pick-ctrl": "ctrl"}


def as_seen_by(relations: dict[str, Relation], uses: frozenset[str]) -> dict[str, Relation]:
    """Primitive relations for a model that mentions the names `uses`. One that does not tell dependencies through the
    condition of a selection apart takes them for ordinary ones."""
    if uses & PICK_RELATIONS.keys():
        return relations
    merged = {
        plain: [a | b for a, b in zip(relations[plain], relations[picked], strict=True)]
        for picked, plain in PICK_RELATIONS.items()
    }
    return {**relations, **merged}


def base_names() -> dict[str, str]:
    """Every base name with its kind, `set` or `rel`."""
    return {**dict.fromkeys((*BASE_SETS, FINAL_WRITES), "set"), **dict.fromkeys(BASE_RELATIONS, "rel")}


def empty_relation(size: int) -> Relation:
    return [0] * size


def relation(size: int, pairs: Iterable[tuple[int, int]]) -> Relation:
    rows = empty_relation(size)
    for source, target in pairs:
        rows[source] |= 1 << target
    return rows


def pairs(rows: Sequence[int]) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(rows) for j in range(row.bit_length()) if row >> j & 1]


def base_set(name: str, events: Sequence[Event]) -> int:
    predicate = BASE_SETS[name]
    return sum(1 << i for i, event in enumerate(events) if predicate(event))


def same_location(events: Sequence[Event]) -> Relation:
    members: dict[tuple[int, int], int] = {}
    for i, event in enumerate(events):
        if event.accesses_memory:
            key = (event.address, event.size)
            members[key] = members.get(key, 0) | 1 << i
    return [members[event.address, event.size] if event.accesses_memory else 0 for event in events]


def same_thread(events: Sequence[Event]) -> Relation:
    """Initial writes are related to themselves only."""
    members: dict[int, int] = {}
    for i, event in enumerate(events):
        members[event.thread] = members.get(event.thread, 0) | 1 << i
    return [1 << i if event.initial else members[event.thread] for i, event in enumerate(events)]


def from_read(rf: Sequence[int], co: Sequence[int]) -> Relation:
    """rf⁻¹ ; co, without the identity."""
    rows = empty_relation(len(rf))
    for write, readers in enumerate(rf):
        later = co[write]
        while readers:
            low = readers & -readers
            rows[low.bit_length() - 1] |= later & ~low
            readers ^= low
    return rows


def final_writes(events: Sequence[Event], co: Sequence[int]) -> int:
    return sum(1 << i for i, event in enumerate(events) if event.kind == "W" and not co[i])


def base_value(name: str, execution: Execution) -> int | Relation:
    """The value of any base name in an execution."""
    events, relations = execution.events, execution.relations
    if name in relations:
        return relations[name]
    if name in BASE_SETS:
        return base_set(name, events)
    everything = (1 << len(events)) - 1
    match name:
        case "fr":
            return from_read(relations["rf"], relations["co"])
        case "loc":
            return same_location(events)
        case "int":
            return same_thread(events)
        case "ext":
            return [everything & ~row for row in same_thread(events)]
        case "id":
            return [1 << i for i in range(len(events))]
        case "rmw":
            return [a | b for a, b in zip(relations["amo"], relations["lxsx"], strict=True)]
        case "FW":
            return final_writes(events, relations["co"])
    raise KeyError(name)
