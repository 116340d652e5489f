"""Words, numbers and marks, for programs and conditions alike. Comments are `// …`, `# …` and `/* … */`."""

from __future__ import annotations

import re
from typing import NamedTuple

from dekker.errors import ParseError
from dekker.frontends.litmus.format import DIGITS, parse_number
from dekker.records import dataclass
from dekker.source import Source, Span

FENCES = ("sync", "lwsync", "isync", "eieio")
FINAL_WORDS = frozenset(("exists", "forall", "filter", "locations", "not", "~"))
RESERVED = frozenset(("thread", "if", "goto", "true", "false", "NULL", *FENCES, *FINAL_WORDS))


class Token(NamedTuple):
    """`kind` is `name`, `number`, `end`, or, of a reserved word or a mark, its text. `first` is true of the first token
    on a line."""

    kind: str
    text: str
    start: int
    first: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    """`text` is the source text with comments replaced by blanks, so that offsets in it are offsets in the source. The
    last two tokens have kind `end`, so that a parser may look one ahead."""

    source: Source
    text: str
    items: list[Token]

    def span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.start + len(token.text))


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<name>[A-Za-z_]\w*)
      |(?P<number>\d\w*)
      |(?P<mark>:=|/\\|\\/|=>|<<|>>|<=|>=|==|!=|<>|&&|\|\||[-+*/%&|^~!<>=:;,(){}\[\]])
      |(?P<junk>\S)
    )""",
    re.VERBOSE | re.ASCII,
)
_NUMBER = re.compile(DIGITS)


def tokenize(source: Source) -> Tokens:
    text = _without_comments(source)
    items: list[Token] = []
    end_of_last = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "junk"
        word, start = match[kind], match.start(kind)
        first = not items or text.find("\n", end_of_last, start) >= 0
        token = Token(word if kind == "mark" or word in RESERVED else kind, word, start, first)
        _check(token, source)
        items.append(token)
        end_of_last = match.end()
    if not items:
        raise ParseError("there is no program: the file is empty", Span(source, 0, 0), "start with `thread P:`")
    end = Token("end", "", end_of_last, True)
    return Tokens(source, text, [*items, end, end])


def _check(token: Token, source: Source) -> None:
    span = Span(source, token.start, token.start + len(token.text))
    if token.kind == "junk":
        shown = f"`{token.text}`" if token.text.isprintable() else f"number {ord(token.text)}"
        raise ParseError(f"unexpected character {shown}", span, "names consist of ASCII letters, digits and `_`")
    if token.kind == "number":
        if not _NUMBER.fullmatch(token.text):
            hint = "numbers are decimal or 0x…; names start with a letter"
            raise ParseError("this is neither a number nor a name", span, hint)
        number_value(token.text, span)


def number_value(text: str, span: Span) -> int:
    value = parse_number(text)
    if not -(1 << 63) <= value < 1 << 64:
        raise ParseError("this number does not fit into 64 bits", span, "numbers go from -2⁶³ to 2⁶⁴-1")
    return value


# The operators of conditions come first: `\//` is an `or` and a slash.
_COMMENT = re.compile(r"\\/|/\\|(?P<comment>//[^\n]*|\#[^\n]*|/\*.*?\*/)|(?P<open>/\*)", re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")


def _without_comments(source: Source) -> str:
    text = source.text
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    for match in _COMMENT.finditer(text):
        if match["open"]:
            raise ParseError("this comment is not closed", Span(source, *match.span()), "`*/` is missing")
    return _COMMENT.sub(lambda match: _VISIBLE.sub(" ", match[0]) if match["comment"] else match[0], text)
