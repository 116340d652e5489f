"""Putting statements into source texts: where one can stand, and the text with some of them in place.

A `Sheet` is a text with *gaps*, the places between statements. What a statement there means for a program is found out
by reading the text with statements in all gaps; nothing here knows more of the languages than where statements end.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.records import dataclass


@dataclass(frozen=True)
class Gap:
    """`line` is the line that a statement here stands before, in the original text (for `after`, behind), `column` the
    place in it, and `beside` says for people between what it stands, if that is not the beginning of the line. Text
    goes in at `offset`, surrounded by `before` and `behind`, and takes at least `width` columns. If `wrap` is given,
    the text between these offsets gets braces."""

    line: int
    offset: int
    before: str = ""
    behind: str = " "
    wrap: tuple[int, int] | None = None
    after: bool = False
    width: int = 0
    column: int = 1
    beside: str = ""


@dataclass(frozen=True)
class Sheet:
    path: str
    text: str
    gaps: tuple[Gap, ...]

    @property
    def line_end(self) -> str:
        """As the text has it: what is put in gets the same."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"


@dataclass(frozen=True)
class Patched:
    """`places` says at which offset of the new text the statement of each gap stands; `added` lists what was put in, as
    offsets in the new text and lengths."""

    text: str
    places: dict[int, int]
    added: tuple[tuple[int, int], ...]

    def origins(self, offset: int) -> int:
        """The same place in the original text; in front of what was put in, if it lies in that."""
        shift = 0
        for start, length in self.added:
            if start >= offset:
                break
            shift += min(length, offset - start)
        return offset - shift


def insert(sheet: Sheet, statements: Mapping[int, str]) -> Patched:
    """The text with statements, by the number of their gap."""
    pieces: list[tuple[int, int, int, str, int | None]] = []
    wraps = {gap.wrap for number, gap in enumerate(sheet.gaps) if number in statements and gap.wrap is not None}
    for start, end in (wrap for wrap in wraps if wrap is not None):
        pieces += [(start, 0, -end, "{ ", None), (end, 2, -start, " }", None)]
    for number, gap in enumerate(sheet.gaps):
        if number in statements:
            pieces += [(gap.offset, 1, number, gap.before, None)] if gap.before else []
            pieces.append((gap.offset, 1, number, statements[number].ljust(gap.width) + gap.behind, number))
    text: list[str] = []
    places: dict[int, int] = {}
    added: list[tuple[int, int]] = []
    at = length = 0
    for offset, _, _, plain, gap_number in sorted(pieces, key=lambda item: item[:3]):
        kept, piece = sheet.text[at:offset], plain.replace("\n", sheet.line_end)
        text += [kept, piece]
        length += len(kept)
        if gap_number is not None:
            places[gap_number] = length
        added.append((length, len(piece)))
        length += len(piece)
        at = offset
    return Patched("".join([*text, sheet.text[at:]]), places, tuple(added))
