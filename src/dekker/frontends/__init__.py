"""Readers of program texts: each folder turns one kind of source into a `Program`. A file's extension says which."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends.default_models import default_model as of_architecture
from dekker.frontends.dialect import Dialect
from dekker.frontends.kept import find_program, keep_program
from dekker.ir.program import Program
from dekker.source import Source

CPP_EXTENSIONS = (".cpp", ".cc", ".cxx", ".c++", ".C", ".ii")
C_EXTENSIONS = (".c", ".i", *CPP_EXTENSIONS, ".ll")

_LANGUAGES = {"RSMC": "rsmc", "LANG": "lang"}
"""Front ends by the architecture of their programs, where that is none of a processor."""


def parse_files(
    paths: Sequence[str],
    flags: Sequence[str] = (),
    compiler: str | None = None,
    nondet: tuple[int, int] | None = None,
    dialect: Dialect | None = None,
) -> Program:
    """C, C++ and LLVM IR files are linked into one program; any other file is one by itself. `flags`, `compiler`,
    `nondet` and `dialect` are those of `frontends.c.Options`."""
    if any(is_c(path) for path in paths):
        return _parse_c(paths, flags, compiler, nondet, dialect)
    if len(paths) != 1:
        raise InputError(
            "a litmus test, .rsmc or .lang program is read alone; only C and C++ files are linked together"
        )
    if flags or compiler is not None:
        raise InputError(f"there is nothing to compile in '{paths[0]}', so no compiler and no flags for it are needed")
    return parse_program(Source(paths[0], read_text(paths[0])))


def is_c(path: str) -> bool:
    return path.endswith(C_EXTENSIONS)


def parse_program(source: Source) -> Program:
    """A text that needs no compiler. If its name has no known extension, it is taken for a litmus test."""
    for extension, parse in _PARSERS.items():
        if source.name.endswith(extension):
            return parse(source)
    return _parse_litmus(source)


def read_text(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8", errors="replace")
    except FileNotFoundError:
        raise InputError(f"there is no file '{path}'") from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"cannot read {path!r}: {error}") from None


def default_model(program: Program) -> str:
    """The model that a program is checked against if none is named."""
    language = _LANGUAGES.get(program.architecture)
    if language is None:
        return of_architecture(program.architecture)
    model: str = import_module(f"dekker.frontends.{language}").DEFAULT_MODEL
    return model


def model_by_name(paths: Sequence[str]) -> str | None:
    """The same for files that were not read yet, as far as their names say."""
    return of_architecture("C") if any(is_c(path) for path in paths) else None


def _parse_c(
    paths: Sequence[str],
    flags: Sequence[str],
    compiler: str | None,
    nondet: tuple[int, int] | None,
    dialect: Dialect | None,
) -> Program:
    strangers = [path for path in paths if not is_c(path)]
    if strangers:
        hint = f"C and C++ files are linked together; they end in {' '.join(C_EXTENSIONS)}"
        raise InputError(f"'{strangers[0]}' is no C program", hint=hint)
    question = "\n".join((os.getcwd(), repr((paths, flags, compiler, nondet, dialect))))
    return find_program(question) or _translated(question, paths, flags, compiler, nondet, dialect)


def _translated(
    question: str,
    paths: Sequence[str],
    flags: Sequence[str],
    compiler: str | None,
    nondet: tuple[int, int] | None,
    dialect: Dialect | None,
) -> Program:
    from dekker.frontends.c import Options, translate  # noqa: PLC0415 — a run needs one front end, rarely two

    options = Options(flags=tuple(flags), compiler=compiler, dialect=dialect or Dialect())
    program, reads = translate(paths, options if nondet is None else replace(options, nondet=nondet))
    if reads is not None:
        keep_program(question, reads, program)
    return program


def _parse_litmus(source: Source) -> Program:
    from dekker.frontends.litmus import parse_litmus  # noqa: PLC0415

    return parse_litmus(source)


def _parse_rsmc(source: Source) -> Program:
    from dekker.frontends.rsmc import parse_rsmc  # noqa: PLC0415

    return parse_rsmc(source)


def _parse_lang(source: Source) -> Program:
    from dekker.frontends.lang import parse_lang  # noqa: PLC0415

    return parse_lang(source)


_PARSERS: dict[str, Callable[[Source], Program]] = {
    ".litmus": _parse_litmus,
    ".rsmc": _parse_rsmc,
    ".lang": _parse_lang,
}

EXTENSIONS = (".litmus", ".rsmc")
"""Of texts that hold a question of their own, so that folders are searched for them."""
