"""Runs the compiler: C and C++ to LLVM IR text.

The compiler is the clang inside the `ziglang` package, so that nobody needs one of their own. It is told to emit what
its front end produces, before any optimisation: all accesses of the source are there, in their order. Level 1 (rather
than 0) makes it emit the bodies of inline functions. What it compiles is never executed.

C takes a twentieth of a second. C++ takes seconds, because of its headers: there zig keeps results, known by the
contents of all files that went into them, in the cache (`dekker.cache`).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from dekker.cache import monthly_folder
from dekker.errors import InputError
from dekker.frontends import CPP_EXTENSIONS
from dekker.frontends.c.child_process import Finished, run_program
from dekker.frontends.c.cprover import ASYNC_LABEL, declarations, require_no_threads, start_threads
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
ABANDONED_S = 600
_PREPROCESSED = {".i": ("-x", "c"), ".ii": ("-x", "c++")}
"""Of itself, zig does not take the option `-mcpu` for these."""
_OTHER = ("-target", "x86_64-linux-gnu")


class CompilerError(InputError):
    """The compiler refuses the program; what it says is shown as it is."""

    def __str__(self) -> str:
        return self.diagnostic.message


class _DamagedCache(Exception):
    """What zig has kept is not there, or not whole: it trusts its folder."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """LLVM IR of one file. `messages` are the compiler's warnings; `compiled` is false for .ll files, read as they
    are."""

    source: Source
    messages: str = ""
    compiled: bool = True


def compile_file(path: str, flags: Sequence[str] = (), compiler: str | None = None) -> Compiled:
    """`compiler` is the command of another clang. A program that it refuses is a `CompilerError`."""
    if path.endswith(".ll"):
        source = Source(path, _read(path))
        require_no_threads(source)
        return Compiled(source, compiled=False)
    text = _read(path)
    own = _types_of_gcc(text) if path.endswith(tuple(_PREPROCESSED)) else ()
    flags = (*own, *flags)
    command = _command(path, compiler)
    with tempfile.TemporaryDirectory(prefix="dekker-") as temporary:
        call = _Call((*command,), tuple(flags), Path(temporary), Path(temporary))
        if not _is_cpp(path):
            return _compiled(call, path)
        with _kept(call, path) as kept, suppress(_DamagedCache):
            return _compiled(kept, path)
        return _compiled(call, path)


def _compiled(call: _Call, path: str) -> Compiled:
    module, messages = _emit(call, path)
    if ASYNC_LABEL.search(module):
        module, messages = _emit(call, _with_threads(call, path))
        require_no_threads(Source(f"{path} (LLVM IR)", module))
    return Compiled(Source(f"{path} (LLVM IR)", module), messages)


@dataclass(frozen=True, slots=True)
class _Call:
    """How the compiler is called for a file: `folder` is for what is written, `cache` one that lasts."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    folder: Path
    cache: Path

    @property
    def is_kept(self) -> bool:
        return self.folder != self.cache

    def run(self, output: Path, *arguments: str) -> Finished:
        command = [*self.command, *self.flags, *arguments, "-o", str(output)]
        return run_program(command, _environment(self.cache))

    def preprocess(self, output: Path, path: str) -> Finished:
        """zig refuses what belongs to later steps."""
        earlier = tuple(word for word in self.command if word not in ("-S", "-emit-llvm", "-mcpu=baseline"))
        return replace(self, command=earlier).run(output, "-E", path)


def _emit(call: _Call, path: str) -> tuple[str, str]:
    """LLVM IR and messages. If functions of CBMC are not declared, they are, and the compiler tries again."""
    output = call.folder / "module.ll"
    finished = call.run(output, path)
    declared = declarations(finished.messages) if finished.status else None
    if declared is not None:
        header = call.folder / "cprover.h"
        header.write_text(declared, encoding="utf-8")
        finished = call.run(output, "-include", str(header), path)
    if call.is_kept and finished.status and str(call.cache) in finished.messages:
        raise _DamagedCache
    if finished.status != 0 or not output.exists():
        raise CompilerError(_complaint(finished, call.command))
    module = output.read_text(encoding="utf-8", errors="replace" if call.is_kept else "strict")
    if call.is_kept and not _is_whole(module):
        raise _DamagedCache
    return module, finished.messages


def _is_whole(module: str) -> bool:
    """A module ends with lines of metadata, whatever is in it."""
    return module.endswith("\n") and module[module.rfind("\n", 0, -1) + 1] == "!"


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


@contextmanager
def _kept(call: _Call, path: str) -> Iterator[_Call]:
    """The same call with a folder in which zig keeps results, and another for this one. Its name belongs to what zig
    knows a result by, so that it has to be the same for the same call; while another process uses it, there is one that
    is never the same."""
    from hashlib import sha256  # noqa: PLC0415 — slow to load

    cache = monthly_folder("zig")
    if cache is None:
        yield call
        return
    said = "\0".join((os.getcwd(), path, *call.command, *call.flags))
    folder = cache / f"call-{sha256(said.encode()).hexdigest()[:24]}"
    if not _claim(folder):
        yield replace(call, cache=cache)
        return
    try:
        yield replace(call, folder=folder, cache=cache)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _claim(folder: Path) -> bool:
    """Makes the folder, also in place of one that somebody left behind."""
    try:
        if folder.exists() and time.time() - folder.stat().st_mtime > ABANDONED_S:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    except OSError:
        return False
    return True


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


def _environment(cache: Path) -> dict[str, str]:
    defaults = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache), "LC_ALL": "C.UTF-8"}
    return defaults | os.environ


def _complaint(finished: Finished, command: Sequence[str]) -> str:
    text = finished.messages.strip()
    return text or f"`{command[0]}` ended with status {finished.status} and said nothing"
