"""Litmus tests that every reader of the field knows, with as many threads as one likes."""

from __future__ import annotations

from math import factorial

from benchmarks.sets.family import Family
from benchmarks.sketch import Equals, Fence, Load, Sketch, StopIf, Store, Thread

MULTI_COPY_ATOMIC_IN_ORDER = ("sc", "tso", "pso")
"""Models under which reads stay in order and all threads see writes in one order."""


def _writers(writers: int) -> Sketch:
    threads: list[Thread] = [(Store("x", value),) for value in range(1, writers + 1)]
    reader: Thread = (Load("r", "x"),)
    return Sketch(f"writers-{writers}", (*threads, reader), "exists", (Equals("r", 0, writers), Equals("x", 1)))


WRITERS = Family(
    name="writers",
    about="n threads write one location, one thread reads it",
    size="writers",
    sizes=(4, 5, 6, 7, 8),
    models=("tso", "power", "rc11"),
    sketch=_writers,
    traces=lambda _, writers: factorial(writers + 1),
    formula="(n+1)!",
)


def _ring(threads: int) -> Sketch:
    code = tuple((Store(f"x{i}", 1), Load("r", f"x{(i + 1) % threads}")) for i in range(threads))
    return Sketch(f"SB-ring-{threads}", code, "exists", tuple(Equals("r", 0, i) for i in range(threads)))


SB_RING = Family(
    name="sb-ring",
    about="store buffering in a ring: thread i writes x[i] and reads x[i+1]",
    size="threads",
    sizes=(4, 8, 10, 12, 14),
    models=("tso", "power", "rc11"),
    sketch=_ring,
    traces=lambda model, threads: 2**threads - (model == "sc"),
    formula="2^n; sc: 2^n - 1",
    smallest=2,
)


def _iriw(readers: int, fenced: bool) -> Sketch:
    fence = (Fence(),) if fenced else ()
    orders = [("x", "y") if i % 2 == 0 else ("y", "x") for i in range(readers)]
    threads: list[Thread] = [(Store("x", 1),), (Store("y", 1),)]
    threads += [(Load("r", first), *fence, Load("s", second)) for first, second in orders]
    seen = [Equals(name, value, 2 + i) for i in range(readers) for name, value in (("r", 1), ("s", 0))]
    return Sketch(f"IRIW-{readers}" + ("+fences" if fenced else ""), tuple(threads), "exists", tuple(seen))


def _agreeing_readers(readers: int) -> int:
    """All outcomes but those in which a reader of x, y sees x written first and a reader of y, x sees y first."""
    ahead, behind = (readers + 1) // 2, readers // 2
    return int(4**readers - (4**ahead - 3**ahead) * (4**behind - 3**behind))


IRIW = Family(
    name="iriw",
    about="two independent writes, n readers that look at both, in either order",
    size="readers",
    sizes=(2, 4, 6, 8),
    models=("tso", "power", "rc11"),
    sketch=lambda readers: _iriw(readers, fenced=False),
    traces=lambda model, n: _agreeing_readers(n) if model in MULTI_COPY_ATOMIC_IN_ORDER else 4**n,
    formula="4^n; sc, tso, pso: 4^n - (4^a - 3^a)(4^b - 3^b) with a + b = n, a - b in {0, 1}",
)
IRIW_FENCED = Family(
    name="iriw-fenced",
    about="the same with a full fence between the reads",
    size="readers",
    sizes=(2, 4, 6, 8),
    models=("power", "rc11"),
    sketch=lambda readers: _iriw(readers, fenced=True),
    traces=lambda _, readers: _agreeing_readers(readers),
    formula="4^n - (4^a - 3^a)(4^b - 3^b) with a + b = n, a - b in {0, 1}",
)


def _message(words: int) -> Sketch:
    sender: Thread = (*(Store(f"x{i}", 1) for i in range(words)), Fence(full=False), Store("flag", 1))
    reads = (Load("s", f"x{i}") for i in range(words))
    receiver: Thread = (Load("r", "flag"), StopIf("r", 0), Fence(full=False), *reads)
    return Sketch(f"MP-{words}", (sender, receiver), "exists", (Equals("r", 1, 1), Equals("s", 0, 1)))


MESSAGE = Family(
    name="message",
    about="message passing with fences, a message of n words: long, few traces",
    size="words",
    sizes=(16, 32, 64, 128),
    models=("tso", "power", "rc11"),
    sketch=_message,
    traces=lambda *_: 2,
    formula="2",
)


def _chain(threads: int) -> Sketch:
    code: list[Thread] = [(Store("x0", 1),)]
    code += [(Load("r", f"x{i}"), StopIf("r", 0), Store(f"x{i + 1}", 1)) for i in range(threads)]
    return Sketch(f"chain-{threads}", tuple(code), "exists", (Equals(f"x{threads}", 1),))


CHAIN = Family(
    name="chain",
    about="each of n threads passes on what it hears from the one before, or stops",
    size="threads",
    sizes=(10, 20, 40, 80),
    models=("tso", "power", "rc11"),
    sketch=_chain,
    traces=lambda _, threads: threads + 1,
    formula="n + 1",
)


def _late(places: int) -> Sketch:
    reader: Thread = (Load("r", "x"),)
    looker: Thread = (*(Load("s", f"place{i}") for i in range(places)), Store("x", 1))
    writer: Thread = tuple(Store(f"place{i}", 1) for i in range(places))
    return Sketch(f"late-{places}", (reader, looker, writer), "exists", (Equals("r", 1, 0), Equals("s", 0, 1)))


LATE = Family(
    name="late",
    about="one thread reads what another writes after it looked at n locations that a third one writes: continuations",
    size="locations",
    sizes=(8, 12, 16),
    models=("tso",),
    sketch=_late,
    traces=lambda _, places: 2 ** (places + 1),
    formula="2^(n+1)",
)
