"""What debug information says about positions and names."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from dekker.frontends.c.llvm.lexer import unescaped
from dekker.frontends.c.llvm.module import Module
from dekker.source import Source, Span, with_line_feeds

_FIELD = re.compile(r'(\w+): (?:(!\d+)|"([^"]*)"|(\w+))')
_WORD = re.compile(r"\w+|\S")
_PAIRS = re.compile(r"i64 (\d+), i64 (\d+), ")
_LONGEST_CHAIN = 64


class DebugInformation:
    """Answers about a module; everything is looked up once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._nodes: dict[str, dict[str, str]] = {}
        self._spans: dict[str, Span | None] = {}
        self._files: dict[str, Source | None] = {}
        self._layouts: dict[str, tuple[tuple[int, int], ...]] = {}

    def text(self, number: str) -> str:
        """A node as it is written."""
        place = self._module.metadata.get(number)
        return "" if place is None else self._module.source.text[place[0] : place[1]]

    def node(self, number: str) -> dict[str, str]:
        """The fields of a node; references keep their `!`."""
        found = self._nodes.get(number)
        if found is None:
            found = {
                key: ref or word or unescaped(string).decode("utf-8", "replace")
                for key, ref, string, word in _FIELD.findall(self.text(number))
            }
            self._nodes[number] = found
        return found

    def span(self, number: str | None) -> Span | None:
        """The position in the source text that a location or function node stands for."""
        if number is None:
            return None
        if number not in self._spans:
            self._spans[number] = self._find_span(self.node(number))
        return self._spans[number]

    def name(self, number: str) -> str | None:
        """The name of a variable or function."""
        return self.node(number).get("name")

    def fields(self, number: str | None) -> tuple[tuple[int, int], ...]:
        """Offset and size of each field that a copy of a struct moves (`tbaa.struct`)."""
        if number is None:
            return ()
        if number not in self._layouts:
            start, end = self._module.metadata.get(number, (0, 0))
            pairs = _PAIRS.findall(self._module.source.text, start, end)
            self._layouts[number] = tuple((int(offset), int(size)) for offset, size in pairs)
        return self._layouts[number]

    def _find_span(self, node: dict[str, str]) -> Span | None:
        line, column = int(node.get("line", "0")), int(node.get("column", "0"))
        source = self._file_of(node)
        if source is None or line == 0 or line > len(source.line_starts):
            return None
        start = source.line_starts[line - 1] + _column_in(source.line(line), column)
        match = _WORD.match(source.text, start)
        return Span(source, start, start + 1 if match is None else match.end())

    def _file_of(self, node: dict[str, str]) -> Source | None:
        for _ in range(_LONGEST_CHAIN):
            file = node.get("file", "")
            if file.startswith("!"):
                return self._source(file[1:])
            scope = node.get("scope", "")
            if not scope.startswith("!"):
                return None
            node = self.node(scope[1:])
        return None

    def _source(self, number: str) -> Source | None:
        if number not in self._files:
            node = self.node(number)
            name, directory = node.get("filename"), node.get("directory", "")
            self._files[number] = None if name is None else read_source(os.path.join(directory, name))
        return self._files[number]


def _column_in(line: str, column: int) -> int:
    """Counted from 0, and in characters: compilers count bytes. In preprocessed texts, columns are those of expanded
    macros and may lie behind the line."""
    if not line.isascii():
        column = len(line.encode()[: column - 1].decode("utf-8", "ignore")) + 1
    return max(0, column - 1) if column <= len(line) else len(line) - len(line.lstrip())


@cache
def _text_of(path: str, stamp: int) -> Source:
    try:
        text = Path(path).read_bytes().decode("utf-8", errors="replace")
    except OSError:
        text = "\n" * 100_000
    return Source(_shown(path), with_line_feeds(text))


def read_source(path: str) -> Source:
    """The text of a file; blank lines, so that line numbers still show, if it cannot be read."""
    try:
        stamp = os.stat(path).st_mtime_ns
    except OSError:
        stamp = 0
    return _text_of(path, stamp)


def _shown(path: str) -> str:
    """Relative to the working directory if it lies below."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
