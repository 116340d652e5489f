"""A module: its text, cut into parts that are read when somebody asks for them.

A C++ file brings thousands of lines from headers; only what `main` can reach is ever read.
"""

from __future__ import annotations

import re
from functools import cached_property

from dekker.errors import ParseError, UnsupportedError
from dekker.frontends.c.llvm.body import read_body, read_result_type, skip_calling_convention
from dekker.frontends.c.llvm.lexer import Cursor, unquoted
from dekker.frontends.c.llvm.operands import read_operand, read_type, read_value, skip_attributes
from dekker.frontends.c.llvm.syntax import Alias, Block, Header, Operand, Parameter, Variable
from dekker.frontends.c.llvm.types import POINTER, DataLayout, Opaque, Type
from dekker.source import Source, Span

_NAME = r'(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
_PART = re.compile(
    rf"""^(?:
      (?P<define>define\b[^@\n]*@(?P<function>{_NAME}))
    | (?P<declare>declare\b[^@\n]*@(?P<declared>{_NAME}))
    | @(?P<global>{_NAME})\s*=\s*(?P<alias>[^\n"\[{{(]*?\b(?:alias|ifunc)\b)?
    | %(?P<type>{_NAME})\s*=\s*type\s
    | !(?P<node>[-\w.$\\]+)\s*=\s*
    | (?P<layout>target\s+datalayout\s*=\s*"(?P<endian>[^"-]*))
    | (?P<triple>target\s+triple\s*=\s*"(?P<machine>[^"]*))
    | (?P<asm>module\s+asm\b)
    | (?P<other>(?:;|source_filename|attributes|uselistorder|\$|\^|$|\s|declare|\}}|\#)[^\n]*)
    )""",
    re.VERBOSE | re.MULTILINE,
)
_LINKAGES = frozenset(
    "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr "
    "external".split()
)
_PREFIXES = frozenset(
    "dso_local dso_preemptable default hidden protected dllimport dllexport unnamed_addr local_unnamed_addr "
    "externally_initialized".split()
)
_64_BIT = ("x86_64", "aarch64", "arm64", "riscv64", "powerpc64le", "ppc64le", "loongarch64")


