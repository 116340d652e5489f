"""Expressions over numbers, registers and addresses of variables, on 64-bit two's complement numbers.

The operators bind as in C, from loose to tight; `=` is `==` and `<>` is `!=`:

    ||    &&    |    ^    &    = == != <>    < <= > >=    << >>    + -    * / %    unary - ~ !

Comparisons, `&&`, `||` and `!` yield 0 or 1. Both sides of `&&` and `||` are evaluated: expressions do not branch, and
nothing is simplified, so that `r*0` depends on `r`. Division by 0 yields 0, and so does its remainder.
"""

from __future__ import annotations

from dataclasses import field

from dekker.errors import ParseError
from dekker.frontends.litmus.format import parse_number
from dekker.frontends.rsmc.cursor import Cursor, suggestion
from dekker.frontends.rsmc.lexer import Token
from dekker.ir.expressions import MAX_NESTING, ZERO, Address, Binary, Const, Expr, Reg, Unary
from dekker.records import dataclass

WIDTH = 64
MOST_OPERATORS = MAX_NESTING // 2
"""`&&` and `||` nest their operands twice."""


@dataclass(slots=True)
class Scope:
    """The names that a thread can use. `reads` has the first token that reads each register, `operators` counts those
    of the expression at hand."""

    variables: frozenset[str]
    reads: dict[str, Token] = field(default_factory=dict)
    operators: int = 0


_LEVELS: tuple[dict[str, str], ...] = (
    {"||": "or"},
    {"&&": "and"},
    {"|": "or"},
    {"^": "xor"},
    {"&": "and"},
    {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne"},
    {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"},
    {"<<": "shl", ">>": "ashr"},
    {"+": "add", "-": "sub"},
    {"*": "mul", "/": "sdiv", "%": "srem"},
)
_BINARY = {mark: (level, op) for level, marks in enumerate(_LEVELS) for mark, op in marks.items()}
_LOGICAL = frozenset(("&&", "||"))
_TRUTH_VALUES = frozenset(("eq", "ne", "slt", "sle", "sgt", "sge"))

BINARY_MARKS = frozenset(_BINARY)


def parse_expression(cursor: Cursor, scope: Scope) -> Expr:
    scope.operators = 0
    return _binary(cursor, scope)


def _binary(cursor: Cursor, scope: Scope, loosest: int = 0) -> Expr:
    """Precedence climbing: an operand, then all operators at least as tight as `loosest`."""
    left = _operand(cursor, scope)
    while True:
        mark = cursor.current.kind
        level, op = _BINARY.get(mark, (-1, ""))
        if level < loosest:
            return left
        _operator(cursor, scope)
        right = _binary(cursor, scope, level + 1)
        if mark in _LOGICAL:
            left, right = _truth(left), _truth(right)
        left = Binary(op, WIDTH, left, right)


def _truth(value: Expr) -> Expr:
    """1 if the value is not 0."""
    if isinstance(value, Binary) and value.op in _TRUTH_VALUES:
        return value
    return Binary("ne", WIDTH, value, ZERO)


def _operator(cursor: Cursor, scope: Scope) -> None:
    """Parentheses count as well."""
    token = cursor.take()
    scope.operators += 1
    if scope.operators > MOST_OPERATORS:
        message = f"this expression has more than {MOST_OPERATORS} operators"
        raise ParseError(message, cursor.span(token), "keep parts of it in registers")


def _operand(cursor: Cursor, scope: Scope) -> Expr:
    read = _OPERANDS.get(cursor.current.kind)
    if read is None:
        raise cursor.expected("a number, a register or `&x`", _hint(cursor.current))
    return read(cursor, scope)


def _hint(token: Token) -> str:
    if token.kind == "[":
        return "a load stands alone: load into a register first, `r := [a]`"
    return "an expression combines numbers, registers and addresses `&x`: `r0 + 1`, `&x + r1*0`, `r0 = 1`"


def _number(cursor: Cursor, scope: Scope) -> Expr:
    return Const(parse_number(cursor.take().text))


def _register(cursor: Cursor, scope: Scope) -> Expr:
    token = cursor.take()
    if token.text in scope.variables:
        raise ParseError(
            f"`{token.text}` is a shared variable, but expressions are over numbers and registers",
            cursor.span(token),
            f"load it into a register first, `r := {token.text}`, or write `&{token.text}` for its address",
        )
    scope.reads.setdefault(token.text, token)
    return Reg(token.text)


def _address(cursor: Cursor, scope: Scope) -> Expr:
    cursor.take()
    return Address(known_variable(cursor, address_name(cursor), scope.variables))


def address_name(cursor: Cursor) -> Token:
    """The name behind `&`."""
    return cursor.name("the name of a variable", "`&x` is the address of the variable `x`")


def known_variable(cursor: Cursor, token: Token, variables: frozenset[str]) -> str:
    if token.text not in variables:
        hint = f"`{token.text} = 0` before the first thread declares it"
        close = suggestion(token.text, sorted(variables))
        raise ParseError(f"there is no variable `{token.text}`", cursor.span(token), f"{close} {hint}".lstrip())
    return token.text


def _parentheses(cursor: Cursor, scope: Scope) -> Expr:
    _operator(cursor, scope)
    value = _binary(cursor, scope)
    cursor.expect(")", "a parenthesis is not closed")
    return value


def _minus(cursor: Cursor, scope: Scope) -> Expr:
    _operator(cursor, scope)
    value = _operand(cursor, scope)
    return Const(-value.value) if isinstance(value, Const) else Unary("neg", WIDTH, value)


def _complement(cursor: Cursor, scope: Scope) -> Expr:
    _operator(cursor, scope)
    return Unary("not", WIDTH, _operand(cursor, scope))


def _negation(cursor: Cursor, scope: Scope) -> Expr:
    _operator(cursor, scope)
    return Binary("eq", WIDTH, _operand(cursor, scope), ZERO)


_OPERANDS = {
    "number": _number,
    "name": _register,
    "&": _address,
    "(": _parentheses,
    "-": _minus,
    "~": _complement,
    "!": _negation,
}
