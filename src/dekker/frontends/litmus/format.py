"""The frame of a litmus file: header, initial state, program part, final part. Shared by assembly and C.

    ARCH name "description"             LitmusFile.architecture, .name, .description
    Key=value                           .info
    { x=1; 0:r1=x; int y[2]={1,2}; }    .init
     P0 | P1 ;  …                       .text[.program[0]:.program[1]]
    locations […] filter … exists …     .text[.final:]

`text` is the source text with comments replaced by blanks, so that offsets in it are offsets in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from dekker.errors import ParseError, UnsupportedError
from dekker.ir.expressions import Address
from dekker.ir.program import Cell, Object
from dekker.ir.property import MemoryValue
from dekker.source import Source, Span

Value = int | Address


class InitEntry(NamedTuple):
    """One entry of the initial state. `thread` is None for memory, and for symbolic registers, whose names start with
    `%`. `type` is the type as written, without qualifiers (`int`, `uint64_t`, `atomic_int*`), or empty. `length` is
    that of a declared array, `element` the index in `x[1]=…`. `values` is empty for a bare declaration."""

    name: str
    thread: int | None
    values: tuple[Value, ...]
    span: Span
    type: str = ""
    length: int | None = None
    element: int = 0

    @property
    def size(self) -> int | None:
        """Bytes of one element, None if no type is written."""
        return type_size(self.type) if self.type else None


@dataclass(frozen=True)
class LitmusFile:
    source: Source
    architecture: str
    name: str
    init: tuple[InitEntry, ...]
    program: tuple[int, int]
    final: int
    text: str = field(repr=False)
    header: str = field(repr=False)

    @cached_property
    def description(self) -> str:
        """The quoted documentation in the header, or what follows the name on the first line."""
        quoted = re.findall(r'"([^"]*)"', self.header)
        return " ".join(quoted) if quoted else self.header.partition("\n")[0].strip()

    @cached_property
    def info(self) -> dict[str, str]:
        """The `Key=value` lines of the header."""
        return {key: value.strip() for key, value in _INFO.findall(self.header)}

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)


_INFO = re.compile(r"^([A-Za-z][\w.-]*)[ \t]*=([^\n]*)", re.MULTILINE)
_FIRST_LINE = re.compile(r'\s*([A-Za-z][\w-]*)[ \t]*(?:"([^"\n]*)"|([^\s{]\S*))?')
# Quoted text and `Key=value` lines may contain braces.
_TO_INIT = re.compile(r'(?:"[^"]*"|\n[ \t]*[A-Za-z][\w.-]*[ \t]*=[^\n]*|[^"{\n]++|\n)*+\{')
_LINE_WITH_BRACE = re.compile(r"^[ \t]*\{", re.MULTILINE)
_FINAL = re.compile(r"[;}\n][^\S\n]*((?:~\s*|not\s+)?(?:exists|forall|final|observed|locations|filter)\b)")
_BARE_CONDITION = re.compile(r";\s*(?=\()")
_AFTER_INIT = re.compile(r"\s*;?")

C_ARCHITECTURES = frozenset(("C", "C11", "CPP", "OPENCL"))


def split_litmus(source: Source) -> LitmusFile:
    """Finds the parts of a litmus file and reads the initial state; program and final part stay text."""
    text = source.text
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    if "\0" in text or not text.strip():
        raise ParseError(
            "this is not a litmus test: the file is " + ("binary" if "\0" in text else "empty"),
            Span(source, 0, 0),
            _EXPECTED_START,
        )
    if "(*" in text or "//" in text or "/*" in text or ("#" in text and _HASH.search(text)):
        text = _blank_comments(source, text)
    first = _FIRST_LINE.match(text)
    if first is None:
        raise ParseError("expected the name of an architecture", _word(source, 0), _EXPECTED_START)
    brace = _find_init(source, text, first.end())
    close = _matching_brace(source, text, brace)
    after = _AFTER_INIT.match(text, close + 1)
    start = after.end() if after else close + 1
    final = _FINAL.search(text, start - 1)
    if final is None and first[1].upper() not in C_ARCHITECTURES:
        final = _BARE_CONDITION.search(text, start)
        final_start = final.end() if final else len(text)
    else:
        final_start = final.start(1) if final else len(text)
    return LitmusFile(
        source,
        first[1],
        _name(source, first),
        tuple(_read_init(source, text, brace + 1, close)),
        (start, final_start),
        final_start,
        text,
        text[first.end() : brace],
    )


def _name(source: Source, first: re.Match[str]) -> str:
    """`--` stands for the name of the file."""
    written = first[2] or first[3]
    return written if written not in (None, "--") else PurePath(source.name).stem


_EXPECTED_START = "a litmus test starts with a line such as `PPC MP+syncs`, then the initial state in braces"


def _word(source: Source, start: int) -> Span:
    found = re.compile(r"\s*(\S*)").match(source.text, start)
    return Span(source, *found.span(1)) if found else Span(source, start, start)


def _find_init(source: Source, text: str, start: int) -> int:
    found = _TO_INIT.match(text, start) or _LINE_WITH_BRACE.search(text, start) or re.compile(r"\{").search(text, start)
    if found is None:
        raise ParseError("there is no initial state", _word(source, start), "write it in braces; `{}` if it is empty")
    return found.end() - 1


def _matching_brace(source: Source, text: str, brace: int) -> int:
    close = text.find("}", brace)
    inner = text.find("{", brace + 1, close)
    while inner >= 0 and close >= 0:
        inner = text.find("{", inner + 1, close)
        close = text.find("}", close + 1)
    if close < 0:
        raise ParseError("the initial state is not closed", Span(source, brace, brace + 1), "a `}` is missing")
    return close


# Comments


_HASH = re.compile(r"(?:^|;)[ \t]*#", re.MULTILINE)
_COMMENT_START = re.compile(r"\(\*|//|/\*|(?:^|;)[ \t]*#|[{}]", re.MULTILINE)
_NESTED = re.compile(r"\(\*|\*\)")
_VISIBLE = re.compile(r"[^\n]")


def _blank_comments(source: Source, text: str) -> str:
    """`(* … *)` nests. In the program part of a C test `(*x)` is code. A `#` makes a comment at the start of a line and
    behind a row of instructions."""
    parts: list[str] = []
    kept = 0
    for start, end in _comments(source, text):
        parts += (text[kept:start], _VISIBLE.sub(" ", text[start:end]))
        kept = end
    parts.append(text[kept:])
    return "".join(parts)


def _comments(source: Source, text: str) -> Iterator[tuple[int, int]]:
    first = _FIRST_LINE.match(text)
    is_c = first is not None and first[1].upper() in C_ARCHITECTURES
    depth = groups = position = 0
    while found := _COMMENT_START.search(text, position):
        start, position = found.span()
        mark = found[0]
        in_code = is_c and depth > 0 and groups > 0
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            groups += depth == 0
        elif mark == "(*":
            if not in_code:
                end = _comment_end(source, text, start)
                if end:
                    yield start, end
                    position = end
        elif mark == "/*":
            end = text.find("*/", position)
            position = len(text) if end < 0 else end + 2
            yield start, position
        elif mark == "//":
            if groups or depth:
                position = _line_end(text, position, keep_row_end=not is_c and groups == 1)
                yield start, position
        elif not is_c:
            start = position - 1
            position = _line_end(text, position)
            yield start, position


def _line_end(text: str, start: int, *, keep_row_end: bool = False) -> int:
    """Where a comment to the end of the line ends; a `;` at the end of a row of instructions is not part of it."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    if keep_row_end and text[start:end].rstrip().endswith(";"):
        return text.rindex(";", start, end)
    return end


