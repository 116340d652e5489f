"""Where things come from: source texts, positions in them, and messages about them."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from dekker.records import dataclass


@dataclass(frozen=True, eq=False)
class Source:
    """A named text. `name` is what a person calls it: a path, or `<stdin>`."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> list[int]:
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return (self.text[start:] if end < 0 else self.text[start:end]).removesuffix("\r")


class Span(NamedTuple):
    """Offsets `start` (inclusive) to `end` (exclusive) in a source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"


@dataclass(frozen=True)
class Diagnostic:
    """A message for a person: what is wrong, where, and what can be done."""

    message: str
    span: Span | None = None
    hint: str | None = None

    def render(self, severity: str = "error") -> str:
        """`file:line:column: error: …`, the source line, a caret, then `hint: …`."""
        if self.span is None:
            head = f"{severity}: {self.message}"
            return head if self.hint is None else f"{head}\n\nhint: {self.hint}"
        lines = [f"{self.span}: {severity}: {self.message}", *_excerpt(self.span)]
        if self.hint is not None:
            lines += ["", f"hint: {self.hint}"]
        return "\n".join(lines)


EXCERPT_WIDTH = 160


def _excerpt(span: Span) -> list[str]:
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    cut = max(0, column - EXCERPT_WIDTH // 2)
    shown = _printable(text[cut : cut + EXCERPT_WIDTH])
    length = max(1, min(span.end - span.start, len(text) - column + 1, EXCERPT_WIDTH - (column - 1 - cut)))
    return [f"  {shown}", f"  {' ' * (column - 1 - cut)}{'^' * length}"]


def _printable(text: str) -> str:
    """One character on the terminal for each character of the line, so that carets stay below it."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


_LONE_RETURN = re.compile(r"\r(?!\n)")


def with_line_feeds(text: str) -> str:
    """A carriage return alone ends a line, for compilers; offsets stay as they are."""
    return _LONE_RETURN.sub("\n", text)


_CALL = re.compile(r"[\w:~]+\s*\(")
_INSIDE_CALL = re.compile(r""" [()] | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' """, re.VERBOSE)
_LONGEST_CALL = 2000


def whole_call(span: Span) -> Span:
    """From a name to the end of its arguments, if that is what stands there."""
    text = span.source.text
    head = _CALL.match(text, span.start)
    if head is None:
        return span
    depth, at = 1, head.end()
    while (found := _INSIDE_CALL.search(text, at, span.start + _LONGEST_CALL)) is not None:
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        at = found.end()
        if not depth:
            return Span(span.source, span.start, at)
    return span


_LIBRARY = re.compile(r"(^|/)(ziglang|usr/include|usr/lib|usr/local/include|usr/local/lib)/")


def is_library(file: str) -> bool:
    """Whether a file came with a compiler: people look for errors elsewhere."""
    return _LIBRARY.search(file) is not None
