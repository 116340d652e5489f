"""Runs the compiler: C and C++ to LLVM IR text.

The compiler is the clang inside the `ziglang` package, so that nobody needs one of their own. It is told to emit what
its front end produces, before any optimisation: all accesses of the source are there, in their order. Level 1 (rather
than 0) makes it emit the bodies of inline functions. What it compiles is never executed.

C takes a twentieth of a second. C++ takes seconds, because of its headers. So results are kept (`frontends.kept`), with
all files that the compiler read, unless it may have looked at more than the files that it names.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends import CPP_EXTENSIONS
from dekker.frontends.c.child_process import Finished, run_program
from dekker.frontends.c.cprover import ASYNC_LABEL, declarations, require_no_threads, start_threads
from dekker.frontends.kept import Reads, find, keep_answer, reads_of
from dekker.records import dataclass
from dekker.source import Source

_COMMON = (
    *("-S", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes"),
    *("-fno-discard-value-names", "-fno-stack-protector", "-ffp-contract=off"),
    *("-fno-sanitize=all", "-fcommon"),
    *(f"-Wno-error={name}" for name in ("implicit-function-declaration", "implicit-int", "int-conversion")),
    "-Wno-unused-command-line-argument",
)
_LINES, _TYPES = "-gline-tables-only", "-g"
"""Types tell the names of fields; those of the C++ library would be most of the output."""
_ZIG = ("-target", "x86_64-linux-gnu", "-mcpu=baseline", "-UNDEBUG")
"""zig defines `NDEBUG` at level 1, which would remove the assertions."""
_PREPROCESSED = {".i": ("-x", "c"), ".ii": ("-x", "c++")}
"""Of itself, zig does not take the option `-mcpu` for these."""
_OTHER = ("-target", "x86_64-linux-gnu")


class CompilerError(InputError):
    """The compiler refuses the program; what it says is shown as it is."""

    def __str__(self) -> str:
        return self.diagnostic.message


@dataclass(frozen=True, slots=True)
class Compiled:
    """LLVM IR of one file. `compiled` is false for .ll files, read as they are. `reads` is None if the result cannot be
    kept."""

    source: Source
    compiled: bool = True
    reads: Reads | None = None


def compile_file(path: str, flags: Sequence[str] = (), compiler: str | None = None) -> Compiled:
    """`compiler` is the command of another clang. A program that it refuses is a `CompilerError`."""
    name = f"{path} (LLVM IR)"
    if path.endswith(".ll"):
        source = Source(path, _read(path))
        require_no_threads(source)
        return Compiled(source, compiled=False)
    text, command = _read(path), _command(path, compiler)
    question = "\0".join((os.getcwd(), path, *command, *flags))
    is_kept = compiler is None and can_be_kept(flags)
    kept = find("ir", question) if is_kept else None
    if kept is not None:
        (reads,), module = kept
        return Compiled(Source(name, module.decode()), reads=reads)
    own = _types_of_gcc(text) if path.endswith(tuple(_PREPROCESSED)) else ()
    with tempfile.TemporaryDirectory(prefix="dekker-") as temporary:
        compiled = _compiled(_Call(tuple(command), (*own, *flags), Path(temporary)), path)
    if not is_kept or compiled.reads is None:
        return replace(compiled, reads=None)
    keep_answer("ir", question, [compiled.reads], compiled.source.text.encode())
    return compiled


def _compiled(call: _Call, path: str) -> Compiled:
    begun = time.time_ns()
    module, is_whole_story = _emit(call, path)
    if ASYNC_LABEL.search(module):
        module, _ = _emit(call, _with_threads(call, path))
        require_no_threads(Source(f"{path} (LLVM IR)", module))
        is_whole_story = False
    return Compiled(Source(f"{path} (LLVM IR)", module), reads=call.reads(path, begun) if is_whole_story else None)


_HARMLESS = re.compile(
    r"-(?:[DIU].|[OWw](?![pal],)|std=|pthread$|m[\w=.-]+$|fsanitize(-trap)?=|f(?!modules|profile)[\w-]+$)"
)
"""Flags that do not make a compiler look at other files than headers."""
_ELSEWHERE = re.compile(r"__has_include|embed|include_next")


def can_be_kept(flags: Sequence[str]) -> bool:
    return all(map(_HARMLESS.match, _joined(flags)))


def _joined(flags: Sequence[str]) -> list[str]:
    words = iter(flags)
    return [word + next(words, "") if word in ("-D", "-I", "-U") else word for word in words]


@dataclass(frozen=True, slots=True)
class _Call:
    """How the compiler is called for a file: `folder` is for what is written."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    folder: Path

    def run(self, output: Path, *arguments: str) -> Finished:
        command = [*self.command, *self.flags, *arguments, "-o", str(output)]
        return run_program(command, _environment(self.folder, self.headers))

    @property
    def headers(self) -> Path:
        """The compiler writes their names there."""
        return self.folder / "headers"

    def reads(self, path: str, begun: int) -> Reads | None:
        tool = self.command[0]
        headers = self.headers.read_text(encoding="utf-8").splitlines() if self.headers.exists() else ()
        files = [path, *headers]
        shipped = tuple(os.path.join(os.path.dirname(name), "") for name in (tool, os.path.realpath(tool)))
        own = [file for file in files if not os.path.abspath(file).startswith(shipped)]
        if any(_ELSEWHERE.search(_read(file)) for file in own):
            return None
        named = (flag[2:] for flag in _joined(self.flags) if flag.startswith("-I"))
        return reads_of(tool, files, [*named, *(os.path.dirname(file) or os.curdir for file in own)], begun)

    def preprocess(self, output: Path, path: str) -> Finished:
        """zig refuses what belongs to later steps."""
        earlier = tuple(word for word in self.command if word not in ("-S", "-emit-llvm", "-mcpu=baseline"))
        return replace(self, command=earlier).run(output, "-E", path)


