"""What must hold: a condition over final states, and which runtime errors count."""

from __future__ import annotations

from enum import Enum

from dekker.records import dataclass


class Quantifier(Enum):
    EXISTS = "exists"
    NOT_EXISTS = "~exists"
    FORALL = "forall"


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """The final value of a thread's register, read as a signed number of `width` bits. `label` is how the source names
    it, where that differs from `thread:register`."""

    thread: int
    register: str
    width: int = 64
    label: str = ""

    def __str__(self) -> str:
        return f"{self.thread}:{self.label or self.register}"


@dataclass(frozen=True, slots=True)
class MemoryValue:
    """The final value of `size` bytes at `offset` in a global object."""

    symbol: str
    offset: int = 0
    size: int = 4
    label: str = ""

    def __str__(self) -> str:
        return f"[{self.label or self.symbol}]"


@dataclass(frozen=True, slots=True)
class AddressValue:
    """A constant: the address of a global object (plus offset)."""

    symbol: str
    offset: int = 0

    def __str__(self) -> str:
        return self.symbol if self.offset == 0 else f"{self.symbol}+{self.offset}"


Observable = RegisterValue | MemoryValue
Term = Observable | AddressValue | int


@dataclass(frozen=True, slots=True)
class Equals:
    left: Observable
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    operand: Formula


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool


Formula = Equals | Not | And | Or | Truth


@dataclass(frozen=True, slots=True)
class Condition:
    quantifier: Quantifier
    formula: Formula


@dataclass(frozen=True, slots=True)
class Property:
    """`condition` speaks about final states; those that fail `filter` do not count. `observed` lists, in order and
    without repetition, everything a final state shows. The flags say which runtime errors are violations; `leaks` are
    memory of the heap that at the end of an execution is neither released nor reached from a global object. `given`
    names what the program takes from its environment, of which it has one value."""

    condition: Condition | None = None
    filter: Formula | None = None
    observed: tuple[Observable, ...] = ()
    assertions: bool = True
    memory_safety: bool = True
    leaks: bool = False
    given: tuple[str, ...] = ()


def observables(formula: Formula) -> tuple[Observable, ...]:
    """The registers and locations of a formula, in order of appearance, without repetition."""
    found: dict[Observable, None] = {}
    _collect(formula, found)
    return tuple(found)


def _collect(formula: Formula, found: dict[Observable, None]) -> None:
    match formula:
        case Equals(left, right):
            found[left] = None
            if isinstance(right, RegisterValue | MemoryValue):
                found[right] = None
        case Not(operand):
            _collect(operand, found)
        case And(operands) | Or(operands):
            for operand in operands:
                _collect(operand, found)
