"""A run as a table: a column for each thread, time goes down.

If the run is an interleaving, each line is a moment of it. Else lines only say that a read comes below the write that
it sees, as far as that is possible, and that each column is in program order.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from dekker.records import dataclass
from dekker.report.counterexample import OutOfOrder
from dekker.report.run_order import run_order
from dekker.report.run_rows import Row, Rows
from dekker.witness import Frames

NARROWEST_COLUMN = 26
MOST_LINES = 60
"""Of a longer run, the beginning is left out."""
NUMBER = 4
GAP = "  "
_WRONG, _EARLY, _HEAD = "1;31", "33", "1"
"""Styles of a terminal: what goes wrong, what is out of order, and the names of threads."""

Endings = Sequence[Sequence[tuple[Frames, str]]]


@dataclass(frozen=True)
class _Cell:
    thread: int
    line: int
    text: str
    style: str = ""


def table_text(
    rows: Rows, texts: list[list[str]], endings: Endings, order: OutOfOrder | None, form: tuple[int, bool]
) -> str | None:
    """None if the terminal is too narrow; `form` is its width, and whether it has colours."""
    width, color = form
    witness = rows.witness
    threads = [number for number, thread in enumerate(witness.threads) if thread.end != "unborn"]
    if not threads or (width + len(GAP)) // len(threads) - len(GAP) < NARROWEST_COLUMN:
        return None
    cells = _cells(rows, texts, endings, order)
    left_out = max(0, len(cells) - MOST_LINES)
    heads = {number: f"thread {number}: {witness.threads[number].function}" for number in threads}
    wanted = {
        number: max(len(head), *(len(_line(cell)) for cell in cells if cell.thread == number), 0)
        for number, head in heads.items()
    }
    widths = _widths(wanted, width)
    lines = ["  ".join(_styled(head[: widths[n]].ljust(widths[n]), _HEAD, color) for n, head in heads.items())]
    lines += [f"{'':{NUMBER}} … {left_out} steps before"] if left_out else []
    for cell in cells[left_out:]:
        before = sum(widths[number] + len(GAP) for number in threads if number < cell.thread)
        parts = wrap(_line(cell), widths[cell.thread], subsequent_indent=" " * (NUMBER + 1))
        lines += (" " * before + _styled(part.rstrip(), cell.style, color) for part in parts)
    return "\n".join(line.rstrip() for line in lines)


def _widths(wanted: dict[int, int], width: int) -> dict[int, int]:
    """What each column wants, if there is room; those that want more than their share divide the rest."""
    left, widths = width - len(GAP) * (len(wanted) - 1), dict[int, int]()
    for position, (number, want) in enumerate(sorted(wanted.items(), key=lambda item: item[1])):
        widths[number] = min(want, left // (len(wanted) - position))
        left -= widths[number]
    return widths


def _line(cell: _Cell) -> str:
    return f"{cell.line or '':>{NUMBER}} {cell.text}"


def _styled(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text


def _cells(rows: Rows, texts: list[list[str]], endings: Endings, order: OutOfOrder | None) -> list[_Cell]:
    """One for each row, at its first event; rows without events follow the one before them."""
    early = {number for pair in order.pairs for number in pair} if order is not None else set[int]()
    pending = [list(zip(of_thread, told, strict=True)) for of_thread, told in zip(rows.rows, texts, strict=True)]
    cells: list[_Cell] = []

    def take(thread: int, until: Row | None) -> None:
        """What the thread does up to a row."""
        while pending[thread]:
            row, text = pending[thread][0]
            if until is None and row.events:
                return
            pending[thread].pop(0)
            place = row.place
            style = _EARLY if early & set(row.events) else ""
            cells.append(_Cell(thread, place.line if place is not None else 0, text, style))
            if row is until:
                break
        while pending[thread] and not pending[thread][0][0].events:
            row, text = pending[thread].pop(0)
            cells.append(_Cell(thread, row.place.line if row.place is not None else 0, text))

    for thread in range(len(pending)):
        take(thread, None)
    for number in run_order(rows.witness)[0]:
        row = rows.row_of.get(number)
        if row is not None and any(item is row for item, _ in pending[row.thread]):
            take(row.thread, row)
    for thread, found in enumerate(endings):
        for frames, text in found:
            wrong = text not in ("! waits", "! how it goes on does not matter")
            cells.append(_Cell(thread, frames[-1].line if frames else 0, text, _WRONG if wrong else ""))
    return cells
