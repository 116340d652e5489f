r"""Forbidden states: expressions over labels, registers and variables.

forbidden P@critical && Q@critical;
forbidden worker@critical && worker#2@critical;     two different threads of one class
forbidden P@done && P:r0 = 1 && flag[0] = 0;
forbidden final P:r0 = 0 && Q:r0 = 0;               when all threads have ended and all writes have taken effect
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.errors import ParseError
from dekker.frontends.lang.expressions import Grammar, integer
from dekker.frontends.lang.names import Names, ProcessNames
from dekker.frontends.lang.operators import OPERATORS, SIZE
from dekker.frontends.lang.syntax import Global
from dekker.frontends.rsmc.cursor import Cursor, listed, suggestion
from dekker.frontends.rsmc.lexer import Token
from dekker.ir.thread_classes import (
    AtLabel,
    ForbiddenState,
    Member,
    MemberRegister,
    Number,
    Operation,
    SharedValue,
    StateTerm,
)

_HINT = "`P@label`, `P:register`, `P#2@label` for a second thread of a class, a variable `x` or an element `a[0]`"


def parse_forbidden(cursor: Cursor, names: Names, counts: Mapping[str, int | None]) -> ForbiddenState:
    start = cursor.take()
    final = cursor.accept("final")

    def name(at: Cursor) -> StateTerm:
        token = at.take()
        if token.text in names.processes:
            return _of_member(at, token, names.processes[token.text], counts[token.text])
        known = names.globals.get(token.text)
        if known is None:
            nearest = suggestion(token.text, (*names.globals, *names.processes))
            known_names = listed("known", (*names.processes, *names.globals))
            message = f"there is no process, class or variable `{token.text}`"
            raise ParseError(message, at.span(token), nearest or known_names)
        return _shared(at, token, known, grammar)

    grammar = Grammar[StateTerm](Number, name, _apply, "a number, a variable, `P@label` or `P:register`")
    term = grammar.parse(cursor)
    if cursor.current.kind != ";":
        raise cursor.expected("`;`", _HINT)
    return ForbiddenState(term, final, cursor.since(start))


def _of_member(cursor: Cursor, token: Token, names: ProcessNames, count: int | None) -> StateTerm:
    number = integer(cursor, _HINT) if cursor.accept("#") else 1
    if number < 1 or (count is not None and number > count):
        message = f"there is no thread {number} of `{token.text}`"
        raise ParseError(message, cursor.since(token), f"it has {'any number' if count is None else count}")
    member = Member(token.text, number)
    if cursor.accept("@"):
        label = _known(cursor, "label", tuple(names.labels), token.text)
        return AtLabel(member, label)
    cursor.expect(":", _HINT)
    return MemberRegister(member, _known(cursor, "register", tuple(names.registers), token.text))


def _known(cursor: Cursor, what: str, known: tuple[str, ...], process: str) -> str:
    token = cursor.name(f"a {what}", _HINT)
    if token.text not in known:
        hint = suggestion(token.text, known) or listed(f"{what}s of {process}", known)
        raise ParseError(f"there is no {what} `{token.text}` in {process}", cursor.span(token), hint)
    return token.text


def _shared(cursor: Cursor, token: Token, known: Global, grammar: Grammar[StateTerm]) -> StateTerm:
    if known.low is None:
        return SharedValue(token.text, Number(0), SIZE)
    hint = f"name an element: `{token.text}[{known.low}]`"
    cursor.expect("[", hint)
    start = cursor.current
    index = grammar.inner(cursor)
    if isinstance(index, Number) and not known.low <= index.value <= known.high:
        message = f"the index {index.value} is not from {known.low} to {known.high}"
        raise ParseError(message, cursor.since(start), "the range stands where the array is declared")
    cursor.expect("]", "a bracket is not closed")
    if isinstance(index, Number):
        return SharedValue(token.text, Number(index.value - known.low), SIZE)
    offset = Operation("sub", (index, Number(known.low))) if known.low else index
    return SharedValue(token.text, offset, SIZE)


def _apply(mark: str, operands: tuple[StateTerm, ...]) -> StateTerm:
    if len(operands) == 1:
        return Operation("eq" if mark == "not" else "sub", _with_zero(mark, operands[0]))
    return Operation(OPERATORS[mark], operands)


def _with_zero(mark: str, operand: StateTerm) -> tuple[StateTerm, ...]:
    return (operand, Number(0)) if mark == "not" else (Number(0), operand)
