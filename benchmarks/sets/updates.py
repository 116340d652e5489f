"""Programs that change what they read: counters, compare-exchange loops, locks, and two threads that add each other's
variable."""

from __future__ import annotations

from math import comb, factorial

from benchmarks.sets.family import Family
from benchmarks.sketch import (
    AtomicIncrement,
    Await,
    CompareAndIncrement,
    Equals,
    LinkedIncrement,
    Load,
    Publish,
    Sketch,
    Statement,
    Store,
    Sum,
    Thread,
    TryLock,
    Unlock,
)

LINKED_LOCKS = ("power", "armv7")
"""Models whose languages take a lock with a load-linked and a store-conditional, which may fail without a reason."""


def _fib(rounds: int) -> Sketch:
    def thread(mine: str, other: str) -> Thread:
        step: tuple[Statement, ...] = (Load("a", mine), Load("b", other), Sum("a", "a", "b"), Store(mine, "a"))
        return step * rounds

    last, greatest = 1, 1
    for _ in range(2 * rounds):
        last, greatest = greatest, last + greatest
    threads = (thread("x", "y"), thread("y", "x"))
    return Sketch(f"fib-{rounds}", threads, "exists", (Equals("y", greatest),), {"x": 1, "y": 1})


def _fib_traces(model: str, rounds: int) -> int | None:
    """Which round of the other thread each round sees, as a pair of staircases: where values cannot come out of thin
    air the two do not cross, and MacMahon counted such pairs. Under sc there are fewer; under rmo more, because reads
    of one location may be swapped."""
    if model in ("sc", "rmo"):
        return None
    return comb(2 * rounds, rounds) * comb(2 * rounds + 1, rounds) // (rounds + 1)


FIB = Family(
    name="fib",
    about="two threads that add each other's variable to their own, n times",
    size="rounds",
    sizes=(2, 3, 4, 5, 6),
    models=("sc", "tso", "power", "rc11"),
    sketch=_fib,
    traces=_fib_traces,
    formula="(2n choose n)(2n+1 choose n)/(n+1); sc, rmo: none",
)


def _same(name: str, thread: Thread, threads: int, total: int | None = None) -> Sketch:
    """`total`, if it is certain, is what the counter x holds in the end."""
    quantifier, value = ("exists", threads) if total is None else ("forall", total)
    return Sketch(f"{name}-{threads}", (thread,) * threads, quantifier, (Equals("x", value),))


FETCH_ADD = Family(
    name="fetch-add",
    about="n threads, one atomic increment each",
    size="threads",
    sizes=(4, 5, 6, 7, 8),
    models=("tso", "aarch64", "rc11"),
    sketch=lambda threads: _same("fetch-add", (AtomicIncrement("x"),), threads, total=threads),
    traces=lambda _, threads: factorial(threads),
    formula="n!",
)

CAS = Family(
    name="cas",
    about="n threads increment with a compare-exchange loop, unrolled to two attempts",
    size="threads",
    sizes=(2, 3, 4),
    models=("tso", "aarch64", "rc11"),
    sketch=lambda threads: _same("cas", (CompareAndIncrement("x"),) * 2, threads),
    traces=lambda *_: None,
    formula="none",
)


def _linked_traces(_model: str, threads: int) -> int:
    """The successful ones in some order; each of the others reads any of their values, or the first."""
    successes = range(threads + 1)
    return sum(comb(threads, s) * factorial(s) * (s + 1) ** (threads - s) for s in successes)


LLSC = Family(
    name="llsc",
    about="n threads, one attempt each to increment with load-linked and store-conditional",
    size="threads",
    sizes=(2, 3, 4, 5, 6),
    models=("power", "aarch64"),
    sketch=lambda threads: _same("llsc", (LinkedIncrement("x"),), threads),
    traces=_linked_traces,
    formula="sum over s of (n choose s) s! (s+1)^(n-s)",
)
LLSC_LOOP = Family(
    name="llsc-loop",
    about="n threads, two attempts each to increment with load-linked and store-conditional",
    size="threads",
    sizes=(2, 3),
    models=("power", "aarch64"),
    sketch=lambda threads: _same("llsc-loop", (LinkedIncrement("x"),) * 2, threads),
    traces=lambda *_: None,
    formula="none",
)


def _critical_section() -> Thread:
    return (Load("r", "x"), Sum("r", "r", 1))


LOCK_THREAD: Thread = (TryLock("lock"), *_critical_section(), Store("x", "r"), Unlock("lock"))


def _lock_traces(model: str, threads: int) -> int | None:
    """By exchange: in each order of the attempts any but the first may come while the lock is held, or when it is free
    again. By load-linked: those who fail read any of the writes to the lock, or what was there first. The
    unlocking store of x86 is too weak for pso and rmo."""
    if model in ("pso", "rmo"):
        return None
    if model not in LINKED_LOCKS:
        return factorial(threads) << (threads - 1)
    holders = range(threads + 1)
    return int(sum(comb(threads, h) * factorial(h) * (2 * h + 1) ** (threads - h) for h in holders))


LOCK = Family(
    name="lock",
    about="n threads, one attempt each at a lock that guards a counter",
    size="threads",
    sizes=(2, 3, 4, 5),
    models=("tso", "power", "aarch64", "rc11"),
    sketch=lambda threads: _same("lock", LOCK_THREAD, threads),
    traces=_lock_traces,
    formula="n! 2^(n-1); by load-linked: sum over h of (n choose h) h! (2h+1)^(n-h); pso, rmo: none",
)

TICKET_THREAD: Thread = (
    AtomicIncrement("next", "t"),
    Await("serving", "t"),
    *_critical_section(),
    Store("x", "r"),
    Sum("t", "t", 1),
    Publish("serving", "t"),
)

TICKET = Family(
    name="ticket",
    about="n threads, a ticket lock that guards a counter",
    size="threads",
    sizes=(2, 3, 4, 5),
    models=("rc11",),
    sketch=lambda threads: _same("ticket", TICKET_THREAD, threads, total=threads),
    traces=lambda _, threads: factorial(threads),
    formula="n!",
)
