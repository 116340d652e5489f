"""What a `.cat` file says, before any name has a meaning.

Chains of one operator are kept flat (`a | b | c` is one `Chain`), so that the depth of a tree is the depth of its
brackets.
"""

from __future__ import annotations

from dekker.records import dataclass
from dekker.source import Span


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Empty:
    """`0` or `{}`: the empty set or the empty relation, whichever is wanted."""

    span: Span


@dataclass(frozen=True, slots=True)
class Universe:
    """`_`: all events."""

    span: Span


@dataclass(frozen=True, slots=True)
class Tag:
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Collection:
    """`{a, b}`."""

    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Chain:
    """`operator` is one of `| ; & \\ * ++`; two operands at least."""

    operator: str
    operands: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Postfix:
    """`operators` in the order written, each one of `+ * ? ^-1`."""

    operand: Expr
    operators: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Complement:
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Identity:
    """`[S]`."""

    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    function: Expr
    argument: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Function:
    parameter: Pattern
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class LetIn:
    """One or several `let … in` before `body`."""

    groups: tuple[Let, ...]
    body: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Try:
    body: Expr
    otherwise: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class If:
    condition: Condition
    then: Expr
    otherwise: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Match:
    """`match` over tags; a clause without a tag is the default."""

    subject: Expr
    clauses: tuple[tuple[str | None, Expr], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MatchElements:
    """`match` that takes a set apart, element by element: read, never evaluated."""

    span: Span


Expr = (
    Name
    | Empty
    | Universe
    | Tag
    | Tuple
    | Collection
    | Chain
    | Postfix
    | Complement
    | Identity
    | Apply
    | Function
    | LetIn
    | Try
    | If
    | Match
    | MatchElements
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A condition on the name of a variant, such as `"mixed"`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Logic:
    """`operator` is `not`, `&&` or `||`."""

    operator: str
    operands: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on values (`=`, `subset`, `in`): known only once an execution is."""

    span: Span


Condition = Variant | Logic | Comparison


@dataclass(frozen=True, slots=True)
class NamePattern:
    """`text` is `_` for a value that is not used."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TuplePattern:
    items: tuple[Pattern, ...]
    span: Span


Pattern = NamePattern | TuplePattern


@dataclass(frozen=True, slots=True)
class Binding:
    pattern: Pattern
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Let:
    bindings: tuple[Binding, ...]
    recursive: bool
    span: Span
    when: Check | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """`kind` is `acyclic`, `irreflexive` or `empty`; `role` is `check`, `flag`, `undefined_unless` or `assert`."""

    kind: str
    negated: bool
    role: str
    relation: Expr
    name: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Include:
    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Procedure:
    name: str
    parameter: Pattern
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    procedure: Name
    argument: Expr
    name: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Forall:
    variable: str
    collection: Expr
    body: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class With:
    """`with name from expression`."""

    name: str
    orders: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    tags: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class IfStatement:
    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class MatchStatement:
    subject: Expr
    clauses: tuple[tuple[str | None, tuple[Statement, ...]], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Ignored:
    """`show`, `unshow`, `instructions` and the like: they say nothing about which executions are allowed."""

    span: Span


Statement = Let | Check | Include | Procedure | Call | Forall | With | Enum | IfStatement | MatchStatement | Ignored


@dataclass(frozen=True, slots=True)
class File:
    """`title` is what stands before the first statement: words (an architecture, a name) or a string."""

    title: str
    statements: tuple[Statement, ...]
