"""A position in the tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field
from difflib import get_close_matches

from dekker.errors import ParseError
from dekker.frontends.rsmc.lexer import Token, Tokens
from dekker.records import dataclass
from dekker.source import Span


@dataclass(slots=True)
class Cursor:
    tokens: Tokens
    current: Token = field(init=False)
    index: int = 0

    def __post_init__(self) -> None:
        self.current = self.tokens.items[self.index]

    @property
    def ahead(self) -> Token:
        return self.tokens.items[self.index + 1]

    def take(self) -> Token:
        token = self.current
        if token.kind != "end":
            self.index += 1
            self.current = self.tokens.items[self.index]
        return token

    def accept(self, kind: str) -> bool:
        if self.current.kind != kind:
            return False
        self.take()
        return True

    def expect(self, kind: str, hint: str) -> Token:
        if self.current.kind != kind:
            raise self.expected(f"`{kind}`", hint)
        return self.take()

    def name(self, what: str, hint: str) -> Token:
        token = self.current
        if token.kind != "name":
            reserved = token.text[:1].isalpha() and token.kind == token.text
            raise self.expected(what, f"`{token.text}` is a reserved word, choose another name" if reserved else hint)
        return self.take()

    def expected(self, what: str, hint: str) -> ParseError:
        token = self.current
        found = "the end of the file" if token.kind == "end" else f"`{token.text}`"
        return ParseError(f"expected {what}, found {found}", self.tokens.span(token), hint)

    def span(self, token: Token) -> Span:
        return self.tokens.span(token)

    def since(self, token: Token) -> Span:
        """From a token to the one before the current."""
        last = self.tokens.items[self.index - 1]
        return Span(self.tokens.source, token.start, last.start + len(last.text))


def suggestion(word: str, known: Iterable[str]) -> str:
    """A hint for a name that does not exist; empty if none comes near."""
    close = get_close_matches(word[:40], known, n=1)
    return f"did you mean `{close[0]}`?" if close else ""


def listed(what: str, names: Collection[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in list(names)[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    return f"{what}: {shown}" if names else f"{what}: none"


_LISTED = 20
