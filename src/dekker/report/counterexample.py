"""The run of a program that shows what is wrong with it, for a person: thread by thread, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.execution import INITIAL_THREAD
from dekker.records import dataclass
from dekker.report.execution_text import wrapped
from dekker.report.run_rows import Row, Rows, user_frames
from dekker.report.style import LIST, WIDTH, RunStyle
from dekker.witness import GONE, Finding, Frames, Witness, WitnessEvent, WitnessFrame

FIRST_ROWS, LAST_ROWS = 12, 28
"""Of a thread that has more, the others are left out."""
INNER_CALLS, OUTER_CALLS = 6, 3
"""Of calls that are nested deeper, the others are left out."""
WIDEST_EVENT = 48
SHORTEST_SOURCE = 20
LONGEST_QUOTE = 60
_TEXT_COLUMN = 8


@dataclass(frozen=True)
class OutOfOrder:
    """Why no interleaving explains the run: a cycle, step by step, and the pairs on it that are not kept in order."""

    cycle: tuple[tuple[int, str, int], ...]
    pairs: tuple[tuple[int, int], ...]


def counterexample_text(
    witness: Witness, order: OutOfOrder | None, width: int = WIDTH, *, with_order: bool = True, style: RunStyle = LIST
) -> str:
    """`order` is None for a run that is an interleaving; `with_order` tells about it."""
    rows = Rows(witness)
    view = _View(rows, texts_of(witness), width)
    table = view.table(order, style) if style.table else None
    if table is not None:
        lines = [table, ""]
    else:
        lines = [line for thread in range(len(witness.threads)) for line in view.thread(thread)]
    return "\n".join((*lines, *(view.order(order) if with_order else ())))


def row_texts(rows: Rows) -> list[list[str]]:
    """What each row does, for each thread."""
    view = _View(rows, {}, WIDTH)
    return [[view.what(row) for row in of_thread] for of_thread in rows.rows]


def finding_text(finding: Finding, witness: Witness | None) -> Iterator[str]:
    """The thread and its calls, then the other places that matter."""
    texts = {} if witness is None else texts_of(witness)
    if finding.thread >= 0:
        function = witness.threads[finding.thread].function if witness is not None else ""
        yield f"  in thread {finding.thread}{f' ({function})' if function else ''}"
        yield from _stack_lines(finding.stack, "    ")
    for note in finding.notes:
        place = _innermost(note.stack)
        where = f" at {_at(place)}" if place is not None else ""
        yield f"  {note.message}{where}{_quoted_line(place, texts)}"
        yield from _stack_lines(note.stack, "    ", least=2)


def _stack_lines(stack: Frames, indent: str, least: int = 1) -> Iterator[str]:
    """The innermost call first."""
    shown = user_frames(stack)
    if len(shown) >= least:
        calls = (f"{frame.function} at {_at(frame)}" if frame.line else frame.function for frame in reversed(shown))
        yield from (f"{indent}{call}" for call in _folded_calls(list(calls)))


def _folded_calls(calls: list[str]) -> list[str]:
    left_out = len(calls) - INNER_CALLS - OUTER_CALLS
    if left_out <= 1:
        return calls
    return [*calls[:INNER_CALLS], f"… {left_out} more calls", *calls[-OUTER_CALLS:]]


def _innermost(stack: Frames) -> WitnessFrame | None:
    shown = user_frames(stack)
    return shown[-1] if shown and shown[-1].line else None


def _at(frame: WitnessFrame) -> str:
    return f"{frame.file}:{frame.line}"


def texts_of(witness: Witness) -> dict[str, list[str]]:
    found = {item.file: item.text.split("\n") for item in witness.program.sources}
    return found or {witness.program.file: witness.program.text.split("\n")}


def source_line(place: WitnessFrame | None, texts: dict[str, list[str]]) -> str:
    lines = texts.get(place.file, []) if place is not None else []
    if place is None or not 0 < place.line <= len(lines):
        return ""
    return " ".join(lines[place.line - 1].split())


def _quoted_line(place: WitnessFrame | None, texts: dict[str, list[str]]) -> str:
    text = _cut(source_line(place, texts), LONGEST_QUOTE)
    return f": {text}" if text else ""


def about_thread(event: WitnessEvent) -> str | None:
    """What the accesses mean with which threads are started and joined."""
    kind, _, thread = event.location.partition(" of thread ")
    if not thread or kind not in ("start", "end"):
        return None
    return f"starts thread {thread}" if event.kind == "W" else f"thread {thread} has ended"


def _same_line(one: WitnessFrame | None, other: WitnessFrame | None) -> bool:
    return one is not None and other is not None and (one.file, one.line) == (other.file, other.line)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


class _View:
    """What is needed to write rows: names of threads and places."""

    def __init__(self, rows: Rows, texts: dict[str, list[str]], width: int) -> None:
        self.rows = rows
        self.witness = rows.witness
        self.texts = texts
        self.width = width
        shown = (row.place for of_thread in rows.rows for row in of_thread)
        self.several_files = len({place.file for place in shown if place is not None}) > 1

    # --- threads

    def thread(self, number: int) -> Iterator[str]:
        thread = self.witness.threads[number]
        if thread.end == "unborn":
            return
        origin = ""
        if thread.parent >= 0:
            place = _innermost(thread.created)
            origin = f", started by thread {thread.parent}{f' at line {place.line}' if place is not None else ''}"
        yield f"thread {number} runs {thread.function}{origin}"
        entries = [(row, self.what(row)) for row in self.rows.rows[number]]
        entries += [(Row(number, user_frames(frames)), f"! {text}") for frames, text in self._endings(number)]
        size = min(max((len(what) for _, what in entries), default=0), WIDEST_EVENT)
        yield from self._listed(entries, size)
        hidden = self.rows.hidden(number)
        if hidden:
            what = "1 access" if hidden == 1 else f"{hidden} accesses"
            yield f"{'':{_TEXT_COLUMN}}(not shown: {what} to what only this thread uses)"
        yield ""

    def table(self, order: OutOfOrder | None, style: RunStyle) -> str | None:
        from dekker.report.run_table import table_text  # noqa: PLC0415 — it imports this file

        endings = [
            [(user_frames(frames), f"! {text}") for frames, text in self._endings(number)]
            for number in range(len(self.witness.threads))
        ]
        return table_text(self.rows, row_texts(self.rows), endings, order, (self.width, style.color))

    def _listed(self, entries: list[tuple[Row, str]], size: int) -> Iterator[str]:
        before: Row | None = None
        left_out = range(FIRST_ROWS, max(FIRST_ROWS, len(entries) - LAST_ROWS))
        for index, (row, what) in enumerate(entries):
            if index in left_out:
                if index == left_out.start:
                    yield f"{'':{_TEXT_COLUMN}}… {len(left_out)} more"
                before = None
                continue
            yield from self._context(before, row)
            yield self._row(before, row, what, size)
            before = row

    def _context(self, before: Row | None, row: Row) -> Iterator[str]:
        """The calls that lead to a row, where they are others than before."""
        if len(row.frames) > 1 and (before is None or before.frames[:-1] != row.frames[:-1]):
            calls = [
                f"{inner.function}{'' if not outer.line else f' (line {outer.line})'}"
                for outer, inner in reversed(list(zip(row.frames, row.frames[1:], strict=False)))
            ]
            yield f"{'':4}in {', called by '.join(_folded_calls(calls))}:"
        elif before is not None and len(row.frames) == 1 and len(before.frames) > 1:
            yield f"{'':4}in {row.frames[0].function}:"

    def _row(self, before: Row | None, row: Row, what: str, size: int) -> str:
        place = row.place
        line = str(place.line) if place is not None and place.line else ""
        source = source_line(place, self.texts)
        if self.several_files and place is not None and place.line:
            source = f"{place.file}: {source}"
        if before is not None and _same_line(before.place, place):
            line = source = ""
        head = f"{line:>6}  {what.ljust(size)}"
        return f"{head}  {_cut(source, max(SHORTEST_SOURCE, self.width - len(head) - 2))}".rstrip()

    def _endings(self, number: int) -> Iterator[tuple[Frames, str]]:
        thread, finding = self.witness.threads[number], self.witness.violation
        if finding is not None and finding.kind != "deadlock" and finding.thread == number:
            yield finding.stack, f"{finding.kind}"
        elif thread.end == "waiting":
            yield thread.stack, "waits"
        elif thread.end == "failed":
            yield thread.stack, "fails"
        elif thread.end in ("blocked", "stopped"):
            yield thread.stack, "how it goes on does not matter"

    # --- rows

    def what(self, row: Row) -> str:
        if row.says:
            return row.says
        name = self.rows.name(row)
        if row.call:
            return f"{name} {row.call}{self._effect(row)}"
        return f"{name} {', '.join(dict.fromkeys(self._actions(row)))}"

    def _actions(self, row: Row) -> Iterator[str]:
        events = [(number, self.witness.events[number]) for number in row.events]
        updated = dict(pair for name in ("amo", "lxsx") for pair in self.witness.relations.get(name, ()))
        done: set[int] = set()
        for number, event in events:
            if number in done:
                continue
            if event.kind == "F":
                yield f"fence {event.fence}"
            elif (told := about_thread(event)) is not None:
                yield told
            elif event.kind == "W" and event.shown == GONE:
                yield f"{event.location} is gone from here on"
            elif event.kind == "W":
                yield f"writes {event.location} = {event.shown}"
            elif updated.get(number) in row.events:
                write = self.witness.events[updated[number]]
                done.add(updated[number])
                yield f"updates {event.location} from {event.shown} to {write.shown}{self._source(number)}"
            else:
                yield f"reads {event.location} = {event.shown}{self._source(number)}"

    def _source(self, read: int) -> str:
        """Where a read found its value, unless that is the thread's own last write."""
        write = self.rows.sources.get(read)
        if write is None:
            return ""
        source, event = self.witness.events[write], self.witness.events[read]
        if source.thread == INITIAL_THREAD:
            return f", written at line {source.line} before" if source.line else ", the initial value"
        row = self.rows.row_of.get(write)
        if row is None or source.thread == event.thread:
            return f", its own ({self.rows.name(row)})" if row is not None else ""
        return f", from {self.rows.name(row)} of thread {source.thread}"

    def _effect(self, row: Row) -> str:
        found = (about_thread(self.witness.events[number]) for number in row.events)
        told = next((text for text in found if text is not None), None)
        return f": {told}" if told is not None else self._other_side(row)

    def _other_side(self, row: Row) -> str:
        """The call in another thread that this one has to wait for, such as the unlock behind a lock."""
        for number in row.events:
            write = self.rows.sources.get(number)
            other = self.rows.row_of.get(write) if write is not None else None
            if other is not None and other.thread != row.thread and other is not row:
                return f", behind {self.rows.name(other)} of thread {other.thread}"
        return ""

    # --- order

    def order(self, order: OutOfOrder | None) -> Iterator[str]:
        if order is None:
            if len(self.witness.threads) > 1:
                yield "Each access takes effect in program order: this is a run under sc, too."
            return
        yield f"Not in program order ({self.witness.model.name} does not keep these pairs in order):"
        for first, second in order.pairs:
            a, b = self.witness.events[first], self.witness.events[second]
            yield f"  thread {a.thread}: {self._access(first, a)}, and then {self._access(second, b)}"
        yield from wrapped(self._cycle(order), self.width, "because of the cycle ", "  ")

    def _access(self, number: int, event: WitnessEvent) -> str:
        verb = {"R": "reads", "W": "writes", "F": "fence"}[event.kind]
        row = self.rows.row_of.get(number)
        line = row.place.line if row is not None and row.place is not None else event.line
        return f"{self._letter(number)} {verb} {event.location}{f' (line {line})' if line else ''}"

    def _letter(self, number: int) -> str:
        row = self.rows.row_of.get(number)
        return self.rows.name(row) if row is not None else self.witness.events[number].name

    def _cycle(self, order: OutOfOrder) -> str:
        text = self._letter(order.cycle[0][0])
        for _, relation, target in order.cycle:
            text += f" -{relation}-> {self._letter(target)}"
        return text