def _comment_end(source: Source, text: str, start: int) -> int:
    depth = 0
    for mark in _NESTED.finditer(text, start):
        depth += 1 if mark[0] == "(*" else -1
        if depth == 0:
            return mark.end()
    if text[start + 2 : start + 3].isalpha():  # `(*x=1)` in a condition
        return 0
    raise ParseError("this comment is not closed", Span(source, start, start + 2), "`*)` is missing")


# The initial state


NAME = r"[A-Za-z_.][\w.]*"
DIGITS = r"(?:0[xX][0-9a-fA-F]{1,40}|0[bB][01]{1,80}|0[oO][0-7]{1,40}|\d{1,40})"
LAST_INDEX = 0xFFFF
THREAD = r"[Pp]?(\d{1,4})"
_SIMPLE_ENTRY = re.compile(
    rf"\s*(?:{THREAD}\s*:\s*)?([%$]?{NAME}|\[{NAME}\])\s*=\s*(?:(-?{DIGITS})|((?!NULL\b){NAME}))\s*(?:;|$)", re.ASCII
)
_TOKEN = re.compile(rf"\s*(?:(?P<number>{DIGITS})[uUlL]*|(?P<name>[%$]?{NAME})|(?P<other>\S))", re.ASCII)
_THREAD = re.compile(THREAD, re.ASCII)


