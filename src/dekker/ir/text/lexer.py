"""Words, numbers and quoted strings of the printable form."""

from __future__ import annotations

import re
from functools import lru_cache

from dekker.errors import ParseError
from dekker.ir.expressions import ALL_BINARY_OPERATORS, ALL_UNARY_OPERATORS
from dekker.ir.instructions import Order
from dekker.records import dataclass
from dekker.source import Source, Span

# Followed by `.size`; reserved with any suffix.
_SIZED = frozenset(("load", "store", "store-conditional", "rmw", "cmpxchg"))

_KEYWORDS = frozenset(
    (
        *("program", "architecture", "object", "align", "function", "thread", "runs", "with"),
        *("exists", "forall", "filter", "observe", "ignore", "assertions", "memory-safety", "forbid", "leaks"),
        "given",
        *("as", "true", "false", "all", "any"),
        *("fence", "jump", "branch", "call", "return", "spawn", "join", "assume", "await", "assert", "print"),
        *("choose", "refuse", "unset", "confined", "copied", "detach"),
        *("allocate", "free", "measure", "recycle", "renew", "end-scope", "atomic-begin", "atomic-end", "exit"),
        *("signed", "exclusive", "weak", "quiet", "zeroed", "stack", "permanent", "everything", "loose", "partial"),
        "pointer",
        *(order.value for order in Order),
        *_SIZED,
        *ALL_BINARY_OPERATORS,
        *ALL_UNARY_OPERATORS,
    )
)

_WORD = r"(?:[^\W\d]|[%$@])[\w%$@#]*(?:\.[\w%$@#]+)*"

_TOKEN = re.compile(
    rf"""
    (?: \s | //[^\n]* )*
    (?: (?P<word>   (?: store-conditional (?:\.[\w]+)? | atomic-begin | atomic-end | end-scope | memory-safety ) \b
                  | {_WORD} )
      | (?P<mark>   -> | \.\. | /\\ | \\/ | ~exists\b | [][(){{}}=,:&~?/] )
      | (?P<number> [+-]? (?: 0[xX][0-9a-fA-F]+ | [0-9]+ ) )
      | (?P<size>   \.[0-9]+ )
      | (?P<name>   " (?: [^"\\\n] | \\[^\n] )* " )
      | (?P<end>    \Z )
      | (?P<junk>   . )
    )""",
    re.VERBOSE | re.DOTALL,
)

_BARE_NAME = re.compile(_WORD)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The kind of a keyword is its part before the dot, the kind of a mark is the mark; others are `name`, `binary`,
    `unary`, `number`, `size` and, once and last, `end`."""

    source: Source
    kinds: list[str]
    texts: list[str]
    starts: list[int]


def tokenize(source: Source) -> Tokens:
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        assert kind is not None
        text = match[kind]
        start = match.end() - len(text)
        if kind == "word":
            kind = _word_kind(text)
        elif kind == "mark":
            kind = text
        elif kind == "junk":
            raise _junk(source, start)
        kinds.append(kind)
        texts.append(text)
        starts.append(start)
        if kind == "end":
            break
    return Tokens(source, kinds, texts, starts)


@lru_cache(maxsize=4096)
def _word_kind(text: str) -> str:
    root, dot, suffix = text.partition(".")
    if root in _SIZED:
        return root
    if dot and suffix.isascii() and suffix.isdigit():
        if root in ALL_BINARY_OPERATORS:
            return "binary"
        if root in ALL_UNARY_OPERATORS:
            return "unary"
    return text if text in _KEYWORDS else "name"


def _junk(source: Source, start: int) -> ParseError:
    span = Span(source, start, start + 1)
    if source.text[start] == '"':
        return ParseError("this string has no end on its line", span, 'write " inside a string as \\"')
    return ParseError(f"unexpected character {show_text(source.text[start])}", span, 'quote unusual names: "a name"')


@lru_cache(maxsize=4096)
def name_text(name: str) -> str:
    """A name as the lexer reads it back: quoted unless it is a word without another meaning."""
    bare = _BARE_NAME.fullmatch(name) is not None and _word_kind(name) == "name"
    return name if bare else quote(name)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)


def quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'


def unquote(text: str) -> str:
    """The contents of a quoted string. Raises ValueError, with a message for a person, for an unknown escape."""
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    if match[1] is not None:
        code = int(match[1], 16)
        if code > 0x10FFFF:
            raise ValueError(f"there is no character {code:x}")
        return chr(code)
    if match[2] not in _ESCAPED:
        raise ValueError(f"unknown escape \\{match[2]}")
    return _ESCAPED[match[2]]


def show_text(text: str) -> str:
    """A piece of the input inside a message."""
    shown = text if len(text) <= 40 else text[:40] + "…"
    return f"`{shown}`" if shown.isprintable() else f"`{quote(shown)[1:-1]}`"
