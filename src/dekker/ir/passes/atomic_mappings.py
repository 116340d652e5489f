"""What compilers emit for the atomics of C11, by architecture.

A row says what stands for one access or fence: fences by their names in `ir.fences`, `access` for the access itself
(`access.acquire`: with an annotation of the architecture), `ctrl` for a conditional branch to the next instruction that
depends on the value read (`cmpw r,r; bne- $+4`; with the isync behind it, that keeps everything later behind the read).

Sources: J. Sevcik and P. Sewell, C/C++11 mappings to processors; M. Batty et al., Clarifying and compiling C/C++
concurrency, POPL 2012; O. Lahav et al., Repairing sequential consistency in C/C++11, PLDI 2017; RISC-V manual, table
A.6. Decisions:
- POWER has its `sync` in front of sequentially consistent accesses. RC11 is made so that this is correct.
- SPARC: fences that the model implies are left out. Under RMO two loads of one location may be reordered, which C11
  forbids even for relaxed ones; so each is followed by #LoadLoad. (Plain loads need it not: what they race with is
  undefined.)
- Read-modify-writes stay one instruction everywhere, also where processors have load-linked and store-conditional
  only: a failed round adds reads that nothing depends on, and the models order both forms alike. A compare-exchange is
  then followed by `ctrl`, because its loop branches on what it read.
- AArch64 has the instructions of ARMv8.1 (`ldaddal`, `casal`). Those with acquire and release order more than the
  exclusive pairs of ARMv8.0: what comes later waits for their write, too.
- RISC-V: `access.seq_cst` is `.aqrl`, which a failed compare-exchange keeps (`lr.aqrl`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dekker.ir.instructions import Order

ACCESS, CTRL = "access", "ctrl"


@dataclass(frozen=True)
class Row:
    """Fences in front of the access, its order, whether `ctrl` follows, and the fences behind. A row of a fence has
    `before` only."""

    before: tuple[str, ...]
    order: Order
    ctrl: bool
    after: tuple[str, ...]


@dataclass(frozen=True)
class AtomicMapping:
    """`updates` are read-modify-writes and compare-exchanges. `branching_exchange`: a compare-exchange is a loop that
    branches on the value read."""

    loads: Mapping[Order, Row]
    stores: Mapping[Order, Row]
    updates: Mapping[Order, Row]
    fences: Mapping[str, tuple[str, ...]]
    branching_exchange: bool = False


LOAD_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
STORE_ORDERS = (Order.RELAXED, Order.RELEASE, Order.SEQ_CST)
UPDATE_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)
FENCE_ORDERS = (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)


def _row(text: str) -> Row:
    words = text.split()
    at = next(index for index, word in enumerate(words) if word.startswith(ACCESS))
    order = words[at].removeprefix(ACCESS).removeprefix(".") or Order.PLAIN.value
    behind = words[at + 1 :]
    return Row(tuple(words[:at]), Order(order), CTRL in behind, tuple(word for word in behind if word != CTRL))


def _rows(orders: tuple[Order, ...], texts: tuple[str, ...]) -> dict[Order, Row]:
    return dict(zip(orders, map(_row, texts), strict=True))


def _mapping(
    loads: tuple[str, ...],
    stores: tuple[str, ...],
    updates: tuple[str, ...],
    fences: tuple[str, ...],
    *,
    branching_exchange: bool = False,
) -> AtomicMapping:
    """The texts are in the sequence of the orders above."""
    fence_rows = {f"c11.{order.value}": tuple(text.split()) for order, text in zip(FENCE_ORDERS, fences, strict=True)}
    return AtomicMapping(
        _rows(LOAD_ORDERS, loads),
        _rows(STORE_ORDERS, stores),
        _rows(UPDATE_ORDERS, updates),
        {f"c11.{Order.RELAXED.value}": (), **fence_rows},
        branching_exchange,
    )


_ALIKE = (ACCESS,) * len(UPDATE_ORDERS)

MAPPINGS: dict[str, AtomicMapping] = {
    "tso": _mapping(
        loads=("access", "access", "access"),
        stores=("access", "access", "access mfence"),
        updates=_ALIKE,
        fences=("", "", "", "mfence"),
    ),
    "pso": _mapping(
        loads=("access", "access", "access"),
        stores=("access", "membar.storestore access", "membar.storestore access membar.storeload"),
        updates=_ALIKE,
        fences=("", "membar.storestore", "membar.storestore", "membar"),
    ),
    "rmo": _mapping(
        loads=(
            "access membar.loadload",
            "access membar.loadload membar.loadstore",
            "access membar.loadload membar.loadstore",
        ),
        stores=(
            "access",
            "membar.loadstore membar.storestore access",
            "membar.loadstore membar.storestore access membar.storeload",
        ),
        updates=_ALIKE,
        fences=(
            "membar.loadload membar.loadstore",
            "membar.loadstore membar.storestore",
            "membar.loadload membar.loadstore membar.storestore",
            "membar",
        ),
    ),
    "power": _mapping(
        loads=("access", "access ctrl isync", "sync access ctrl isync"),
        stores=("access", "lwsync access", "sync access"),
        updates=(
            "access",
            "access ctrl isync",
            "lwsync access",
            "lwsync access ctrl isync",
            "sync access ctrl isync",
        ),
        fences=("lwsync", "lwsync", "lwsync", "sync"),
        branching_exchange=True,
    ),
    "armv7": _mapping(
        loads=("access", "access dmb.ish", "access dmb.ish"),
        stores=("access", "dmb.ish access", "dmb.ish access dmb.ish"),
        updates=(
            "access",
            "access dmb.ish",
            "dmb.ish access",
            "dmb.ish access dmb.ish",
            "dmb.ish access dmb.ish",
        ),
        fences=("dmb.ish", "dmb.ish", "dmb.ish", "dmb.ish"),
        branching_exchange=True,
    ),
    "aarch64": _mapping(
        loads=("access", "access.acquire", "access.acquire"),
        stores=("access", "access.release", "access.release"),
        updates=("access", "access.acquire", "access.release", "access.acq_rel", "access.acq_rel"),
        fences=("dmb.ishld", "dmb.ish", "dmb.ish", "dmb.ish"),
    ),
    "riscv": _mapping(
        loads=("access", "access fence.r.rw", "fence.rw.rw access fence.r.rw"),
        stores=("access", "fence.rw.w access", "fence.rw.w access"),
        updates=("access", "access.acquire", "access.release", "access.acq_rel", "access.seq_cst"),
        fences=("fence.r.rw", "fence.rw.w", "fence.tso", "fence.rw.rw"),
    ),
}
