"""What each model keeps in order, as far as it can be said without an execution.

A pair is *unordered* in a model if its delay is possible; rules that need to know what a read took (rdw, detour,
forwarding) are left out, so that no pair is taken for ordered that is not. `ghb-*` are the models of the framework,
which differ from ours of the same name only in such rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from dekker.errors import UnsupportedError
from dekker.ir.fences import ALL_PAIRS
from dekker.ir.instructions import Order


@dataclass(frozen=True)
class Rules:
    """`relaxed` are the pairs of directions that need something to stay in order. `dependencies`: addresses, data and,
    to writes, control keep reads before what depends on them; behind one of `control_fences`, control does to reads,
    too. `locked`: an update orders all around it. `annotations`: acquire and release are the processor's.
    `atomic_writes`: all other threads see a write at once; otherwise only cumulative fences make them. `hazards`: reads
    of one location may be reordered."""

    name: str
    relaxed: frozenset[str]
    dependencies: bool = False
    control_fences: frozenset[str] = frozenset()
    locked: bool = False
    annotations: bool = False
    atomic_writes: bool = True
    hazards: bool = False


_TSO = Rules("tso", frozenset(("WR",)), locked=True)
_PSO = Rules("pso", frozenset(("WR", "WW")), locked=True)
_RMO = Rules("rmo", ALL_PAIRS, dependencies=True, locked=True)
_POWER = Rules("power", ALL_PAIRS, dependencies=True, control_fences=frozenset(("isync", "isb")), atomic_writes=False)

RULES: dict[str, Rules] = {
    "sc": Rules("sc", frozenset()),
    "tso": _TSO,
    "pso": _PSO,
    "rmo": Rules("rmo", ALL_PAIRS, dependencies=True, locked=True, hazards=True),
    "power": _POWER,
    "armv7": Rules("armv7", ALL_PAIRS, True, frozenset(("isb", "isync")), atomic_writes=False),
    "aarch64": Rules("aarch64", ALL_PAIRS, True, frozenset(("isb",)), annotations=True),
    "riscv": Rules("riscv", ALL_PAIRS, True, annotations=True),
    "ghb-tso": _TSO,
    "ghb-pso": _PSO,
    "ghb-rmo": _RMO,
    "ghb-power": _POWER,
}

ACQUIRES = frozenset((Order.ACQUIRE, Order.ACQUIRE_PC, Order.ACQ_REL, Order.SEQ_CST))
RELEASES = frozenset((Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))


def rules_of(model: str) -> Rules:
    found = RULES.get(model.lower())
    if found is None:
        raise UnsupportedError(
            f"critical cycles are not known for the model '{model}'",
            hint=f"models with a fixed set of pairs that may be delayed: {', '.join(RULES)}",
        )
    return found
