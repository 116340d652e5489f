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
from collections.abc import Collection, Iterator
from dataclasses import field
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from dekker.errors import ParseError, UnsupportedError
from dekker.ir.expressions import Address
from dekker.ir.program import Cell, Object
from dekker.ir.property import MemoryValue
from dekker.records import dataclass
from dekker.source import Source, Span

Value = int | Address


class InitEntry(NamedTuple):
    """One entry of the initial state. `thread` is None for memory, and for symbolic registers, whose names start with
    `%`. `type` is the type as written, without qualifiers (`int`, `uint64_t`, `atomic_int*`), or empty. `length` is
    that of a declared array, `element` the index in `x[1]=…`. `values` is empty for a bare declaration. `elements` says
    which values are addresses `x[1]` into an array without type, and their indices."""

    name: str
    thread: int | None
    values: tuple[Value, ...]
    span: Span
    type: str = ""
    length: int | None = None
    element: int = 0
    elements: tuple[tuple[int, int], ...] = ()

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
FINAL_WORD = r"(?:~\s*|not\s+)?exists|forall|final|[oO]bserved|locations|filter"
_FINAL = re.compile(rf"[;}}\n][^\S\n]*((?:{FINAL_WORD})\b)(?!\s*:)")
_FINAL_AFTER_THREADS = re.compile(rf"[\s;]*((?:{FINAL_WORD})\b)")
_BRACE = re.compile(r"[{}]|'(?:\\.|[^'\\\n])+'|\"(?:\\.|[^\"\\\n])*\"")
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
    final_start = _find_final(text, start, is_c=first[1].upper() in C_ARCHITECTURES)
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


def _find_final(text: str, start: int, *, is_c: bool) -> int:
    found = _after_threads(text, start) if is_c else None
    if found is None:
        found = _FINAL.search(text, start - 1)
    if found is not None:
        return found.start(1)
    bare = None if is_c else _BARE_CONDITION.search(text, start)
    return bare.end() if bare else len(text)


def _after_threads(text: str, start: int) -> re.Match[str] | None:
    """The first word of the final part, directly behind the brace that closes a thread of a C test. Inside of threads
    the same words are names."""
    found = _FINAL_AFTER_THREADS.match(text, start)
    depth = 0
    for mark in _BRACE.finditer(text, start):
        if found:
            break
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark[0] == "}" and depth == 0:
            found = _FINAL_AFTER_THREADS.match(text, mark.end())
    return found


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
            if end >= 0:
                position = end + 2
                yield start, position
            elif groups or depth:  # not in the free text of the header
                raise _not_closed(source, start, "*/")
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
    raise _not_closed(source, start, "*)")


def _not_closed(source: Source, start: int, missing: str) -> ParseError:
    return ParseError("this comment is not closed", Span(source, start, start + 2), f"`{missing}` is missing")


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
# Numbers of at most so many characters fit into 64 bits.
_SHORT_NUMBER = 18


def parse_number(text: str) -> int:
    """A decimal, hexadecimal, binary or `0o` octal number, possibly negative; a leading 0 alone is decimal."""
    digits = text.lstrip("-")
    value = int(digits, 0) if digits[1:2].isalpha() else int(digits)
    return -value if text.startswith("-") else value


def check_number(value: int, span: Span) -> int:
    if not -(1 << 63) <= value < 1 << 64:
        raise ParseError("this number does not fit into 64 bits", span)
    return value


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
            if number is not None and len(number) > _SHORT_NUMBER:
                check_number(parse_number(number), Span(source, *found.span(3)))
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
        span = self.span
        value = parse_number(self.take())
        return check_number(-value if negative else value, span)

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
            Address(value.symbol, value.position * (sizes.get(value.symbol) or _WORD))
            if isinstance(value, _Element)
            else value
            for value in values
        )
        untyped = tuple(
            (index, value.position)
            for index, value in enumerate(values)
            if isinstance(value, _Element) and value.position and value.symbol not in sizes
        )
        entries[position] = entries[position]._replace(values=filled, elements=untyped)


# Memory


