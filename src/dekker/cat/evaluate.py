"""The value of an expression, and definitions.

Functions are inlined; a recursive definition becomes a least fixpoint, which must be monotone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from dekker.cat import syntax
from dekker.cat.context import Context
from dekker.cat.files import is_library
from dekker.cat.graph import REL, SET, Group, Node, Variable
from dekker.cat.lexer import INVERSE, OPTION, PLUS, STAR
from dekker.cat.values import (
    EMPTY,
    FULL,
    KIND_NAMES,
    Builtin,
    Closure,
    CollectionValue,
    Constant,
    Enumerator,
    Environment,
    TagValue,
    TupleValue,
    Value,
    bind,
    describe,
    memory_key,
)
from dekker.errors import DekkerError, ModelError
from dekker.execution import BASE_RELATIONS, base_names
from dekker.source import Span

# Variants of published models that are on: none. Each stands for a feature that our executions do not have (mixed
# sizes, memory tagging, virtual memory, …) or for a way of enumerating.
VARIANTS: frozenset[str] = frozenset()

_BASE_KINDS = base_names()


def evaluate(context: Context, expression: syntax.Expr, environment: Environment) -> Value:
    with context.deeper(expression.span):
        value: Value = _EVALUATE[type(expression)](context, expression, environment)
        return value


def define(context: Context, let: syntax.Let, environment: Environment) -> None:
    """Add the definitions of a `let` to the environment."""
    if let.recursive:
        _define_recursive(context, let, environment)
        return
    values = [_bound_value(context, binding, environment) for binding in let.bindings]
    for binding, value in zip(let.bindings, values, strict=True):
        bind(binding.pattern, value, environment, binding.value.span)


def holds(condition: syntax.Condition) -> bool:
    """Whether a condition on variants holds."""
    if isinstance(condition, syntax.Variant):
        return condition.text in VARIANTS
    if isinstance(condition, syntax.Comparison):
        raise ModelError(
            "a condition on sets or relations cannot be decided before there is an execution",
            condition.span,
            'conditions on variants, such as if "mixed" then … else …, are decided when the model is read',
        )
    truths = [holds(operand) for operand in condition.operands]
    return {"not": not truths[0], "&&": all(truths), "||": any(truths)}[condition.operator]


# Expressions


def _name(context: Context, name: syntax.Name, environment: Environment) -> Value:
    value = environment.get(name.text)
    if value is not None:
        return value
    kind = _BASE_KINDS.get(name.text)
    if kind is None:
        raise _unknown(name, environment)
    return context.graph.input(name.text, kind)


def _unknown(name: syntax.Name, environment: Environment) -> ModelError:
    import difflib  # noqa: PLC0415 — slow to load

    close = difflib.get_close_matches(name.text[:100], [*environment, *_BASE_KINDS], 4, 0.7)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"known without definition are the relations {', '.join(BASE_RELATIONS)}, and the sets M, R, W, F, IW, …"
    return ModelError(f"unknown name {name.text}", name.span, hint)


def _empty(context: Context, expression: syntax.Empty, environment: Environment) -> Value:
    return EMPTY


def _universe(context: Context, expression: syntax.Universe, environment: Environment) -> Value:
    return context.graph.full(SET)


def _tag(context: Context, expression: syntax.Tag, environment: Environment) -> Value:
    return TagValue(expression.text)


def _tuple(context: Context, expression: syntax.Tuple, environment: Environment) -> Value:
    return TupleValue(tuple(evaluate(context, item, environment) for item in expression.items))


def _collection(context: Context, expression: syntax.Collection, environment: Environment) -> Value:
    return CollectionValue(tuple(evaluate(context, item, environment) for item in expression.items))


def _chain(context: Context, chain: syntax.Chain, environment: Environment) -> Value:
    if chain.operator == "++":
        raise ModelError(
            "++ adds one element to a set, which has no meaning before there is an execution",
            chain.span,
            "a union is written with |",
        )
    values = [evaluate(context, operand, environment) for operand in chain.operands]
    kind = {";": REL, "*": SET}.get(chain.operator) or _common_kind(values)
    if kind is None:
        return _constant(chain.operator, [isinstance(value, Constant) and value.full for value in values])
    nodes = [context.node(value, kind, operand.span) for value, operand in zip(values, chain.operands, strict=True)]
    code = _CHAIN_CODES[chain.operator]
    result = reduce(lambda left, right: context.graph.apply(code, left, right), nodes)
    context.negated_at(result, chain.span)
    return result


def _common_kind(values: Sequence[Value]) -> str | None:
    """The kind of the first operand that has one. What cannot be a set or a relation counts as one, to be reported."""
    for value in values:
        if not isinstance(value, Constant):
            return value.kind if isinstance(value, Node) else REL
    return None


def _constant(operator: str, full: Sequence[bool]) -> Constant:
    truth = {"|": any(full), "&": all(full), "\\": full[0] and not any(full[1:])}[operator]
    return FULL if truth else EMPTY


def _postfix(context: Context, postfix: syntax.Postfix, environment: Environment) -> Value:
    node = context.node(evaluate(context, postfix.operand, environment), REL, postfix.operand.span)
    for operator in postfix.operators:
        node = context.graph.apply(_POSTFIX_CODES[operator], node)
    return node


def _complement(context: Context, complement: syntax.Complement, environment: Environment) -> Value:
    value = evaluate(context, complement.operand, environment)
    if isinstance(value, Constant):
        return EMPTY if value.full else FULL
    kind = value.kind if isinstance(value, Node) else REL
    result = context.graph.apply("compl", context.node(value, kind, complement.operand.span))
    context.negated_at(result, complement.span)
    return result


def _identity(context: Context, identity: syntax.Identity, environment: Environment) -> Value:
    value = evaluate(context, identity.operand, environment)
    return context.graph.apply("identity", context.node(value, SET, identity.operand.span))


def _apply(context: Context, apply: syntax.Apply, environment: Environment) -> Value:
    function = evaluate(context, apply.function, environment)
    if isinstance(function, Enumerator):
        return function
    argument = evaluate(context, apply.argument, environment)
    if isinstance(function, Builtin):
        return context.graph.apply(function.code, context.node(argument, function.argument, apply.argument.span))
    if isinstance(function, Closure):
        return _call(context, function, argument, apply)
    hint = "write ; between relations that follow one another" if isinstance(function, Node) else None
    raise ModelError(f"expected a function, found {describe(function)}", apply.function.span, hint)


def _call(context: Context, function: Closure, argument: Value, apply: syntax.Apply) -> Value:
    key = (function, memory_key(argument))
    known = context.applied.get(key)
    if known is not None:
        return known
    environment = dict(function.environment)
    bind(function.parameter, argument, environment, apply.argument.span)
    with context.inside(function):
        try:
            result = evaluate(context, function.body, environment)
        except ModelError as error:
            raise _seen_from(apply, function, error) from None
    context.applied[key] = result
    return result


def _seen_from(apply: syntax.Apply, function: Closure, error: ModelError) -> ModelError:
    """An error inside a function of our library is reported where the function is used."""
    inside = error.diagnostic.span
    if inside is None or not is_library(inside.source) or is_library(apply.span.source):
        return error
    return ModelError(f"{error.diagnostic.message}, inside {function.name}", apply.span, error.diagnostic.hint)


def _function(context: Context, function: syntax.Function, environment: Environment) -> Value:
    return Closure("", function.parameter, function.body, dict(environment))


def _let_in(context: Context, let: syntax.LetIn, environment: Environment) -> Value:
    inside = dict(environment)
    for group in let.groups:
        define(context, group, inside)
    return evaluate(context, let.body, inside)


def _try(context: Context, expression: syntax.Try, environment: Environment) -> Value:
    try:
        return evaluate(context, expression.body, environment)
    except DekkerError:
        return evaluate(context, expression.otherwise, environment)


def _if(context: Context, expression: syntax.If, environment: Environment) -> Value:
    chosen = expression.then if holds(expression.condition) else expression.otherwise
    return evaluate(context, chosen, environment)


def _match(context: Context, match: syntax.Match, environment: Environment) -> Value:
    tag = tag_of(context, match.subject, environment)
    for pattern, body in match.clauses:
        if pattern in (None, tag):
            return evaluate(context, body, environment)
    raise ModelError(f"no clause for '{tag}", match.span)


def tag_of(context: Context, subject: syntax.Expr, environment: Environment) -> str:
    value = evaluate(context, subject, environment)
    if not isinstance(value, TagValue):
        raise ModelError(f"expected a tag, found {describe(value)}", subject.span)
    return value.text


def _match_elements(context: Context, match: syntax.MatchElements, environment: Environment) -> Value:
    raise ModelError(
        "a match that takes a set apart has no meaning before there is an execution",
        match.span,
        "recursion over relations is written let rec r = … r …",
    )


_CHAIN_CODES = {"|": "union", "&": "inter", ";": "seq", "\\": "diff", "*": "cross"}
_POSTFIX_CODES = {PLUS: "plus", STAR: "star", OPTION: "opt", INVERSE: "inverse"}

_EVALUATE: dict[type, Any] = {
    syntax.Name: _name,
    syntax.Empty: _empty,
    syntax.Universe: _universe,
    syntax.Tag: _tag,
    syntax.Tuple: _tuple,
    syntax.Collection: _collection,
    syntax.Chain: _chain,
    syntax.Postfix: _postfix,
    syntax.Complement: _complement,
    syntax.Identity: _identity,
    syntax.Apply: _apply,
    syntax.Function: _function,
    syntax.LetIn: _let_in,
    syntax.Try: _try,
    syntax.If: _if,
    syntax.Match: _match,
    syntax.MatchElements: _match_elements,
}


# Definitions


def _bound_value(context: Context, binding: syntax.Binding, environment: Environment) -> Value:
    value = evaluate(context, binding.value, environment)
    if isinstance(value, Closure) and not value.name and isinstance(binding.pattern, syntax.NamePattern):
        return Closure(binding.pattern.text, value.parameter, value.body, value.environment)
    return value


def _define_recursive(context: Context, let: syntax.Let, environment: Environment) -> None:
    """Sets and relations become one fixpoint; functions see all that the group defines."""
    names = [_recursive_name(binding) for binding in let.bindings]
    for name, binding in zip(names, let.bindings, strict=True):
        if names.count(name) > 1:
            raise ModelError(f"{name} is defined twice in one let rec", binding.span)
    functions = [binding for binding in let.bindings if isinstance(binding.value, syntax.Function)]
    equations = [binding for binding in let.bindings if not isinstance(binding.value, syntax.Function)]
    if equations:
        environment.update(_solve(context, equations, functions, environment))
    _define_functions(functions, environment)


def _recursive_name(binding: syntax.Binding) -> str:
    if not isinstance(binding.pattern, syntax.NamePattern) or binding.pattern.text == "_":
        raise ModelError("a recursive definition needs one name", binding.pattern.span)
    return binding.pattern.text


def _define_functions(functions: Sequence[syntax.Binding], environment: Environment) -> None:
    inside = dict(environment) if functions else environment
    for binding in functions:
        assert isinstance(binding.value, syntax.Function)
        name = _recursive_name(binding)
        inside[name] = Closure(name, binding.value.parameter, binding.value.body, inside)
    environment.update(inside)


def _solve(
    context: Context,
    equations: Sequence[syntax.Binding],
    functions: Sequence[syntax.Binding],
    environment: Environment,
) -> Environment:
    """The least solution.

    Whether an unknown is a set or a relation follows from its equation with the unknowns empty, which fit anywhere;
    what is learnt is used in the next round. Where nothing is learnt it is a relation.
    """
    kinds: dict[str, str] = {}
    while True:
        group = context.graph.open_group(list(kinds.values()))
        unknowns: Environment = dict(zip(kinds, group.variables, strict=True))
        values = _right_sides(context, equations, functions, environment, unknowns)
        learnt = _learn_kinds(equations, kinds, values)
        if len(kinds) == len(equations):
            break
        kinds = learnt if len(learnt) > len(kinds) else dict.fromkeys(values, REL) | kinds
    results = [context.node(values[name], kind, equations[0].span) for name, kind in kinds.items()]
    _demand_monotone(context, equations, group, dict(zip(kinds, results, strict=True)))
    solution = context.graph.close_group(group, results)
    return dict(zip(kinds, solution, strict=True))


def _right_sides(
    context: Context,
    equations: Sequence[syntax.Binding],
    functions: Sequence[syntax.Binding],
    environment: Environment,
    unknowns: Environment,
) -> Environment:
    inside = dict(environment)
    for binding in equations:
        name = _recursive_name(binding)
        inside[name] = unknowns.get(name, EMPTY)
    _define_functions(functions, inside)
    return {_recursive_name(binding): evaluate(context, binding.value, inside) for binding in equations}


def _learn_kinds(equations: Sequence[syntax.Binding], kinds: dict[str, str], values: Environment) -> dict[str, str]:
    learnt = {}
    for binding in equations:
        name = _recursive_name(binding)
        value, kind = values[name], kinds.get(name)
        if isinstance(value, Node):
            if kind not in (None, value.kind):
                other = KIND_NAMES[SET if value.kind == REL else REL]
                raise ModelError(f"{name} is {KIND_NAMES[value.kind]} and {other} at once", binding.span)
            learnt[name] = value.kind
        elif not isinstance(value, Constant):
            hint = "let rec defines sets, relations and functions"
            raise ModelError(f"expected a set or a relation, found {describe(value)}", binding.value.span, hint)
        elif kind is not None:
            learnt[name] = kind
    return learnt


def _demand_monotone(
    context: Context, equations: Sequence[syntax.Binding], group: Group, results: dict[str, Node]
) -> None:
    names = list(results)
    for binding in equations:
        node = results.get(_recursive_name(binding))
        falling = sorted(variable for variable in node.falling if variable[0] == group.number) if node else []
        if node and falling:
            raise ModelError(
                f"{names[falling[0][1]]} stands under a complement or to the right of \\ in its own definition",
                _negation(context, node, falling[0]) or binding.span,
                "a recursive definition may only grow with what it defines",
            )


def _negation(context: Context, node: Node, variable: Variable) -> Span | None:
    """Where the value came to shrink with a variable."""
    waiting, seen = [node], {node.index}
    while waiting:
        node = waiting.pop()
        if node.index in context.negations and variable in node.falling:
            span = context.negations[node.index]
            if not any(variable in arg.falling for arg in node.args):
                return span
        for arg in node.args:
            if arg.index not in seen:
                seen.add(arg.index)
                waiting.append(arg)
    return None
