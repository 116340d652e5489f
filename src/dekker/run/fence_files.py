"""The files that fences are put into: the sources, and what they include in quotes.

Changed texts of C are read from copies below a temporary folder, each in the place that it has below the root, so that
they find one another as the originals do.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends import is_c, parse_files, parse_program, read_text
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.run.check import CheckOptions
from dekker.source import Source, is_library, with_line_feeds

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_FOLDER_FLAGS = ("-iquote", "-I")


@dataclass(frozen=True)
class Reading:
    """A program, and for each file the name that its text has in it."""

    program: Program
    names: tuple[str, ...]


@dataclass(frozen=True)
class Files:
    """`paths` are what is compiled; `headers` belong to the user as well."""

    paths: tuple[str, ...]
    headers: tuple[str, ...]
    options: CheckOptions

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.paths, *self.headers)

    def texts(self) -> list[str]:
        return [with_line_feeds(read_text(path)) for path in self.all]

    def read(self, texts: Sequence[str]) -> Reading:
        """The program with other texts. Errors name the files as if they stood in their own place."""
        if not is_c(self.paths[0]):
            program = parse_program(Source(self.paths[0], texts[0]))
            validate(program)
            return Reading(program, self.paths)
        with tempfile.TemporaryDirectory(prefix="dekker-") as folder:
            copies = [_copy(folder, path) for path in self.all]
            for copy, text in zip(copies, texts, strict=True):
                Path(copy).parent.mkdir(parents=True, exist_ok=True)
                Path(copy).write_text(text, encoding="utf-8", newline="")
            options = self.options
            flags = (*self._copied_folders(folder), *options.flags, *self._folders())
            try:
                program = parse_files(copies[: len(self.paths)], flags, options.cc, options.nondet)
                validate(program)
            except InputError as error:
                _name_originals(error, folder)
                raise
        return Reading(program, tuple(copies))

    def _copied_folders(self, folder: str) -> Iterator[str]:
        for found in _include_folders(self.options.flags):
            yield from ("-iquote", _copy(folder, found))

    def _folders(self) -> Iterator[str]:
        for found in dict.fromkeys(str(Path(path).absolute().parent) for path in self.all):
            yield from ("-iquote", found)


def files_of(paths: Sequence[str], options: CheckOptions) -> Files:
    return Files(tuple(paths), _headers(paths, options.flags) if is_c(paths[0]) else (), options)


def _name_originals(error: InputError, folder: str) -> None:
    told, span = error.diagnostic, error.diagnostic.span
    if span is not None:
        span = span._replace(source=replace(span.source, name=span.source.name.replace(folder, "")))
    error.diagnostic = replace(told, message=told.message.replace(folder, ""), span=span)


def same_file(name: str, other: str) -> bool:
    return os.path.normpath(os.path.abspath(name)) == os.path.normpath(os.path.abspath(other))


def _copy(folder: str, path: str) -> str:
    return os.path.normpath(folder + os.path.splitdrive(os.path.abspath(path))[1])


def _headers(paths: Sequence[str], flags: Sequence[str]) -> tuple[str, ...]:
    """Files that are included in quotes, directly or by others of them; those that come with a compiler are not."""
    folders = _include_folders(flags)
    seen = {os.path.abspath(path) for path in paths}
    found: list[str] = []
    pending = list(paths)
    while pending:
        path = pending.pop(0)
        for name in _INCLUDE.findall(read_text(path)):
            places = (os.path.normpath(os.path.join(place, name)) for place in (os.path.dirname(path), *folders))
            header = next(filter(os.path.isfile, places), None)
            if header is None or os.path.abspath(header) in seen or is_library(os.path.abspath(header)):
                continue
            seen.add(os.path.abspath(header))
            found.append(header)
            pending.append(header)
    return tuple(found)


def _include_folders(flags: Sequence[str]) -> list[str]:
    """In the order in which they are searched for what is included in quotes."""
    found = []
    for flag in _FOLDER_FLAGS:
        for index, word in enumerate(flags):
            if word == flag and index + 1 < len(flags):
                found.append(flags[index + 1])
            elif word.startswith(flag) and word != flag:
                found.append(word.removeprefix(flag))
    return found
