"""Expressions over numbers and registers, and over states in `forbidden`: the same grammar with different operands.

From loose to tight; `==` is `=`. What Fig. 10 does not have is marked with ‡. Comparisons, `&&`, `||` and `not` yield
0 or 1.

    ||    &&    = !=‡    < > <=‡ >=‡    + -    *‡ /‡ %‡    unary -‡    not(e), !e‡
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from dekker.errors import ParseError
from dekker.frontends.litmus.format import parse_number
from dekker.frontends.rsmc.cursor import Cursor
from dekker.records import dataclass

T = TypeVar("T")

MOST_OPERATORS = 60

_LEVELS = (("||",), ("&&",), ("=", "==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
_BINARY = {mark: level for level, marks in enumerate(_LEVELS) for mark in marks}
_UNARY = {"not": "not", "!": "not", "-": "-"}
_SAME = {"==": "="}


@dataclass(slots=True)
class Grammar(Generic[T]):
    """How operands are read and what operators build. `operators` counts those of the expression at hand."""

    number: Callable[[int], T]
    name: Callable[[Cursor], T]
    apply: Callable[[str, tuple[T, ...]], T]
    what: str
    operators: int = 0

    def parse(self, cursor: Cursor) -> T:
        self.operators = 0
        return self._binary(cursor, 0)

    def inner(self, cursor: Cursor) -> T:
        """An expression that is part of the one at hand."""
        return self._binary(cursor, 0)

    def _binary(self, cursor: Cursor, loosest: int) -> T:
        """Precedence climbing: an operand, then all operators at least as tight as `loosest`."""
        left = self._operand(cursor)
        while (level := _BINARY.get(cursor.current.kind, -1)) >= loosest:
            mark = self._operator(cursor)
            right = self._binary(cursor, level + 1)
            left = self.apply(_SAME.get(mark, mark), (left, right))
        return left

    def _operator(self, cursor: Cursor) -> str:
        """Parentheses count as well."""
        token = cursor.take()
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            message = f"this expression has more than {MOST_OPERATORS} operators"
            raise ParseError(message, cursor.span(token), "keep parts of it in registers")
        return token.kind

    def _operand(self, cursor: Cursor) -> T:
        kind = cursor.current.kind
        if kind == "number":
            return self.number(parse_number(cursor.take().text))
        if kind == "name":
            return self.name(cursor)
        if kind == "(":
            self._operator(cursor)
            value = self._binary(cursor, 0)
            cursor.expect(")", "a parenthesis is not closed")
            return value
        if kind in _UNARY:
            mark = _UNARY[self._operator(cursor)]
            return self.apply(mark, (self._operand(cursor),))
        raise cursor.expected(self.what, _hint(kind))


def _hint(kind: str) -> str:
    if kind == "[":
        return "a read stands alone: read into a register first, `read: r := a[e]`"
    return "an expression combines numbers and names with `+ - * / % = != < > <= >= && || not(…)`"


def integer(cursor: Cursor, hint: str) -> int:
    """A number, perhaps with a sign."""
    sign = -1 if cursor.accept("-") else 1
    if cursor.current.kind != "number":
        raise cursor.expected("a number", hint)
    return sign * parse_number(cursor.take().text)
