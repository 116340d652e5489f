"""Commit-before orders for models that do not come with one.

An order may be used if no execution that the model allows has a cycle in it, and if what the model forbids stays
forbidden when events are added. Both are shown from the definitions of the model, for the kinds of events that the
program has; what cannot be shown is refused, with the condition that fails. Whether an order ever leaves an event
without a parameter need not be shown: the explorer notices.

In program order: po ∪ rf has no cycle. As a cycle enters a thread with a read and leaves it with a write, it is enough
that some acyclic relation holds rf between threads and po from reads to writes.

Both ways need coherence: that some acyclic relation holds program order per location and all communication. The
explorer leaves out what that forbids without asking.

By dependencies: a cycle of commit-before consists of rf between threads and of paths inside threads from a read to a
write, made of addr, data;rfi and addr;rfi to a read, addr or data to a write and on to a later read of its location
that reads from elsewhere (a detour), then addr, data, ctrl or addr;po to the write (whatever follows ctrl or addr;po is
itself behind it). It is enough that some acyclic relation holds each of these. What that relation keeps in order in a
thread regardless of what is read is added to the order, as far as a detour does not lead out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from dekker.cat.relational import Check, RelationalProgram
from dekker.engines.rsmc.guarantees import Fact, Guarantees, Path, between_threads, in_thread
from dekker.engines.rsmc.monotone import falling_part
from dekker.engines.rsmc.orders import IN_ORDER, CommitOrder, LocalOrder
from dekker.execution import Event
from dekker.records import dataclass

Events = frozenset[Event]

TOO_LONG = "its definitions rest on one another in a chain that is too long to follow"
NOT_COHERENT = "no acyclic check holds program order per location and all communication"


@dataclass(frozen=True)
class Refusal:
    """Why neither order is known to be valid."""

    in_order: str
    by_dependencies: str


@lru_cache(maxsize=256)
def derive_order(program: RelationalProgram, events: Events) -> CommitOrder | Refusal:
    """For the model of that program, and programs with events like these."""
    guarantees = Guarantees(program)
    try:
        against_in_order = _against_in_order(guarantees, events)
        if against_in_order is None:
            return IN_ORDER
        found = _by_dependencies(guarantees, events)
    except RecursionError:
        return Refusal(TOO_LONG, TOO_LONG)
    return found if isinstance(found, CommitOrder) else Refusal(against_in_order, found)


def _against_in_order(guarantees: Guarantees, events: Events) -> str | None:
    falling = falling_part(guarantees, in_order=True)
    if falling is not None:
        return falling
    missing = _missing(guarantees, [*_communications(events), *_reads_before_writes(events)])
    if missing is not None:
        return f"no acyclic check holds both {missing}"
    if _missing(guarantees, _coherence(events)) is not None:
        return NOT_COHERENT
    if _updates(events) and not _is_atomic(guarantees, events):
        return "no check keeps other writes from coming between the halves of an update"
    return None


def _by_dependencies(guarantees: Guarantees, events: Events) -> CommitOrder | str:
    falling = falling_part(guarantees, in_order=False)
    if falling is not None:
        return falling
    if _updates(events):
        return "it is not known for programs with atomic updates"
    used = {item.name for item in guarantees.program.inputs}
    if any(name.startswith(("pick-", "status-")) for name in used):
        return "it is not known for models that tell kinds of dependencies apart"
    if _missing(guarantees, _coherence(events)) is not None:
        return NOT_COHERENT
    paths = [*_communications(events), *_dependencies(events)]
    missing = _missing(guarantees, paths)
    if missing is not None:
        return f"no acyclic check holds both {missing}"
    check = next(check for check in guarantees.axioms("acyclic") if _holds_all(guarantees, check, paths))
    return _with_kept_order(guarantees, check, events)


Named = tuple[str, Path]


def _missing(guarantees: Guarantees, paths: list[Named]) -> str | None:
    """What keeps the best of the acyclic checks from holding all of the paths. Without a path there is nothing to hold,
    and no check need be there."""
    if not paths or any(_holds_all(guarantees, check, paths) for check in guarantees.axioms("acyclic")):
        return None
    failures = [
        (i, name)
        for check in guarantees.axioms("acyclic")
        for i, (name, path) in enumerate(paths)
        if not guarantees.orders(check, path)
    ]
    names = list(dict.fromkeys(name for name, _ in paths))
    worst = max(failures)[1] if failures else names[-1]
    return f"{names[0]} and {worst}" if worst != names[0] else f"{worst} and what a thread keeps in order"


def _holds_all(guarantees: Guarantees, check: Check, paths: list[Named]) -> bool:
    return all(guarantees.orders(check, path) for _, path in paths)


def _of_kind(events: Events, kind: str) -> list[Event]:
    return sorted((event for event in events if event.kind == kind), key=repr)


def _pairs(events: Events, first: str, second: str) -> Iterator[tuple[Event, Event]]:
    return ((a, b) for a in _of_kind(events, first) for b in _of_kind(events, second))


def _communications(events: Events) -> list[Named]:
    return [
        ("reads-from between threads", between_threads(write, read, "rf")) for write, read in _pairs(events, "W", "R")
    ]


def _reads_before_writes(events: Events) -> list[Named]:
    paths: list[Named] = []
    for read, write in _pairs(events, "R", "W"):
        paths.append(("program order from reads to writes", in_thread(read, write)))
        if _may_be_halves(read, write):
            paths.append(("the order of the halves of an update", in_thread(read, write, facts=_halves(write, 0, 1))))
    return paths


def _may_be_halves(read: Event, write: Event) -> bool:
    return "RMW" in write.tags and bool(read.tags & write.tags & {"AMO", "X"})


def _halves(write: Event, i: int, j: int) -> list[Fact]:
    return [("rmw", i, j), ("amo" if "AMO" in write.tags else "lxsx", i, j), ("loc", i, j)]


def _coherence(events: Events) -> list[Named]:
    accesses = [event for event in sorted(events, key=repr) if event.kind != "F"]
    paths: list[Named] = [
        ("program order per location", in_thread(first, second, facts=[("loc", 0, 1)]))
        for first in accesses
        for second in accesses
    ]
    for name, first, second in (("rf", "W", "R"), ("co", "W", "W"), ("fr", "R", "W")):
        for source, target in _pairs(events, first, second):
            paths.append((name, between_threads(source, target, name)))
            facts = {(name, 0, 1), ("int", 0, 1), ("int", 1, 0), ("loc", 0, 1), ("loc", 1, 0)}
            paths.append((f"{name} in a thread", Path((source, target), frozenset(facts))))
    return paths


def _updates(events: Events) -> list[Event]:
    return [event for event in events if event.tags & {"AMO", "X"}]


def _is_atomic(guarantees: Guarantees, events: Events) -> bool:
    others = _of_kind(events, "W")
    return all(
        any(guarantees.contains(check, _torn(read, other, write)) for check in guarantees.axioms("empty"))
        for read, write in _pairs(events, "R", "W")
        if _may_be_halves(read, write)
        for other in others
    )


def _torn(read: Event, other: Event, write: Event) -> Path:
    """An update with a write of another thread between its halves."""
    outside = {("ext", i, j) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))}
    place = {("loc", i, j) for i in range(3) for j in range(3)}
    inside = {("po", 0, 2), ("int", 0, 2), ("int", 2, 0)}
    between = {("fr", 0, 1), ("co", 1, 2), ("fr", 0, 2)}
    return Path((read, other, write), frozenset({*outside, *place, *inside, *between, *_halves(write, 0, 2)}))


def _dependencies(events: Events) -> Iterator[Named]:
    reads, writes = _of_kind(events, "R"), _of_kind(events, "W")
    for read in reads:
        for other in reads:
            yield "addr to reads", in_thread(read, other, facts=[("addr", 0, 1)])
        for write in writes:
            for name in ("addr", "data", "ctrl"):
                yield f"{name} to writes", in_thread(read, write, facts=[(name, 0, 1)])
            for middle in reads + writes:
                yield "addr;po to writes", in_thread(read, middle, write, facts=[("addr", 0, 1)])
            for name in ("addr", "data"):
                for last in reads:
                    facts = [(name, 0, 1), ("rf", 1, 2), ("loc", 1, 2)]
                    yield f"{name};rfi", in_thread(read, write, last, facts=facts)
                    for other in writes:
                        yield f"{name} and a detour", _detour(read, write, last, other, [(name, 0, 1)])


def _detour(first: Event, write: Event, last: Event, other: Event, facts: Iterable[Fact] = ()) -> Path:
    """Something before a write, and a later read of its location that reads from another thread."""
    path = in_thread(first, write, last, facts=[*facts, ("loc", 1, 2)])
    outside = {("ext", i, 3) for i in range(3)} | {("ext", 3, i) for i in range(3)}
    place = {("loc", i, j) for i in (1, 2, 3) for j in (1, 2, 3)}
    communication = {("co", 1, 3), ("rf", 3, 2)}
    return Path((first, write, last, other), path.facts | outside | place | communication, ends=(0, 2))


def _with_kept_order(guarantees: Guarantees, check: Check, events: Events) -> CommitOrder:
    """Adds what the check keeps in order in a thread whatever is read."""
    accesses = [event for event in events if event.kind != "F"]

    reads, writes = _of_kind(events, "R"), _of_kind(events, "W")

    def keeps(first: Event, second: Event, *facts: Fact) -> bool:
        if not guarantees.orders(check, in_thread(first, second, facts=facts)):
            return False
        detours = (_detour(first, second, last, other, facts) for last in reads for other in writes)
        return second.kind != "W" or all(guarantees.orders(check, path) for path in detours)

    local = {
        event: LocalOrder(
            before_later=all(keeps(event, other) for other in accesses),
            after_earlier=all(keeps(other, event) for other in accesses),
        )
        for event in accesses
    }
    same_place = ("loc", 0, 1)
    to_reads = list(_pairs(events, "R", "R"))
    to_writes = [*_pairs(events, "R", "W"), *_pairs(events, "W", "W")]
    return CommitOrder(
        in_order=False,
        same_location_reads=all(keeps(a, b, same_place) for a, b in to_reads),
        same_location_writes=all(keeps(a, b, same_place) for a, b in to_writes),
        forwarding=True,
        local=lambda event: local.get(event, LocalOrder()),
        fence_pairs=_fence_pairs(guarantees, check, events),
    )


def _fence_pairs(guarantees: Guarantees, check: Check, events: Events) -> Callable[[Event], Iterable[str]]:
    pairs = {
        fence: [
            first + second
            for first in "RW"
            for second in "RW"
            if all(guarantees.orders(check, in_thread(a, fence, b)) for a, b in _pairs(events, first, second))
        ]
        for fence in _of_kind(events, "F")
    }
    return lambda fence: pairs.get(fence, ())