def _emit(call: _Call, path: str) -> tuple[str, bool]:
    """LLVM IR, and whether the file was compiled as it is. If functions of CBMC are not declared, they are, and the
    compiler tries again."""
    output = call.folder / "module.ll"
    finished = call.run(output, path)
    declared = declarations(finished.messages) if finished.status else None
    if declared is not None:
        header = call.folder / "cprover.h"
        header.write_text(declared, encoding="utf-8")
        finished = call.run(output, "-include", str(header), path)
    if finished.status != 0 or not output.exists():
        raise CompilerError(_complaint(finished, call.command))
    return output.read_text(encoding="utf-8"), declared is None


def _with_threads(call: _Call, path: str) -> str:
    """A file with the preprocessed text in which labels that start threads are rewritten."""
    output = call.folder / ("preprocessed.cpp" if _is_cpp(path) else "preprocessed.c")
    finished = call.preprocess(output, path)
    if finished.status != 0 or not output.exists():
        raise CompilerError(_complaint(finished, call.command))
    output.write_text(start_threads(output.read_text(encoding="utf-8")), encoding="utf-8")
    return str(output)


_GCC_TYPES = {
    "_Float32": "float",
    "_Float64": "double",
    "_Float32x": "double",
    "_Float64x": "long double",
    "_Float128": "__float128",
}
"""Types that gcc knows by themselves, so that text which it has preprocessed declares them nowhere."""


def _types_of_gcc(text: str) -> tuple[str, ...]:
    missing = (name for name in _GCC_TYPES if name in text and not re.search(rf"typedef[\w\s]+\b{name}\s*;", text))
    return tuple(f"-D{name}={_GCC_TYPES[name]}" for name in missing)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _command(path: str, compiler: str | None) -> list[str]:
    common = (*_COMMON, _LINES if _is_cpp(path) else _TYPES)
    if compiler is not None:
        return [*compiler.split(), *_OTHER, *common]
    return [_zig(), "c++" if _is_cpp(path) else "cc", *_ZIG, *common, *_PREPROCESSED.get(Path(path).suffix, ())]


def _is_cpp(path: str) -> bool:
    return path.endswith(CPP_EXTENSIONS)


def _zig() -> str:
    """The program inside the package, called directly: that saves the start of another Python."""
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        hint = "install the package `ziglang`, or name a clang with --cc"
        raise InputError("there is no C compiler", hint=hint)
    program = Path(found.submodule_search_locations[0], "zig.exe" if sys.platform == "win32" else "zig")
    return str(program)


def _environment(cache: Path, headers: Path) -> dict[str, str]:
    defaults = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache), "LC_ALL": "C.UTF-8"}
    return defaults | {"CC_PRINT_HEADERS": "1", "CC_PRINT_HEADERS_FILE": str(headers)} | os.environ


def _complaint(finished: Finished, command: Sequence[str]) -> str:
    text = finished.messages.strip()
    return text or f"`{command[0]}` ended with status {finished.status} and said nothing"
