"""`Task`: what an engine is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from dekker.cat.model import Model
from dekker.ir.program import Program
from dekker.records import dataclass

DEFAULT_UNROLL = 2

Progress = Callable[[dict[str, int]], object]
"""Gets counts, among which may be how many executions were complete before the run began that goes on with them."""
EARLIER = "earlier"

Explorer = Callable[[Any, Any], Any]

SHORTEST_S = 1e-6


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run. `unroll` is how often a backward jump is followed; if there is a `deepest`, it grows up to that
    as long as it cuts something. Unless
    `counts_known_rounds`, only rounds count that what other threads write may have a say in, and the rounds of an inner
    loop start anew with each round of the outer one. `stop_at_first`: the first runtime violation, or flag of the
    model, ends the run; and so does the first deadlock, if `deadlocks` are violations. Unless `counts_executions`, one
    execution may stand for others that go wrong in the same ways."""

    unroll: int = DEFAULT_UNROLL
    timeout_s: float | None = None
    memory_mb: int | None = None
    max_traces: int | None = None
    counts_known_rounds: bool = True
    stop_at_first: bool = False
    deadlocks: bool = True
    deepest: int | None = None
    counts_executions: bool = True

    def of_question(self) -> Limits:
        """Without those that only say how much work there may be, and what comes after it."""
        return replace(self, timeout_s=None, memory_mb=None, max_traces=None, deepest=None)


@dataclass(frozen=True, slots=True)
class Search:
    """How the states engine searches, and which accesses the transform engine delays (`select`). `buffer` bounds
    the entries of each store buffer, 0 not at all; None lets the
    bound grow until it makes no difference, at most to 32. `robust` asks whether the program reaches a state that it
    does not reach under SC. `compact` lets the search go on at the memory limit with hashes in the place of states.
    `exact_sections`: in an atomic section of C nothing happens in other threads; otherwise it is a critical section, as
    for other engines. `exact`: what is counted is counted as it is in the program; None leaves that to `stop_at_first`,
    where only the verdict is asked. The others are reductions, which change no answer."""

    buffer: int | None = None
    robust: bool = False
    depth_first: bool = False
    compact: bool = False
    static_local: bool = True
    dynamic_local: bool = True
    reduction: bool = True
    symmetry: bool = True
    exact: bool | None = None
    exact_sections: bool = True
    select: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """`examples` asks for an execution of each final state in the result; `progress` is called now and then with the
    engine's statistics so far. `pieces` are positions (function and index) of accesses that are part of a larger one:
    they must not race, because that one is never torn. `jobs` is how many threads explore; `split_seed`, if not 0,
    makes them split their work at random, and `pick_seed` makes the rsmc engine draw what to commit next; neither may
    make a difference. `explorer`, if any, does what the rsmc engine asks of the core (a `native.Request`, for this
    task) in another way."""

    program: Program
    model: Model
    limits: Limits = Limits()
    examples: bool = False
    progress: Progress | None = None
    search: Search = Search()
    pieces: frozenset[tuple[str, int]] = frozenset()
    jobs: int = 1
    split_seed: int = 0
    pick_seed: int = 0
    explorer: Explorer | None = None


@runtime_checkable
class Watcher(Protocol):
    """A progress callback that wants to know which task is being worked on."""

    def watch(self, task: Task) -> None: ...

    def __call__(self, counts: dict[str, int]) -> object: ...


def with_time_left(task: Task, elapsed_s: float) -> Task:
    """For another attempt at it, by this engine or the next."""
    if task.limits.timeout_s is None:
        return task
    left = max(SHORTEST_S, task.limits.timeout_s - elapsed_s)
    return replace(task, limits=replace(task.limits, timeout_s=left))
