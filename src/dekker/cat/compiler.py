"""From a `.cat` file to a `Model`.

The file is run once, at compile time: functions are inlined, included files read, variants (`if "mixed" …`) decided,
and what is left is a graph of sets and relations with checks on them. Coherence is enumerated by the engines:
`with co from generate_cos(r)` says that it contains r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dekker.cat import syntax
from dekker.cat.context import Context
from dekker.cat.emit import Demand, emit
from dekker.cat.evaluate import define, evaluate, holds, tag_of
from dekker.cat.files import LIBRARY, STANDARD_LIBRARY, find_include, parse_file, read_source
from dekker.cat.graph import REL, SET, Node
from dekker.cat.model import Include, Model
from dekker.cat.parser import parse
from dekker.cat.values import (
    EMPTY,
    Builtin,
    CollectionValue,
    Enumerator,
    Environment,
    ProcedureValue,
    TagValue,
    bind,
    describe,
)
from dekker.errors import ModelError
from dekker.source import Source


def compile_model(
    source: Source,
    name: str | None = None,
    search: Sequence[Path] = (),
    embedded: Mapping[tuple[str, str], Source] | None = None,
) -> Model:
    """Compile a `.cat` text. Included files are looked for next to it, in `search`, then in our library; if `embedded`
    is given (see `Context`), there instead of next to it."""
    file = parse(source)
    context = Context(tuple(search), embedded)
    environment: Environment = {**_BUILTINS, "id": context.graph.identity()}
    context.included.add(STANDARD_LIBRARY)
    _run(context, parse_file(STANDARD_LIBRARY).statements, environment)
    _speak_dialect(context, file.title, environment)
    context.including.append(Path(source.name).resolve())
    _run(context, file.statements, environment)
    program, slots = emit(context.graph, context.demands)
    stem = name or Path(source.name).stem or source.name
    return Model(
        name=stem,
        title=file.title or stem,
        source=source,
        program=program,
        checks=tuple(check.name for check in program.checks),
        uses=frozenset(item.name for item in program.inputs),
        names={slots[node]: text for node, (_, text) in context.names.items() if node in slots},
        includes=tuple(context.includes),
    )


_ENUMERATORS = (
    *("linearisations", "linearizations", "classes", "classes-loc", "partition"),
    *("cross", "generate_cos", "generate_orders", "co_locs", "map"),
)

_BUILTINS: Environment = {
    **{name: Builtin(name, name, REL) for name in ("domain", "range", "inverse")},
    **{name: Enumerator(name) for name in _ENUMERATORS},
}

# A title may begin with an architecture, as in `C RC11` or `X86 TSO`, and names can depend on it: `A` means atomic
# accesses in C, locked ones on x86, acquire reads elsewhere.
_DIALECTS = {
    **{word: {"A": "ATOMIC"} for word in ("c", "c11", "c++11", "c++20", "rc11")},
    **{word: {"A": "Locked", "X": "Locked"} for word in ("x86", "x86_64")},
}


def _speak_dialect(context: Context, title: str, environment: Environment) -> None:
    architecture = title.partition(" ")[0].lower()
    for name, meaning in _DIALECTS.get(architecture, {}).items():
        environment[name] = environment.get(meaning) or context.graph.input(meaning, SET)


def _run(context: Context, statements: Sequence[syntax.Statement], environment: Environment) -> None:
    """Run statements in order; what they define is added to `environment`."""
    for statement in statements:
        with context.deeper(statement.span):
            _STATEMENTS[type(statement)](context, statement, environment)


def _let(context: Context, let: syntax.Let, environment: Environment) -> None:
    define(context, let, environment)
    for binding in let.bindings:
        if isinstance(binding.pattern, syntax.NamePattern):
            value = environment.get(binding.pattern.text)
            if isinstance(value, Node):
                context.name(value, binding.pattern.text)
    if let.when is not None:
        _check(context, let.when, environment)


def _check(context: Context, check: syntax.Check, environment: Environment) -> None:
    """A check that is a flag marks the executions in which it holds; `undefined_unless` and `assert` are to mark those
    in which their test does not."""
    value = evaluate(context, check.relation, environment)
    if check.kind == "empty" and isinstance(value, Node) and value.kind == SET:
        relation = context.graph.apply("identity", value)
    else:
        relation = context.node(value, REL, check.relation.span)
    negated = check.negated != (check.role in ("undefined_unless", "assert"))
    name = check.name or _check_name(context, check)
    context.demands.append(Demand(check.kind, relation, name, negated, check.role != "check"))


NAME_LENGTH = 50


def _check_name(context: Context, check: syntax.Check) -> str:
    text = " ".join(check.relation.span.text.split())
    name = f"{'not ' if check.negated else ''}{check.kind} {text}"
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _include(context: Context, include: syntax.Include, environment: Environment) -> None:
    path, source = _included(context, include)
    if path in context.including:
        chain = " includes ".join(item.name for item in (*context.including[context.including.index(path) :], path))
        raise ModelError(f"a file includes itself: {chain}", include.span)
    if path in context.included:
        return
    context.included.add(path)
    context.including.append(path)
    file = parse_file(path, include.span) if source is None else parse(source)
    _run(context, file.statements, environment)
    context.including.pop()


def _included(context: Context, include: syntax.Include) -> tuple[Path, Source | None]:
    """Which file is meant, and its text if that is embedded."""
    by = include.span.source.name
    if context.embedded is None:
        path = find_include(include.path, include.span, (Path(by).parent, *context.search))
        shipped = path.parent in (LIBRARY, *context.search)
        context.includes.append(Include(by, include.path, read_source(path, include.span), shipped))
        return path, None
    source = context.embedded.get((by, include.path))
    if source is not None:
        return Path(source.name), source
    return find_include(include.path, include.span, context.search, shipped_only=True), None


def _procedure(context: Context, procedure: syntax.Procedure, environment: Environment) -> None:
    environment[procedure.name] = ProcedureValue(procedure.name, procedure.parameter, procedure.body, dict(environment))


def _call(context: Context, call: syntax.Call, environment: Environment) -> None:
    procedure = evaluate(context, call.procedure, environment)
    if not isinstance(procedure, ProcedureValue):
        raise ModelError(f"expected a procedure, found {describe(procedure)}", call.procedure.span)
    inside = dict(procedure.environment)
    bind(procedure.parameter, evaluate(context, call.argument, environment), inside, call.argument.span)
    first = len(context.demands)
    with context.inside(procedure):
        _run(context, procedure.body, inside)
    if call.name is not None:
        for i, demand in enumerate(context.demands[first:], first):
            context.demands[i] = Demand(demand.kind, demand.relation, call.name, demand.negated, demand.flag)


def _forall(context: Context, forall: syntax.Forall, environment: Environment) -> None:
    collection = evaluate(context, forall.collection, environment)
    if collection is EMPTY:
        return
    if not isinstance(collection, CollectionValue):
        raise ModelError(
            f"expected a collection in braces, found {describe(collection)}",
            forall.collection.span,
            "the events of a set are known only once there is an execution",
        )
    for item in collection.items:
        _run(context, forall.body, {**environment, forall.variable: item})


def _with(context: Context, statement: syntax.With, environment: Environment) -> None:
    if statement.name not in ("co", "mo"):
        raise ModelError(
            f"cannot enumerate {statement.name}: reads-from and coherence are all that engines enumerate",
            statement.span,
            "`with co from …` is understood",
        )
    coherence = context.graph.input("co", REL)
    environment[statement.name] = coherence
    required = _required_order(statement)
    if required is None:
        return
    node = context.node(evaluate(context, required, environment), REL, required.span)
    missing = context.graph.apply("diff", node, coherence)
    context.demands.append(Demand("empty", missing, f"{statement.name} contains {required.span.text}", False, False))


def _is_default_order(expression: syntax.Expr) -> bool:
    return isinstance(expression, syntax.Name) and expression.text == "co0"


def _required_order(statement: syntax.With) -> syntax.Expr | None:
    """What coherence must contain: the argument of `generate_cos`. `co0`, initial writes first and final writes last,
    it contains anyway."""
    match statement.orders:
        case syntax.Apply(syntax.Name("generate_orders"), syntax.Tuple((_, argument))):
            return None if _is_default_order(argument) else argument
        case syntax.Apply(syntax.Name("generate_cos"), argument):
            return None if _is_default_order(argument) else argument
    raise ModelError(
        "coherence can be enumerated with generate_cos(…) or generate_orders(W, …) only",
        statement.orders.span,
        "`with co from generate_cos(co0)`, or a relation in place of co0 that coherence must contain",
    )


def _enum(context: Context, enum: syntax.Enum, environment: Environment) -> None:
    environment[enum.name] = CollectionValue(tuple(TagValue(tag) for tag in enum.tags))


def _if(context: Context, statement: syntax.IfStatement, environment: Environment) -> None:
    _run(context, statement.then if holds(statement.condition) else statement.otherwise, environment)


def _match(context: Context, match: syntax.MatchStatement, environment: Environment) -> None:
    tag = tag_of(context, match.subject, environment)
    for pattern, body in match.clauses:
        if pattern in (None, tag):
            _run(context, body, environment)
            return
    raise ModelError(f"no clause for '{tag}", match.span)


def _ignore(context: Context, statement: syntax.Ignored, environment: Environment) -> None:
    pass


_STATEMENTS: dict[type, Any] = {
    syntax.Let: _let,
    syntax.Check: _check,
    syntax.Include: _include,
    syntax.Procedure: _procedure,
    syntax.Call: _call,
    syntax.Forall: _forall,
    syntax.With: _with,
    syntax.Enum: _enum,
    syntax.IfStatement: _if,
    syntax.MatchStatement: _match,
    syntax.Ignored: _ignore,
}
