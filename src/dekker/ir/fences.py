"""Every fence the models know, by its one name in the representation.

A fence has a *tag*, the name of its event set in `.cat` files, and the pairs of accesses that it orders wherever it
stands between them: `RR` read before read, `WR` write before read, and so on. The pairs let a model give a meaning to
the fences of another architecture: `sync` and `mfence` both order all four.
"""

from __future__ import annotations

from itertools import product

from dekker.records import dataclass

ALL_PAIRS = frozenset(("RR", "RW", "WR", "WW"))


@dataclass(frozen=True, slots=True)
class FenceKind:
    name: str
    tag: str
    orders: frozenset[str]


def _kind(name: str, tag: str, *orders: str) -> FenceKind:
    return FenceKind(name, tag, frozenset(orders))


def _arm(instruction: str) -> list[FenceKind]:
    kinds = []
    for domain in ("sy", "ish", "osh", "nsh"):
        suffix = "" if domain == "sy" else domain
        full = domain if suffix else "sy"
        base = f"{instruction}.{suffix}"
        upper = f"{instruction.upper()}.{suffix.upper()}"
        kinds += [
            _kind(f"{instruction}.{full}", f"{instruction.upper()}.{full.upper()}", *ALL_PAIRS),
            _kind(f"{base}ld", f"{upper}LD", "RR", "RW"),
            _kind(f"{base}st", f"{upper}ST", "WW"),
        ]
    return kinds


def _riscv() -> list[FenceKind]:
    classes = ("r", "w", "rw")
    kinds = []
    for before, after in product(classes, classes):
        pairs = (first + second for first, second in product(before.upper(), after.upper()))
        kinds.append(_kind(f"fence.{before}.{after}", f"Fence.{before}.{after}", *pairs))
    kinds.append(_kind("fence.tso", "Fence.tso", "RR", "RW", "WW"))
    kinds.append(_kind("fence.i", "Fence.i"))
    return kinds


def _sparc() -> list[FenceKind]:
    names = {"RR": "LoadLoad", "RW": "LoadStore", "WR": "StoreLoad", "WW": "StoreStore"}
    kinds = [_kind(f"membar.{name.lower()}", f"MEMBAR.{name}", pair) for pair, name in names.items()]
    return [*kinds, _kind("membar", "MEMBAR", *ALL_PAIRS), _kind("stbar", "STBAR", "WW")]


def _c11() -> list[FenceKind]:
    return [
        _kind("c11.relaxed", "RLX"),
        _kind("c11.acquire", "ACQ", "RR", "RW"),
        _kind("c11.release", "REL", "RW", "WW"),
        _kind("c11.acq_rel", "ACQ_REL", "RR", "RW", "WW"),
        _kind("c11.seq_cst", "SC", *ALL_PAIRS),
    ]


FENCES: dict[str, FenceKind] = {
    kind.name: kind
    for kind in (
        _kind("mfence", "MFENCE", *ALL_PAIRS),
        _kind("lfence", "LFENCE"),
        _kind("sfence", "SFENCE"),
        _kind("sync", "SYNC", *ALL_PAIRS),
        _kind("lwsync", "LWSYNC", "RR", "RW", "WW"),
        _kind("eieio", "EIEIO", "WW"),
        _kind("isync", "ISYNC"),
        _kind("isb", "ISB"),
        *_arm("dmb"),
        *_arm("dsb"),
        *_riscv(),
        *_sparc(),
        *_c11(),
        _kind("compiler", "COMPILER"),
    )
}