class Module:
    """What a `.ll` file defines, by name. `source` is its text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.structs: dict[str, Type] = {}
        self.layout = DataLayout(self.structs)
        self.metadata: dict[str, tuple[int, int]] = {}
        self._definitions: dict[str, tuple[int, int]] = {}
        self._declarations: dict[str, int] = {}
        self._globals: dict[str, tuple[int, bool]] = {}
        self._parsed: dict[str, Header | Variable | Alias] = {}
        self._types: dict[str, int] = {}
        self._split()
        for name, start in self._types.items():
            self.structs[name] = self._read_struct(start)

    def _split(self) -> None:
        text = self.source.text
        position = 0
        while position < len(text):
            match = _PART.match(text, position)
            end = text.find("\n", position if match is None else match.end())
            end = len(text) if end < 0 else end
            if match is None:
                span = Span(self.source, position, end)
                raise ParseError("this is no LLVM IR", span, "a .ll file is what `clang -S -emit-llvm` writes")
            position = self._record(match, position, end) + 1

    def _record(self, match: re.Match[str], start: int, end: int) -> int:
        """Remembers one part; returns where it ends."""
        kind = match.lastgroup
        if match["node"] is not None:
            self.metadata[match["node"]] = (match.end(), end)
        elif match["define"] is not None:
            closed = self.source.text.find("\n}", end - 1)
            if closed < 0:
                raise ParseError("this function has no end", Span(self.source, start, end))
            self._definitions[unquoted(match["function"])] = (start, closed)
            return closed + 2
        elif match["declare"] is not None:
            self._declarations[unquoted(match["declared"])] = start
        elif match["global"] is not None:
            self._globals[unquoted(match["global"])] = (start, match["alias"] is not None)
        elif match["type"] is not None:
            self._types[unquoted(match["type"])] = match.end()
        elif match["layout"] is not None and match["endian"] == "E":
            raise UnsupportedError("big-endian machines are not supported", Span(self.source, start, end))
        elif match["triple"] is not None and match["machine"] and not match["machine"].startswith(_64_BIT):
            hint = "compile with `-target x86_64-linux-gnu`"
            raise UnsupportedError("only 64-bit machines are supported", Span(self.source, start, end), hint)
        elif kind == "asm":
            raise UnsupportedError("assembly outside of functions is not supported", Span(self.source, start, end))
        return end

    def _line_end(self, start: int) -> int:
        end = self.source.text.find("\n", start)
        return len(self.source.text) if end < 0 else end

    def _read_struct(self, start: int) -> Type:
        cursor = Cursor(self.source, start, self._line_end(start))
        return Opaque("opaque") if cursor.token == "opaque" else read_type(cursor)

    # --- names

    @cached_property
    def defined_functions(self) -> tuple[str, ...]:
        return tuple(self._definitions)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name, (_, alias) in self._globals.items() if not alias)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Everything of module level: functions first, then variables and aliases."""
        return (*self._definitions, *self._declarations, *self._globals)

    def entity(self, name: str) -> Header | Variable | Alias | None:
        """The function, variable or alias of that name."""
        found = self._parsed.get(name)
        if found is None:
            found = self._read_entity(name)
            if found is not None:
                self._parsed[name] = found
        return found

    def is_defined(self, name: str) -> bool:
        """Is it a function with a body?"""
        return name in self._definitions

    def _read_entity(self, name: str) -> Header | Variable | Alias | None:
        if name in self._definitions:
            return self._read_header(self._definitions[name][0])
        if name in self._globals:
            start, alias = self._globals[name]
            return self._read_alias(start) if alias else self._read_variable(start)
        if name in self._declarations:
            return self._read_header(self._declarations[name])
        return None

    # --- functions

    def _read_header(self, start: int) -> Header:
        cursor = Cursor(self.source, start, self._line_end(start))
        return read_header(cursor, start)

    def blocks(self, name: str) -> list[Block]:
        """The body of a defined function."""
        start, end = self._definitions[name]
        body = self._line_end(start)
        header = self.entity(name)
        assert isinstance(header, Header)
        unnamed = sum(parameter.name.isdecimal() for parameter in header.parameters)
        return read_body(Cursor(self.source, body, end), unnamed)

    # --- variables

    def _read_variable(self, start: int) -> Variable:
        cursor = Cursor(self.source, start, self._line_end(start))
        name = unquoted(cursor.take())
        cursor.expect("=")
        linkage, thread_local = _read_prefixes(cursor)
        constant = cursor.token == "constant"
        if cursor.take() not in ("global", "constant"):
            cursor.fail("`global` or `constant` is expected here")
        kind = read_type(cursor)
        declared = linkage in ("external", "extern_weak") or cursor.token in ("", ",")
        initial = None if declared else Operand(kind, read_value(cursor, kind))
        align, debug = 0, None
        while cursor.accept(","):
            attribute = cursor.take()
            if attribute == "align":
                align = cursor.number()
            elif attribute == "!dbg":
                debug = cursor.take().removeprefix("!")
            elif cursor.token == "(":
                cursor.skip_brackets()
            elif cursor.token not in ("", ","):
                cursor.take()
        return Variable(name, kind, initial, linkage, align, thread_local, constant, start, debug)

    def _read_alias(self, start: int) -> Alias:
        cursor = Cursor(self.source, start, self._line_end(start))
        name = unquoted(cursor.take())
        cursor.expect("=")
        linkage, _ = _read_prefixes(cursor)
        if cursor.take() == "ifunc":
            cursor.fail("functions chosen at load time (ifunc) are not supported", None, UnsupportedError)
        read_type(cursor)
        cursor.expect(",")
        if cursor.token == "ptr":
            return Alias(name, read_operand(cursor), linkage, start)
        target = Operand(POINTER, read_value(cursor, POINTER))
        return Alias(name, target, linkage, start)


def read_header(cursor: Cursor, start: int) -> Header:
    cursor.take()
    while cursor.accept("!dbg"):  # in front of what is only declared
        cursor.take()
    linkage, _ = _read_prefixes(cursor)
    skip_calling_convention(cursor)
    while cursor.token in _PREFIXES:
        cursor.take()
    result = read_result_type(cursor)
    name = unquoted(cursor.take())
    cursor.expect("(")
    parameters: list[Parameter] = []
    variadic = False
    while not cursor.accept(")"):
        if parameters or variadic:
            cursor.expect(",")
        if cursor.accept("..."):
            variadic = True
            continue
        kind = read_type(cursor)
        by_value, _ = skip_attributes(cursor)
        named = cursor.token.startswith("%")
        parameters.append(Parameter(kind, unquoted(cursor.take()) if named else str(len(parameters)), by_value))
    debug: str | None = None
    while cursor.token:
        if cursor.take() == "!dbg":
            debug = cursor.take()[1:]
    return Header(name, result, tuple(parameters), variadic, linkage, debug, start)


def _read_prefixes(cursor: Cursor) -> tuple[str, bool]:
    """Linkage (empty if none is written) and whether the variable is thread-local."""
    linkage, thread_local = "", False
    while True:
        token = cursor.token
        if token in _LINKAGES:
            linkage = token
        elif token == "thread_local":
            thread_local = True
            if cursor.tokens[cursor.index + 1] == "(":
                cursor.index += 1
                cursor.skip_brackets()
                continue
        elif token == "addrspace":
            cursor.index += 1
            cursor.skip_brackets()
            continue
        elif token not in _PREFIXES:
            return linkage, thread_local
        cursor.index += 1
