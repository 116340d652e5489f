"""Tokens of C. Comments are gone before: the frame of the litmus file replaces them by blanks."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from dekker.errors import ParseError
from dekker.frontends.litmus.c.errors import CError


class Kind(IntEnum):
    """In the order of the groups of the regular expression below."""

    NAME = 1
    OPERATOR = 2
    NUMBER = 3
    CHARACTER = 4
    STRING = 5
    LINE = 6
    BAD = 7
    END = 8


class Token(NamedTuple):
    kind: int
    text: str
    start: int


_TOKEN = re.compile(
    r"""\s*(?:
      ([A-Za-z_]\w*)
      |(<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|[-+*/%&|^~!<>=?:,;.(){}\[\]])
      |(\d[\w.]*)
      |('(?:\\.|[^'\\\n])+')
      |("(?:\\.|[^"\\\n])*")
      |(\#[^\n]*)
      |(\S)
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def tokenize(text: str) -> list[Token]:
    """All tokens of the text, closed by two of kind `END`, so that a parser may look one ahead."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastindex or Kind.BAD
        if kind == Kind.LINE:
            continue
        if kind == Kind.BAD:
            raise CError(
                f"unexpected character `{match[kind]}`", match.start(kind), 1, _hint(match[kind]), error=ParseError
            )
        tokens.append(Token(kind, match[kind], match.start(kind)))
    end = Token(Kind.END, "", len(text.rstrip()))
    return [*tokens, end, end]


def _hint(character: str) -> str | None:
    return "the quote is not closed on this line" if character in "'\"" else None


_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, "'": 39, '"': 34, "?": 63}


def character_value(text: str) -> int | None:
    """The value of a character constant, quotes included; None if it is not one character."""
    body = text[1:-1]
    if len(body) == 1:
        value = ord(body)
        return value if value < 128 else None
    if body[:1] == "\\":
        if len(body) == 2:
            return _ESCAPES.get(body[1])
        if re.fullmatch(r"\\x[0-9a-fA-F]{1,2}", body):
            return int(body[2:], 16)
        if re.fullmatch(r"\\[0-7]{1,3}", body):
            return int(body[1:], 8)
    return None
