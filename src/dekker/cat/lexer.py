"""Tokens of `.cat` files.

Names may hold dots and dashes (`po-loc`, `Fence.rw.rw`) and end in a quote. Comments are `(* … *)`, which nest, and
`//` or `#` to the end of the line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dekker.errors import ParseError
from dekker.source import Source, Span


class Token(NamedTuple):
    """`kind` is `name`, `keyword`, `string`, `tag`, `symbol` or `end`. The text of strings and tags has no quotes."""

    kind: str
    text: str
    start: int
    end: int


KEYWORDS = frozenset(
    """let rec and when in fun include as acyclic irreflexive empty flag undefined_unless assert show unshow procedure
    call begin end forall do with from try if then else match enum instructions default debug subset not
    withco withoutco withinit withoutinit withsc withoutsc""".split()
)

INVERSE, PLUS, STAR, OPTION = "^-1", "+", "*", "?"


def tokenize(source: Source) -> list[Token]:
    """All tokens of a source; the last one has kind `end`."""
    text = source.text
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(source, position)
        kind, position = match.lastgroup or "", match.end()
        if kind == "comment":
            position = _end_of_comment(source, match.start())
        elif kind != "blank":
            tokens.append(_token(kind, match))
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


_NAME = r"_?[A-Za-z](?:[A-Za-z0-9_]|[.-]+(?=[A-Za-z0-9_]))*'?"

_TOKEN = re.compile(
    rf"""(?P<blank> \s+ | (?:\#|//)[^\n]* )
    | (?P<comment> \(\* )
    | (?P<string> "[^"]*" )
    | (?P<tag> '{_NAME} )
    | (?P<name> {_NAME} )
    | (?P<symbol> \^\s*-\s*1 | \^\s*[+*?] | \|\| | && | \+\+ | -> | [|&;\\*+?~=,()\[\]{{}}_] | 0(?![A-Za-z0-9_]) )""",
    re.VERBOSE,
)

_COMMENT_MARK = re.compile(r"\(\*|\*\)")


def _token(kind: str, match: re.Match[str]) -> Token:
    text = match.group()
    if kind == "name" and text in KEYWORDS:
        kind = "keyword"
    elif kind == "string":
        text = text[1:-1]
    elif kind == "tag":
        text = text[1:]
    elif text.startswith("^"):
        text = INVERSE if text.endswith("1") else text[-1]
    return Token(kind, text, match.start(), match.end())


def _end_of_comment(source: Source, start: int) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(source.text, start):
        depth += 1 if mark.group() == "(*" else -1
        if depth == 0:
            return mark.end()
    raise ParseError("this comment has no end", Span(source, start, start + 2), "close it with *)")


def _unreadable(source: Source, position: int) -> ParseError:
    character = source.text[position]
    span = Span(source, position, position + 1)
    if character == '"':
        return ParseError("this string has no end", span, 'close it with "')
    if character.isdigit():
        return ParseError("a number has no meaning here", span, "the only number in a model is 0, the empty relation")
    return ParseError(f"unexpected character {character!r}", span)