def parse_number(text: str) -> int:
    """A decimal, hexadecimal, binary or `0o` octal number, possibly negative; a leading 0 alone is decimal."""
    digits = text.lstrip("-")
    value = int(digits, 0) if digits[1:2].isalpha() else int(digits)
    return -value if text.startswith("-") else value


class _Element(NamedTuple):
    """`x[1]` as a value, before the size of an element of `x` is known."""

    symbol: str
    position: int


def _read_init(source: Source, text: str, start: int, end: int) -> list[InitEntry]:
    entries: list[InitEntry] = []
    elements: dict[int, list[Value | _Element]] = {}
    position = start
    while position < end:
        found = _SIMPLE_ENTRY.match(text, position, end)
        if found is not None:
            thread, name, number, symbol = found.groups()
            value = Address(symbol) if number is None else parse_number(number)
            span = Span(source, *found.span(2))
            name = name if name[0] != "[" else name[1:-1]
            entries.append(InitEntry(name, None if thread is None else int(thread), (value,), span))
            position = found.end()
            continue
        stop = text.find(";", position, end)
        stop = end if stop < 0 else stop
        cursor = Cursor(source, text, position, stop)
        if not cursor.at_end:
            entry, values = _read_entry(cursor)
            elements[len(entries)] = values
            entries.append(entry)
        position = stop + 1
    if elements:
        _fill_in(entries, elements)
    return entries


class Cursor:
    """Numbers, names and single characters of a piece of text, one at a time."""

    def __init__(self, source: Source, text: str, start: int, end: int) -> None:
        self.source = source
        self.end = end
        self._tokens = [
            (m.lastgroup, m[m.lastgroup or 0], m.start(m.lastgroup or 0)) for m in _TOKEN.finditer(text, start, end)
        ]
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next >= len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        index = self._next + ahead
        return self._tokens[index][1] if index < len(self._tokens) else ""

    def kind(self, ahead: int = 0) -> str:
        """`number`, `name`, `other`, or empty at the end."""
        index = self._next + ahead
        return self._tokens[index][0] or "" if index < len(self._tokens) else ""

    def take(self) -> str:
        text = self.peek()
        self._next += 1
        return text

    def accept(self, text: str) -> bool:
        if self.peek() != text or not text:
            return False
        self._next += 1
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected `{text}`")

    def number(self) -> int:
        negative = self.accept("-")
        if self.kind() != "number":
            raise self.error("expected a number")
        value = parse_number(self.take())
        return -value if negative else value

    def name(self) -> str:
        if self.kind() != "name":
            raise self.error("expected a name")
        return self.take()

    def thread(self) -> int | None:
        """`0:` or `P0:`, if that is what comes."""
        found = _THREAD.fullmatch(self.peek()) if self.peek(1) == ":" else None
        if found is None:
            return None
        self._next += 2
        return int(found[1])

    @property
    def span(self) -> Span:
        if self.at_end:
            return Span(self.source, self.end, self.end)
        _, text, start = self._tokens[self._next]
        return Span(self.source, start, start + len(text))

    def error(self, message: str, hint: str | None = None) -> ParseError:
        found = f", found `{self.peek()}`" if not self.at_end else ", found the end"
        return ParseError(message + found, self.span, hint)


