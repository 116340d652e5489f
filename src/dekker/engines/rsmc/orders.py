"""Commit-before orders: in which order the explorer may commit the events of a program, per model.

In-order models (po ∪ rf is acyclic in every allowed execution) commit in program order. The others commit as soon as
dependencies, program order per location, and what the model keeps in order within a thread whatever is read allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dekker.engines.rsmc.events import FAILS_ALIKE, MAY_FAIL
from dekker.execution import Event
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Order
from dekker.records import dataclass

ACQUIRES = frozenset((Order.ACQUIRE, Order.ACQ_REL, Order.SEQ_CST))
RELEASES = frozenset((Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))


@dataclass(frozen=True)
class LocalOrder:
    """What the class of an event says about its order within the thread. `only_full_fences`: fences keep it before
    later accesses only if they order everything."""

    before_later: bool = False
    after_earlier: bool = False
    strong_release: bool = False
    strong_acquire: bool = False
    only_full_fences: bool = False


UNORDERED = LocalOrder()


@dataclass(frozen=True)
class CommitOrder:
    """`same_location_reads`, `same_location_writes`: reads of one location stay in order; a write waits for all earlier
    accesses of its location. `forwarding`: a load may take the value of an own store before that store is committed,
    because the model orders neither the store's earlier accesses of the location before such a load, nor the store
    itself. `forwarding_of_updates`: so may the read of an update, and both may with the value of an own update or
    store-conditional, also before it is known which value a selection makes of it or whether a compare-exchange writes.
    `address_order`: the model keeps a write behind what the addresses of earlier accesses depend on; otherwise a
    program in which one waits for no other reason is refused. `pick_seed`, unless 0, makes the explorer draw what to
    commit next; `most_waiting` bounds what it puts off, in events. Neither changes what it finds."""

    in_order: bool
    same_location_reads: bool = True
    same_location_writes: bool = True
    forwarding: bool = False
    forwarding_of_updates: bool = False
    address_order: bool = True
    pick_seed: int = 0
    most_waiting: int = 100_000
    local: Callable[[Event], LocalOrder] = lambda event: UNORDERED
    fence_pairs: Callable[[Event], Iterable[str]] = lambda fence: FENCES[fence.fence].orders


def _is_open(event: Event) -> bool:
    """Does the order of this read depend on whether the update succeeds? Only what holds in both cases may be used."""
    return event.kind == "R" and MAY_FAIL in event.tags and FAILS_ALIKE not in event.tags


def _aarch64(event: Event) -> LocalOrder:
    is_resultless = event.kind == "R" and "NORET" in event.tags
    if _is_open(event):
        return LocalOrder(only_full_fences=is_resultless)
    acquires = event.kind == "R" and (event.order in ACQUIRES or event.order is Order.ACQUIRE_PC)
    strong_acquire = event.kind == "R" and event.order in ACQUIRES
    release = event.kind == "W" and event.order in RELEASES
    full_update = "AMO" in event.tags and event.order in ACQUIRES and event.order in RELEASES
    # What is behind a full update is behind all that its write waits for, so its read may wait for that as well.
    after_earlier = release or full_update
    return LocalOrder(acquires or full_update, after_earlier, release, strong_acquire, is_resultless)


def _riscv(event: Event) -> LocalOrder:
    if _is_open(event):
        return UNORDERED
    strong = bool(event.tags & {"AMO", "X"})
    acquires, releases = event.order in ACQUIRES, event.order in RELEASES
    return LocalOrder(acquires, releases, strong and (acquires or releases), strong and (acquires or releases))


def _full_updates(event: Event) -> LocalOrder:
    """An update is a fence, but one that may fail is so only if it succeeds, which is not known in advance."""
    is_fence = "RMW" in event.tags and MAY_FAIL not in event.tags
    return LocalOrder(is_fence, is_fence)


IN_ORDER = CommitOrder(in_order=True)

COMMIT_ORDERS: dict[str, CommitOrder] = {
    "sc": IN_ORDER,
    "ibm370": IN_ORDER,
    "tso": IN_ORDER,
    "pso": IN_ORDER,
    "cpp20": IN_ORDER,
    "rc11": IN_ORDER,
    "power": CommitOrder(in_order=False),
    "armv7": CommitOrder(in_order=False, same_location_writes=False, forwarding=True),
    "aarch64": CommitOrder(in_order=False, forwarding=True, forwarding_of_updates=True, local=_aarch64),
    "riscv": CommitOrder(in_order=False, forwarding=True, local=_riscv),
    "rmo": CommitOrder(
        in_order=False, forwarding=True, same_location_reads=False, address_order=False, local=_full_updates
    ),
}

NOT_FOR_UPDATES: dict[str, frozenset[str]] = {"armv7": frozenset(("AMO", "X")), "rmo": frozenset((MAY_FAIL,))}
"""Tags of events for which no valid order is known. ARMv7 orders neither the halves of an update nor accesses of one
location; under RMO an update is a fence only if it succeeds."""

FORGET_DEPENDENCIES = frozenset(("sc", "tso", "pso", "cpp20", "rc11", "power", "aarch64", "riscv"))
"""Models that allow an execution also if there are less dependencies in it, or if a read is weaker."""

LEAVE_ORDER_OPEN = frozenset(("sc", "tso", "ibm370", "pso", "cpp20", "rc11"))
"""Models of which `core/src/rsmc/unseen_writes.hpp` shows that where nobody sees the order of writes there is one for
whatever they allow of the rest."""
