"""`System`: a program as classes of threads, some with any number of members, and states that are forbidden.

Engines that run fixed threads see a `Program`; the thread-modular search sees a `System`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from dekker.ir.expressions import Address, Const
from dekker.ir.program import Program
from dekker.records import dataclass
from dekker.source import Span


@dataclass(frozen=True, slots=True)
class ThreadClass:
    """Threads that start alike. `count` is how many there are; None stands for any number."""

    name: str
    function: str
    count: int | None = 1
    registers: tuple[tuple[str, Const | Address], ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A thread that a forbidden state speaks of: the different members of a class have different numbers, from 1."""

    thread_class: str
    number: int = 1

    def __str__(self) -> str:
        return self.thread_class if self.number == 1 else f"{self.thread_class}#{self.number}"


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class AtLabel:
    """1 if the member has come to the label and not gone on, else 0. Writes of it may still have to take effect."""

    member: Member
    label: str


@dataclass(frozen=True, slots=True)
class MemberRegister:
    member: Member
    register: str


@dataclass(frozen=True, slots=True)
class SharedValue:
    """What memory holds in element `index`, counted from 0, of an object of elements with `size` bytes."""

    symbol: str
    index: StateTerm
    size: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator of `ir.arithmetic` on signed 64-bit numbers; or `and`, `or` of truth values, which leave the right
    side alone if the left one decides."""

    op: str
    operands: tuple[StateTerm, ...]


StateTerm = Number | AtLabel | MemberRegister | SharedValue | Operation


@dataclass(frozen=True, slots=True)
class ForbiddenState:
    """No reachable state may make the term true, whichever threads the members are. `final`: only states count in which
    all threads have ended and all writes have taken effect."""

    term: StateTerm
    final: bool = False
    span: Span | None = field(default=None, compare=False)


Finale = Callable[[dict[int, int]], tuple[str, Span | None] | None]
"""From the bytes of memory by address to what fails then, and where; raises `AssumptionFails` if it does not count."""


class AssumptionFails(Exception):
    pass


@dataclass(frozen=True)
class System:
    """`program` has the objects and functions; its own threads and its condition play no part. `notes` say what of a
    source the system leaves out. `versions`: objects of which the value modulo a number is what they hold, while the
    rest is a version that never gets smaller, and is only compared and counted up. `first_index` has the arrays that
    count their elements from another number than 0. `finale` is what happens when all threads have ended."""

    program: Program
    classes: tuple[ThreadClass, ...]
    forbidden: tuple[ForbiddenState, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    first_index: Mapping[str, int] = field(default_factory=dict)
    finale: Finale | None = None

    @property
    def is_fixed(self) -> bool:
        return all(item.count is not None for item in self.classes)


def atoms(term: StateTerm) -> Iterator[AtLabel | MemberRegister | SharedValue]:
    """Everything that the term says about a state, from left to right."""
    match term:
        case AtLabel() | MemberRegister():
            yield term
        case SharedValue(_, index, _):
            yield term
            yield from atoms(index)
        case Operation(_, operands):
            for operand in operands:
                yield from atoms(operand)


def members(term: StateTerm) -> tuple[Member, ...]:
    """The threads that the term speaks of, without repetition."""
    found = (atom.member for atom in atoms(term) if not isinstance(atom, SharedValue))
    return tuple(dict.fromkeys(found))