_ENTRY_HINT = "entries look like `x=1;`, `0:r1=x;`, `int y=2;` or `int z[2]={1,2};`"
_QUALIFIERS = frozenset(("const", "volatile", "_Atomic", "static", "extern", "struct", "signed", "restrict"))


def _read_entry(cursor: Cursor) -> tuple[InitEntry, list[Value | _Element]]:
    """An entry, and its values, in which the offsets of elements are still open."""
    words, thread = _read_type(cursor)
    span = cursor.span
    if cursor.accept("["):
        name, subscript, declared = cursor.name(), _read_index(cursor), False
        cursor.expect("]")
    elif cursor.kind() == "name":
        declared = bool(words)
        name, subscript = cursor.take(), _read_index(cursor, open_length=declared)
    else:
        raise cursor.error("expected an entry of the initial state", _ENTRY_HINT)
    values = _read_values(cursor) if cursor.accept("=") else []
    if not cursor.at_end:
        raise _unsupported(cursor)
    length = (len(values) if subscript == _OPEN else subscript) if declared else None
    element = 0 if declared else subscript or 0
    return InitEntry(name, thread, (), span, " ".join(words).replace(" *", "*"), length, element), values


def _read_type(cursor: Cursor) -> tuple[list[str], int | None]:
    """The words before the name; the thread, as in `int 0:r1=…`, may stand between them."""
    words: list[str] = []
    thread = None
    while True:
        number = cursor.thread()
        if number is not None:
            thread = number
        elif cursor.peek() == "*" or (cursor.kind() == "name" and (cursor.kind(1) in _STARTS or cursor.peek(1) == "*")):
            word = cursor.take()
            if word not in _QUALIFIERS:
                words.append(word)
        else:
            return words, thread


_STARTS = frozenset(("name", "number"))


_OPEN = -1


def _read_index(cursor: Cursor, *, open_length: bool = False) -> int | None:
    """`[3]`, or `[]` where the length of an array may be left open."""
    if not cursor.accept("["):
        return None
    if open_length and cursor.accept("]"):
        return _OPEN
    if cursor.kind() != "number" or parse_number(cursor.peek()) > LAST_INDEX:
        raise cursor.error(f"expected a number up to {LAST_INDEX}")
    value = cursor.number()
    cursor.expect("]")
    return value


def _read_values(cursor: Cursor) -> list[Value | _Element]:
    if not cursor.accept("{"):
        return [_read_value(cursor)]
    values = []
    while not cursor.accept("}"):
        values.append(_read_value(cursor))
        if not cursor.accept(","):
            cursor.expect("}")
            break
    return values


def _read_value(cursor: Cursor) -> Value | _Element:
    if cursor.peek() == "(" and cursor.kind(1) == "name" and cursor.peek(2) in ("*", ")"):
        while not cursor.accept(")"):
            cursor.take()
            if cursor.at_end:
                raise cursor.error("expected `)`")
    if cursor.accept("("):
        value = _read_value(cursor)
        cursor.expect(")")
        return value
    if cursor.kind() == "number" or cursor.peek() == "-":
        return cursor.number()
    cursor.accept("&")
    if cursor.kind() != "name":
        raise cursor.error("expected a value: a number or the name of a location")
    symbol = cursor.take()
    if symbol == "NULL":
        return 0
    if symbol == "ATOMIC_INIT" and cursor.peek() == "(":
        return _read_value(cursor)
    index = _read_index(cursor)
    if index is not None:
        return _Element(symbol, index)
    if cursor.accept("+") or cursor.peek() == "-":
        return Address(symbol, cursor.number())
    return Address(symbol)


def _unsupported(cursor: Cursor) -> UnsupportedError:
    return UnsupportedError(
        f"`{cursor.peek()}` is not understood here",
        cursor.span,
        _ENTRY_HINT + "; page tables, memory tags and code labels as values are not supported",
    )


def _fill_in(entries: list[InitEntry], elements: dict[int, list[Value | _Element]]) -> None:
    sizes = {entry.name: entry.size for entry in entries if entry.type and entry.thread is None}
    for position, values in elements.items():
        filled = tuple(
            Address(value.symbol, value.position * (sizes.get(value.symbol) or 4))
            if isinstance(value, _Element)
            else value
            for value in values
        )
        entries[position] = entries[position]._replace(values=filled)


