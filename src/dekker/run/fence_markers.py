"""A program with markers in all places where a fence could be put into its source, each standing for any fence.

The source with a marker in every gap is read once. What a fence in a gap does to the program is then known without
guessing: it stands where the marker is. Markers are fences without effect, with positions in a text of their own, by
which they are known; all other positions are those of the original source.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

from dekker.errors import InputError
from dekker.frontends import C_EXTENSIONS, is_c
from dekker.ir.instructions import Fence
from dekker.ir.program import Function, Program
from dekker.patch import Gap, Patched, Sheet, insert
from dekker.patch.c_source import c_sheet
from dekker.patch.other_sources import litmus_sheet, rsmc_sheet
from dekker.records import dataclass
from dekker.run.check import CheckOptions, read_program
from dekker.run.fence_files import Files, Reading, files_of, same_file
from dekker.source import Source, Span
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
    """`sheets` are those of `files`, in their order; `gaps[k]` is what marker k stands for. `refused` are gaps in which
    the compiler takes no statement."""

    files: Files
    original: Program
    program: Program
    sheets: tuple[Sheet, ...]
    gaps: tuple[GapKey, ...]
    kinds: FenceKinds
    refused: tuple[tuple[str, Gap], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return self.files.paths

    def with_fences(self, choice: Choice) -> Program:
        functions = tuple(_with_fences(function, choice) for function in self.program.functions)
        return replace(self.program, functions=functions)

    def texts(self, choice: Choice, spellings: Mapping[str, str]) -> list[str]:
        """The files with these fences in them."""
        found = []
        for number, sheet in enumerate(self.sheets):
            here = {self.gaps[marker]: kind for marker, kind in choice.items() if self.gaps[marker][0] == number}
            found.append(insert(sheet, {gap: spellings[kind] for (_, gap), kind in here.items()}).text)
        return found

    def place(self, marker: int) -> tuple[Sheet, Gap]:
        sheet, gap = self.gaps[marker]
        return self.sheets[sheet], self.sheets[sheet].gaps[gap]

    def in_header(self, marker: int) -> bool:
        return self.gaps[marker][0] >= len(self.paths)


def marker_of(span: Span | None) -> int | None:
    return span.start if span is not None and span.source is MARKERS else None


def mark(
    paths: Sequence[str], rules: Rules, costs: Mapping[str, float], options: CheckOptions, inside: Sequence[str] = ()
) -> Marked:
    """`inside`: headers that are included in angle brackets and get markers, too."""
    original = read_program(paths, options)
    files = files_of(paths, options, inside)
    all_sheets, kinds = _sheets(files, original, rules, costs)
    sheets, patched, reading = _readable(files, all_sheets, kinds.marker)
    gaps: list[GapKey] = []
    places = _Places(files, reading, sheets, patched, kinds.marker, gaps)
    functions = tuple(places.remapped(function) for function in reading.program.functions)
    marked = replace(reading.program, functions=functions, name=original.name, property=original.property)
    refused = tuple(
        (sheet.path, gap)
        for sheet, kept in zip(all_sheets, sheets, strict=True)
        for gap in sheet.gaps
        if gap not in kept.gaps
    )
    return Marked(files, original, marked, sheets, tuple(gaps), kinds, refused)


def _sheets(
    files: Files, program: Program, rules: Rules, costs: Mapping[str, float]
) -> tuple[tuple[Sheet, ...], FenceKinds]:
    texts, first = files.texts(), files.paths[0]
    if first.endswith(".rsmc"):
        return (rsmc_sheet(first, texts[0], program),), kinds_for_rsmc(rules, costs)
    if not is_c(first):
        return (litmus_sheet(first, texts[0], program),), kinds_for_litmus(rules, costs, program.architecture)
    for path in files.paths:
        if path.endswith((".ll", ".i", ".ii")):
            hint = f"fences are put into sources: {' '.join(e for e in C_EXTENSIONS if e not in ('.ll', '.i', '.ii'))}"
            raise InputError(f"'{path}' is not a source that people edit", hint=hint)
    return tuple(map(c_sheet, files.all, texts)), kinds_for_c(rules, costs)


def _readable(files: Files, sheets: tuple[Sheet, ...], marker: str) -> tuple[tuple[Sheet, ...], list[Patched], Reading]:
    """The texts with markers, without gaps in which the compiler does not take them: what looks like a place for a
    statement need not be one when macros are expanded."""

    def attempt(keys: Sequence[GapKey]) -> tuple[tuple[Sheet, ...], list[Patched], Reading]:
        kept = tuple(_only(sheet, number, frozenset(keys)) for number, sheet in enumerate(sheets))
        patched = [insert(sheet, dict.fromkeys(range(len(sheet.gaps)), marker)) for sheet in kept]
        return kept, patched, files.read([item.text for item in patched])

    def reads(keys: Sequence[GapKey]) -> bool:
        try:
            attempt(keys)
        except InputError:
            return False
        return True

    keys = [(number, gap) for number, sheet in enumerate(sheets) for gap in range(len(sheet.gaps))]
    try:
        return attempt(keys)
    except InputError:
        attempt(())  # if a copy of the sources cannot be read as it is, that is the error to show
        return attempt(_accepted(keys, reads))


def _only(sheet: Sheet, number: int, keys: Set[GapKey]) -> Sheet:
    return replace(sheet, gaps=tuple(gap for index, gap in enumerate(sheet.gaps) if (number, index) in keys))


def _accepted(keys: Sequence[GapKey], reads: Callable[[Sequence[GapKey]], bool]) -> Sequence[GapKey]:
    """The gaps that can be taken together, by halves."""
    if reads(keys):
        return keys
    if len(keys) == 1:
        return ()
    middle = len(keys) // 2
    first, second = _accepted(keys[:middle], reads), _accepted(keys[middle:], reads)
    both = (*first, *second)
    return both if not first or not second or reads(both) else max(first, second, key=len)


class _Places:
    """From positions in the marked texts to those in the original ones."""

    def __init__(
        self,
        files: Files,
        reading: Reading,
        sheets: Sequence[Sheet],
        patched: Sequence[Patched],
        marker: str,
        gaps: list[GapKey],
    ) -> None:
        self.gaps = gaps
        self._numbers: dict[GapKey, int] = {}
        self._marker = len(marker)
        self._patched = patched
        self._names = reading.names
        self._originals = [Source(path, sheet.text) for path, sheet in zip(files.all, sheets, strict=True)]
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
        if source not in self._sources:
            found = (number for number, name in enumerate(self._names) if same_file(name, source.name))
            self._sources[source] = next(found, None)
        return self._sources[source]


def _with_fences(function: Function, choice: Choice) -> Function:
    body = list(function.body)
    for index in range(len(body)):
        marker = marker_of(function.span(index))
        if marker is not None and marker in choice:
            body[index] = Fence(choice[marker])
    return replace(function, body=tuple(body))
