"""`Model`: a compiled `.cat` file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dekker.cat.relational import RelationalProgram
from dekker.records import dataclass
from dekker.source import Source


@dataclass(frozen=True)
class Include:
    """A file that was included: `by` is the name of the file that did, `path` what it said. `shipped` ones come with
    Dekker."""

    by: str
    path: str
    source: Source
    shipped: bool


@dataclass(frozen=True)
class Model:
    """`checks` names the checks of `program`, in order. `uses` holds the base sets and relations that make a difference
    to some check: a fence in none of these sets has no meaning in the model. `names` says what the file calls the
    slots of `program`, where it gives them a name."""

    name: str
    title: str
    source: Source = field(repr=False)
    program: RelationalProgram = field(repr=False)
    checks: tuple[str, ...]
    uses: frozenset[str] = field(repr=False)
    names: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    includes: tuple[Include, ...] = field(default=(), repr=False, compare=False)
