"""Whether a model still allows an execution when reads and fences are taken out of it.

Take an execution, and the one that is left without some reads that nothing depends on, and without some fences. Base
sets and relations of the smaller one are *kept*: those of the larger one, as far as the events are still there. What a
model computes from them may be kept as well; or it may have *shrunk*, to a part of that; or neither. A composition
shrinks, because the event in the middle may be gone, unless that event is always a write. What is subtracted must be
kept, otherwise the difference may grow. Checks fail because of pairs, so those on what is kept or has shrunk hold in
the smaller execution if they hold in the larger one; negated ones need not. Flags do not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from dekker.cat.relational import Fixpoint, Op, RelationalProgram, Step
from dekker.records import dataclass


@lru_cache(maxsize=64)
def forgets_reads(program: RelationalProgram) -> bool:
    """Whether what a model allows is still allowed without some reads and fences. May be False although it is."""
    traits = [NOTHING] * len(program.kinds)
    for item in program.inputs:
        traits[item.slot] = _BASE.get(item.name, KEPT)
    for step in program.steps:
        _assign(step, traits)
    return all(traits[check.slot].shrunk and not check.negated for check in program.checks if not check.flag)


@dataclass(frozen=True, slots=True)
class Trait:
    """`kept` and `shrunk` are as above, and what is kept counts as shrunk. `from_writes` and `to_writes` say that all
    pairs start or end in writes; for a set both say that it contains nothing else."""

    kept: bool = False
    shrunk: bool = False
    from_writes: bool = False
    to_writes: bool = False


NOTHING = Trait()
KEPT = Trait(kept=True, shrunk=True)
WRITES = Trait(kept=True, shrunk=True, from_writes=True, to_writes=True)
FROM_WRITES = replace(KEPT, from_writes=True)
TO_WRITES = replace(KEPT, to_writes=True)

_BASE = {
    **dict.fromkeys(("W", "IW", "FW", "L", "co", "status-data"), WRITES),
    **dict.fromkeys(("rf", "status-addr", "status-ctrl"), FROM_WRITES),
    **dict.fromkeys(("fr", "data", "pick-data", "rmw", "amo", "lxsx"), TO_WRITES),
}


def _assign(step: Step, traits: list[Trait]) -> None:
    if isinstance(step, Op):
        traits[step.dst] = _OPERATIONS[step.code](*(traits[slot] for slot in step.args))
    else:
        _assign_fixpoint(step, traits)


def _assign_fixpoint(step: Fixpoint, traits: list[Trait]) -> None:
    """What shrinks if the variables have shrunk, has shrunk after any number of rounds."""
    for slot in step.variables:
        traits[slot] = Trait(shrunk=True)
    for inner in step.body:
        _assign(inner, traits)
    if not all(traits[slot].shrunk for slot in step.results):
        for slot in _written(step):
            traits[slot] = NOTHING


def _written(step: Step) -> set[int]:
    if isinstance(step, Op):
        return {step.dst}
    return {*step.variables}.union(*map(_written, step.body))


def _either(left: Trait, right: Trait) -> Trait:
    return Trait(
        left.kept and right.kept,
        left.shrunk and right.shrunk,
        left.from_writes and right.from_writes,
        left.to_writes and right.to_writes,
    )


def _both(left: Trait, right: Trait) -> Trait:
    found = _either(left, right)
    return replace(
        found, from_writes=left.from_writes or right.from_writes, to_writes=left.to_writes or right.to_writes
    )


def _without(left: Trait, right: Trait) -> Trait:
    return replace(left, kept=left.kept and right.kept, shrunk=left.shrunk and right.kept)


def _composed(left: Trait, right: Trait) -> Trait:
    kept = left.kept and right.kept and (left.to_writes or right.from_writes)
    return Trait(kept, left.shrunk and right.shrunk, left.from_writes, right.to_writes)


def _cross(left: Trait, right: Trait) -> Trait:
    return Trait(left.kept and right.kept, left.shrunk and right.shrunk, left.from_writes, right.to_writes)


def _closed(item: Trait) -> Trait:
    """If all pairs end in writes, so do the steps of every chain."""
    kept = item.kept and (item.from_writes or item.to_writes)
    return replace(item, kept=kept)


def _reflexive(item: Trait) -> Trait:
    return replace(item, from_writes=False, to_writes=False)


def _ends(item: Trait, are_writes: bool, others_are_writes: bool) -> Trait:
    """The events at one end of pairs; they stay if the other ends do."""
    kept = item.kept and others_are_writes
    return Trait(kept, item.shrunk, are_writes, are_writes)


_OPERATIONS: dict[str, Callable[..., Trait]] = {
    "union": _either,
    "inter": _both,
    "diff": _without,
    "seq": _composed,
    "inverse": lambda item: replace(item, from_writes=item.to_writes, to_writes=item.from_writes),
    "plus": _closed,
    "star": lambda item: _reflexive(_closed(item)),
    "opt": _reflexive,
    "compl": lambda item: KEPT if item.kept else NOTHING,
    "set-union": _either,
    "set-inter": _both,
    "set-diff": _without,
    "set-compl": lambda item: KEPT if item.kept else NOTHING,
    "identity": lambda item: item,
    "cross": _cross,
    "domain": lambda item: _ends(item, item.from_writes, item.to_writes),
    "range": lambda item: _ends(item, item.to_writes, item.from_writes),
    "empty-rel": lambda: WRITES,
    "empty-set": lambda: WRITES,
    "full-rel": lambda: KEPT,
    "full-set": lambda: KEPT,
    "id": lambda: KEPT,
}
