"""C litmus tests, as herd and Dat3M read them.

    P0 (atomic_int* x, int* y) { *y = 1; atomic_store_explicit(x, 1, memory_order_release); }

Parameters are the addresses of the shared variables of their names. Atomic functions make atomic accesses, all other
accesses (`*y`, `volatile` or not) are plain, even those through a pointer to an atomic type.

Where herd is more tolerant than C, so are we: an assignment declares the name it assigns to, a name may be declared
twice in a block, an integer can be dereferenced, and atomic functions take any memory order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

from dekker.errors import ParseError, UnsupportedError
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.kernel import KERNEL_TYPES, kernel_error
from dekker.frontends.litmus.c.lowering import LoweredThread, lower_thread
from dekker.frontends.litmus.c.parser import parse_type
from dekker.frontends.litmus.c.types import INT, LONG, CType, Pointer
from dekker.frontends.litmus.condition import Names, parse_property
from dekker.frontends.litmus.format import Globals, InitEntry, LitmusFile, contradiction, rescaled
from dekker.ir.expressions import Address, Const
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import AddressValue, MemoryValue, RegisterValue
from dekker.records import dataclass
from dekker.source import Span

__all__ = ["parse_c"]


def parse_c(test: LitmusFile) -> Program:
    """Reads the program and final part of a test."""
    test = replace(test, init=tuple(entry if entry.type != "*" else entry._replace(type="") for entry in test.init))
    pieces = _split(test)
    threads = _lower(test, pieces)
    memory = _globals(test, threads)
    if any(entry.elements for entry in test.init):
        test = replace(test, init=rescaled(test.init, memory))
        memory = _globals(test, threads)
    prop = parse_property(test, _names(test, memory, threads))
    functions = tuple(_function(test, piece, thread) for piece, thread in zip(pieces, threads, strict=True))
    starts = tuple(_thread(test, number, thread) for number, thread in enumerate(threads))
    return Program(test.name, "C", memory.objects(), functions, starts, prop, test.source)


# Threads


@dataclass(slots=True)
class _Piece:
    """`start` is the offset of the text, which begins at the parenthesis of the parameters."""

    number: int
    start: int
    text: str
    name: tuple[int, int]


_SKIP = re.compile(r"(?:\s|;|#[^\n]*)*")
_HEADER = re.compile(r"(?:(?:static|inline|extern|void|int)\s+)*(?P<name>P(?P<number>\d{1,4}))\s*(?=\()", re.ASCII)
_BRACE = re.compile(r"[{}]|'(?:\\.|[^'\\\n])+'|\"(?:\\.|[^\"\\\n])*\"")


def _split(test: LitmusFile) -> list[_Piece]:
    pieces = sorted(_pieces(test), key=lambda piece: piece.number)
    for expected, piece in enumerate(pieces):
        if piece.number != expected:
            twice = piece.number < expected
            message = f"thread P{piece.number} is defined twice" if twice else f"thread P{expected} is missing"
            raise ParseError(message, test.span(*piece.name), "threads are P0, P1, P2 and so on, without gaps")
    if not pieces:
        raise ParseError("there are no threads", test.span(test.program[0], test.program[0]), _EXPECTED_THREAD)
    return pieces


_EXPECTED_THREAD = "a thread looks like `P0 (atomic_int* x) { … }`"


def _pieces(test: LitmusFile) -> Iterator[_Piece]:
    position, end = test.program
    while (position := _skip(test, position)) < end:
        header = _HEADER.match(test.text, position, end)
        if header is None:
            raise _not_a_thread(test, position)
        close = _closing_brace(test.text, header.end(), end)
        yield _Piece(int(header["number"]), header.end(), test.text[header.end() : close], header.span("name"))
        position = close


def _skip(test: LitmusFile, position: int) -> int:
    found = _SKIP.match(test.text, position, test.program[1])
    return found.end() if found else position


def _closing_brace(text: str, start: int, end: int) -> int:
    depth = 0
    for found in _BRACE.finditer(text, start, end):
        mark = found[0]
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth <= 0:
                return found.end()
    return end


def _not_a_thread(test: LitmusFile, position: int) -> ParseError | UnsupportedError:
    word = re.compile(r"\w+|\S").match(test.text, position)
    span = test.span(position, word.end() if word else position)
    if word and re.match(r"P\d+$", word[0]):
        return ParseError(f"expected the parameters of `{word[0]}`", span, _EXPECTED_THREAD)
    if word and (word[0] == "{" or re.match(r"[\w*\s]+\(", test.text[position:])):
        return UnsupportedError("functions and declarations beside the threads are not supported", span)
    hint = "is there one `}` too many?" if span.text == "}" else _EXPECTED_THREAD
    return ParseError(f"expected a thread, found `{span.text}`", span, hint)


def _lower(test: LitmusFile, pieces: list[_Piece]) -> list[LoweredThread]:
    for entry in test.init:
        if entry.thread is not None and entry.thread >= len(pieces):
            hint = f"threads are numbered from 0 to {len(pieces) - 1}"
            raise ParseError(f"there is no thread {entry.thread}", entry.span, hint)
    shared = tuple((entry.name, _type(entry)) for entry in test.init if entry.thread is None)
    threads = []
    for piece in pieces:
        registers = tuple((entry.name, _type(entry)) for entry in test.init if entry.thread == piece.number)
        try:
            threads.append(lower_thread(piece.text, shared, registers))
        except CError as error:
            start = min(piece.start + error.start, test.program[1])
            span = test.span(start, min(start + error.length, len(test.text)))
            raise error.error(error.message, span, error.hint) from None
    return threads


def _type(entry: InitEntry) -> CType:
    if entry.type:
        kind = parse_type(entry.type)
        if kind is None:
            if entry.type in KERNEL_TYPES:
                error = kernel_error(entry.type, 0)
                raise error.error(error.message, entry.span, error.hint)
            raise UnsupportedError(f"the type `{entry.type}` is not supported", entry.span)
        return kind
    if any(isinstance(value, Address) for value in entry.values):
        return Pointer(INT)
    return INT if all(isinstance(value, int) and -(1 << 31) <= value < 1 << 32 for value in entry.values) else LONG


def _function(test: LitmusFile, piece: _Piece, thread: LoweredThread) -> Function:
    source, base = test.source, piece.start
    spans = tuple([Span(source, base + start, base + end) for start, end in thread.spans])
    return Function(f"P{piece.number}", (), thread.body, thread.labels, spans)


def _thread(test: LitmusFile, number: int, thread: LoweredThread) -> Thread:
    registers: dict[str, Const | Address] = dict(thread.initial)
    entries: dict[str, InitEntry] = {}
    for entry in test.init:
        if entry.thread == number and entry.values:
            if len(entry.values) > 1:
                raise UnsupportedError(f"the register `{entry.name}` cannot hold an array", entry.span)
            first = entries.setdefault(entry.name, entry)
            if first.values != entry.values:
                raise contradiction(first, entry)
            local = thread.variables[entry.name]
            registers[entry.name] = _initial(entry.values[0], local.type)
    return Thread(f"P{number}", f"P{number}", tuple(registers.items()))


def _initial(value: int | Address, kind: CType) -> Const | Address:
    return Const(value & (1 << kind.width) - 1) if isinstance(value, int) else value


# Shared variables and names


def _globals(test: LitmusFile, threads: list[LoweredThread]) -> Globals:
    """An entry of the initial state without a type has that of the parameters that point to it."""
    types: dict[str, CType] = {}
    for thread in threads:
        for name, kind in thread.globals:
            types.setdefault(name, kind)
    entries = tuple(
        entry._replace(type=str(types[entry.name]))
        if entry.thread is None and not entry.type and entry.name in types
        else entry
        for entry in test.init
    )
    memory = Globals(entries)
    for name, kind in types.items():
        if not memory.has_type(name):
            memory.declare(name, kind.size)
    return memory


def _names(test: LitmusFile, memory: Globals, threads: list[LoweredThread]) -> Names:
    def register(thread: int, name: str) -> RegisterValue | None:
        local = threads[thread].variables.get(name)
        if local is None:
            raise _no_variable(test, thread, name, list(threads[thread].variables))
        return RegisterValue(thread, local.register, local.type.width, "" if local.register == name else name)

    def value(name: str, index: int | None) -> MemoryValue:
        if name not in memory:
            owners = [number for number, thread in enumerate(threads) if name in thread.variables]
            if owners:
                hint = f"say of which thread: `{owners[0]}:{name}`"
                raise ParseError(f"`{name}` is not a shared variable", _mention(test, name), hint)
        return memory.value(name, index)

    def address(name: str, offset: int) -> AddressValue:
        memory.mention(name)
        return AddressValue(name, offset)

    return Names(len(threads), register, value, address)


def _no_variable(test: LitmusFile, thread: int, name: str, known: list[str]) -> ParseError:
    close = get_close_matches(name, known, 1)
    hint = f"its variables are {', '.join(known)}" if known else "it has no local variables"
    hint = f"did you mean `{close[0]}`? {hint}" if close else hint
    return ParseError(f"thread P{thread} has no variable `{name}`", _mention(test, name), hint)


def _mention(test: LitmusFile, name: str) -> Span:
    found = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])").search(test.text, test.final)
    return test.span(*found.span()) if found else test.span(test.final, test.final)
