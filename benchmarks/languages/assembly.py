"""What the assembly languages share: columns, registers, the initial state and the condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from benchmarks.sketch import Equals, Sketch, Thread, locations, registers


class Inexpressible(Exception):
    """A language or tool has no words for a statement; the message is the reason, for a table."""


@dataclass(frozen=True)
class Column:
    """Where one thread keeps its values and addresses, and the label at its end."""

    registers: dict[str, str]
    pointers: dict[str, str]
    end: str


Translate = Callable[[Column, Any], Sequence[str]]


@dataclass(frozen=True)
class Assembly:
    """`pointers` hold addresses; those beyond are `symbolic`, a format, if the language has such. Without pointers an
    instruction names its location. `translate` has an entry for each type of statement that can be expressed."""

    architecture: str
    registers: tuple[str, ...]
    translate: dict[type, Translate]
    pointers: tuple[str, ...] = ()
    symbolic: str = ""
    displayed: Callable[[str], str] = field(default=lambda register: register)


def write_assembly(assembly: Assembly, sketch: Sketch) -> str:
    columns = [_column(assembly, thread, number) for number, thread in enumerate(sketch.threads)]
    code = [_code(assembly, column, thread) for column, thread in zip(columns, sketch.threads, strict=True)]
    heads = [[f"P{number}", *lines] for number, lines in enumerate(code)]
    return "\n".join(
        (
            f"{assembly.architecture} {sketch.name}",
            "{",
            *(f"{location}={value};" for location, value in sketch.initial.items()),
            *_initial(columns),
            "}",
            *_rows(heads),
            f"{sketch.quantifier} ({condition(sketch.condition, lambda atom: _observed(assembly, columns, atom))})",
            "",
        )
    )


def condition(atoms: Sequence[Equals], name: Callable[[Equals], str]) -> str:
    return " /\\ ".join(f"{name(atom)}={atom.value}" for atom in atoms)


def _column(assembly: Assembly, thread: Thread, number: int) -> Column:
    used = registers(thread)
    if len(used) > len(assembly.registers):
        raise Inexpressible(f"{assembly.architecture}: more than {len(assembly.registers)} registers in a thread")
    pointers = {}
    if assembly.pointers:
        for index, location in enumerate(locations(thread)):
            pointers[location] = _pointer(assembly, index, number)
    return Column(dict(zip(used, assembly.registers, strict=False)), pointers, f"L{number}")


def _pointer(assembly: Assembly, index: int, thread: int) -> str:
    if index < len(assembly.pointers):
        return assembly.pointers[index]
    if not assembly.symbolic:
        raise Inexpressible(f"{assembly.architecture}: more than {len(assembly.pointers)} locations in a thread")
    return assembly.symbolic.format(f"p{thread}q{index}")


def _code(assembly: Assembly, column: Column, thread: Thread) -> list[str]:
    lines: list[str] = []
    for statement in thread:
        translate = assembly.translate.get(type(statement))
        if translate is None:
            raise Inexpressible(f"{assembly.architecture}: no {type(statement).__name__}")
        lines += translate(column, statement)
    return [*lines, f"{column.end}:"] if any(line.endswith(column.end) for line in lines) else lines


def _initial(columns: Sequence[Column]) -> list[str]:
    lines = []
    for number, column in enumerate(columns):
        entries = [f"{number}:{pointer}={location};" for location, pointer in column.pointers.items()]
        if entries:
            lines.append(" ".join(entries))
    return lines


def _rows(columns: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in columns]
    rows = zip_longest(*columns, fillvalue="")
    return [" " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " ;" for row in rows]


def _observed(assembly: Assembly, columns: Sequence[Column], atom: Equals) -> str:
    if atom.thread is None:
        return atom.name
    return f"{atom.thread}:{assembly.displayed(columns[atom.thread].registers[atom.name])}"
