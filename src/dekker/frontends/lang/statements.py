"""The statements of Fig. 10, with labels, `assert`, `assume`, `skip` and `choose`."""

from __future__ import annotations

from collections.abc import Callable

from dekker.errors import ParseError
from dekker.frontends.lang.expressions import Grammar, integer
from dekker.frontends.lang.lexer import STATEMENT_WORDS
from dekker.frontends.lang.names import ProcessNames
from dekker.frontends.lang.syntax import (
    Apply,
    Assign,
    Barrier,
    Block,
    Check,
    Choose,
    CompareExchange,
    Expression,
    If,
    Labelled,
    Num,
    Read,
    Register,
    Statement,
    Variable,
    While,
    Write,
)
from dekker.frontends.rsmc.cursor import Cursor, listed, suggestion
from dekker.frontends.rsmc.lexer import Token

MOST_NESTED = 40
WIDEST_CHOICE = 1 << 10


def parse_block(cursor: Cursor, names: ProcessNames) -> Block:
    return _block(cursor, names, 0)


def _block(cursor: Cursor, names: ProcessNames, nested: int) -> Block:
    start = cursor.current
    cursor.expect("{", "the code of a process stands in braces: `{ r0 := 1; write: x := r0 }`")
    statements = []
    while not cursor.accept("}"):
        if cursor.current.kind == "end":
            raise ParseError("this brace is not closed", cursor.span(start), "`}` is missing")
        if cursor.accept(";"):
            continue
        statement = _statement(cursor, names, nested)
        statements.append(statement)
        if not _ends_itself(statement) and cursor.current.kind not in (";", "}", "end"):
            raise cursor.expected("`;`", "statements are separated by `;`")
    return Block(tuple(statements), cursor.since(start))


def _ends_itself(statement: Statement) -> bool:
    """Behind a closing brace no `;` is needed."""
    match statement:
        case Block():
            return True
        case If(_, then, other):
            return _ends_itself(then if other is None else other)
        case While(_, body) | Labelled(_, body):
            return _ends_itself(body)
    return False


_HINT = (
    "statements are `r := e`, `read: r := x`, `write: x := r`, `CMPXCHG(x = r1 ? x := r0 : r1 := x)`, `barrier`, "
    "`if(e) s else s`, `while(e) s`, `{ s; s }`, `L: s`, `assert(e)`, `assume(e)` and `skip`"
)


