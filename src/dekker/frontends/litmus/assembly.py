"""From columns of assembly to a `Program`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, compress
from typing import NamedTuple

from dekker.errors import ParseError, UnsupportedError
from dekker.frontends.litmus.architecture import Architecture, InstructionError, Register
from dekker.frontends.litmus.condition import Names, parse_property
from dekker.frontends.litmus.format import Globals, InitEntry, LitmusFile, contradiction, rescaled
from dekker.frontends.litmus.sizes import access_sizes, reached_by_double_words, register_may_exceed
from dekker.ir.expressions import Address, Binary, Const, Reg, Select, Unary
from dekker.ir.instructions import Assign, Branch, Instruction, Jump
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import AddressValue, MemoryValue, RegisterValue
from dekker.source import Span

NEXT = ".next"
"""As a branch target in what `Architecture.instruction` returns: the instruction after this one. For conditional
execution."""


class Translated(NamedTuple):
    """The content of one cell. `symbols` are the globals it names, `symbolic` its registers `%x`, `targets` the labels
    it goes to, `sets` and `reads` the hidden registers (flags), which have a dot in their names, `sizes` the sizes of
    its accesses, added up."""

    labels: tuple[str, ...]
    instructions: tuple[Instruction, ...] = ()
    symbols: tuple[str, ...] = ()
    symbolic: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    sets: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    sizes: int = 0


class _Column:
    """A thread as it grows."""

    __slots__ = ("body", "jumps", "labels", "reads", "sets", "sizes", "spans", "symbolic")

    def __init__(self) -> None:
        self.body: list[Instruction] = []
        self.spans: list[Span] = []
        self.labels: dict[str, int] = {}
        self.jumps: list[tuple[str, Span]] = []
        self.symbolic: set[str] = set()
        self.sets: set[str] = set()
        self.reads: set[str] = set()
        self.sizes = 0


def parse_assembly(test: LitmusFile, architecture: Architecture) -> Program:
    """Reads the program and final part of a test."""
    columns, mentioned = _read_columns(test, architecture)
    threads, widths = _threads(test, architecture, columns)
    memory = _globals(test, columns, threads)
    if any(entry.elements for entry in test.init):
        test = replace(test, init=rescaled(test.init, memory))
        threads, widths = _threads(test, architecture, columns)
        memory = _globals(test, columns, threads)
    for name in mentioned:
        memory.mention(name)
    functions = tuple(_function(f"P{index}", column) for index, column in enumerate(columns))
    prop = parse_property(test, _names(architecture, memory, functions, threads, widths))
    return Program(test.name, architecture.name, memory.objects(), functions, threads, prop, test.source)


_DOUBLE_WORD = 8


def _globals(test: LitmusFile, columns: list[_Column], threads: tuple[Thread, ...]) -> Globals:
    """Which globals have 8 bytes need only be found out where accesses of 8 bytes stand beside others."""
    sizes = 0
    for column in columns:
        sizes |= column.sizes
    if sizes < _DOUBLE_WORD:
        return Globals(test.init)
    if sizes == _DOUBLE_WORD:
        return Globals(test.init, word_size=_DOUBLE_WORD)
    in_memory = {
        value.symbol
        for entry in test.init
        if entry.thread is None
        for value in entry.values
        if isinstance(value, Address)
    }
    return Globals(test.init, reached_by_double_words([column.body for column in columns], threads, in_memory))


# Columns


_HEADER_CELL = re.compile(r"\s*[Pp]?(\d{1,4})\s*$", re.ASCII)
_LABEL = re.compile(r"([A-Za-z_.$][\w.$/-]*)\s*:\s*", re.ASCII)
# x86's `lock; inc [x]` is one instruction, although a semicolon ends a row.
_LOCK = re.compile(r"\b(lock\s*);", re.IGNORECASE)
_SYMBOLIC = re.compile(r"%[A-Za-z_]\w*", re.ASCII)


def _read_columns(test: LitmusFile, architecture: Architecture) -> tuple[list[_Column], dict[str, None]]:
    """The threads, and the globals that they name."""
    start, end = test.program
    text = test.text[start:end]
    if architecture.name.startswith("X86"):
        text = _LOCK.sub(r"\1 ", text)
    rows = text.split(";")
    order = _header(test, rows[0], start)
    columns = [_Column() for _ in order]
    by_position = [columns[number] for number in order]
    translate = _translator(architecture)
    source = test.source
    mentioned: dict[str, None] = {}
    offset = start + len(rows[0]) + 1
    for row in rows[1:-1]:
        cells = row.split("|")
        if len(cells) > len(by_position):
            raise _too_many_cells(test, cells, offset, len(by_position))
        for column, cell in zip(by_position, cells, strict=False):
            text = cell.strip()
            if text:
                begin = offset + cell.index(text[0])
                span = Span(source, begin, begin + len(text))
                try:
                    translated = translate(text)
                except InstructionError as error:
                    raise _instruction_error(error, span) from None
                _append(column, translated, span)
                for symbol in translated.symbols:
                    mentioned[symbol] = None
            offset += len(cell) + 1
    if len(rows) == 1 or rows[-1].strip():
        raise _unfinished_row(test, rows[-1], end)
    for column in columns:
        _check_targets(column)
    return columns, mentioned


def _header(test: LitmusFile, row: str, start: int) -> list[int]:
    """The thread number of each column."""
    numbers: list[int] = []
    offset = start
    cells = row.split("|")
    for cell in cells:
        found = _HEADER_CELL.match(cell)
        number = int(found[1]) if found else -1
        if number in numbers or not 0 <= number < len(cells):
            stripped = cell.strip()
            begin = offset + (cell.index(stripped[0]) if stripped else 0)
            message = "expected the names of the threads" if found is None else f"there is no place for thread {number}"
            hint = "the program starts with a row such as ` P0 | P1 ;`, threads numbered from 0 without gaps"
            raise ParseError(message, test.span(begin, begin + len(stripped)), hint)
        numbers.append(number)
        offset += len(cell) + 1
    return numbers


def _append(column: _Column, cell: Translated, span: Span) -> None:
    body, labels = column.body, column.labels
    for label in cell.labels:
        if label in labels:
            raise ParseError(f"the label `{label}` is defined twice in this thread", span)
        labels[label] = len(body)
    if cell.targets:
        instructions = _with_next(column, cell.instructions) if NEXT in cell.targets else cell.instructions
        column.jumps += [(target, span) for target in cell.targets if target != NEXT]
        body += instructions
    else:
        body += cell.instructions
    column.spans += [span] * len(cell.instructions)
    column.sizes |= cell.sizes
    if cell.symbolic:
        column.symbolic.update(cell.symbolic)
    if cell.sets:
        column.sets |= cell.sets
    if cell.reads:
        column.reads |= cell.reads


def _with_next(column: _Column, instructions: tuple[Instruction, ...]) -> list[Instruction]:
    end = len(column.body) + len(instructions)
    label = f".next{end}"
    column.labels[label] = end
    return [
        Branch(item.condition, label)
        if isinstance(item, Branch) and item.target == NEXT
        else Jump(label)
        if isinstance(item, Jump) and item.target == NEXT
        else item
        for item in instructions
    ]


def _check_targets(column: _Column) -> None:
    for target, span in column.jumps:
        if target not in column.labels:
            known = ", ".join(label for label in column.labels if not label.startswith(NEXT))
            hint = f"labels of this thread: {known}" if known else f"write `{target}:` in a cell of this thread"
            raise ParseError(f"there is no label `{target}` in this thread", span, hint)


def _function(name: str, column: _Column) -> Function:
    unread = column.sets - column.reads
    if unread:
        _drop_assignments(column, unread)
    return Function(name, (), tuple(column.body), column.labels, tuple(column.spans))


def _drop_assignments(column: _Column, unread: set[str]) -> None:
    """Flags that no instruction of the thread reads need not be computed."""
    kept = [not (isinstance(item, Assign) and item.dst in unread) for item in column.body]
    places = [0, *accumulate(kept)]
    column.labels = {label: places[position] for label, position in column.labels.items()}
    column.body = list(compress(column.body, kept))
    column.spans = list(compress(column.spans, kept))


# Cells


@lru_cache(maxsize=32)
def _translator(architecture: Architecture) -> Callable[[str], Translated]:
    """Translates cells, each different text only once: cells repeat between tests."""

    def translate(text: str) -> Translated:
        labels: list[str] = []
        start = 0
        while found := _LABEL.match(text, start):
            labels.append(found[1])
            start = found.end()
        if start == len(text):
            return Translated(tuple(labels))
        try:
            instructions = architecture.instruction(text[start:])
        except InstructionError as error:
            error.offset += start
            raise
        return _translated(tuple(labels), instructions, text)

    return lru_cache(maxsize=1 << 16)(translate)


def _translated(labels: tuple[str, ...], instructions: tuple[Instruction, ...], text: str) -> Translated:
    leaves = [leaf for item in instructions for name in item.__slots__ for leaf in _leaves(getattr(item, name))]
    return Translated(
        labels,
        instructions,
        symbols=tuple(dict.fromkeys(leaf.symbol for leaf in leaves if isinstance(leaf, Address))),
        symbolic=tuple(_SYMBOLIC.findall(text)) if "%" in text else (),
        targets=tuple(item.target for item in instructions if isinstance(item, Branch | Jump)),
        sets=frozenset(item.dst for item in instructions if isinstance(item, Assign) and "." in item.dst),
        reads=frozenset(leaf.name for leaf in leaves if isinstance(leaf, Reg) and "." in leaf.name),
        sizes=access_sizes(instructions),
    )


def _leaves(value: object) -> Iterator[Address | Reg]:
    match value:
        case Address() | Reg():
            yield value
        case Unary(_, _, operand):
            yield from _leaves(operand)
        case Binary(_, _, left, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case Select(condition, then, other):
            yield from _leaves(condition)
            yield from _leaves(then)
            yield from _leaves(other)


# Threads and names


def _register(architecture: Architecture, name: str) -> Register | None:
    found = architecture.register(name)
    return Register(name, 64) if found is None and name.startswith("%") else found


Widths = dict[tuple[int, str], int]


def _threads(test: LitmusFile, architecture: Architecture, columns: list[_Column]) -> tuple[tuple[Thread, ...], Widths]:
    """The threads with their initial registers, and the widths of registers declared with a type."""
    registers: list[dict[str, Const | Address]] = [{} for _ in columns]
    widths: Widths = {}
    for entry in test.init:
        if entry.thread is not None:
            owners: list[int] = [_check_thread(entry, len(columns))]
        elif entry.name[0] == "%":
            owners = [index for index, column in enumerate(columns) if entry.name in column.symbolic]
        else:
            continue
        register = _register(architecture, entry.name)
        if register is None:
            raise ParseError(f"`{entry.name}` is not a register of {architecture.name}", entry.span)
        for thread in owners:
            if entry.type and entry.size is not None:
                widths[thread, entry.name.upper()] = 8 * entry.size
            if entry.values:
                value = _initial(entry)
                if registers[thread].setdefault(register.name, value) != value:
                    raise contradiction(_earlier(test, architecture, entry, thread), entry)
    threads = tuple(Thread(f"P{index}", f"P{index}", tuple(values.items())) for index, values in enumerate(registers))
    return threads, widths


def _earlier(test: LitmusFile, architecture: Architecture, second: InitEntry, thread: int) -> InitEntry:
    """The entry that gave the register of `second` its value."""

    def register(entry: InitEntry) -> str | None:
        found = _register(architecture, entry.name)
        return found.name if found and entry.values and (entry.thread == thread or entry.name[0] == "%") else None

    return next(entry for entry in test.init if register(entry) == register(second))


def _check_thread(entry: InitEntry, threads: int) -> int:
    assert entry.thread is not None
    if entry.thread >= threads:
        hint = f"threads are numbered from 0 to {threads - 1}"
        raise ParseError(f"there is no thread {entry.thread}", entry.span, hint)
    return entry.thread


def _initial(entry: InitEntry) -> Const | Address:
    if len(entry.values) != 1 or entry.length is not None:
        raise UnsupportedError(f"the register `{entry.name}` cannot hold an array", entry.span)
    value = entry.values[0]
    return Const(value) if isinstance(value, int) else value


def _names(
    architecture: Architecture,
    memory: Globals,
    functions: tuple[Function, ...],
    threads: tuple[Thread, ...],
    widths: Widths,
) -> Names:
    def register(thread: int, name: str) -> RegisterValue | None:
        found = _register(architecture, name)
        if found is None:
            return None
        width = widths.get((thread, name.upper())) if widths else None
        if width is None:
            exceeds = architecture.int_registers and register_may_exceed(
                found.name, functions[thread].body, threads[thread]
            )
            width = 64 if exceeds else found.width
        return RegisterValue(thread, found.name, width, "" if found.name == name else name)

    def value(name: str, index: int | None) -> MemoryValue:
        return memory.value(name, index)

    def address(name: str, offset: int) -> AddressValue:
        memory.mention(name)
        return AddressValue(name, offset)

    return Names(len(threads), register, value, address)


# Errors


def _instruction_error(error: InstructionError, span: Span) -> UnsupportedError:
    start = min(span.start + error.offset, span.end)
    end = min(start + error.length, span.end) if error.length else span.end
    return UnsupportedError(error.message, Span(span.source, start, end), error.hint)


def _too_many_cells(test: LitmusFile, cells: list[str], offset: int, columns: int) -> ParseError:
    start = offset + sum(len(cell) + 1 for cell in cells[:columns])
    span = test.span(start - 1, start + len(cells[columns]))
    return ParseError(f"this row has {len(cells)} cells, but there are {columns} threads", span, "is a `;` missing?")


def _unfinished_row(test: LitmusFile, row: str, end: int) -> ParseError:
    text = row.strip()
    start = end - len(row) + row.index(text[0]) if text else end
    return ParseError(
        "this row is not finished", test.span(start, start + len(text)), "rows of the program end with `;`"
    )
