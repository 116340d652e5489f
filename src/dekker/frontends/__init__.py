"""Readers of program texts: each folder turns one kind of source into a `Program`. A file's extension says which."""

from __future__ import annotations

from collections.abc import Callable

from dekker.ir.program import Program
from dekker.source import Source


def parse_program(source: Source) -> Program:
    """A text whose name has no known extension is taken for a litmus test."""
    for extension, parse in _PARSERS.items():
        if source.name.endswith(extension):
            return parse(source)
    return _parse_litmus(source)


def default_model(program: Program) -> str:
    """The model that a program is checked against if none is named."""
    from dekker.frontends import litmus, rsmc  # noqa: PLC0415

    is_rsmc = program.architecture == rsmc.ARCHITECTURE
    return rsmc.DEFAULT_MODEL if is_rsmc else litmus.default_model(program.architecture)


def _parse_litmus(source: Source) -> Program:
    from dekker.frontends.litmus import parse_litmus  # noqa: PLC0415 — a run needs one front end, rarely two

    return parse_litmus(source)


def _parse_rsmc(source: Source) -> Program:
    from dekker.frontends.rsmc import parse_rsmc  # noqa: PLC0415

    return parse_rsmc(source)


_PARSERS: dict[str, Callable[[Source], Program]] = {".litmus": _parse_litmus, ".rsmc": _parse_rsmc}

EXTENSIONS = tuple(_PARSERS)
