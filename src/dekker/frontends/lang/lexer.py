"""Words, numbers and marks of Lang. Comments are `// …`, `/* … */` and `(* … *)`."""

from __future__ import annotations

import re

from dekker.errors import ParseError
from dekker.frontends.litmus.format import DIGITS
from dekker.frontends.rsmc.lexer import Token, Tokens, number_value
from dekker.source import Source, Span

STATEMENT_WORDS = ("read", "write", "CMPXCHG", "barrier", "if", "while", "assert", "assume", "skip")
ITEM_WORDS = ("var", "process", "class", "forbidden")
RESERVED = frozenset((*STATEMENT_WORDS, *ITEM_WORDS, "else", "not", "choose", "many", "with", "final", "versioned"))

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<name>[A-Za-z_]\w*)
      |(?P<number>\d\w*)
      |(?P<mark>:=|\.\.|<=|>=|==|!=|&&|\|\||[-+*/%!<>=:;,?@\#(){}\[\]])
      |(?P<junk>\S)
    )""",
    re.VERBOSE | re.ASCII,
)
_NUMBER = re.compile(DIGITS)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\(\*.*?\*\)|(?P<open>/\*|\(\*)", re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")


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
        hint = "a program is variables, `var x = 0;`, and processes, `process P { … }`"
        raise ParseError("there is no program: the file is empty", Span(source, 0, 0), hint)
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
        if number_value(token.text, span) >= 1 << 63:
            raise ParseError("this number does not fit into 64 bits with a sign", span, "numbers go up to 2⁶³-1")


def _without_comments(source: Source) -> str:
    text = source.text
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    for match in _COMMENT.finditer(text):
        if match["open"]:
            closing = "*/" if match["open"] == "/*" else "*)"
            raise ParseError("this comment is not closed", Span(source, *match.span()), f"`{closing}` is missing")
    return _COMMENT.sub(lambda match: _VISIBLE.sub(" ", match[0]), text)
