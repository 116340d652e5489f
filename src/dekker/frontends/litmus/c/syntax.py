"""The syntax tree of a thread. `start` and `end` are offsets in the thread's text."""

from __future__ import annotations

from dekker.frontends.litmus.c.types import CType, Integer
from dekker.records import dataclass


@dataclass(slots=True)
class Number:
    start: int
    end: int
    value: int
    type: Integer


@dataclass(slots=True)
class Text:
    start: int
    end: int
    value: str


@dataclass(slots=True)
class Name:
    start: int
    end: int
    name: str


@dataclass(slots=True)
class Unary:
    """`-` `+` `~` `!` `*` `&`."""

    start: int
    end: int
    op: str
    operand: Expression


@dataclass(slots=True)
class Step:
    """`++x`, `x--` and the like; `op` is `+` or `-`."""

    start: int
    end: int
    op: str
    target: Expression
    postfix: bool


@dataclass(slots=True)
class Binary:
    """Arithmetic, comparisons, `&&`, `||` and the comma."""

    start: int
    end: int
    op: str
    left: Expression
    right: Expression


@dataclass(slots=True)
class Assignment:
    """`op` is empty for `=`, `+` for `+=`."""

    start: int
    end: int
    op: str
    target: Expression
    value: Expression


@dataclass(slots=True)
class Conditional:
    start: int
    end: int
    condition: Expression
    then: Expression
    other: Expression


@dataclass(slots=True)
class Cast:
    start: int
    end: int
    type: CType
    operand: Expression


@dataclass(slots=True)
class Call:
    start: int
    end: int
    function: str
    arguments: list[Expression]


Expression = Number | Text | Name | Unary | Step | Binary | Assignment | Conditional | Cast | Call


@dataclass(slots=True)
class Evaluate:
    expression: Expression


@dataclass(slots=True)
class Declare:
    start: int
    end: int
    name: str
    type: CType
    value: Expression | None


@dataclass(slots=True)
class Block:
    body: list[Statement]


@dataclass(slots=True)
class Group:
    """Statements without a scope of their own: the declarations of `int a, *b;`."""

    body: list[Statement]


@dataclass(slots=True)
class If:
    condition: Expression
    then: Statement
    other: Statement | None


@dataclass(slots=True)
class While:
    condition: Expression
    body: Statement


@dataclass(slots=True)
class DoWhile:
    body: Statement
    condition: Expression


@dataclass(slots=True)
class For:
    start: int
    end: int
    first: Statement
    condition: Expression | None
    step: Expression | None
    body: Statement


@dataclass(slots=True)
class Leave:
    """`break` or `continue`."""

    start: int
    end: int
    word: str


@dataclass(slots=True)
class Goto:
    start: int
    end: int
    label: str


@dataclass(slots=True)
class Label:
    start: int
    end: int
    name: str
    statement: Statement


@dataclass(slots=True)
class Return:
    start: int
    end: int
    value: Expression | None


Statement = Evaluate | Declare | Block | Group | If | While | DoWhile | For | Leave | Goto | Label | Return


@dataclass(slots=True)
class Parameter:
    start: int
    end: int
    name: str
    type: CType


@dataclass(slots=True)
class ThreadSyntax:
    """`assigned` holds every name that the thread assigns to."""

    parameters: list[Parameter]
    body: Block
    assigned: set[str]
