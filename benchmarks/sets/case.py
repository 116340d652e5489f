"""`Case`: one row to be measured, before it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.sketch import Sketch
from dekker.task import DEFAULT_UNROLL


@dataclass(frozen=True)
class Case:
    """Litmus tests, by file name: either `texts` to be written down, or `files` that exist; or a file in C, with
    `flags` for the compiler and a bound for its loops. `expected` has the number of complete traces of those for which
    it is known. `model` None stands for that of each test's architecture, and `skipped` says why there is nothing to
    run. `engine` is named where it must not be another, `buffer` bounds the store buffers of the states engine, and a
    program that `must_hold` has no violation."""

    set_name: str
    label: str
    model: str | None
    texts: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    expected: Mapping[str, int] = field(default_factory=dict)
    sketch: Sketch | None = None
    skipped: str = ""
    flags: tuple[str, ...] = ()
    unroll: int = DEFAULT_UNROLL
    engine: str | None = None
    buffer: int | None = None
    must_hold: bool = False
