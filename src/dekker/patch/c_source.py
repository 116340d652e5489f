"""Gaps between the statements of C and C++.

Only the structure is looked at: braces, parentheses, semicolons, and the words that statements begin with. Comments,
literals and lines of the preprocessor are passed over. A statement that is the whole body of an `if` or a loop can get
braces. What looks like a function is one; if a macro makes something else of it, the compiler will say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from dekker.patch import Gap, Sheet
from dekker.records import dataclass

_PARTS = {
    "SPLICE": r"\\[ \t]*\r?\n",
    "LINE_COMMENT": r"//(?:SPLICE|[^\n])*",
    "BLOCK_COMMENT": r"/\*.*?\*/",
    "STRING": r'"(?:SPLICE|\\.|[^"\\\n])*"',
    "CHARACTER": r"'(?:SPLICE|\\.|[^'\\\n])*'",
}
"""A line that ends in a backslash goes on in the next one, in comments as well."""


def _pattern(text: str) -> str:
    found = re.sub("|".join(_PARTS), lambda part: f"(?:{_PARTS[part[0]]})", text)
    return found if found == text else _pattern(found)


_TOKEN = re.compile(
    _pattern(r"""
    (?P<skip> \s+ | SPLICE | LINE_COMMENT | BLOCK_COMMENT )
  | (?P<directive> \#(?: SPLICE | LINE_COMMENT | BLOCK_COMMENT | STRING | CHARACTER | [^\n] )* )
  | (?P<literal> (?:u8|[uUL])?(?:
        R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)" | STRING | CHARACTER ) )
  | (?P<word> [A-Za-z_$][\w$]* | \.?\d(?:[eEpP][+-]|[\w.'])* )
  | (?P<mark> :: | -> | . )
    """),
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = {"(": ")", "[": "]", "{": "}"}, frozenset(")]}")
_HEADED = frozenset(("if", "while", "for", "switch", "catch"))
_JUMPS = frozenset(("return", "break", "continue", "goto", "throw"))
_CONTAINERS = frozenset(("namespace", "class", "struct", "union", "extern"))
_THREAD_LABEL = "__CPROVER_ASYNC_"
_BEHIND_PARAMETERS = frozenset(("const", "noexcept", "override", "final", "mutable", "volatile"))


_LONGEST = 60
"""Of what is shown of a statement."""


class Token(NamedTuple):
    text: str
    start: int
    end: int


def c_sheet(path: str, text: str, start: int = 0) -> Sheet:
    """`start`: where C begins, in a litmus test."""
    parser = _Parser(text, list(_tokens(text, start)))
    parser.declarations(0, len(parser.tokens))
    found = sorted(set(parser.gaps), key=lambda gap: (gap.offset, gap.wrap or (0, 0)))
    return Sheet(path, text, tuple(found))


def _tokens(text: str, start: int) -> Iterator[Token]:
    at = start
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None
        if found.lastgroup not in ("skip", "directive"):
            yield Token("" if found["literal"] else found[0], found.start(), found.end())
        at = found.end()


@dataclass
class _Parser:
    text: str
    tokens: list[Token]
    gaps: list[Gap] = field(default_factory=list)

    def declarations(self, at: int, end: int) -> None:
        """Of a file, a namespace or a class: looks for bodies of functions."""
        head = at
        while at < end:
            text = self.tokens[at].text
            if text in (";", "}"):
                head = at + 1
            elif text == "{":
                close = self._closing(at)
                words = [token.text for token in self.tokens[head:at]]
                if _is_function(words):
                    self._block(at, close)
                elif _CONTAINERS.intersection(words) and "=" not in words:
                    self.declarations(at + 1, close)
                at, head = close, close + 1
            elif text in _OPENING:
                at = self._closing(at)
            at += 1

    def _block(self, opening: int, closing: int) -> None:
        at, jumped = opening + 1, False
        while at < closing:
            label, at = at, self._labels(at, closing)
            if at >= closing:
                break
            if self._starts_thread(at):
                self._gap_before(label)
            else:
                self._gap_before(at)
            jumped = self.tokens[at].text in _JUMPS
            at = self._statement(label, closing)
        if not jumped and closing < len(self.tokens):
            self._gap_at_end(opening, closing)

    def _labels(self, at: int, end: int) -> int:
        while at < end:
            text = self.tokens[at].text
            if text in ("case", "default"):
                while at < end and self.tokens[at].text != ":":
                    at = self._closing(at) if self.tokens[at].text in _OPENING else at
                    at += 1
                at += 1
            elif self._is_word(at) and at + 1 < end and self.tokens[at + 1].text == ":":
                at += 2
            else:
                break
        return at

    def _starts_thread(self, at: int) -> bool:
        """Whether the statement stands behind a label that makes a thread of it; what is put in front would be none."""
        return at >= 2 and self.tokens[at - 1].text == ":" and self.tokens[at - 2].text.startswith(_THREAD_LABEL)

    def _statement(self, at: int, end: int) -> int:
        """The token behind a statement."""
        label, at = at, self._labels(at, end)
        if at >= end:
            return end
        if at != label and self._starts_thread(at):
            return self._body(at, end)
        text = self.tokens[at].text
        if text == "{":
            close = self._closing(at)
            self._block(at, close)
            return close + 1
        if text in ("else", "do", "try"):
            at = self._body(at + 1, end)
            return self._simple(at, end) if text == "do" else at
        if text in _HEADED or self._is_macro_loop(at, end):
            opening = at + 1
            while opening < end and self.tokens[opening].text != "(":
                opening += 1
            at = self._body(self._closing(opening) + 1, end)
            while at < end and self.tokens[at].text in ("else", "catch"):
                at = self._statement(at, end)
            return at
        return self._simple(at, end)

    def _body(self, at: int, end: int) -> int:
        if at >= end:
            return end
        if self.tokens[at].text == "{":
            return self._statement(at, end)
        behind = self._statement(at, end)
        wrap = (self.tokens[at].start, self.tokens[behind - 1].end)
        self._gap(wrap[0], wrap[0], wrap=wrap, beside=f"before `{self._right(at)}`, in new braces")
        if self.tokens[at].text not in _JUMPS:
            beside = f"after `{self._left(behind, at)}`, in new braces"
            self._gap(wrap[1], wrap[1], before=" ", behind="", wrap=wrap, after=True, beside=beside)
        return behind

    def _simple(self, at: int, end: int) -> int:
        """Up to the semicolon; lambdas in it have blocks of their own."""
        start, depth = at, 0
        while at < end and (depth or self.tokens[at].text != ";"):
            text = self.tokens[at].text
            if text == "{":
                if self._is_lambda(at):
                    self._block(at, self._closing(at))
                at = self._closing(at)
            elif text in _OPENING:
                depth += 1
            elif text in _CLOSING:
                depth -= 1
                if depth < 0:
                    return max(at, start + 1)
            at += 1
        return min(at + 1, end)

    def _is_lambda(self, at: int) -> bool:
        before = at - 1
        while before > 0 and self.tokens[before].text in _BEHIND_PARAMETERS:
            before -= 1
        if self.tokens[before].text == ")":
            before = self._opening(before) - 1
        return before >= 0 and self.tokens[before].text == "]"

    def _is_macro_loop(self, at: int, end: int) -> bool:
        """A word with arguments and a block behind them."""
        if not self._is_word(at) or at + 1 >= end or self.tokens[at + 1].text != "(":
            return False
        behind = self._closing(at + 1) + 1
        return behind < end and self.tokens[behind].text == "{"

    def _is_word(self, at: int) -> bool:
        text = self.tokens[at].text
        return bool(text) and (text[0].isalpha() or text[0] in "_$")

    def _closing(self, at: int) -> int:
        """The place of the bracket that closes this one; the end if there is none."""
        depth = 0
        for index in range(at, len(self.tokens)):
            text = self.tokens[index].text
            depth += (text in _OPENING) - (text in _CLOSING)
            if not depth:
                return index
        return len(self.tokens)

    def _opening(self, at: int) -> int:
        depth = 0
        for index in range(at, -1, -1):
            text = self.tokens[index].text
            depth += (text in _CLOSING) - (text in _OPENING)
            if not depth:
                return index
        return 0

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def _gap(
        self,
        at: int,
        offset: int,
        before: str = "",
        behind: str = " ",
        wrap: tuple[int, int] | None = None,
        after: bool = False,
        beside: str = "",
    ) -> None:
        """`at` is where people look for it."""
        column = at - self.text.rfind("\n", 0, at)
        self.gaps.append(Gap(self._line(at), offset, before, behind, wrap, after, column=column, beside=beside))

    def _between(self, at: int) -> str:
        above = at and "\n" in self.text[self.tokens[at - 1].end : self._start(at)]
        left = "" if above else self._left(at)
        return f"between `{left}` and `{self._right(at)}`" if left else f"before `{self._right(at)}`"

    def _left(self, at: int, first: int = 0) -> str:
        """The end of what stands in front of a token, in the same line."""
        start, depth = at, 0
        while start > first and "\n" not in self.text[self.tokens[start - 1].end : self.tokens[at - 1].end]:
            text = self.tokens[start - 1].text
            depth += (text in (")", "]")) - (text in ("(", "["))
            if start < at and text in (";", "{", "}") and not depth:
                break
            start -= 1
        return _shortened(self.text[self.tokens[start].start : self.tokens[at - 1].end], at_end=True)

    def _right(self, at: int) -> str:
        """The beginning of what stands from a token on, in the same line."""
        end, depth = at, 0
        while end < len(self.tokens) and "\n" not in self.text[self._start(at) : self._start(end)]:
            text = self.tokens[end].text
            depth += (text in ("(", "[")) - (text in (")", "]"))
            end += 1
            if text in (";", "{", "}") and not depth:
                break
        return _shortened(self.text[self._start(at) : self.tokens[end - 1].end])

    def _start(self, at: int) -> int:
        return self.tokens[at].start if at < len(self.tokens) else len(self.text)

    def _gap_before(self, at: int) -> None:
        start = self.tokens[at].start
        line_start = self.text.rfind("\n", 0, start) + 1
        indent = self.text[line_start:start]
        if indent.strip():
            self._gap(start, start, beside=self._between(at))
        else:
            self._gap(start, line_start, before=indent, behind="\n")

    def _gap_at_end(self, opening: int, closing: int) -> None:
        start = self.tokens[closing].start
        line_start = self.text.rfind("\n", 0, start) + 1
        indent = self.text[line_start:start]
        if indent.strip():
            self._gap(start, start, beside=self._between(closing))
            return
        last = self.tokens[closing - 1].start if closing - 1 > opening else start
        first = self.text.rfind("\n", 0, last) + 1
        inner = re.match(r"[ \t]*", self.text[first:])
        deeper = inner[0] if inner is not None and len(inner[0]) > len(indent) else indent + "  "
        self._gap(start, line_start, before=deeper, behind="\n")


def _shortened(text: str, *, at_end: bool = False) -> str:
    words = " ".join(text.split())
    if len(words) <= _LONGEST:
        return words
    return f"…{words[-_LONGEST:]}" if at_end else f"{words[:_LONGEST]}…"


def _is_function(head: list[str]) -> bool:
    """What stands between the end of the last declaration and a brace."""
    words = list(head)
    while words and words[-1] in _BEHIND_PARAMETERS:
        words.pop()
    if "->" in words:
        words = words[: words.index("->")]
    if "=" in words and "operator" not in words:
        return False
    return bool(words) and words[-1] == ")"