# Memory


TYPE_SIZES: dict[str, int] = {
    name: size
    for size, names in {
        1: "bool _Bool char int8_t uint8_t int8 uint8 unsigned_char u8 s8 atomic_bool atomic_char byte",
        2: "short int16_t uint16_t int16 uint16 u16 s16 atomic_short",
        4: "int int32_t uint32_t int32 uint32 unsigned u32 s32 atomic_int atomic_uint atomic_t spinlock_t mutex "
        "intmutex atomic_flag float word",
        8: "long int64_t uint64_t int64 uint64 u64 s64 atomic_long atomic_ulong atomic_llong atomic_ullong "
        "atomic64_t intptr_t uintptr_t size_t ssize_t ptrdiff_t atomic_intptr_t atomic_uintptr_t atomic_size_t "
        "pteval_t quad double",
        16: "int128_t uint128_t __int128",
    }.items()
    for name in names.split()
}


def type_size(name: str) -> int | None:
    """Bytes of a C type as written in an initial state or parameter list; None if it is not known."""
    if name.endswith("*"):
        return 8
    words = [word for word in name.split() if word not in _QUALIFIERS]
    sizes = [TYPE_SIZES.get(word.removeprefix("atomic_") if word not in TYPE_SIZES else word) for word in words]
    if not sizes or None in sizes:
        return None
    if "long" in words:
        return 8
    return min(size for size in sizes if size is not None)


class Globals:
    """The global objects of a test: those of the initial state, then those met later, which start at 0."""

    def __init__(self, entries: tuple[InitEntry, ...], word_size: int = 4) -> None:
        self.word_size = word_size
        self._element_sizes: dict[str, int] = {}
        self._extents: dict[str, int] = {}
        self._cells: dict[str, dict[int, Cell]] = {}
        for entry in entries:
            if entry.thread is None and entry.name[0] not in "%$":
                self._enter(entry)
            for value in entry.values:
                if isinstance(value, Address) and value.symbol not in self._extents:
                    self._extents[value.symbol] = 0

    def _enter(self, entry: InitEntry) -> None:
        name = entry.name
        if entry.type:
            self.declare(name, self._declared_size(entry), entry.length)
        else:
            self._extents.setdefault(name, 0)
        size = self._element_sizes.get(name, self.word_size)
        cells = self._cells.setdefault(name, {})
        for position, value in enumerate(entry.values, entry.element):
            width = size if isinstance(value, int) else 8
            cells[position * size] = Cell(
                position * size, width, value & (1 << 8 * width) - 1 if isinstance(value, int) else value
            )
            self._extents[name] = max(self._extents[name], position * size + width)

    @staticmethod
    def _declared_size(entry: InitEntry) -> int:
        size = entry.size
        if size is None:
            raise UnsupportedError(
                f"the type `{entry.type}` is not known", entry.span, "known: " + ", ".join(TYPE_SIZES)
            )
        return size

    def declare(self, name: str, element_size: int, count: int | None = None) -> None:
        """Gives a global a type, and a length if it is an array."""
        self._element_sizes[name] = element_size
        self._extents[name] = max(self._extents.get(name, 0), element_size * (1 if count is None else count))

    def mention(self, name: str) -> None:
        self._extents.setdefault(name, 0)

    def __contains__(self, name: str) -> bool:
        return name in self._extents

    def element_size(self, name: str) -> int:
        return self._element_sizes.get(name, self.word_size)

    def value(self, name: str, index: int | None = None) -> MemoryValue:
        """What a condition reads as `x` or `x[1]`."""
        size = self.element_size(name)
        offset = size * (index or 0)
        self._extents[name] = max(self._extents.get(name, 0), offset + size)
        return MemoryValue(name, offset, size, "" if index is None else f"{name}[{index}]")

    def objects(self) -> tuple[Object, ...]:
        return tuple(
            Object(name, max(8, extent), tuple(self._cells[name].values()) if name in self._cells else ())
            for name, extent in self._extents.items()
        )
