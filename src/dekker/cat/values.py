"""What names stand for while a model is compiled: sets and relations (nodes), functions, tuples, tags, procedures.

Only nodes reach the compiled program; everything else is worked out at compile time.
"""

from __future__ import annotations

from dekker.cat import syntax
from dekker.cat.graph import REL, SET, Graph, Node
from dekker.errors import ModelError
from dekker.records import dataclass
from dekker.source import Span


@dataclass(frozen=True, slots=True)
class Constant:
    """The empty set and the empty relation at once, until the context says which; likewise the full ones (`~0`)."""

    full: bool


EMPTY, FULL = Constant(full=False), Constant(full=True)


@dataclass(frozen=True, eq=False, slots=True)
class TupleValue:
    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class TagValue:
    text: str


@dataclass(frozen=True, eq=False, slots=True)
class CollectionValue:
    """`{a, b}`, or the tags of an `enum`."""

    items: tuple[Value, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    name: str
    parameter: syntax.Pattern
    body: syntax.Expr
    environment: Environment


@dataclass(frozen=True, eq=False, slots=True)
class Builtin:
    name: str
    code: str
    argument: str


@dataclass(frozen=True, eq=False, slots=True)
class Enumerator:
    """A function that enumerates orders (`linearisations`, …), or what it gives. Engines do the enumeration, so it may
    be passed around and stand after `with co from`, nothing else."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class ProcedureValue:
    name: str
    parameter: syntax.Pattern
    body: tuple[syntax.Statement, ...]
    environment: Environment


Value = Node | Constant | TupleValue | TagValue | CollectionValue | Closure | Builtin | Enumerator | ProcedureValue
Environment = dict[str, Value]

KIND_NAMES = {SET: "a set", REL: "a relation"}


def describe(value: Value) -> str:
    if isinstance(value, Node):
        return KIND_NAMES[value.kind]
    if isinstance(value, TupleValue):
        return f"a tuple of {len(value.items)}"
    return _DESCRIPTIONS[type(value)]


_DESCRIPTIONS: dict[type, str] = {
    Constant: "an empty set or relation",
    TagValue: "a tag",
    CollectionValue: "a collection in braces",
    Closure: "a function",
    Builtin: "a function",
    Enumerator: "an enumeration of orders",
    ProcedureValue: "a procedure",
}


def as_node(value: Value, kind: str, span: Span, graph: Graph) -> Node:
    """The value as a set or a relation."""
    if isinstance(value, Node) and value.kind == kind:
        return value
    if isinstance(value, Constant):
        return graph.full(kind) if value.full else graph.empty(kind)
    raise ModelError(f"expected {KIND_NAMES[kind]}, found {describe(value)}", span, _hint(value, kind))


def _hint(value: Value, kind: str) -> str | None:
    if isinstance(value, Node):
        return "[S] is the identity relation on a set S" if kind == REL else "domain(r) and range(r) are sets"
    if isinstance(value, Closure | Builtin):
        return f"apply it, as in {value.name}(…)"
    if isinstance(value, ProcedureValue):
        return f"procedures are run by a statement of their own: call {value.name}(…)"
    if isinstance(value, Enumerator):
        return "engines enumerate coherence themselves: `with co from …` is the only use of this"
    if isinstance(value, CollectionValue):
        return "a union of sets is written A | B"
    return None


def bind(pattern: syntax.Pattern, value: Value, environment: Environment, span: Span) -> None:
    """Bind the names of a pattern, in place. `span` is where the value stands."""
    if isinstance(pattern, syntax.NamePattern):
        if pattern.text != "_":
            environment[pattern.text] = value
        return
    if not isinstance(value, TupleValue) or len(value.items) != len(pattern.items):
        raise ModelError(f"expected a tuple of {len(pattern.items)}, found {describe(value)}", span)
    for item, part in zip(pattern.items, value.items, strict=True):
        bind(item, part, environment, span)


def memory_key(value: Value) -> object:
    """Equal for values that are the same for every purpose."""
    if isinstance(value, TupleValue) and all(isinstance(item, Node | Constant) for item in value.items):
        return value.items
    return value
