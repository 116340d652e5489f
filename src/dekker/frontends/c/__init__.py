"""C and C++ programs, and LLVM IR text: a compiler's front end, a reader of its output, a translation.

The first thread runs `main`. Assertions and memory accesses are the property; there is no condition on final states.
The return from `main` ends the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends.c.driver import Compiled, compile_file
from dekker.frontends.c.linking import link
from dekker.frontends.c.llvm.metadata import read_source
from dekker.frontends.c.llvm.module import Module
from dekker.frontends.c.lowering.unit import ARCHITECTURE, SourceNeeded, lower_program
from dekker.frontends.c.runtime import RUNTIME, Runtime, source_flags
from dekker.frontends.c.runtime.sections import with_section_lock
from dekker.frontends.c.sanitizing import FLAGS, as_requirements
from dekker.frontends.dialect import DEFAULT_DIALECT, Dialect
from dekker.frontends.kept import Reads
from dekker.ir.passes.specification import loosen
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.records import dataclass
from dekker.source import Source

__all__ = ["ARCHITECTURE", "Options", "parse_c", "translate"]


@dataclass(frozen=True, slots=True)
class Options:
    """`flags` reach the compiler, `compiler` is the command of another clang, `nondet` is the range of
    `__VERIFIER_nondet_int` and its like (from 0 for unsigned types). `dialect` says what else is left open."""

    flags: tuple[str, ...] = ()
    compiler: str | None = None
    nondet: tuple[int, int] = (-1, 2)
    dialect: Dialect = DEFAULT_DIALECT


def parse_c(paths: Sequence[str], options: Options | None = None, runtime: Runtime = RUNTIME) -> Program:
    """One program from all files together. Whatever is wrong with them is an `InputError` that says where."""
    return translate(paths, options, runtime)[0]


def translate(
    paths: Sequence[str], options: Options | None = None, runtime: Runtime = RUNTIME
) -> tuple[Program, list[Reads] | None]:
    """The program, and all that was read for it if it can be kept."""
    options = options or Options()
    if not paths:
        raise InputError("no file is named")
    compiled = [_compile(path, options) for path in paths]
    source = compiled[0].source if not compiled[0].compiled else read_source(str(Path(paths[0]).absolute()))
    program = loosen(with_section_lock(_lower(compiled, Path(paths[0]).stem, source, options, runtime)))
    validate(program)
    reads = [item.reads for item in compiled if item.reads is not None]
    return program, reads if len(reads) == len(compiled) else None


def _compile(path: str, options: Options, flags: tuple[str, ...] = ()) -> Compiled:
    if not options.dialect.overflow:
        return compile_file(path, (*options.flags, *flags), options.compiler)
    return as_requirements(compile_file(path, (*options.flags, *flags, *FLAGS), options.compiler))


def _lower(compiled: list[Compiled], name: str, source: Source, options: Options, runtime: Runtime) -> Program:
    """With the files of the C++ library that turn out to be needed."""
    while True:
        linkage = link([(Module(item.source), item.compiled) for item in compiled])
        try:
            return lower_program(name, linkage, runtime, options.nondet, source, options.dialect)
        except SourceNeeded as needed:
            more = _compile(needed.path, options, source_flags())
            compiled.append(replace(more, source=Source(needed.path, more.source.text)))