def _statement(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    token = cursor.current
    if nested > MOST_NESTED:
        raise ParseError(f"statements nest deeper than {MOST_NESTED}", cursor.span(token), "use fewer braces")
    read = _STATEMENTS.get(token.kind)
    if read is None:
        raise cursor.expected("a statement", _HINT)
    return read(cursor, names, nested + 1)


def _named(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    token = cursor.take()
    if cursor.current.kind == ":":
        return _labelled(cursor, names, nested, token)
    if cursor.current.kind == "=":
        raise cursor.expected("`:=`", "registers are assigned with `:=`")
    if cursor.current.kind != ":=":
        hint = suggestion(token.text, STATEMENT_WORDS) or _HINT
        raise ParseError(f"`{token.text}` is not a statement", cursor.span(token), hint)
    _assigned(cursor, names, token)
    cursor.take()
    if cursor.current.kind == "choose":
        return _choose(cursor, token)
    value = _expression(cursor, names)
    return Assign(token.text, value, cursor.since(token))


def _labelled(cursor: Cursor, names: ProcessNames, nested: int, token: Token) -> Statement:
    first = names.labels.setdefault(token.text, token)
    if first is not token:
        line = cursor.span(first).line
        raise ParseError(f"there are two labels `{token.text}`", cursor.span(token), f"the first is in line {line}")
    cursor.take()
    alone = cursor.current.kind in (";", "}")
    body = Block((), cursor.span(token)) if alone else _statement(cursor, names, nested)
    if alone:
        cursor.accept(";")
    return Labelled(token.text, body, cursor.span(token))


def _choose(cursor: Cursor, token: Token) -> Statement:
    hint = "`r := choose(0, 2)` is any number from 0 to 2"
    cursor.take()
    cursor.expect("(", hint)
    low = integer(cursor, hint)
    cursor.expect(",", hint)
    high = integer(cursor, hint)
    cursor.expect(")", hint)
    if not low <= high < low + WIDEST_CHOICE:
        raise ParseError(f"a choice from {low} to {high}", cursor.since(token), hint)
    return Choose(token.text, low, high, cursor.since(token))


def _read(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    hint = "a read looks like `read: r := x`"
    start = cursor.take()
    cursor.expect(":", hint)
    token = cursor.name("a register", hint)
    _assigned(cursor, names, token)
    cursor.expect(":=", hint)
    variable = _variable(cursor, names, hint)
    return Read(token.text, variable, cursor.since(start))


def _write(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    hint = "a write looks like `write: x := r`"
    start = cursor.take()
    cursor.expect(":", hint)
    variable = _variable(cursor, names, hint)
    cursor.expect(":=", hint)
    value = _expression(cursor, names)
    return Write(variable, value, cursor.since(start))


_EXCHANGE_HINT = "it looks like `CMPXCHG(x = r1 ? x := r0 : r1 := x)`, with the same variable and register each time"


def _compare_exchange(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    start = cursor.take()
    cursor.expect("(", _EXCHANGE_HINT)
    variable = _variable(cursor, names, _EXCHANGE_HINT)
    cursor.expect("=", _EXCHANGE_HINT)
    expected = _register(cursor, names)
    cursor.expect("?", _EXCHANGE_HINT)
    _same_variable(cursor, names, variable)
    cursor.expect(":=", _EXCHANGE_HINT)
    desired = _register(cursor, names)
    cursor.expect(":", _EXCHANGE_HINT)
    again = cursor.current
    if _register(cursor, names) != expected:
        raise ParseError(f"this is not `{expected}`", cursor.span(again), _EXCHANGE_HINT)
    cursor.expect(":=", _EXCHANGE_HINT)
    _same_variable(cursor, names, variable)
    cursor.expect(")", _EXCHANGE_HINT)
    names.registers[expected] = None
    return CompareExchange(variable, expected, desired, cursor.since(start))


def _same_variable(cursor: Cursor, names: ProcessNames, variable: Variable) -> None:
    start = cursor.current
    if _variable(cursor, names, _EXCHANGE_HINT) != variable:
        raise ParseError("this is not the variable that is compared", cursor.since(start), _EXCHANGE_HINT)


def _register(cursor: Cursor, names: ProcessNames) -> str:
    token = cursor.name("a register", _EXCHANGE_HINT)
    _refuse_variable(cursor, names, token, _EXCHANGE_HINT)
    names.reads.setdefault(token.text, token)
    return token.text


def _barrier(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    return Barrier(cursor.span(cursor.take()))


def _skip(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    return Block((), cursor.span(cursor.take()))


def _if(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    start = cursor.take()
    condition = _condition(cursor, names, "if(e) s")
    span = cursor.since(start)
    then = _statement(cursor, names, nested)
    if cursor.current.kind == ";" and cursor.ahead.kind == "else":
        cursor.take()
    other = _statement(cursor, names, nested) if cursor.accept("else") else None
    return If(condition, then, other, span)


def _while(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    start = cursor.take()
    condition = _condition(cursor, names, "while(e) s")
    span = cursor.since(start)
    return While(condition, _statement(cursor, names, nested), span)


def _check(cursor: Cursor, names: ProcessNames, nested: int) -> Statement:
    start = cursor.take()
    condition = _condition(cursor, names, f"{start.text}(e)")
    return Check(condition, start.kind == "assume", cursor.since(start))


def _condition(cursor: Cursor, names: ProcessNames, form: str) -> Expression:
    hint = f"it looks like `{form}`"
    cursor.expect("(", hint)
    condition = _expression(cursor, names)
    cursor.expect(")", hint)
    return condition


_STATEMENTS: dict[str, Callable[[Cursor, ProcessNames, int], Statement]] = {
    "name": _named,
    "read": _read,
    "write": _write,
    "CMPXCHG": _compare_exchange,
    "barrier": _barrier,
    "skip": _skip,
    "if": _if,
    "while": _while,
    "assert": _check,
    "assume": _check,
    "{": _block,
}


# --- names


def _assigned(cursor: Cursor, names: ProcessNames, token: Token) -> None:
    _refuse_variable(cursor, names, token, f"to change it, `write: {token.text} := r`")
    names.registers[token.text] = None


def _refuse_variable(cursor: Cursor, names: ProcessNames, token: Token, hint: str) -> None:
    if token.text in names.globals:
        raise ParseError(f"`{token.text}` is a shared variable, not a register", cursor.span(token), hint)


def _variable(cursor: Cursor, names: ProcessNames, hint: str) -> Variable:
    token = cursor.name("a variable", hint)
    known = names.globals.get(token.text)
    if known is None:
        nearest = suggestion(token.text, names.globals) or listed("variables", names.globals)
        raise ParseError(f"there is no variable `{token.text}`", cursor.span(token), nearest)
    if not cursor.accept("["):
        if known.low is not None:
            raise ParseError(f"`{token.text}` is an array", cursor.span(token), f"name an element: `{token.text}[0]`")
        return Variable(token.text)
    if known.low is None:
        raise ParseError(f"`{token.text}` is no array", cursor.span(token), f"`var {token.text}[0..3] = 0;` is one")
    start = cursor.current
    index = _expression(cursor, names)
    if isinstance(index, Num) and not known.low <= index.value <= known.high:
        message = f"the index {index.value} is not from {known.low} to {known.high}"
        raise ParseError(message, cursor.since(start), "the range stands where the array is declared")
    cursor.expect("]", "a bracket is not closed")
    return Variable(token.text, index)


def _expression(cursor: Cursor, names: ProcessNames) -> Expression:
    def name(at: Cursor) -> Expression:
        token = at.take()
        _refuse_variable(at, names, token, f"read it into a register first: `read: r := {token.text}`")
        names.reads.setdefault(token.text, token)
        return Register(token.text)

    return Grammar[Expression](Num, name, _apply, "a number or a register").parse(cursor)


def _apply(mark: str, operands: tuple[Expression, ...]) -> Expression:
    if mark == "-" and len(operands) == 1 and isinstance(operands[0], Num):
        return Num(-operands[0].value)
    return Apply(mark, operands)
