"""A program with markers in all places where a fence could be put into its source, each standing for any fence.

The source with a marker in every gap is read once. What a fence in a gap does to the program is then known without
guessing: it stands where the marker is. Markers are fences without effect, with positions in a text of their own, by
which they are known; all other positions are those of the original source.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dekker.errors import InputError
from dekker.frontends import C_EXTENSIONS, is_c, parse_files, parse_program, read_text
from dekker.ir.instructions import Fence
from dekker.ir.program import Function, Program
from dekker.ir.validate import validate
from dekker.patch import Patched, Sheet, insert
from dekker.patch.c_source import c_sheet
from dekker.patch.other_sources import litmus_sheet, rsmc_sheet
from dekker.run.check import CheckOptions, read_program
from dekker.source import Source, Span, with_line_feeds
from dekker.transform.fence_kinds import FenceKinds, kinds_for_c, kinds_for_litmus, kinds_for_rsmc
from dekker.transform.rules import Rules

MARKERS = Source("<fences>", "")
NO_EFFECT = "compiler"

GapKey = tuple[int, int]
"""The number of a sheet, and of a gap in it."""
Choice = Mapping[int, str]
"""Kinds of fences, by the number of their marker."""


@dataclass(frozen=True)
class Marked:
    """`gaps[k]` is what marker k stands for."""

    paths: tuple[str, ...]
    original: Program
    program: Program
    sheets: tuple[Sheet, ...]
    gaps: tuple[GapKey, ...]
    kinds: FenceKinds
    options: CheckOptions

    def with_fences(self, choice: Choice) -> Program:
        functions = tuple(_with_fences(function, choice) for function in self.program.functions)
        return replace(self.program, functions=functions)

    def texts(self, choice: Choice, spellings: Mapping[str, str]) -> list[str]:
        """The sources with these fences in them."""
        found = []
        for number, sheet in enumerate(self.sheets):
            here = {self.gaps[marker]: kind for marker, kind in choice.items() if self.gaps[marker][0] == number}
            found.append(insert(sheet, {gap: spellings[kind] for (_, gap), kind in here.items()}).text)
        return found

    def reread(self, texts: Sequence[str]) -> Program:
        return _read(self.paths, texts, self.options)


def marker_of(span: Span | None) -> int | None:
    return span.start if span is not None and span.source is MARKERS else None


def mark(paths: Sequence[str], rules: Rules, costs: Mapping[str, float], options: CheckOptions) -> Marked:
    original = read_program(paths, options)
    texts = [with_line_feeds(read_text(path)) for path in paths]
    sheets, kinds = _sheets(paths, texts, original, rules, costs)
    patched = [insert(sheet, dict.fromkeys(range(len(sheet.gaps)), kinds.marker)) for sheet in sheets]
    program = _read(paths, [item.text for item in patched], options, keep_names=True)
    gaps: list[GapKey] = []
    places = _Places(paths, sheets, patched, kinds.marker, gaps)
    functions = tuple(places.remapped(function) for function in program.functions)
    marked = replace(program, functions=functions, name=original.name, property=original.property)
    return Marked(tuple(paths), original, marked, sheets, tuple(gaps), kinds, options)


def _sheets(
    paths: Sequence[str], texts: Sequence[str], program: Program, rules: Rules, costs: Mapping[str, float]
) -> tuple[tuple[Sheet, ...], FenceKinds]:
    if paths[0].endswith(".rsmc"):
        return (rsmc_sheet(paths[0], texts[0], program),), kinds_for_rsmc(rules, costs)
    if not is_c(paths[0]):
        return (litmus_sheet(paths[0], texts[0], program),), kinds_for_litmus(rules, costs, program.architecture)
    for path in paths:
        if path.endswith((".ll", ".i", ".ii")):
            hint = f"fences are put into sources: {' '.join(e for e in C_EXTENSIONS if e not in ('.ll', '.i', '.ii'))}"
            raise InputError(f"'{path}' is not a source that people edit", hint=hint)
    return tuple(map(c_sheet, paths, texts)), kinds_for_c(rules, costs)


def _read(paths: Sequence[str], texts: Sequence[str], options: CheckOptions, *, keep_names: bool = False) -> Program:
    if not is_c(paths[0]):
        program = parse_program(Source(paths[0], texts[0]))
        validate(program)
        return program
    folders = [word for path in paths for word in ("-iquote", str(Path(path).absolute().parent))]
    with tempfile.TemporaryDirectory(prefix="dekker-") as folder:
        copies = []
        for number, (path, text) in enumerate(zip(paths, texts, strict=True)):
            copy = Path(folder, str(number), Path(path).name)
            copy.parent.mkdir()
            copy.write_text(text, encoding="utf-8", newline="")
            copies.append(str(copy))
        program = parse_files(copies, (*options.flags, *folders), options.cc, options.nondet)
    validate(program)
    return program


class _Places:
    """From positions in the marked texts to those in the original ones."""

    def __init__(
        self, paths: Sequence[str], sheets: Sequence[Sheet], patched: Sequence[Patched], marker: str, gaps: list[GapKey]
    ) -> None:
        self.gaps = gaps
        self._numbers: dict[GapKey, int] = {}
        self._marker = len(marker)
        self._patched = patched
        self._originals = [Source(path, sheet.text) for path, sheet in zip(paths, sheets, strict=True)]
        self._starts = [sorted((place, gap) for gap, place in item.places.items()) for item in patched]
        self._sources: dict[Source, int | None] = {}

    def remapped(self, function: Function) -> Function:
        spans = tuple(self._span(function, index) for index in range(len(function.body)))
        body = tuple(
            Fence(NO_EFFECT) if marker_of(span) is not None else step
            for step, span in zip(function.body, spans, strict=True)
        )
        return replace(function, body=body, spans=spans if function.spans else ())

    def _span(self, function: Function, index: int) -> Span | None:
        span = function.span(index)
        if span is None:
            return None
        sheet = self._sheet(span.source)
        if sheet is None:
            return span
        starts = self._starts[sheet]
        at = bisect_right(starts, (span.start, len(self.gaps) + 1 << 40)) - 1
        if isinstance(function.body[index], Fence) and at >= 0 and span.start < starts[at][0] + self._marker:
            number = self._number((sheet, starts[at][1]))
            return Span(MARKERS, number, number + 1)
        origins = self._patched[sheet].origins
        return Span(self._originals[sheet], origins(span.start), origins(span.end))

    def _number(self, gap: GapKey) -> int:
        if gap not in self._numbers:
            self._numbers[gap] = len(self.gaps)
            self.gaps.append(gap)
        return self._numbers[gap]

    def _sheet(self, source: Source) -> int | None:
        """By the text: names of files that only exist for a moment say nothing."""
        if source not in self._sources:
            texts = [item.text for item in self._patched]
            self._sources[source] = texts.index(source.text) if source.text in texts else None
        return self._sources[source]


def _with_fences(function: Function, choice: Choice) -> Function:
    body = list(function.body)
    for index in range(len(body)):
        marker = marker_of(function.span(index))
        if marker is not None and marker in choice:
            body[index] = Fence(choice[marker])
    return replace(function, body=tuple(body))
