"""From a cycle to a test, still without instructions: threads of accesses to locations, values, what to check.

- A location for each stretch of the cycle between two changes of location; a thread for each stretch between two
  communications, an inner one for what lies between a Leave and its Back.
- The writes of a location get the values 1, 2, … in coherence order, which is their order along the stretch. A cycle
  on one location has no such beginning: it is cut at a program-order edge, the one it contradicts, to find the
  coherence order, and its values follow the order of appearance.
- A read is checked when the cycle depends on what it reads: where reads-from enters, where from-read leaves, and in a
  read-modify-write. Its value is that of the write before it along the stretch, or the initial 0.
- Coherence is checked by the final value of each location with two writes or more. From three writes on, that does
  not fix the order of the others. Neighbours in coherence order may already be told apart by coherence within a thread
  (a write or checked read of one, then a write or checked read of the next); for those that are not, an observer
  thread is added, which reads the location as often as needed and must see the values in order.

So an execution that satisfies the condition contains the cycle, on every model under which each location alone is
sequentially consistent; and the cycle has such an execution when its from-reads skip no write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dekker.generate.cycles import Cycle
from dekker.generate.edges import Edge, Kind
from dekker.records import dataclass


@dataclass(frozen=True)
class Access:
    """`value` is what is written, or what is read in the executions looked for; `previous` the value of the location
    just before the access in coherence order."""

    index: int
    direction: str
    location: str
    annotation: str
    value: int
    previous: int
    checked: bool


@dataclass(frozen=True)
class Step:
    """An access of a thread, and the edge that leads to it from the access before it in the same thread, if any."""

    edge: Edge | None
    access: Access


@dataclass(frozen=True)
class Test:
    __test__ = False

    threads: tuple[tuple[Step, ...], ...]
    finals: tuple[tuple[str, int], ...]
    locations: tuple[str, ...]


def synthesise(cycle: Cycle, plain: str, exclusive: frozenset[str] = frozenset()) -> Test:
    """The test of a cycle that ends where its first thread begins. `exclusive` are the annotations of accesses made by
    a load-linked and a store-conditional: such a read writes back what it reads, such a write first reads."""
    locations = _locations(cycle)
    accesses = _accesses(cycle, locations)
    threads = _threads(cycle, accesses)
    names = tuple(dict.fromkeys(locations))
    finals = []
    for name in names:
        order = _coherence_order(name, accesses, cycle)
        writes_back = sum(a.location == name and a.direction == "R" and a.annotation in exclusive for a in accesses)
        if len(order) + writes_back > 1 and order:
            finals.append((name, order[-1]))
        observed = _unobserved(name, order, threads, exclusive)
        if observed:
            start = len(cycle) + sum(len(thread) for thread in threads)
            threads = (*threads, _observer(name, observed, plain, start))
    return Test(threads, tuple(finals), names)


LOCATION_NAMES = "xyzabcdefghijklmnopqrstuvw"


def _location_name(number: int) -> str:
    return LOCATION_NAMES[number] if number < len(LOCATION_NAMES) else f"loc{number}"


def _locations(cycle: Cycle) -> list[str]:
    """The location of the access at which each edge starts."""
    changes = sum(not edge.same_location for edge in cycle)
    number, names = 0, []
    for edge in cycle:
        names.append(_location_name(number % changes if changes else 0))
        number += not edge.same_location
    return names


def _walks(cycle: Cycle, locations: Sequence[str]) -> Iterator[list[int]]:
    """For each location the accesses in the order in which coherence places them."""
    size = len(cycle)
    starts = [i for i in range(size) if not cycle[i - 1].same_location]
    if not starts:
        order = [i for i in range(size) if not cycle[i - 1].communicates]
        starts = [next((i for i in order if cycle[i - 1].kind is not Kind.ATOMIC), order[0])]
        yield [(starts[0] + i) % size for i in range(size)]
        return
    for start, end in zip(starts, [*starts[1:], starts[0] + size], strict=True):
        yield [i % size for i in range(start, end)]


def _accesses(cycle: Cycle, locations: Sequence[str]) -> list[Access]:
    values, previous = _values(cycle, locations)
    return [
        Access(
            index=i,
            direction=edge.source,
            location=locations[i],
            annotation=edge.source_annotation or "",
            value=values[i],
            previous=previous[i],
            checked=edge.source == "R" and _is_checked(cycle[i - 1], edge),
        )
        for i, edge in enumerate(cycle)
    ]


def _values(cycle: Cycle, locations: Sequence[str]) -> tuple[dict[int, int], dict[int, int]]:
    values: dict[int, int] = {}
    previous: dict[int, int] = {}
    for walk in _walks(cycle, locations):
        writes = [i for i in walk if cycle[i].source == "W"]
        one_location = len(walk) == len(cycle)
        numbers = {write: n for n, write in enumerate(sorted(writes) if one_location else writes, 1)}
        current = 0
        for i in walk:
            previous[i] = current
            current = numbers.get(i, current)
            values[i] = current
    return values, previous


def _is_checked(entering: Edge, leaving: Edge) -> bool:
    return entering.kind is Kind.READS_FROM or leaving.kind in (Kind.FROM_READ, Kind.ATOMIC)


def _threads(cycle: Cycle, accesses: Sequence[Access]) -> tuple[tuple[Step, ...], ...]:
    threads: list[list[Step]] = [[Step(None, accesses[0])]]
    current, left = 0, []
    for i, edge in enumerate(cycle[:-1]):
        if edge.leaves:
            left.append(current)
        if edge.returns:
            current = left.pop()
        elif edge.external:
            current = len(threads)
            threads.append([])
        threads[current].append(Step(None if edge.external else edge, accesses[i + 1]))
    return tuple(tuple(thread) for thread in threads)


def _coherence_order(location: str, accesses: Sequence[Access], cycle: Cycle) -> list[int]:
    walk = next(
        walk for walk in _walks(cycle, [a.location for a in accesses]) if accesses[walk[0]].location == location
    )
    return [accesses[i].value for i in walk if accesses[i].direction == "W"]


def _unobserved(
    location: str, order: Sequence[int], threads: Sequence[Sequence[Step]], exclusive: frozenset[str]
) -> list[int]:
    """The values that an observer must see, in order, so that with the final value the coherence order is known."""
    if len(order) < 3:
        return []
    known: set[tuple[int, int]] = set()
    for thread in threads:
        accesses = [step.access for step in thread if step.access.location == location]
        seen = [value for access in accesses for value in _values_seen(access, exclusive)]
        known |= {(first, second) for i, first in enumerate(seen) for second in seen[i + 1 :]}
    needed: dict[int, None] = {}
    for pair in pairwise(order[:-1]):
        if pair not in known:
            needed |= dict.fromkeys(pair)
    return list(needed)


def _values_seen(access: Access, exclusive: frozenset[str]) -> tuple[int, ...]:
    if access.direction == "R":
        return (access.value,) if access.checked else ()
    return (access.previous, access.value) if access.annotation in exclusive else (access.value,)


def _observer(location: str, values: Sequence[int], plain: str, start: int) -> tuple[Step, ...]:
    return tuple(
        Step(None, Access(start + i, "R", location, plain, value, value, checked=True))
        for i, value in enumerate(values)
    )
