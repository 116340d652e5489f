"""What each model keeps in order, as far as it can be said without an execution.

A pair is *unordered* in a model if its delay is possible; rules that need to know what a read took (rdw, detour,
forwarding) are left out, so that no pair is taken for ordered that is not. `ghb-*` are the models of the framework: for
POWER it has one global order, which ours has not.
"""

from __future__ import annotations

from dataclasses import replace

from dekker.cat.model import Model
from dekker.errors import UnsupportedError
from dekker.ir.fences import ALL_PAIRS
from dekker.ir.instructions import Order
from dekker.models import shipped_as
from dekker.records import dataclass


@dataclass(frozen=True)
class Rules:
    """`relaxed` are the pairs of directions that need something to stay in order. `dependencies`: addresses, data and,
    to writes, control keep reads before what depends on them; behind one of `control_fences`, control does to reads,
    too. `locked`: an update orders all around it. `annotations`: acquire and release are the processor's.
    `atomic_writes`: all other threads see a write at once; otherwise only cumulative fences make them. `propagation`:
    there is no global order; what fences and dependencies forbid depends on how threads meet (see `cycles`). `hazards`:
    reads of one location may be reordered. `resultless`: only full fences order reads of updates without a result."""

    name: str
    relaxed: frozenset[str]
    dependencies: bool = False
    control_fences: frozenset[str] = frozenset()
    locked: bool = False
    annotations: bool = False
    atomic_writes: bool = True
    propagation: bool = False
    hazards: bool = False
    resultless: bool = False


_TSO = Rules("tso", frozenset(("WR",)), locked=True)
_PSO = Rules("pso", frozenset(("WR", "WW")), locked=True)
_RMO = Rules("rmo", ALL_PAIRS, dependencies=True, locked=True)
_POWER = Rules("power", ALL_PAIRS, dependencies=True, control_fences=frozenset(("isync", "isb")), atomic_writes=False)
_ARM = replace(_POWER, name="armv7", propagation=True)

RULES: dict[str, Rules] = {
    "sc": Rules("sc", frozenset()),
    "tso": _TSO,
    "pso": _PSO,
    "rmo": Rules("rmo", ALL_PAIRS, dependencies=True, locked=True, hazards=True),
    "power": replace(_POWER, propagation=True),
    "armv7": _ARM,
    "aarch64": Rules("aarch64", ALL_PAIRS, True, frozenset(("isb",)), annotations=True, resultless=True),
    "riscv": Rules("riscv", ALL_PAIRS, True, annotations=True),
    "ghb-tso": _TSO,
    "ghb-pso": _PSO,
    "ghb-rmo": _RMO,
    "ghb-power": _POWER,
}

ACQUIRES = frozenset((Order.ACQUIRE, Order.ACQUIRE_PC, Order.ACQ_REL, Order.SEQ_CST))
RELEASES = frozenset((Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST))


def framework_rules(model: str) -> Rules:
    """Of the framework's model of that name, which is what delays are selected for."""
    return rules_of(f"ghb-{model}" if f"ghb-{model}" in RULES else model)


def rules_for(model: Model) -> Rules:
    return rules_of(shipped_as(model) or model.source.name)


def rules_of(model: str) -> Rules:
    found = RULES.get(model.lower())
    if found is None:
        raise UnsupportedError(
            f"critical cycles are not known for the model '{model}'",
            hint=f"models with a fixed set of pairs that may be delayed: {', '.join(RULES)}",
        )
    return found
