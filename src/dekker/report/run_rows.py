"""The events of a witness as rows: one for each statement of the source, or call of a library, that a thread executes.

Hidden is what tells a reader nothing: accesses to what only one thread ever touches, fences that belong to an access,
and what happens inside of library functions, which are shown as the call in the user's own file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from itertools import groupby

from dekker.execution import INITIAL_THREAD
from dekker.records import dataclass
from dekker.source import is_library
from dekker.witness import LIBRARY_MEMORY, Frames, Witness, WitnessEvent, WitnessFrame

COMPILER_FENCE = "compiler"
_CALL = re.compile(r"[\w:.<>~ ]+\(", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """`frames` end with the place in the user's source. `events` are numbers in the witness, `call` the library
    function that does them; a row without any is about what it `says`."""

    thread: int
    frames: Frames
    events: tuple[int, ...] = ()
    call: str = ""
    says: str = ""

    @property
    def place(self) -> WitnessFrame | None:
        return self.frames[-1] if self.frames else None


@dataclass
class Rows:
    """`row_of` says in which row an event is; hidden events are in none."""

    witness: Witness
    rows: list[list[Row]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for thread in range(len(self.witness.threads)):
            self.rows.append(list(self._of_thread(thread)))

    @cached_property
    def row_of(self) -> dict[int, Row]:
        return {number: row for rows in self.rows for row in rows for number in row.events}

    @cached_property
    def sources(self) -> dict[int, int]:
        """The write that a read takes its value from."""
        return {read: write for write, read in self.witness.relations.get("rf", ())}

    @cached_property
    def private(self) -> set[int]:
        """Addresses that only one thread accesses."""
        threads: dict[int, set[int]] = {}
        for event in self.witness.events:
            if event.kind != "F" and event.thread != INITIAL_THREAD:
                threads.setdefault(event.address, set()).add(event.thread)
        return {address for address, found in threads.items() if len(found) == 1}

    def name(self, row: Row) -> str:
        """Rows are numbered through all threads."""
        return f"#{self.numbers[row.events]}" if row.events else ""

    @cached_property
    def numbers(self) -> dict[tuple[int, ...], int]:
        named = (row.events for rows in self.rows for row in rows if row.events)
        return {events: number for number, events in enumerate(named, 1)}

    def _of_thread(self, thread: int) -> Iterator[Row]:
        events = [n for n, event in enumerate(self.witness.events) if event.thread == thread]
        printed = [item for item in self.witness.output if item.thread == thread]
        position = 0
        for numbers in self._executed_together(events):
            while printed and printed[0].position <= position:
                item = printed.pop(0)
                yield Row(thread, user_frames(item.stack), says=f"prints {_quoted(item.text)}")
            position += len(numbers)
            yield from self._row(thread, numbers)
        for item in printed:
            yield Row(thread, user_frames(item.stack), says=f"prints {_quoted(item.text)}")

    def _executed_together(self, numbers: list[int]) -> Iterator[tuple[int, ...]]:
        """What a statement does once: code that goes back begins again."""
        for _, group in groupby(numbers, key=lambda number: _statement(self.witness.events[number])):
            together: list[int] = []
            for number in group:
                event = self.witness.events[number]
                if together and event.instruction < self.witness.events[together[-1]].instruction:
                    yield tuple(together)
                    together = []
                together.append(number)
            yield tuple(together)

    def _row(self, thread: int, numbers: tuple[int, ...]) -> Iterator[Row]:
        first = self.witness.events[numbers[0]]
        frames = user_frames(_all_frames(first))
        call = _called(first)
        begins = any(self.is_end(self.witness.events[number]) for number in numbers)
        shown = tuple(n for n in numbers if self._is_shown(n, len(numbers), begins, call))
        if shown and not is_library(frames[-1].file):
            yield Row(thread, frames, shown, call)

    def _is_shown(self, number: int, n_together: int, begins: bool, call: str) -> bool:
        event = self.witness.events[number]
        if self.is_end(event) or (begins and event.kind == "F"):
            return False
        if call:
            return True
        if event.kind == "F":
            return n_together == 1 and event.fence != COMPILER_FENCE
        if event.location.startswith(LIBRARY_MEMORY) and is_library(event.file):
            return False
        return event.address not in self.private or self._is_told_of(event)

    def _is_told_of(self, event: WitnessEvent) -> bool:
        """What stands on the line of the violation."""
        finding = self.witness.violation
        if finding is None or not finding.stack or event.thread != finding.thread:
            return False
        place = user_frames(finding.stack)[-1]
        return (event.file, event.line) == (place.file, place.line)

    def is_end(self, event: WitnessEvent) -> bool:
        """Of the events with which a thread begins and ends by itself."""
        return event.location in (f"start of thread {event.thread}", f"end of thread {event.thread}")

    def hidden(self, thread: int) -> int:
        """How many accesses to what belongs to the thread alone are not shown."""
        shown = Counter(number for row in self.rows[thread] for number in row.events)
        events = self.witness.events
        return sum(
            event.thread == thread and event.kind != "F" and event.address in self.private and not shown[number]
            for number, event in enumerate(events)
        )


def user_frames(frames: Frames) -> Frames:
    """Without calls in files that are not the user's."""
    shown = tuple(frame for frame in frames if frame.line and not is_library(frame.file))
    return shown or frames[-1:]


def _all_frames(event: WitnessEvent) -> Frames:
    return (*event.callers, WitnessFrame(event.function, event.file, event.line, event.column))


def _called(event: WitnessEvent) -> str:
    """The function of the runtime library that does it; the text of such an event is the whole call."""
    found = _CALL.match(event.text)
    return "" if found is None else found[0][:-1].strip()


def _statement(event: WitnessEvent) -> tuple[Frames, str]:
    return user_frames(_all_frames(event)), _called(event)


def _quoted(text: str) -> str:
    shown = text.encode("unicode_escape").decode("ascii") if not text.isascii() else repr(text)[1:-1]
    return f'"{shown}"'
