"""A second opinion on what a `.cat` file means: its syntax tree, run over plain sets of events and of pairs.

No graph, no simplification, no sharing: recursion is iterated from nothing, closures are built by composing. What is
defined by recursion must be a set if its name begins with a capital, else a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dekker.cat import syntax
from dekker.cat.files import STANDARD_LIBRARY, find_include, parse_file
from dekker.cat.parser import parse
from dekker.execution import Execution, base_names, base_value, pairs
from dekker.source import Source


@dataclass(frozen=True)
class Events:
    """A set if `kind` is `set`, a relation if `rel`, either if it is None (and then empty)."""

    kind: str | None
    members: frozenset[object]


Value = Events | Callable[["Value"], "Value"] | tuple["Value", ...]
Environment = dict[str, Value]

NOTHING = Events(None, frozenset())


def naive_checks(source: Source, execution: Execution, search: tuple[Path, ...] = ()) -> list[bool]:
    """For each check of the file, in order, whether what it states holds."""
    machine = _Machine(execution, search)
    environment = machine.initial()
    machine.run(parse_file(STANDARD_LIBRARY).statements, environment)
    machine.run(parse(source).statements, environment)
    return machine.outcomes


class _Machine:
    def __init__(self, execution: Execution, search: tuple[Path, ...]) -> None:
        self.execution = execution
        self.search = search
        self.everything = frozenset(range(len(execution.events)))
        self.identity = frozenset((i, i) for i in self.everything)
        self.included: set[Path] = set()
        self.outcomes: list[bool] = []

    def initial(self) -> Environment:
        environment: Environment = {}
        for name, kind in base_names().items():
            value = base_value(name, self.execution)
            members = pairs(value) if isinstance(value, list) else [i for i in self.everything if value >> i & 1]
            environment[name] = Events(kind, frozenset(members))
        environment["domain"] = lambda r: Events("set", frozenset(a for a, _ in self.pairs(r)))
        environment["range"] = lambda r: Events("set", frozenset(b for _, b in self.pairs(r)))
        environment["inverse"] = lambda r: Events("rel", frozenset((b, a) for a, b in self.pairs(r)))
        return environment

    def pairs(self, value: Value) -> frozenset[tuple[int, int]]:
        assert isinstance(value, Events)
        assert value.kind in ("rel", None)
        return frozenset(item for item in value.members if isinstance(item, tuple))

    def run(self, statements: tuple[syntax.Statement, ...], environment: Environment) -> None:
        for statement in statements:
            match statement:
                case syntax.Let():
                    self.define(statement, environment)
                case syntax.Check():
                    self.check(statement, environment)
                case syntax.Include():
                    path = find_include(
                        statement.path, statement.span, (Path(statement.span.source.name).parent, *self.search)
                    )
                    if path not in self.included:
                        self.included.add(path)
                        self.run(parse_file(path).statements, environment)
                case syntax.Procedure() | syntax.Ignored():
                    pass
                case _:
                    raise NotImplementedError(statement)

    def check(self, check: syntax.Check, environment: Environment) -> None:
        value = self.value(check.relation, environment)
        assert isinstance(value, Events)
        if check.kind == "empty":
            holds = not value.members
        else:
            relation = self.closure(self.pairs(value)) if check.kind == "acyclic" else self.pairs(value)
            holds = all(a != b for a, b in relation)
        inverted = check.role in ("undefined_unless", "assert")
        self.outcomes.append(holds != (check.negated != inverted))

    def define(self, let: syntax.Let, environment: Environment) -> None:
        names = [item.pattern.text for item in let.bindings if isinstance(item.pattern, syntax.NamePattern)]
        assert len(names) == len(let.bindings)
        old: Mapping[str, Value] = {name: Events("set" if name[0].isupper() else "rel", frozenset()) for name in names}
        while True:
            inside = {**environment, **old} if let.recursive else environment
            new = {name: self.value(item.value, inside) for name, item in zip(names, let.bindings, strict=True)}
            if not let.recursive or new == old:
                environment.update(new)
                return
            old = new

    def value(self, expression: syntax.Expr, environment: Environment) -> Value:
        match expression:
            case syntax.Name():
                return environment[expression.text]
            case syntax.Empty():
                return NOTHING
            case syntax.Universe():
                return Events("set", self.everything)
            case syntax.Tuple():
                return tuple(self.value(item, environment) for item in expression.items)
            case syntax.Identity():
                inner = self.value(expression.operand, environment)
                assert isinstance(inner, Events)
                return Events("rel", frozenset((i, i) for i in inner.members))
            case syntax.Complement():
                return self.complement(self.value(expression.operand, environment))
            case syntax.Chain():
                return self.chain(expression, environment)
            case syntax.Postfix():
                relation = self.pairs(self.value(expression.operand, environment))
                for operator in expression.operators:
                    relation = self.postfix(operator, relation)
                return Events("rel", relation)
            case syntax.Function():
                scope = dict(environment)
                return lambda argument: self.value(expression.body, {**scope, **_bound(expression.parameter, argument)})
            case syntax.Apply():
                function = self.value(expression.function, environment)
                assert callable(function)
                return function(self.value(expression.argument, environment))
            case syntax.LetIn():
                inside = dict(environment)
                for group in expression.groups:
                    self.define(group, inside)
                return self.value(expression.body, inside)
            case _:
                raise NotImplementedError(expression)

    def complement(self, value: Value) -> Events:
        assert isinstance(value, Events)
        if value.kind == "set":
            return Events("set", self.everything - value.members)
        return Events("rel", frozenset((a, b) for a in self.everything for b in self.everything) - value.members)

    def chain(self, chain: syntax.Chain, environment: Environment) -> Events:
        values = [self.value(operand, environment) for operand in chain.operands]
        result = values[0]
        assert isinstance(result, Events)
        for value in values[1:]:
            assert isinstance(value, Events)
            result = self.combine(chain.operator, result, value)
        return result

    def combine(self, operator: str, left: Events, right: Events) -> Events:
        kind = left.kind or right.kind
        match operator:
            case "|":
                return Events(kind, left.members | right.members)
            case "&":
                return Events(kind, left.members & right.members)
            case "\\":
                return Events(kind, left.members - right.members)
            case "*":
                return Events("rel", frozenset((a, b) for a in left.members for b in right.members))
            case ";":
                return Events("rel", _compose(self.pairs(left), self.pairs(right)))
        raise NotImplementedError(operator)

    def postfix(self, operator: str, relation: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        match operator:
            case "+":
                return self.closure(relation)
            case "*":
                return self.closure(relation) | self.identity
            case "?":
                return relation | self.identity
        return frozenset((b, a) for a, b in relation)

    def closure(self, relation: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
        while True:
            longer = relation | _compose(relation, relation)
            if longer == relation:
                return relation
            relation = longer


def _compose(left: frozenset[tuple[int, int]], right: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    after: dict[int, list[int]] = {}
    for a, b in right:
        after.setdefault(a, []).append(b)
    return frozenset((a, c) for a, b in left for c in after.get(b, ()))


def _bound(pattern: syntax.Pattern, argument: Value) -> Environment:
    if isinstance(pattern, syntax.NamePattern):
        return {pattern.text: argument}
    assert isinstance(argument, tuple)
    bound: Environment = {}
    for item, part in zip(pattern.items, argument, strict=True):
        bound.update(_bound(item, part))
    return bound
