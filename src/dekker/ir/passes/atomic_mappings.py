"""What compilers emit for the atomics of C11, by architecture.

A row says what stands for one access or fence. Its words are
- fences, by their names in `ir.fences`;
- `access`, the access itself, or `access.acquire`: with an annotation of the architecture;
- `pair`, an update as a loop of load-linked and store-conditional, or `pair.acquire/release`: with annotations;
- `ctrl`, a conditional branch to the next instruction that depends on the value read (`cmpw r,r; bne- $+4`). With an
  isync behind it, everything later waits for the read. The pair of a compare-exchange contains such a branch.

Sources: J. Sevcik and P. Sewell, C/C++11 mappings to processors; M. Batty et al., Clarifying and compiling C/C++
concurrency, POPL 2012; O. Lahav et al., Repairing sequential consistency in C/C++11, PLDI 2017; RISC-V manual, table
A.6. Decisions:
- POWER has its `sync` in front of sequentially consistent accesses. RC11 is made so that this is correct.
- SPARC: fences that the model implies are left out. Under RMO two loads of one location may be reordered, which C11
  forbids even for relaxed ones, so each is followed by #LoadLoad. Plain loads need none: what they race with is
  undefined. Updates order everything under these models, as under TSO, even if they fail.
- POWER, ARMv7: read-modify-writes stay one instruction, although these processors have pairs only. A failed round
  adds reads that nothing depends on, and the models order both forms alike; one instruction is explored faster.
- A compare-exchange is a pair wherever processors have pairs: its loop branches on the value read, which orders later
  writes, and the write depends on the value read by control only. One instruction would be ordered more in some ways
  and less in others.
- AArch64: the pairs of ARMv8.0. `ldaddal` and its kin of ARMv8.1 order more: what comes later waits for their write,
  too. Updates without acquire or without release are ordered alike in both forms and stay one instruction.
- RISC-V: `lr.aqrl`, `sc.rl` for a sequentially consistent compare-exchange, so that a failed one is ordered, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.ir.instructions import Order
from dekker.records import dataclass

ACCESS, PAIR, CTRL = "access", "pair", "ctrl"


@dataclass(frozen=True)
class Row:
    """Fences in front of the access, its order, whether `ctrl` follows, and the fences behind. For a pair, `order` is
    that of the load-linked and `store_order` that of the store-conditional."""

    before: tuple[str, ...]
    order: Order
    store_order: Order | None
    ctrl: bool
    after: tuple[str, ...]


@dataclass(frozen=True)
class AtomicMapping:
    """`updates` are for read-modify-writes, `exchanges` for compare-exchanges. Fences become any number of fences."""

    loads: Mapping[Order, Row]
    stores: Mapping[Order, Row]
    updates: Mapping[Order, Row]
    exchanges: Mapping[Order, Row]
    fences: Mapping[str, tuple[str, ...]]


LOAD_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
STORE_ORDERS = (Order.RELAXED, Order.RELEASE, Order.SEQ_CST)
UPDATE_ORDERS = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)
FENCE_ORDERS = (Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)


def _row(text: str) -> Row:
    words = text.split()
    at = next(index for index, word in enumerate(words) if word.startswith((ACCESS, PAIR)))
    kind, _, annotations = words[at].partition(".")
    order, _, store_order = annotations.partition("/")
    behind = words[at + 1 :]
    return Row(
        tuple(words[:at]),
        Order(order or Order.PLAIN.value),
        Order(store_order or Order.PLAIN.value) if kind == PAIR else None,
        CTRL in behind,
        tuple(word for word in behind if word != CTRL),
    )


def _rows(orders: tuple[Order, ...], texts: tuple[str, ...]) -> dict[Order, Row]:
    return dict(zip(orders, map(_row, texts), strict=True))


def _mapping(
    *,
    loads: tuple[str, ...],
    stores: tuple[str, ...],
    updates: tuple[str, ...],
    exchanges: tuple[str, ...],
    fences: tuple[str, ...],
) -> AtomicMapping:
    """The texts are in the sequence of the orders above."""
    fence_rows = {f"c11.{order.value}": tuple(text.split()) for order, text in zip(FENCE_ORDERS, fences, strict=True)}
    return AtomicMapping(
        _rows(LOAD_ORDERS, loads),
        _rows(STORE_ORDERS, stores),
        _rows(UPDATE_ORDERS, updates),
        _rows(UPDATE_ORDERS, exchanges),
        {f"c11.{Order.RELAXED.value}": (), **fence_rows},
    )


_ALIKE = (ACCESS,) * len(UPDATE_ORDERS)

MAPPINGS: dict[str, AtomicMapping] = {
    "tso": _mapping(
        loads=("access", "access", "access"),
        stores=("access", "access", "access mfence"),
        updates=_ALIKE,
        exchanges=_ALIKE,
        fences=("", "", "", "mfence"),
    ),
    "pso": _mapping(
        loads=("access", "access", "access"),
        stores=("access", "membar.storestore access", "membar.storestore access membar.storeload"),
        updates=_ALIKE,
        exchanges=_ALIKE,
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
        exchanges=_ALIKE,
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
        exchanges=("pair", "pair isync", "lwsync pair", "lwsync pair isync", "sync pair isync"),
        fences=("lwsync", "lwsync", "lwsync", "sync"),
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
        exchanges=("pair", "pair dmb.ish", "dmb.ish pair", "dmb.ish pair dmb.ish", "dmb.ish pair dmb.ish"),
        fences=("dmb.ish", "dmb.ish", "dmb.ish", "dmb.ish"),
    ),
    "aarch64": _mapping(
        loads=("access", "access.acquire", "access.acquire"),
        stores=("access", "access.release", "access.release"),
        updates=("access", "access.acquire", "access.release", "pair.acquire/release", "pair.acquire/release"),
        exchanges=("pair", "pair.acquire", "pair.plain/release", "pair.acquire/release", "pair.acquire/release"),
        fences=("dmb.ishld", "dmb.ish", "dmb.ish", "dmb.ish"),
    ),
    "riscv": _mapping(
        loads=("access", "access fence.r.rw", "fence.rw.rw access fence.r.rw"),
        stores=("access", "fence.rw.w access", "fence.rw.w access"),
        updates=("access", "access.acquire", "access.release", "access.acq_rel", "access.acq_rel"),
        exchanges=("pair", "pair.acquire", "pair.plain/release", "pair.acquire/release", "pair.acq_rel/release"),
        fences=("fence.r.rw", "fence.rw.w", "fence.tso", "fence.rw.rw"),
    ),
}
