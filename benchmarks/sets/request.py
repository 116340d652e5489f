"""What a person asks for on the command line: a set by its name, perhaps with sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dekker.errors import InputError

OWN_CORPUS = Path(__file__).parents[2] / "tests" / "corpus" / "tests"

_RANGE = re.compile(r"([0-9]{1,4})(?:\.\.([0-9]{1,4}))?")


@dataclass(frozen=True)
class Request:
    """Without sizes or models a set uses its own."""

    name: str
    sizes: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    corpus: Path = OWN_CORPUS


def parse_request(text: str, models: tuple[str, ...] = (), corpus: Path = OWN_CORPUS) -> Request:
    """`NAME`, or `NAME=SIZES`, where sizes are `8`, `4,6,8` or `4..12`."""
    name, equals, sizes = text.partition("=")
    return Request(name, _sizes(text, sizes) if equals else (), models, corpus)


def _sizes(text: str, sizes: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in sizes.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise InputError(f"'{text}' has no sizes after '='", hint="sizes are written 8, or 4,6,8, or 4..12")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 < first <= last:
            raise InputError(f"'{part}' in '{text}' is no range of sizes", hint="sizes begin with 1 and ranges go up")
        found += range(first, last + 1)
    return tuple(found)
