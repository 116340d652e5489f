"""Words of LLVM IR text, and a cursor over them.

A token is its text; the first character tells its kind: `%` local, `@` global, `!` metadata, `#` attributes, `"`
string, `c"` bytes, a digit or sign a number, a trailing `:` a label.
"""

from __future__ import annotations

import re
from typing import NoReturn

from dekker.errors import InputError, ParseError
from dekker.source import Source, Span

_TOKEN = re.compile(
    r"""(?:[ \t\r\n]+|;[^\n]*)*   # blanks and comments
    (
      (?:[-a-zA-Z$._0-9]+|"[^"]*"):(?!:)              # a label
    | [%@$](?:"[^"]*"|[-a-zA-Z$._0-9]+)
    | [a-zA-Z_.$][\w.$]*"[^"]*"                       # c"bytes"
    | "[^"]*"
    | \#[\w.]+
    | !"[^"]*" | ![-\w.$\\]* | \^\d+
    | [us]?0x[KLMHR]?[0-9A-Fa-f]+
    | [-+]?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?
    | [-+]?(?:inf|nan|qnan)\b
    | \.\.\. | [a-zA-Z_.$][\w.$]*
    | [\[\](){}<>,=*|:]
    )""",
    re.VERBOSE,
)
_BLANK = re.compile(r"(?:[ \t\r\n]+|;[^\n]*)*")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")

END = ""


class Cursor:
    """Tokens of a part of a text, read one after the other."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.tokens: list[str] = []
        self.offsets: list[int] = []
        self.index = 0
        position = start
        for match in _TOKEN.finditer(source.text, start, end):
            if match.start() != position:
                break
            self.tokens.append(match[1])
            self.offsets.append(match.start(1))
            position = match.end()
        blank = _BLANK.match(source.text, position, end)
        rest = blank.end() if blank else position
        if rest < end:
            raise ParseError(f"{source.text[rest]!r} is not expected here", Span(source, rest, rest + 1))
        self.tokens.append(END)
        self.offsets.append(end)

    @property
    def token(self) -> str:
        return self.tokens[self.index]

    @property
    def offset(self) -> int:
        return self.offsets[self.index]

    def take(self) -> str:
        token = self.tokens[self.index]
        if token != END:
            self.index += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.index] == token:
            self.index += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"`{token}` is expected here")

    def number(self) -> int:
        if not self.token.isdecimal():
            self.fail("a number is expected here")
        return int(self.take())

    def fail(self, message: str, hint: str | None = None, kind: type[InputError] = ParseError) -> NoReturn:
        start = self.offset
        raise kind(message, Span(self.source, start, start + max(1, len(self.token))), hint)

    def skip_brackets(self) -> None:
        """From an opening bracket to behind the one that closes it."""
        depth = 0
        while True:
            token = self.take()
            if token == END:
                self.fail("a bracket is not closed")
            if token in ("(", "[", "{", "<"):
                depth += 1
            elif token in (")", "]", "}", ">"):
                depth -= 1
                if depth == 0:
                    return


def unquoted(token: str) -> str:
    """The name inside `%"a b"`, `@x` or `"x":`, without sigil, quotes and colon."""
    name = token.removesuffix(":")
    if name[:1] in ("%", "@", "$", "!"):
        name = name[1:]
    if name.startswith('"'):
        return unescaped(name[1:-1]).decode("utf-8", "replace")
    return name


def unescaped(text: str) -> bytes:
    """The bytes of a string: `\\0A` is a line feed."""
    data = text.encode()
    if b"\\" not in data:
        return data
    return _ESCAPE.sub(lambda match: b"\\" if match[1] == b"\\" else bytes((int(match[1], 16),)), data)
