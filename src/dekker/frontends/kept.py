"""What was made of files, kept from one run to the next for as long as the files stay as they are.

What is kept is found by a question, and serves if everything that was read for it is unchanged: if the size, times and
number of each file are those it had, or else its content. Where headers were looked for, one that is new may hide
another; so those folders are watched for names that occur in the paths of what was read.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import source_hash

from dekker.cache import keep, read_kept
from dekker.ir.program import Program
from dekker.records import dataclass

SETTLED_NS = 2_000_000_000
"""What was changed less than this before it was read could change once more and have the same times."""
TICK_NS = 20_000_000
MOST_FOLDERS = 500
TELLING = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "ZIG_LIB_DIR", "CC_PRINT_HEADERS")
"""Variables that send a compiler elsewhere: with one of them, nothing is kept."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

Stamp = list[int]


@dataclass(frozen=True, slots=True)
class Reads:
    """The hash of each file that was read, and which of the names each folder held (None if there was no folder); with
    stamps, except where they would not tell a change. The tool that read them is known by its stamp alone."""

    tool: tuple[str, Stamp]
    names: list[str]
    files: dict[str, tuple[str | None, Stamp | None]]
    folders: dict[str, tuple[list[str] | None, Stamp | None]]

    def are_unchanged(self) -> bool:
        names, (tool, made) = frozenset(self.names), self.tool
        return (
            _stamp(tool) == made
            and all(_stamp(path) == stamp or _hash(path) == told for path, (told, stamp) in self.files.items())
            and all(_stamp(path) == stamp or _held(path, names) == told for path, (told, stamp) in self.folders.items())
        )


def reads_of(tool: str, files: Iterable[str], roots: Iterable[str], begun: int) -> Reads | None:
    """Of a tool that began at that time (in nanoseconds) and looked for headers below the roots. None if one of the
    files may have changed meanwhile."""
    paths = list(dict.fromkeys(files))
    stamps = [_stamp(path) for path in paths]
    if not all(stamps) or any(_last_change(stamp) > begun for stamp in stamps):
        return None
    parts = {part for path in paths for part in path.split(os.sep)}
    names = frozenset(parts - {"", os.curdir, os.pardir})
    up = max((path.split(os.sep).count(os.pardir) for path in paths), default=0)
    folders = _watched([os.path.join(root, *[os.pardir] * n) for root in roots for n in range(up + 1)], names)
    if folders is None:
        return None
    return Reads(
        (tool, _stamp(tool)),
        sorted(names),
        {path: (_hash(path), _settled(stamp, begun)) for path, stamp in zip(paths, stamps, strict=True)},
        {path: (_held(path, names), _settled(_stamp(path), begun)) for path in folders},
    )


def _watched(left: list[str], names: frozenset[str]) -> set[str] | None:
    """The folders, and those below them in which files with these names may be; None if they are too many."""
    watched: set[str] = set()
    while left:
        folder = left.pop()
        if folder not in watched:
            watched.add(folder)
            inner = (os.path.join(folder, name) for name in _held(folder, names) or ())
            left += (path for path in inner if os.path.isdir(path))
        if len(watched) > MOST_FOLDERS:
            return None
    return watched


def _stamp(path: str) -> Stamp:
    """Empty if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _last_change(stamp: Stamp) -> int:
    """At the latest; some file systems count in seconds."""
    _, modified, changed, _ = stamp
    last = max(modified, changed)
    return last + (TICK_NS if last % 1_000_000_000 else SETTLED_NS)


def _settled(stamp: Stamp, begun: int) -> Stamp | None:
    return None if stamp and _last_change(stamp) + SETTLED_NS > begun else stamp


def _hash(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return source_hash(file.read()).hex()
    except OSError:
        return None


def _held(folder: str, names: frozenset[str]) -> list[str] | None:
    try:
        return sorted(names.intersection(os.listdir(folder)))
    except OSError:
        return None


def find(kind: str, question: str) -> tuple[list[Reads], bytes] | None:
    """What is kept for a question, if it still serves."""
    entry = None if _is_sent_elsewhere() else read_kept(kind, _name(question))
    if entry is None:
        return None
    head, _, body = entry.partition(b"\n")
    asked, *parts = json.loads(head)
    reads = [Reads(*part) for part in parts]
    return (reads, body) if asked == question and all(part.are_unchanged() for part in reads) else None


def keep_answer(kind: str, question: str, reads: Sequence[Reads], body: bytes) -> None:
    if _is_sent_elsewhere():
        return
    parts = [(part.tool, part.names, part.files, part.folders) for part in reads]
    keep(kind, _name(question), json.dumps([question, *parts]).encode() + b"\n" + body)


def _is_sent_elsewhere() -> bool:
    return any(name in os.environ for name in TELLING)


def _name(question: str) -> str:
    return source_hash(question.encode()).hex()


def find_program(question: str) -> Program | None:
    found = find("programs", f"{question}\n{_code()}")
    if found is None:
        return None
    program: Program = _Reader(io.BytesIO(found[1])).load()
    return program


def keep_program(question: str, reads: Sequence[Reads], program: Program) -> None:
    """Unless its positions are in files that nobody is known to have read."""
    known = {os.path.abspath(path) for part in reads for path in part.files}
    spans = (span for function in program.functions for span in function.spans if span is not None)
    if {os.path.abspath(span.source.name) for span in spans} <= known:
        keep_answer("programs", f"{question}\n{_code()}", reads, pickle.dumps(program, 5))


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        """What is kept consists of these."""
        found = super().find_class(module, name) if module.startswith(("dekker.ir.", "dekker.source")) else None
        if not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a program")
        return found


@cache
def _code() -> str:
    """The same as long as nobody changes what makes programs of files."""
    stamps = {sys.version: _stamp(sys.executable)}
    for folder in ("ir", "frontends"):
        for path, inner, files in os.walk(os.path.join(PACKAGE, folder)):
            inner[:] = sorted(set(inner) - {"__pycache__"})
            stamps |= {os.path.join(path, file): _stamp(os.path.join(path, file)) for file in sorted(files)}
    return source_hash(repr(stamps).encode()).hex()
