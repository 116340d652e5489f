"""The abstract syntax of Lang (Fig. 10), with what the file form adds."""

from __future__ import annotations

from dataclasses import field

from dekker.ir.thread_classes import ForbiddenState
from dekker.records import dataclass
from dekker.source import Source, Span


@dataclass(frozen=True, slots=True)
class Num:
    value: int


@dataclass(frozen=True, slots=True)
class Register:
    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator by its mark: `not`, `=`, `+`, …; `-` with one operand changes the sign."""

    mark: str
    operands: tuple[Expression, ...]


Expression = Num | Register | Apply


@dataclass(frozen=True, slots=True)
class Variable:
    """`index` is None unless it is an element of an array."""

    name: str
    index: Expression | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    register: str
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Choose:
    """Any number from `low` to `high`. ‡"""

    register: str
    low: int
    high: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    register: str
    variable: Variable
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Write:
    """Fig. 10 has a register in the place of `value`."""

    variable: Variable
    value: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CompareExchange:
    """If the variable equals `expected` (r₁ in the paper) it becomes `desired` (r₀), else `expected` becomes it."""

    variable: Variable
    expected: str
    desired: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Barrier:
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Check:
    """`assert` ‡, or `assume` ‡: a thread whose assumption fails stops."""

    condition: Expression
    is_assumption: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label ‡ in front of a statement, or alone."""

    label: str
    body: Statement
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: Statement
    other: Statement | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class While:
    condition: Expression
    body: Statement
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    statements: tuple[Statement, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


AtomicStatement = Assign | Choose | Read | Write | CompareExchange | Barrier | Check
Statement = AtomicStatement | Labelled | If | While | Block


@dataclass(frozen=True, slots=True)
class Global:
    """A variable, or with `low` an array with indices from there to `high`; one value for each element. `versions`: a
    value modulo this is what the variable holds, the rest counts its versions, from 1."""

    name: str
    values: tuple[int, ...]
    low: int | None = None
    versions: int | None = None

    @property
    def high(self) -> int:
        return (self.low or 0) + len(self.values) - 1


@dataclass(frozen=True, slots=True)
class Process:
    """A class of threads; `count` None is `many`. `initial` are registers that do not start with 0."""

    name: str
    body: Block
    count: int | None = 1
    initial: tuple[tuple[str, int], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class LangFile:
    source: Source = field(compare=False, repr=False)
    globals: tuple[Global, ...]
    processes: tuple[Process, ...]
    forbidden: tuple[ForbiddenState, ...] = ()
