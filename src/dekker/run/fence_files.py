"""The files that fences are put into: the sources, what they include in quotes, and other headers that were asked for.

Changed texts of C are read from copies below a temporary folder, each in the place that it has below the root, so that
they find one another as the originals do.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends import is_c, parse_files, parse_program, read_text
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.records import dataclass
from dekker.run.check import CheckOptions
from dekker.run.prepare import with_reuse
from dekker.source import Source, is_library, with_line_feeds

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_FOLDER_FLAGS = ("-iquote", "-I", "-isystem", "-idirafter")


@dataclass(frozen=True)
class Reading:
    """A program, and for each file the name that its text has in it."""

    program: Program
    names: tuple[str, ...]


@dataclass(frozen=True)
class Files:
    """`paths` are what is compiled; `headers` belong to the user as well. Those in angle brackets are found in
    `folders`."""

    paths: tuple[str, ...]
    headers: tuple[str, ...]
    options: CheckOptions
    folders: tuple[str, ...] = ()

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
            return Reading(self._with_reuse(program), self.paths)
        with tempfile.TemporaryDirectory(prefix="dekker-") as folder:
            copies = [_copy(folder, path) for path in self.all]
            for copy, text in zip(copies, texts, strict=True):
                Path(copy).parent.mkdir(parents=True, exist_ok=True)
                Path(copy).write_text(text, encoding="utf-8", newline="")
            options = self.options
            flags = (*self._copied_folders(folder), *options.flags, *self._folders())
            try:
                program = parse_files(copies[: len(self.paths)], flags, options.cc, options.nondet, options.dialect)
                validate(program)
            except InputError as error:
                _name_originals(error, folder)
                raise
        return Reading(self._with_reuse(program), tuple(copies))

    def _with_reuse(self, program: Program) -> Program:
        return with_reuse(program) if self.options.reuse else program

    def _copied_folders(self, folder: str) -> Iterator[str]:
        for found in _include_folders(self.options.flags):
            yield from ("-iquote", _copy(folder, found))
        for found in self.folders:
            yield from ("-I", _copy(folder, found))

    def _folders(self) -> Iterator[str]:
        for found in dict.fromkeys(str(Path(path).absolute().parent) for path in self.all):
            yield from ("-iquote", found)


def files_of(paths: Sequence[str], options: CheckOptions, inside: Sequence[str] = ()) -> Files:
    """`inside`: headers, or folders of headers, that belong to the user although no source includes them in quotes."""
    if not is_c(paths[0]):
        return Files(tuple(paths), (), options)
    search = _Headers(_include_folders(options.flags), inside)
    search.follow(paths)
    missing = next((path for path in inside if not any(_lies_in(header, path) for header in search.found)), None)
    if missing is not None:
        raise InputError(f"no source includes '{missing}', or anything in it", hint="--in names a header or a folder")
    return Files(tuple(paths), tuple(search.found), options, tuple(dict.fromkeys(search.folders)))


def _name_originals(error: InputError, folder: str) -> None:
    told, span = error.diagnostic, error.diagnostic.span
    if span is not None:
        span = span._replace(source=replace(span.source, name=span.source.name.replace(folder, "")))
    error.diagnostic = replace(told, message=told.message.replace(folder, ""), span=span)


def same_file(name: str, other: str) -> bool:
    return os.path.normpath(os.path.abspath(name)) == os.path.normpath(os.path.abspath(other))


def _copy(folder: str, path: str) -> str:
    return os.path.normpath(folder + os.path.splitdrive(os.path.abspath(path))[1])


def _lies_in(file: str, place: str) -> bool:
    path, root = os.path.abspath(file), os.path.abspath(place)
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


class _Headers:
    """Files that are included in quotes, directly or by others of them, without those that come with a compiler; in
    angle brackets, those that are asked for."""

    def __init__(self, folders: Sequence[str], inside: Sequence[str]) -> None:
        self.found: list[str] = []
        self.folders: list[str] = []
        self._search = folders
        self._inside = inside

    def follow(self, paths: Sequence[str]) -> None:
        seen = {os.path.abspath(path) for path in paths}
        pending = list(paths)
        while pending:
            path = pending.pop(0)
            for quoted, angled in _INCLUDE.findall(read_text(path)):
                header = self._quoted(path, quoted) if quoted else self._angled(angled)
                if header is not None and os.path.abspath(header) not in seen:
                    seen.add(os.path.abspath(header))
                    self.found.append(header)
                    pending.append(header)

    def _quoted(self, path: str, name: str) -> str | None:
        places = (os.path.normpath(os.path.join(place, name)) for place in (os.path.dirname(path), *self._search))
        header = next(filter(os.path.isfile, places), None)
        if header is None or (is_library(os.path.abspath(header)) and not self._is_inside(header)):
            return None
        return header

    def _angled(self, name: str) -> str | None:
        for folder in (*self._search, *self._roots(name)):
            header = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(header):
                if not self._is_inside(header):
                    return None
                self.folders.append(folder)
                return header
        return None

    def _roots(self, name: str) -> Iterator[str]:
        """Folders that no flag names: the compiler knows them itself."""
        for place in self._inside:
            if os.path.isdir(place):
                yield place
            elif os.path.normpath(place).endswith(os.sep + os.path.normpath(name)):
                yield os.path.normpath(place)[: -len(os.path.normpath(name))]

    def _is_inside(self, header: str) -> bool:
        return any(_lies_in(header, place) for place in self._inside)


def _include_folders(flags: Sequence[str]) -> list[str]:
    """In the order in which they are searched."""
    found = []
    for flag in _FOLDER_FLAGS:
        for index, word in enumerate(flags):
            if word == flag and index + 1 < len(flags):
                found.append(flags[index + 1])
            elif word.startswith(flag) and word != flag:
                found.append(word.removeprefix(flag))
    return found
