"""Fig. 11 of Abdulla, Atig, Jonsson and Leonardsson, "Stateless Model Checking for POWER" (CAV 2016): the idiom of
Dekker's algorithm, and a critical section that writes one location many times. The paper has ten writes."""

from __future__ import annotations

from math import comb

from benchmarks.sets.family import Family
from benchmarks.sketch import Equals, Fence, Load, Sketch, StopIf, Store, Thread


def _sketch(writes: int, fenced: bool) -> Sketch:
    def thread(mine: str, other: str) -> Thread:
        fence = (Fence(),) if fenced else ()
        return (Store(mine, 1), *fence, Load("r", other), StopIf("r", 1), *[Store("z", 1)] * writes)

    both_enter = (Equals("r", 0, 0), Equals("r", 0, 1))
    name = f"SB+{writes}W" + ("+fences" if fenced else "")
    return Sketch(name, (thread("x", "y"), thread("y", "x")), "exists", both_enter)


def _traces(model: str, writes: int) -> int:
    """One trace for each outcome in which at most one thread enters; if both do, every interleaving of the writes."""
    return 3 if model == "sc" else 3 + comb(2 * writes, writes)


SIZES = tuple(range(4, 13, 2))

UNFENCED = Family(
    name="fig11",
    about="Dekker's idiom without fences, n writes in each critical section",
    size="writes",
    sizes=SIZES,
    models=("power",),
    sketch=lambda writes: _sketch(writes, fenced=False),
    traces=_traces,
    formula="3 + (2n choose n); sc: 3",
)
FENCED = Family(
    name="fig11-fenced",
    about="the same with full fences: the critical sections exclude each other",
    size="writes",
    sizes=SIZES,
    models=("power",),
    sketch=lambda writes: _sketch(writes, fenced=True),
    traces=lambda *_: 3,
    formula="3",
)
