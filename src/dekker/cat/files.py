"""Finding and reading `.cat` files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from dekker.cat.parser import parse
from dekker.cat.syntax import File
from dekker.errors import ModelError
from dekker.source import Source, Span

LIBRARY = Path(__file__).resolve().parent / "library"
STANDARD_LIBRARY = LIBRARY / "stdlib.cat"


def read_source(path: Path, span: Span | None = None) -> Source:
    try:
        return Source(str(path), path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not a text file in UTF-8", span) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelError(f"cannot read {path}: {reason}", span) from None


def find_include(name: str, span: Span, search: Iterable[Path], shipped_only: bool = False) -> Path:
    """An included file in the folders of `search`, then in our library; with `shipped_only` in these folders proper."""
    for folder in (*search, LIBRARY):
        candidate = folder / name
        if _is_file(candidate) and not (shipped_only and candidate.resolve().parent != folder):
            return candidate.resolve()
    known = ", ".join(sorted(path.name for path in LIBRARY.glob("*.cat")))
    raise ModelError(f"there is no file {name!r} to include", span, f"files that come with Dekker: {known}")


def is_library(source: Source) -> bool:
    return Path(source.name).parent == LIBRARY


def parse_file(path: Path, span: Span | None = None) -> File:
    return _parse_library(path) if path.parent == LIBRARY else parse(read_source(path, span))


@cache
def _parse_library(path: Path) -> File:
    return parse(read_source(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
