"""`Model`: a compiled `.cat` file."""

from __future__ import annotations

from dataclasses import dataclass, field

from dekker.cat.relational import RelationalProgram
from dekker.source import Source


@dataclass(frozen=True)
class Model:
    """`checks` names the checks of `program`, in order. `uses` holds the base sets and relations that make a difference
    to some check: a fence in none of these sets has no meaning in the model."""

    name: str
    title: str
    source: Source = field(repr=False)
    program: RelationalProgram = field(repr=False)
    checks: tuple[str, ...]
    uses: frozenset[str] = field(repr=False)
