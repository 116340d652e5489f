"""The file form around Lang: variables, processes and classes of threads, forbidden states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from dekker.errors import ParseError
from dekker.frontends.lang.expressions import integer
from dekker.frontends.lang.forbidden import parse_forbidden
from dekker.frontends.lang.lexer import tokenize
from dekker.frontends.lang.names import Names, ProcessNames
from dekker.frontends.lang.statements import parse_block
from dekker.frontends.lang.syntax import Global, LangFile, Process
from dekker.frontends.rsmc.cursor import Cursor, suggestion
from dekker.frontends.rsmc.lexer import Token
from dekker.ir.thread_classes import ForbiddenState
from dekker.records import dataclass
from dekker.source import Source

MOST_THREADS = 64
MOST_ELEMENTS = 1 << 12


@dataclass(slots=True)
class _File:
    names: Names = field(default_factory=Names)
    globals: list[Global] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    tokens: dict[str, Token] = field(default_factory=dict)
    forbidden_at: list[int] = field(default_factory=list)


def parse_file(source: Source) -> LangFile:
    """Whatever is wrong with the text is an `InputError` that says where."""
    cursor = Cursor(tokenize(source))
    file = _File(Names(_declare_globals(cursor)))
    while cursor.current.kind != "end":
        read = _ITEMS.get(cursor.current.kind)
        if read is None:
            raise _misplaced(cursor)
        read(cursor, file)
    if not file.processes:
        raise cursor.expected("a process", "a program has at least one: `process P { … }`")
    return LangFile(source, tuple(file.globals), tuple(file.processes), _forbidden(cursor, file))


def _declare_globals(cursor: Cursor) -> dict[str, Global]:
    """All variables are known everywhere, so they are read first; the cursor stays where it is."""
    ahead = Cursor(cursor.tokens)
    found: dict[str, Global] = {}
    while ahead.current.kind != "end":
        if ahead.current.kind == "var":
            item = _global(ahead)
            found.setdefault(item.name, item)
        else:
            ahead.take()
    return found


_PROGRAM_HINT = "a program is `var x = 0;`, `process P { … }`, `class C(many) { … }` and `forbidden …;`"


def _misplaced(cursor: Cursor) -> ParseError:
    token = cursor.current
    hint = suggestion(token.text, ("var", "process", "class", "forbidden")) if token.kind == "name" else ""
    return cursor.expected("`var`, `process`, `class` or `forbidden`", hint or _PROGRAM_HINT)


def _enter(cursor: Cursor, file: _File, token: Token) -> None:
    first = file.tokens.setdefault(token.text, token)
    if first is not token:
        span = cursor.span(first)
        hint = f"the first one is in line {span.line}, column {span.column}"
        raise ParseError(f"the name `{token.text}` is taken", cursor.span(token), hint)


# --- variables


def _variable(cursor: Cursor, file: _File) -> None:
    token = cursor.ahead
    file.globals.append(_global(cursor))
    _enter(cursor, file, token)


_VARIABLE_HINT = "variables look like `var x = 0;` or `var a[0..3] = 0;`"


def _global(cursor: Cursor) -> Global:
    cursor.take()
    name = cursor.name("the name of a variable", _VARIABLE_HINT)
    bounds = _bounds(cursor, name) if cursor.accept("[") else None
    start = cursor.current
    values = _values(cursor) if cursor.accept("=") else [0]
    length = 1 if bounds is None else bounds[1] - bounds[0] + 1
    if len(values) == 1:
        values *= length
    if len(values) != length:
        hint = "one value for all elements, or one for each"
        raise ParseError(f"{len(values)} values for {length} elements", cursor.since(start), hint)
    versions = _versions(cursor, name, values, bounds) if cursor.accept("versioned") else None
    cursor.expect(";", _VARIABLE_HINT)
    return Global(name.text, tuple(values), None if bounds is None else bounds[0], versions)


def _versions(cursor: Cursor, name: Token, values: list[int], bounds: tuple[int, int] | None) -> int:
    hint = "`var head = 0 versioned 4;`: the value modulo 4 is what it holds, the rest counts versions"
    if bounds is not None:
        raise ParseError("an array has no versions", cursor.since(name), hint)
    versions = integer(cursor, hint)
    if versions < 2 or not 0 <= values[0] < versions:
        raise ParseError(f"versions of {versions} for the value {values[0]}", cursor.since(name), hint)
    return versions


def _bounds(cursor: Cursor, name: Token) -> tuple[int, int]:
    low = integer(cursor, _VARIABLE_HINT)
    cursor.expect("..", "an array has a first and a last index: `var a[0..3] = 0;`")
    high = integer(cursor, _VARIABLE_HINT)
    cursor.expect("]", "a bracket is not closed")
    if not low <= high < low + MOST_ELEMENTS:
        hint = f"the first index is not larger than the last, and there are at most {MOST_ELEMENTS} elements"
        raise ParseError(f"an array with indices from {low} to {high}", cursor.since(name), hint)
    return low, high


def _values(cursor: Cursor) -> list[int]:
    values = [integer(cursor, "initial values are numbers")]
    while cursor.accept(","):
        values.append(integer(cursor, "initial values are numbers"))
    return values


# --- processes


def _process(cursor: Cursor, file: _File) -> None:
    cursor.take()
    name = cursor.name("the name of the process", "a process looks like `process P { … }`")
    _body(cursor, file, name, 1)


def _class(cursor: Cursor, file: _File) -> None:
    hint = "a class says how many threads it has: `class worker(2) { … }` or `class worker(many) { … }`"
    cursor.take()
    name = cursor.name("the name of the class", hint)
    cursor.expect("(", hint)
    _body(cursor, file, name, _count(cursor, hint))


def _count(cursor: Cursor, hint: str) -> int | None:
    if cursor.accept("many"):
        count = None
    else:
        start = cursor.current
        count = integer(cursor, hint)
        if not 1 <= count <= MOST_THREADS:
            raise ParseError(f"a class of {count} threads", cursor.since(start), f"from 1 to {MOST_THREADS}, or `many`")
    cursor.expect(")", hint)
    return count


def _body(cursor: Cursor, file: _File, name: Token, count: int | None) -> None:
    _enter(cursor, file, name)
    names = ProcessNames(name.text, file.names.globals)
    initial = _initial(cursor, names) if cursor.accept("with") else ()
    body = parse_block(cursor, names)
    names.check(cursor)
    file.names.processes[name.text] = names
    file.processes.append(Process(name.text, body, count, initial, cursor.span(name)))


def _initial(cursor: Cursor, names: ProcessNames) -> tuple[tuple[str, int], ...]:
    hint = "registers that do not start with 0: `process P with r0 = 1, r1 = 2 { … }`"
    values: dict[str, int] = {}
    while True:
        token = cursor.name("a register", hint)
        if token.text in values or token.text in names.globals:
            taken = "stands here twice" if token.text in values else "is a variable"
            raise ParseError(f"`{token.text}` {taken}", cursor.span(token), hint)
        cursor.expect("=", hint)
        values[token.text] = integer(cursor, hint)
        names.registers[token.text] = None
        if not cursor.accept(","):
            return tuple(values.items())


# --- forbidden states: read last, because they may name whatever stands behind them


def _skip_forbidden(cursor: Cursor, file: _File) -> None:
    file.forbidden_at.append(cursor.index)
    while cursor.current.kind not in (";", "end"):
        cursor.take()
    cursor.expect(";", "a forbidden state ends with `;`: `forbidden P@critical && Q@critical;`")


def _forbidden(cursor: Cursor, file: _File) -> tuple[ForbiddenState, ...]:
    counts = {process.name: process.count for process in file.processes}
    return tuple(parse_forbidden(Cursor(cursor.tokens, index=at), file.names, counts) for at in file.forbidden_at)


_ITEMS: dict[str, Callable[[Cursor, _File], None]] = {
    "var": _variable,
    "process": _process,
    "class": _class,
    "forbidden": _skip_forbidden,
}
