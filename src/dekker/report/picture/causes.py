"""Which edges of an execution are to blame: the cycle that no interleaving has, or the one that a model forbids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dekker.cat.reasons import Chain, Reason
from dekker.ir.fences import FENCES
from dekker.records import dataclass
from dekker.report.counterexample import OutOfOrder
from dekker.report.picture.view import ADDR, CO, CTRL, DATA, FENCE, FR, OTHER, PO, RF, RMW
from dekker.shortest_cycle import shortest_cycle
from dekker.witness import Pair, Witness

Step = tuple[int, str, int]

_KINDS = {
    **dict.fromkeys(("rf", "rfe", "rfi"), RF),
    **dict.fromkeys(("co", "coe", "coi"), CO),
    **dict.fromkeys(("fr", "fre", "fri"), FR),
    **dict.fromkeys(("po", "po-loc", "po-tot"), PO),
    **dict.fromkeys(("rmw", "amo", "lxsx"), RMW),
    **{f"{prefix}{kind}": kind for prefix in ("", "pick-", "status-") for kind in (ADDR, DATA, CTRL)},
    **dict.fromkeys(FENCES, FENCE),
}
FULL, CYCLE_IN = "po rf co fr".split(), "a cycle of program order and communication, which no interleaving has"


@dataclass(frozen=True, slots=True)
class Cause:
    """Steps along an execution, by event; `loose` pairs are in program order, and the model does not keep them so."""

    steps: tuple[Step, ...]
    loose: tuple[Pair, ...]
    text: str


def kind_of(name: str) -> str:
    """What is drawn for a relation of a model."""
    return _KINDS.get(name, OTHER)


def forbidding(reasons: Sequence[Reason]) -> Cause | None:
    """Of the first check that fails because of something that is there."""
    for reason in reasons:
        steps = tuple(dict.fromkeys(_leaves(reason.chain)))
        if steps:
            return Cause(steps, (), f"forbidden by axiom {reason.check}")
    return None


def _leaves(chain: Chain) -> Iterator[Step]:
    """The steps that others are made of."""
    for link in chain:
        if link.because:
            for path in link.because:
                yield from _leaves(path)
        elif link.names and link.names[-1].endswith("^-1"):
            yield link.target, link.names[-1].removesuffix("^-1"), link.source
        elif link.source != link.target:
            yield link.source, link.names[-1] if link.names else "", link.target


def out_of_order(order: OutOfOrder | None, model: str) -> Cause | None:
    """What the replay found out about an execution that the model allows."""
    if order is None:
        return None
    return Cause(order.cycle, order.pairs, f"{CYCLE_IN}; {model} does not keep the dashed pairs in order")


def shortest(witness: Witness) -> Cause | None:
    """What the relations say alone, without knowing the model. None for an interleaving."""
    rows = [0] * len(witness.events)
    names: dict[Pair, str] = {}
    for name in FULL:
        for a, b in witness.relations.get(name, ()):
            rows[a] |= 1 << b
            names[a, b] = name
    plain = sum(1 << n for n, event in enumerate(witness.events) if "(" not in event.text)
    cycle = shortest_cycle(rows, plain) or shortest_cycle(rows)
    if cycle is None:
        return None
    return Cause(tuple((a, names[a, b], b) for a, b in pairwise(cycle)), (), CYCLE_IN)
