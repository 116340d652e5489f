"""Programs that are given as texts instead of files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dekker.errors import DekkerError, InputError
from dekker.frontends import parse_files, parse_program
from dekker.frontends.dialect import Dialect
from dekker.ir.program import Function, Program
from dekker.ir.validate import validate
from dekker.source import Source, Span

LANGUAGES = {"c": ".c", "c++": ".cpp", "llvm": ".ll", "litmus": ".litmus", "rsmc": ".rsmc", "lang": ".lang"}
COMPILED = frozenset(("c", "c++", "llvm"))


def text_name(language: str) -> str:
    """What messages call the text."""
    if language not in LANGUAGES:
        raise InputError(f"there is no language '{language}'", hint=f"languages are {', '.join(LANGUAGES)}")
    return f"<text>{LANGUAGES[language]}"


def program_from_text(
    text: str,
    language: str,
    flags: Sequence[str] = (),
    compiler: str | None = None,
    nondet: tuple[int, int] | None = None,
    dialect: Dialect | None = None,
) -> Program:
    """`flags`, `compiler`, `nondet` and `dialect` are those of `frontends.parse_files`."""
    name = text_name(language)
    if language in COMPILED:
        return _compiled(text, name, flags, compiler, nondet, dialect)
    if flags or compiler is not None:
        raise InputError(f"there is nothing to compile in a text in '{language}', so no compiler and no flags")
    program = parse_program(Source(name, text))
    validate(program)
    return program


def _compiled(
    text: str,
    name: str,
    flags: Sequence[str],
    compiler: str | None,
    nondet: tuple[int, int] | None,
    dialect: Dialect | None,
) -> Program:
    """The compiler wants a file; nobody is to hear of it."""
    with tempfile.TemporaryDirectory(prefix="dekker-text-") as folder:
        file = Path(folder, f"text{Path(name).suffix}")
        file.write_text(text, encoding="utf-8")
        renaming = _Renaming(str(file), name)
        try:
            program = parse_files((str(file),), flags, compiler, nondet, dialect)
            validate(program)
        except DekkerError as error:
            raise renaming.error(error) from None
        return replace(renaming.program(program), name="text")


class _Renaming:
    """From a file that will be gone to a name."""

    def __init__(self, file: str, name: str) -> None:
        self.file = file
        self.shown = os.path.relpath(file)
        self.name = name
        self._renamed: dict[Source, Source] = {}

    def program(self, program: Program) -> Program:
        return replace(
            program,
            functions=tuple(map(self._function, program.functions)),
            source=None if program.source is None else self._source(program.source),
        )

    def error(self, error: DekkerError) -> DekkerError:
        """The same, with other names in it."""
        found = error.diagnostic
        error.diagnostic = replace(found, message=self._text(found.message), span=self._span(found.span))
        return error

    def _text(self, text: str) -> str:
        return text.replace(self.file, self.name).replace(self.shown, self.name)

    def _function(self, function: Function) -> Function:
        return replace(function, spans=tuple(map(self._span, function.spans)))

    def _span(self, span: Span | None) -> Span | None:
        return None if span is None else span._replace(source=self._source(span.source))

    def _source(self, source: Source) -> Source:
        if self.file not in source.name and self.shown not in source.name:
            return source
        if source not in self._renamed:
            self._renamed[source] = Source(self._text(source.name), source.text)
        return self._renamed[source]
