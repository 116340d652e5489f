"""What can take effect next."""

from __future__ import annotations

from collections.abc import Callable

from dekker.engines.modular.capture import NOWHERE, Local, Mark, Passed, PassedWrite
from dekker.engines.modular.code import Barrier, Choice, Code, PartialBarrier, Read, Stop, Update
from dekker.engines.modular.memory import Cell, Memory
from dekker.records import dataclass


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


def oldest(passed: Passed) -> tuple[Candidate, ...]:
    """The first passed write, if there is one: where no mark is kept, nothing stands in front of it."""
    return tuple(TakeEffect(0, *item) for item in passed[:1] if isinstance(item, PassedWrite))


def own_or_memory(passed: Passed, cell: Cell) -> tuple[Candidate, ...]:
    """A read of the newest own write, early, or else of memory."""
    own = newest(passed, cell)
    return (ReadMemory(cell) if own is None else ReadOwn(cell, own.value),)


def at_position(
    local: Local, code: Code, memory: Memory, read: Callable[[Passed, Cell], tuple[Candidate, ...]]
) -> tuple[Candidate, ...]:
    """What the code behind the passed writes can do where writes are passed: `read` says how the model reads, and
    whatever is an update waits until nothing is passed."""
    if local.position == NOWHERE:
        return ()
    step = code.steps[local.position]
    match step:
        case Read():
            return read(local.passed, memory.at(step, local.registers))
        case Update():
            return () if local.passed else (UpdateMemory(memory.at(step, local.registers)),)
    return local_steps(local, code)


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
