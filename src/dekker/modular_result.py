"""The answer of the modular engine: what was covered, and the way to what was found."""

from __future__ import annotations

from dataclasses import field

from dekker.records import dataclass
from dekker.result import Verdict
from dekker.source import Span

Counts = tuple[tuple[str, int | None], ...]
"""Classes and how many threads they have; None stands for any number."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """`arrives` is the label that the thread comes to, if the property names it."""

    thread: str
    text: str
    span: Span | None = None
    arrives: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """`kind` is `forbidden`, `assertion` or `memory`. `memory` and `threads` describe the bad state."""

    kind: str
    message: str
    span: Span | None
    steps: tuple[PathStep, ...]
    memory: tuple[tuple[str, str], ...]
    threads: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A loop in which the states of a thread have no bound. `is_certain`: whatever the other threads are."""

    thread_class: str
    loop: Span | None
    why: str
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class ModularResult:
    """`threads` are those for which the verdict holds. `concrete` is the number of threads that the thread-modular
    search looked at together, None if all threads are fixed. `instance` has the counts of the concrete threads that
    show the findings; if there is none, they are findings of the abstraction alone, and `tried` is the largest instance
    in which none of them was found. `came_to_end`: all threads did, in some state."""

    verdict: Verdict
    model: str
    threads: Counts
    n_states: int
    concrete: int | None = None
    findings: tuple[Finding, ...] = ()
    unbounded: tuple[Unbounded, ...] = ()
    stopped_by: str | None = None
    instance: Counts = ()
    tried: Counts = ()
    notes: tuple[str, ...] = ()
    statistics: dict[str, int] = field(default_factory=dict)
    time_s: float = 0.0
    came_to_end: bool = True


def counts_text(counts: Counts) -> str:
    return ", ".join(
        name if count == 1 else f"{name} ({'any number' if count is None else count})" for name, count in counts
    )


def covers(result: ModularResult) -> str:
    """For which threads the verdict is."""
    what = "exactly these threads" if result.concrete is None else "any number of threads"
    return f"{what}: {counts_text(result.threads)}"
