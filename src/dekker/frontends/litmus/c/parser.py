"""From the text of a thread, `(int* x) { … }`, to its syntax tree: a recursive descent over C statements and
expressions, with precedence climbing for the binary operators."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from difflib import get_close_matches
from functools import lru_cache
from typing import NoReturn

from dekker.errors import ParseError
from dekker.frontends.litmus.c import syntax
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.kernel import KERNEL_TYPES, kernel_error
from dekker.frontends.litmus.c.lexer import Kind, Token, character_value, tokenize
from dekker.frontends.litmus.c.types import (
    BOOL,
    INT,
    LONG,
    QUALIFIERS,
    SPECIFIERS,
    TYPE_NAMES,
    UINT,
    ULONG,
    VOID,
    CType,
    Integer,
    Pointer,
    from_specifiers,
)
from dekker.records import dataclass


def parse_thread(text: str) -> syntax.ThreadSyntax:
    """`text` starts at the parenthesis of the parameters and ends behind the brace of the body."""
    cursor = Cursor(tokenize(text))
    parameters = _parameters(cursor)
    body = _block(cursor)
    if cursor.current.kind != Kind.END:
        _unexpected(cursor, "the end of the thread")
    return syntax.ThreadSyntax(parameters, body, cursor.assigned)


@lru_cache(maxsize=1024)
def parse_type(text: str) -> CType | None:
    """The type that the text names; None if that is not understood."""
    try:
        cursor = Cursor(tokenize(text))
        kind = _type_name(cursor)
    except CError:
        return None
    return kind if cursor.current.kind == Kind.END and kind is not VOID else None


@dataclass(slots=True)
class Cursor:
    tokens: list[Token]
    current: Token = field(init=False)
    index: int = 0
    assigned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.current = self.tokens[0]

    @property
    def ahead(self) -> Token:
        return self.tokens[self.index + 1]

    @property
    def end(self) -> int:
        """Where the token before the current one ends."""
        token = self.tokens[self.index - 1]
        return token.start + len(token.text)


def _advance(cursor: Cursor) -> Token:
    token = cursor.current
    if token.kind != Kind.END:
        cursor.index += 1
        cursor.current = cursor.tokens[cursor.index]
    return token


def _accept(cursor: Cursor, text: str) -> bool:
    if cursor.current.text != text:
        return False
    _advance(cursor)
    return True


def _expect(cursor: Cursor, text: str, hint: str | None = None) -> None:
    if cursor.current.text != text:
        _unexpected(cursor, f"`{text}`", hint)
    _advance(cursor)


def _expect_name(cursor: Cursor, what: str) -> Token:
    if cursor.current.kind != Kind.NAME:
        _unexpected(cursor, what)
    return _advance(cursor)


_THREAD_NAME = re.compile(r"P\d+$")


def _unexpected(cursor: Cursor, expected: str, hint: str | None = None) -> NoReturn:
    token = cursor.current
    found = "the end of the thread" if token.kind == Kind.END else f"`{token.text}`"
    start, length = token.start, max(1, len(token.text))
    if expected == "`;`" and cursor.index:
        start, length = cursor.end, 1
    raise CError(f"expected {expected}, found {found}", start, length, hint, ParseError)


# Types and declarations


_STRUCTURED = {"struct": "structures", "union": "unions", "enum": "enumerations", "typedef": "type definitions"}
_OTHER_TYPES = frozenset("float double _Complex __int128 __int128_t __uint128_t int128_t uint128_t".split())
_TYPE_START = SPECIFIERS | QUALIFIERS | TYPE_NAMES.keys() | _STRUCTURED.keys() | _OTHER_TYPES | KERNEL_TYPES


def _starts_type(cursor: Cursor) -> bool:
    return cursor.current.text in _TYPE_START


def _base_type(cursor: Cursor) -> CType:
    """What stands before the declarators: qualifiers, and one named type or several specifier words, in any order."""
    first = cursor.current
    words: list[str] = []
    named: CType | None = None
    while cursor.current.text in _TYPE_START:
        token = cursor.current
        text = token.text
        if text == "_Atomic" and cursor.ahead.text == "(":
            _advance(cursor)
            _advance(cursor)
            named = _type_name(cursor)
            _expect(cursor, ")")
            continue
        if text in SPECIFIERS:
            words.append(text)
        elif text in TYPE_NAMES:
            if named is not None or words:
                break
            named = TYPE_NAMES[text]
        elif text not in QUALIFIERS:
            _refuse_type(token)
        _advance(cursor)
    if words:
        named = from_specifiers(words) if named is None else None
    if named is None:
        _no_type(cursor, first)
    return named


def _refuse_type(token: Token) -> NoReturn:
    if token.text in KERNEL_TYPES:
        raise kernel_error(token.text, token.start)
    what = f"{_STRUCTURED[token.text]} are" if token.text in _STRUCTURED else f"the type `{token.text}` is"
    hint = "shared variables are integers, pointers or arrays of them"
    raise CError(f"{what} not supported", token.start, len(token.text), hint)


def _no_type(cursor: Cursor, first: Token) -> NoReturn:
    end = max(cursor.end, first.start + len(first.text))
    if cursor.index and cursor.current is not first:
        raise CError("these words do not make a type", first.start, end - first.start, error=ParseError)
    close = get_close_matches(first.text, _TYPE_START, 1)
    _unexpected(cursor, "a type", f"did you mean `{close[0]}`?" if close else None)


def _stars(cursor: Cursor, base: CType) -> CType:
    while cursor.current.text == "*":
        _advance(cursor)
        base = Pointer(base)
        while cursor.current.text in QUALIFIERS:
            _advance(cursor)
    return base


def _type_name(cursor: Cursor) -> CType:
    return _stars(cursor, _base_type(cursor))


def _parameters(cursor: Cursor) -> list[syntax.Parameter]:
    _expect(cursor, "(", "write the shared variables that the thread uses: `P0 (atomic_int* x, int* y)`")
    parameters: list[syntax.Parameter] = []
    if cursor.current.text == "void" and cursor.ahead.text == ")":
        _advance(cursor)
    if _accept(cursor, ")"):
        return parameters
    while True:
        start = cursor.current.start
        kind = _type_name(cursor)
        name = _expect_name(cursor, "the name of a parameter")
        while _accept(cursor, "["):
            if cursor.current.kind == Kind.NUMBER:
                _advance(cursor)
            _expect(cursor, "]")
            kind = Pointer(kind)
        parameters.append(syntax.Parameter(start, cursor.end, name.text, kind))
        if not _accept(cursor, ","):
            break
    _expect(cursor, ")")
    return parameters


def _declaration(cursor: Cursor) -> syntax.Statement:
    base = _base_type(cursor)
    found: list[syntax.Statement] = []
    while not found or _accept(cursor, ","):
        start = cursor.current.start
        kind = _stars(cursor, base)
        name = _expect_name(cursor, "the name of a variable")
        if cursor.current.text == "[":
            raise CError(
                "local arrays are not supported", start, cursor.end - start, "declare one variable per element"
            )
        if cursor.current.text == "(":
            raise CError(f"the declaration of the function `{name.text}` is not supported", start, cursor.end - start)
        if kind is VOID:
            raise CError("a variable cannot have type `void`", start, cursor.end - start, error=ParseError)
        value = _assignment(cursor) if _accept(cursor, "=") else None
        found.append(syntax.Declare(start, cursor.end, name.text, kind, value))
    _expect(cursor, ";")
    return found[0] if len(found) == 1 else syntax.Group(found)


# Statements


def _block(cursor: Cursor) -> syntax.Block:
    opening = cursor.current
    _expect(cursor, "{")
    body: list[syntax.Statement] = []
    while cursor.current.text != "}":
        if cursor.current.kind == Kind.END:
            raise CError("this block is not closed", opening.start, 1, "a `}` is missing", ParseError)
        body.append(_statement(cursor))
    _advance(cursor)
    return syntax.Block(body)


def _statement(cursor: Cursor) -> syntax.Statement:
    token = cursor.current
    if token.kind == Kind.NAME:
        keyword = _KEYWORDS.get(token.text)
        if keyword is not None:
            return keyword(cursor)
        if token.text in _TYPE_START:
            return _declaration(cursor)
        ahead = cursor.ahead
        if ahead.text == ":":
            return _label(cursor)
        if ahead.text == "(" and _THREAD_NAME.match(token.text):
            message = f"`{token.text}` starts inside another thread"
            raise CError(message, token.start, len(token.text), "a `}` is missing before it", ParseError)
        if ahead.kind == Kind.NAME:
            close = get_close_matches(token.text, _TYPE_START, 1)
            hint = (
                f"did you mean `{close[0]}`?" if close else "known are int, unsigned, long, bool, atomic_int and so on"
            )
            raise CError(f"unknown type `{token.text}`", token.start, len(token.text), hint, ParseError)
    elif token.text == "{":
        return _block(cursor)
    elif token.text == ";":
        _advance(cursor)
        return syntax.Block([])
    expression = _expression(cursor)
    _expect(cursor, ";")
    return syntax.Evaluate(expression)


def _label(cursor: Cursor) -> syntax.Statement:
    name = _advance(cursor)
    _advance(cursor)
    # C wants a statement after a label; that one may stand before the closing brace is common use.
    follower = syntax.Block([]) if cursor.current.text == "}" else _statement(cursor)
    return syntax.Label(name.start, name.start + len(name.text), name.text, follower)


def _condition(cursor: Cursor) -> syntax.Expression:
    _expect(cursor, "(")
    condition = _expression(cursor)
    _expect(cursor, ")")
    return condition


def _if(cursor: Cursor) -> syntax.Statement:
    _advance(cursor)
    condition = _condition(cursor)
    then = _statement(cursor)
    return syntax.If(condition, then, _statement(cursor) if _accept(cursor, "else") else None)


def _while(cursor: Cursor) -> syntax.Statement:
    _advance(cursor)
    condition = _condition(cursor)
    return syntax.While(condition, _statement(cursor))


def _do(cursor: Cursor) -> syntax.Statement:
    _advance(cursor)
    body = _statement(cursor)
    _expect(cursor, "while")
    condition = _condition(cursor)
    _expect(cursor, ";")
    return syntax.DoWhile(body, condition)


def _for(cursor: Cursor) -> syntax.Statement:
    start = _advance(cursor).start
    _expect(cursor, "(")
    first: syntax.Statement = syntax.Block([])
    if _starts_type(cursor):
        first = _declaration(cursor)
    elif not _accept(cursor, ";"):
        first = syntax.Evaluate(_expression(cursor))
        _expect(cursor, ";")
    condition = None if cursor.current.text == ";" else _expression(cursor)
    _expect(cursor, ";")
    step = None if cursor.current.text == ")" else _expression(cursor)
    _expect(cursor, ")")
    return syntax.For(start, cursor.end, first, condition, step, _statement(cursor))


def _leave(cursor: Cursor) -> syntax.Statement:
    word = _advance(cursor)
    _expect(cursor, ";")
    return syntax.Leave(word.start, word.start + len(word.text), word.text)


def _goto(cursor: Cursor) -> syntax.Statement:
    start = _advance(cursor).start
    label = _expect_name(cursor, "a label")
    end = cursor.end
    _expect(cursor, ";")
    return syntax.Goto(start, end, label.text)


def _return(cursor: Cursor) -> syntax.Statement:
    start = _advance(cursor).start
    value = None if cursor.current.text == ";" else _expression(cursor)
    end = cursor.end
    _expect(cursor, ";")
    return syntax.Return(start, end, value)


def _refuse_statement(cursor: Cursor) -> NoReturn:
    token = cursor.current
    hint = "write it with `if`" if token.text in {"switch", "case", "default"} else None
    if token.text == "else":
        raise CError("this `else` has no `if`", token.start, 4, error=ParseError)
    raise CError(f"`{token.text}` is not supported", token.start, len(token.text), hint)


_KEYWORDS: dict[str, Callable[[Cursor], syntax.Statement]] = {
    "if": _if,
    "while": _while,
    "do": _do,
    "for": _for,
    "break": _leave,
    "continue": _leave,
    "goto": _goto,
    "return": _return,
    **dict.fromkeys(("switch", "case", "default", "else", "asm", "__asm__", "_Static_assert"), _refuse_statement),
}


# Expressions


_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    ">": 7,
    "<=": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}
_ASSIGNMENTS = {f"{op}=": op for op in ("", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")}


def _expression(cursor: Cursor) -> syntax.Expression:
    left = _assignment(cursor)
    while cursor.current.text == ",":
        _advance(cursor)
        right = _assignment(cursor)
        left = syntax.Binary(left.start, right.end, ",", left, right)
    return left


def _assignment(cursor: Cursor) -> syntax.Expression:
    left = _binary(cursor, 1)
    text = cursor.current.text
    if text == "?":
        _advance(cursor)
        then = _expression(cursor)
        _expect(cursor, ":")
        other = _assignment(cursor)
        return syntax.Conditional(left.start, other.end, left, then, other)
    op = _ASSIGNMENTS.get(text)
    if op is None:
        return left
    _advance(cursor)
    value = _assignment(cursor)
    _note_assigned(cursor, left)
    return syntax.Assignment(left.start, value.end, op, left, value)


def _note_assigned(cursor: Cursor, target: syntax.Expression) -> None:
    if isinstance(target, syntax.Name):
        cursor.assigned.add(target.name)


def _binary(cursor: Cursor, least: int) -> syntax.Expression:
    left = _unary(cursor)
    while (precedence := _PRECEDENCE.get(cursor.current.text, 0)) >= least:
        op = _advance(cursor).text
        right = _binary(cursor, precedence + 1)
        left = syntax.Binary(left.start, right.end, op, left, right)
    return left


_PREFIX = frozenset("-+~!*&")


def _unary(cursor: Cursor) -> syntax.Expression:
    token = cursor.current
    if token.kind in (Kind.NAME, Kind.NUMBER):
        return _postfix(cursor)
    text = token.text
    if text in _PREFIX and text:
        _advance(cursor)
        operand = _unary(cursor)
        return syntax.Unary(token.start, operand.end, text, operand)
    if text in {"++", "--"}:
        _advance(cursor)
        target = _unary(cursor)
        _note_assigned(cursor, target)
        return syntax.Step(token.start, target.end, text[0], target, postfix=False)
    if text == "(" and cursor.ahead.text in _TYPE_START:
        _advance(cursor)
        kind = _type_name(cursor)
        _expect(cursor, ")")
        operand = _unary(cursor)
        return syntax.Cast(token.start, operand.end, kind, operand)
    return _postfix(cursor)


def _postfix(cursor: Cursor) -> syntax.Expression:
    left = _primary(cursor)
    while True:
        token = cursor.current
        if token.text == "[":
            _advance(cursor)
            index = _expression(cursor)
            _expect(cursor, "]")
            place = syntax.Binary(left.start, cursor.end, "+", left, index)
            left = syntax.Unary(left.start, cursor.end, "*", place)
        elif token.text in {"++", "--"}:
            _advance(cursor)
            _note_assigned(cursor, left)
            left = syntax.Step(left.start, cursor.end, token.text[0], left, postfix=True)
        elif token.text in {".", "->"}:
            raise CError("members of structures are not supported", token.start, len(token.text))
        else:
            return left


def _primary(cursor: Cursor) -> syntax.Expression:
    token = cursor.current
    if token.kind == Kind.NAME:
        return _named(cursor)
    if token.kind == Kind.NUMBER:
        _advance(cursor)
        return _number(token)
    if token.text == "(":
        _advance(cursor)
        inner = _expression(cursor)
        _expect(cursor, ")")
        return inner
    if token.kind == Kind.CHARACTER:
        _advance(cursor)
        value = character_value(token.text)
        if value is None:
            raise CError("this is not a single character", token.start, len(token.text), error=ParseError)
        return syntax.Number(token.start, cursor.end, value, INT)
    if token.kind == Kind.STRING:
        _advance(cursor)
        return syntax.Text(token.start, cursor.end, token.text[1:-1])
    _unexpected(cursor, "an expression")


_CONSTANTS = {"true": (1, BOOL), "false": (0, BOOL), "NULL": (0, LONG), "nullptr": (0, LONG)}


def _named(cursor: Cursor) -> syntax.Expression:
    token = _advance(cursor)
    name = token.text
    following = cursor.current.text
    if following == "(":
        return _sizeof(cursor, token) if name == "sizeof" else _call(cursor, token, name)
    if name in _CONSTANTS:
        value, kind = _CONSTANTS[name]
        return syntax.Number(token.start, cursor.end, value, kind)
    while cursor.current.text == "::":
        _advance(cursor)
        name += "::" + _expect_name(cursor, "a name").text
    if "::" in name and cursor.current.text == "(":
        return _call(cursor, token, name)
    if name in _RESERVED:
        cursor.index -= 1
        cursor.current = token
        _unexpected(cursor, "an expression")
    if following == "{":
        raise kernel_error(name, token.start)
    return syntax.Name(token.start, cursor.end, name)


_RESERVED = _KEYWORDS.keys() | _TYPE_START


def _call(cursor: Cursor, token: Token, name: str) -> syntax.Expression:
    _advance(cursor)
    arguments: list[syntax.Expression] = []
    if not _accept(cursor, ")"):
        arguments.append(_assignment(cursor))
        while _accept(cursor, ","):
            arguments.append(_assignment(cursor))
        _expect(cursor, ")")
    return syntax.Call(token.start, cursor.end, name, arguments)


def _sizeof(cursor: Cursor, token: Token) -> syntax.Expression:
    _advance(cursor)
    if not _starts_type(cursor):
        raise CError("`sizeof` an expression is not supported", token.start, len(token.text), "write `sizeof(type)`")
    kind = _type_name(cursor)
    _expect(cursor, ")")
    return syntax.Number(token.start, cursor.end, kind.size, ULONG)


_NUMBER = re.compile(r"(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|(0[0-7]*)|([1-9]\d*))([uUlL]*)$")
_BASES = (16, 2, 8, 10)
_SUFFIXES = {"": (False, False), "u": (True, False), "l": (False, True), "ll": (False, True)} | dict.fromkeys(
    ("ul", "lu", "ull", "llu"), (True, True)
)


def _number(token: Token) -> syntax.Number:
    found = _NUMBER.match(token.text)
    suffix = _SUFFIXES.get(found[5].lower()) if found else None
    if found is None or suffix is None:
        what = "floating-point numbers are not supported" if "." in token.text else f"`{token.text}` is not a number"
        raise CError(what, token.start, len(token.text), error=ParseError)
    group = next(i for i in range(4) if found[i + 1] is not None)
    value = int(found[group + 1], _BASES[group])
    if value >> 64:
        raise CError("this number does not fit into 64 bits", token.start, len(token.text), error=ParseError)
    return syntax.Number(token.start, token.start + len(token.text), value, _literal_type(value, *suffix, group < 3))


def _literal_type(value: int, unsigned: bool, long: bool, any_sign: bool) -> Integer:
    """The first type that holds the value; a decimal number without `u` is never unsigned unless nothing else fits."""
    for kind in (INT, UINT, LONG, ULONG):
        if (long and kind.size == 4) or (unsigned and kind.signed) or not (kind.signed or unsigned or any_sign):
            continue
        if value >> (kind.width - kind.signed) == 0:
            return kind
    return ULONG
