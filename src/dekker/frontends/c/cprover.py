"""What goto-cc knows and clang does not: labels that start threads, and functions that need no declaration.

`__CPROVER_ASYNC_1: statement` runs the statement in a new thread. In what the compiler makes of it nothing says where
the statement ends, so the preprocessed text is rewritten before it is compiled: the statement becomes

    { if (__dekker_async()) { statement __dekker_async_end(); } }

where `__dekker_async` returns twice, 1 in the new thread and 0 in the old one (see `lowering.asynchronous`). Line
markers keep lines and columns as they were.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import field

from dekker.errors import UnsupportedError
from dekker.frontends.c.llvm.metadata import read_source
from dekker.records import dataclass
from dekker.source import Source, Span

ASYNC_LABEL = re.compile(r"^__CPROVER_ASYNC_\w*:", re.MULTILINE)
"""In LLVM IR: the block that begins at such a label."""

_UNDECLARED = re.compile(r"undeclared (?:function|identifier) '(__CPROVER_\w+)'")
_PROTOTYPES = {
    "__CPROVER_assume": "void __CPROVER_assume(_Bool);",
    "__CPROVER_assert": "void __CPROVER_assert(_Bool, const char *);",
    "__CPROVER_atomic_begin": "void __CPROVER_atomic_begin(void);",
    "__CPROVER_atomic_end": "void __CPROVER_atomic_end(void);",
}

_HEADER = """#ifdef __cplusplus
#define _Bool bool
extern "C" {
PROTOTYPES
}
#undef _Bool
#else
PROTOTYPES
#endif
"""


def declarations(complaint: str) -> str | None:
    """What declares the functions that the compiler does not know, if they are all it has to complain about them."""
    names = sorted({name for name in _UNDECLARED.findall(complaint) if name in _PROTOTYPES})
    if not names:
        return None
    return _HEADER.replace("PROTOTYPES", "\n".join(_PROTOTYPES[name] for name in names))


def require_no_threads(source: Source) -> None:
    """In LLVM IR nothing says where a statement ends that is meant to run as a thread."""
    label = ASYNC_LABEL.search(source.text)
    if label is not None:
        message = f"the label `{label[0].removesuffix(':')}` starts a thread, but here the end of its statement is lost"
        raise UnsupportedError(message, Span(source, label.start(), label.end() - 1), "name the C file instead")


def start_threads(text: str) -> str:
    """A preprocessed text without such labels. What it does not understand is an error that says where."""
    scanner = _Scanner(text)
    edits = [edit for index in scanner.labels() for edit in _edits(scanner, index)]
    parts: list[str] = []
    position = 0
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1])):
        parts += (text[position:start], new)
        position = end
    return "".join((*parts, text[position:]))


_BEGIN = "{ extern int __dekker_async(void); extern void __dekker_async_end(void); if (__dekker_async()) {"
_END = "__dekker_async_end(); } }"

Edit = tuple[int, int, str]


def _edits(scanner: _Scanner, label: int) -> Iterable[Edit]:
    """The words for a label, and for the end of its statement."""
    begin = scanner.tokens[label].start
    behind_label = scanner.tokens[label + 1].end
    last = scanner.statement(label + 2)
    _require_inside(scanner, label, last)
    end = scanner.tokens[last].end
    yield begin, behind_label, scanner.on_own_line(_BEGIN, begin, behind_label)
    yield end, end, scanner.on_own_line(_END, end, end)


def _require_inside(scanner: _Scanner, label: int, last: int) -> None:
    """A thread that jumps out of its statement would run what belongs to another."""
    inside = [token.text for token in scanner.tokens[label + 2 : last + 1]]
    has_loop = not _LOOPS.isdisjoint(inside)
    for offset, word in enumerate(inside):
        if word in ("goto", "return") or (word in ("break", "continue") and not has_loop):
            raise scanner.problem(
                label + 2 + offset,
                f"`{word}` behind the label `{scanner.tokens[label].text}` leaves the thread that it starts",
                "call a function there",
            )


_LOOPS = frozenset(("for", "while", "do", "switch"))
_TOKEN = re.compile(
    r"""(?P<marker>^[ \t]*\#[^\n]*)                      # line markers and pragmas
      | (?P<space>\s+)
      | (?P<text>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | [uUL]?'(?:\\.|[^'\\\n])*')
      | (?P<word>[^\W\d]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<sign>::|.)""",
    re.MULTILINE | re.VERBOSE | re.DOTALL,
)
_LINE_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)\s+"((?:\\.|[^"\\])*)"')
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass
class _Scanner:
    """Just as much of C as is needed to find where a statement ends. Statements are numbered by their tokens."""

    text: str
    tokens: list[_Token] = field(default_factory=list)
    markers: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup == "marker":
                self._note_marker(match)
            elif match.lastgroup != "space":
                self.tokens.append(_Token(match[0], match.start()))

    def _note_marker(self, match: re.Match[str]) -> None:
        marker = _LINE_MARKER.match(match[0])
        if marker is not None:
            self.markers.append((match.end(), int(marker[1]), marker[2]))

    def labels(self) -> list[int]:
        return [
            index
            for index, token in enumerate(self.tokens)
            if token.text.startswith("__CPROVER_ASYNC_")
            and self._word(index + 1) == ":"
            and self._word(index - 1) != "?"
        ]

    def _word(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def statement(self, index: int) -> int:
        """The last token of the statement that begins here."""
        word = self._word(index)
        if word == "{":
            return self._closing(index)
        if word == "if":
            last = self.statement(self._behind_parentheses(index + 1))
            return self.statement(last + 2) if self._word(last + 1) == "else" else last
        if word in ("for", "while", "switch"):
            return self.statement(self._behind_parentheses(index + 1))
        if word == "do":
            last = self.statement(index + 1)
            return self._semicolon(last + 1)
        if self._word(index + 1) == ":" and (word[:1].isalpha() or word[:1] == "_"):
            return self.statement(index + 2)
        if word in ("case", "else", "}", ""):
            raise self.problem(index, "here is no statement that could run as a thread")
        return self._semicolon(index)

    def _semicolon(self, index: int) -> int:
        while self._word(index) != ";":
            if self._word(index) in ("}", ")", "]", ""):
                raise self.problem(index, "expected `;` behind the statement that runs as a thread")
            index = self._closing(index) + 1 if self._word(index) in _CLOSING else index + 1
        return index

    def _behind_parentheses(self, index: int) -> int:
        if self._word(index) != "(":
            raise self.problem(index, "expected `(`")
        return self._closing(index) + 1

    def _closing(self, index: int) -> int:
        """The bracket that closes the one here."""
        open_brackets: list[str] = []
        for place in range(index, len(self.tokens)):
            word = self.tokens[place].text
            if word in _CLOSING:
                open_brackets.append(_CLOSING[word])
            elif open_brackets and word == open_brackets[-1]:
                open_brackets.pop()
                if not open_brackets:
                    return place
        raise self.problem(index, f"`{self._word(index)}` is not closed")

    def position(self, offset: int) -> tuple[str, int, int]:
        """File, line and column, both counted from 1, of a place before preprocessing."""
        at = bisect_right(self.markers, offset, key=lambda marker: marker[0]) - 1
        end, line, file = self.markers[at] if at >= 0 else (-1, 1, "")
        line_start = self.text.rfind("\n", 0, offset) + 1
        return file, line + self.text.count("\n", max(0, end), offset) - (at >= 0), offset - line_start + 1

    def on_own_line(self, words: str, start: int, end: int) -> str:
        """Words between two places, so that what follows keeps its line and column."""
        file, line, _ = self.position(start)
        marker = f'\n# {line} "{file}"\n'
        _, end_line, column = self.position(end)
        return f'{marker}{words}\n# {end_line} "{file}"\n{" " * (column - 1)}'

    def problem(self, index: int, message: str, hint: str | None = None) -> UnsupportedError:
        offset = self.tokens[min(index, len(self.tokens) - 1)].start if self.tokens else 0
        file, line, column = self.position(offset)
        source = read_source(file)
        start = source.line_starts[min(line, len(source.line_starts)) - 1] + column - 1
        return UnsupportedError(message, Span(source, start, start + 1), hint)
