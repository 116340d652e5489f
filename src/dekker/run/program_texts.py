"""The text of a program in a witness, and the program from that text.

A litmus test or .rsmc program is kept as it was written, if reading it again gives what the engine ran. Others, those
with loops that wait and all that were compiled, are kept in the program representation: another compiler, or the same
one elsewhere, may not compile them alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from dekker.cat.model import Model
from dekker.errors import InputError
from dekker.frontends import parse_program
from dekker.ir.program import Function, Program
from dekker.ir.text import parse_program as parse_representation
from dekker.ir.text import print_program
from dekker.ir.validate import validate
from dekker.run.prepare import compile_for
from dekker.source import Source, Span, is_library
from dekker.witness import Position, ProgramText, SourceText

REPRESENTATION = "ir"
DEFAULT_FRONT_END = "litmus"
KEPT_AS_WRITTEN = (".litmus", ".rsmc", f".{REPRESENTATION}")
COMPILED = (".c", ".i", ".cpp", ".cc", ".cxx", ".c++", ".C", ".ii", ".ll")


def program_text(program: Program, model: Model) -> ProgramText:
    source = program.source
    if source is None:
        raise InputError(f"there is no source text of '{program.name}' to put into a witness")
    if not source.name.endswith(COMPILED):
        written = ProgramText(front_end_of(source.name), source.name, source.text)
        if read_program_text(written, model) == program:
            return written
    sources = list(dict.fromkeys(span.source for span in _spans(program)))
    numbers = {source: number for number, source in enumerate(sources)}
    return ProgramText(
        REPRESENTATION,
        source.name,
        print_program(program),
        tuple(SourceText(item.name, _kept_text(item, program)) for item in sources),
        {function.name: _positions(function, numbers) for function in program.functions},
    )


def front_end_of(file: str) -> str:
    if file.endswith(COMPILED):
        return REPRESENTATION
    known = (extension for extension in KEPT_AS_WRITTEN if file.endswith(extension))
    return next(known, f".{DEFAULT_FRONT_END}").removeprefix(".")


def _spans(program: Program) -> Iterator[Span]:
    return (span for function in program.functions for span in function.spans if span is not None)


def _kept_text(source: Source, program: Program) -> str:
    """Of files of a library, and of those that could not be read, the lines that something comes from; others are
    empty."""
    if not is_library(source.name) and source.text.strip():
        return source.text
    wanted = {span.line for span in _spans(program) if span.source is source}
    last = max(wanted)
    return "\n".join(source.line(number) if number in wanted else "" for number in range(1, last + 1))


def _positions(function: Function, numbers: dict[Source, int]) -> tuple[Position, ...]:
    found = (function.span(index) for index in range(len(function.body)))
    return tuple(
        () if span is None else (numbers[span.source], span.line, span.column, span.end - span.start) for span in found
    )


# --- back


def read_program_text(text: ProgramText, model: Model) -> Program:
    """The program of a witness, read again and compiled for its model."""
    source = Source(text.file, text.text)
    if text.front_end not in (front_end_of(text.file), *([REPRESENTATION] if text.positions else [])):
        known = ", ".join(extension.removeprefix(".") for extension in KEPT_AS_WRITTEN)
        raise InputError(
            f"the witness says that {text.file!r} is for the front end {text.front_end!r}, which does not fit",
            hint=f"front ends are {known}; the file's extension says which",
        )
    if text.front_end != REPRESENTATION:
        program = parse_program(source)
    elif text.positions:
        program = _with_positions(parse_representation(Source(f"{text.file} (representation)", text.text)), text)
    else:
        program = parse_representation(source)
    validate(program)
    return compile_for(program, model)


def _with_positions(program: Program, text: ProgramText) -> Program:
    sources = [Source(item.file, item.text) for item in text.sources]

    def placed(function: Function) -> Function:
        positions = text.positions.get(function.name, ())
        spans = [_span(position, sources) for _, position in zip_longest(function.body, positions)]
        return replace(function, spans=tuple(spans[: len(function.body)]))

    return replace(program, functions=tuple(map(placed, program.functions)))


def _span(position: Position | None, sources: list[Source]) -> Span | None:
    if not position:
        return None
    if (
        len(position) != 4
        or position[0] >= len(sources)
        or not 0 < position[1] <= len(sources[position[0]].line_starts)
    ):
        raise InputError(f"a position in the witness, {list(position)}, is none in its sources")
    number, line, column, length = position
    start = sources[number].line_starts[line - 1] + max(0, column - 1)
    return Span(sources[number], start, start + length)
