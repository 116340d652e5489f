"""A benchmark program before it is written down: threads of statements over shared locations.

`benchmarks.languages` writes a sketch as a litmus test of some architecture, or as C with threads for other tools. Not
every language can express every statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Load:
    register: str
    location: str


@dataclass(frozen=True)
class Store:
    """`value` is a number or a register."""

    location: str
    value: int | str


@dataclass(frozen=True)
class Sum:
    """`right` is a number or a register."""

    register: str
    left: str
    right: int | str


@dataclass(frozen=True)
class Fence:
    """A full fence, or one that need not order a write before a later read."""

    full: bool = True


@dataclass(frozen=True)
class StopIf:
    """Ends the thread."""

    register: str
    value: int


@dataclass(frozen=True)
class AtomicIncrement:
    """One instruction; `register` takes the value before."""

    location: str
    register: str | None = None


@dataclass(frozen=True)
class CompareAndIncrement:
    """A load, then a compare-exchange from what it found to one more. Success ends the thread."""

    location: str


@dataclass(frozen=True)
class LinkedIncrement:
    """A load-linked, then a store-conditional of one more. Success ends the thread."""

    location: str


@dataclass(frozen=True)
class TryLock:
    """One attempt at a lock that is 0 while free. Failure ends the thread."""

    location: str


@dataclass(frozen=True)
class Unlock:
    location: str


@dataclass(frozen=True)
class Await:
    """Waits until the location holds what the register holds; what follows comes after the write that is awaited."""

    location: str
    register: str


@dataclass(frozen=True)
class Publish:
    """A store that comes after everything before it in the thread."""

    location: str
    value: int | str


Statement = (
    Load
    | Store
    | Sum
    | Fence
    | StopIf
    | AtomicIncrement
    | CompareAndIncrement
    | LinkedIncrement
    | TryLock
    | Unlock
    | Await
    | Publish
)
Thread = tuple[Statement, ...]


@dataclass(frozen=True)
class Equals:
    """A register of a thread at its end, or, without a thread, a location at the end of the run."""

    name: str
    value: int
    thread: int | None = None


@dataclass(frozen=True)
class Sketch:
    """`quantifier` is that of litmus conditions; the atoms are meant all together. Locations start as 0 unless they
    have an `initial` value."""

    name: str
    threads: tuple[Thread, ...]
    quantifier: str
    condition: tuple[Equals, ...]
    initial: Mapping[str, int] = field(default_factory=dict)


def locations(thread: Thread) -> tuple[str, ...]:
    """In order of appearance."""
    return tuple(dict.fromkeys(str(s.location) for s in thread if not isinstance(s, Sum | Fence | StopIf)))


def registers(thread: Thread) -> tuple[str, ...]:
    """Those that are written, in order of appearance."""
    written = (s.register for s in thread if isinstance(s, Load | Sum | AtomicIncrement))
    return tuple(dict.fromkeys(register for register in written if register is not None))
