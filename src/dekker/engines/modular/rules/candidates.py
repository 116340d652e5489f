"""What can take effect next."""

from __future__ import annotations

from dataclasses import dataclass

from dekker.engines.modular.capture import Local, Mark, Passed, PassedWrite
from dekker.engines.modular.code import Barrier, Choice, Code, PartialBarrier, Stop
from dekker.engines.modular.memory import Cell


@dataclass(frozen=True, slots=True)
class TakeEffect:
    """A write that was passed reaches memory; `index` is its place among the passed ones."""

    index: int
    cell: Cell
    value: int


@dataclass(frozen=True, slots=True)
class ReadMemory:
    """The read at the position."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class ReadOwn:
    """The read at the position as an assignment of the value that an own write has captured (rule 3)."""

    cell: Cell
    value: int


@dataclass(frozen=True, slots=True)
class WriteMemory:
    """The write at the position, under SC."""

    cell: Cell
    value: int


@dataclass(frozen=True, slots=True)
class UpdateMemory:
    """The CMPXCHG or read-modify-write at the position."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class GoOn:
    """A local step that is not merged with others: a barrier, a place that the property sees, or (`choices`) a
    choice."""

    choices: tuple[int, ...] = ()


Candidate = TakeEffect | ReadMemory | ReadOwn | WriteMemory | UpdateMemory | GoOn


def newest(passed: Passed, cell: Cell) -> PassedWrite | None:
    """The last passed write to a cell."""
    return next((item for item in reversed(passed) if isinstance(item, PassedWrite) and item.cell == cell), None)


def local_steps(local: Local, code: Code) -> tuple[Candidate, ...]:
    """Those that are the same whatever the memory model."""
    match code.steps[local.position]:
        case Stop():
            return (GoOn(),)
        case Choice(_, values):
            return (GoOn(values),)
        case Barrier() | PartialBarrier() if not local.passed:
            return (GoOn(),)
    return ()


def without(passed: Passed, index: int) -> Passed:
    """What is left when a write has taken effect. A mark with nothing in front of it has no meaning any more."""
    rest = passed[:index] + passed[index + 1 :]
    first = next((place for place, item in enumerate(rest) if not isinstance(item, Mark)), len(rest))
    return rest[first:]