_WORD = 4
_DOUBLE_WORD = 8

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
    """The global objects of a test: those of the initial state, then those met later, which start at 0.

    One without a declared type, or each of its elements, has 4 bytes. It has 8 if it is one of `wide` or if an initial
    value needs them."""

    def __init__(self, entries: tuple[InitEntry, ...], wide: Collection[str] = (), word_size: int = _WORD) -> None:
        self._word_size = word_size
        self._wide = set(wide)
        self._declared: dict[str, int] = {}
        self._lengths: dict[str, int] = {}
        self._values: dict[str, dict[int, tuple[Value, InitEntry]]] = {}
        for entry in entries:
            if entry.thread is None and entry.name[0] not in "%$":
                self._enter(entry)
            for value in entry.values:
                if isinstance(value, Address) and value.symbol not in self._lengths:
                    self._lengths[value.symbol] = 0

    def _enter(self, entry: InitEntry) -> None:
        name = entry.name
        if entry.type:
            self.declare(name, self._declared_size(entry), entry.length)
        else:
            self._lengths.setdefault(name, 0)
        if not entry.values:
            return
        if entry.length is not None and entry.length < len(entry.values):
            raise ParseError(f"`{name}` has more initial values than elements", entry.span)
        known = self._values.setdefault(name, {})
        for position, value in enumerate(entry.values, entry.element):
            first = known.setdefault(position, (value, entry))
            if first[0] != value:
                raise contradiction(first[1], entry)
            if isinstance(value, int) and not -(1 << 31) <= value < 1 << 32:
                self._wide.add(name)
        self._lengths[name] = max(self._lengths[name], entry.element + len(entry.values))

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
        self._declared[name] = element_size
        self._lengths[name] = max(self._lengths.get(name, 0), 1 if count is None else count)

    def mention(self, name: str) -> None:
        self._lengths.setdefault(name, 0)

    def has_type(self, name: str) -> bool:
        return name in self._declared

    def __contains__(self, name: str) -> bool:
        return name in self._lengths

    def element_size(self, name: str) -> int:
        declared = self._declared.get(name)
        if declared is not None:
            return declared
        return _DOUBLE_WORD if name in self._wide else self._word_size

    def value(self, name: str, index: int | None = None) -> MemoryValue:
        """What a condition reads as `x` or `x[1]`."""
        size = self.element_size(name)
        length = (index or 0) + 1
        if self._lengths.get(name, 0) < length:
            self._lengths[name] = length
        return MemoryValue(name, size * (index or 0), size, "" if index is None else f"{name}[{index}]")

    def objects(self) -> tuple[Object, ...]:
        return tuple(
            Object(
                name,
                max(8, length * self.element_size(name)) if length > 1 or name in self._declared else 8,
                self._cells(name) if name in self._values else (),
            )
            for name, length in self._lengths.items()
        )

    def _cells(self, name: str) -> tuple[Cell, ...]:
        size = self.element_size(name)
        scalar = self._lengths[name] == 1
        cells: list[Cell] = []
        for position, (value, entry) in self._values[name].items():
            if isinstance(value, int):
                _check_fit(value, size, entry)
                cells += _number_cells(position * size, size, value)
            elif scalar:
                cells.append(Cell(0, _DOUBLE_WORD, value))
            elif size < _WORD:
                raise ParseError(f"an address does not fit into an element of `{name}`", entry.span)
            else:
                cells.append(Cell(position * size, min(size, _DOUBLE_WORD), value))
        return tuple(cells)


def _check_fit(value: int, size: int, entry: InitEntry) -> None:
    bits = 8 * size
    if not -(1 << bits - 1) <= value < 1 << bits:
        plural = "s" if size > 1 else ""
        raise ParseError(f"{value} does not fit into the {size} byte{plural} of `{entry.name}`", entry.span)


def _number_cells(offset: int, size: int, value: int) -> list[Cell]:
    """One cell, or two for numbers of 16 bytes."""
    step = min(size, _DOUBLE_WORD)
    mask = (1 << 8 * step) - 1
    return [Cell(offset + place, step, value >> 8 * place & mask) for place in range(0, size, step)]


def contradiction(first: InitEntry, second: InitEntry) -> ParseError:
    line, column = first.span.line, first.span.column
    return ParseError(
        f"`{second.span.text}` has another initial value already",
        second.span,
        f"the first one is in line {line}, column {column}",
    )


def rescaled(entries: tuple[InitEntry, ...], memory: Globals) -> tuple[InitEntry, ...]:
    """The entries with addresses `x[1]` as the final sizes of the elements give them."""
    return tuple(_rescaled(entry, memory) if entry.elements else entry for entry in entries)


def _rescaled(entry: InitEntry, memory: Globals) -> InitEntry:
    values = list(entry.values)
    for index, position in entry.elements:
        old = values[index]
        assert isinstance(old, Address)
        values[index] = Address(old.symbol, position * memory.element_size(old.symbol))
    return entry._replace(values=tuple(values))
