"""What a witness says about its execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from importlib import import_module

from dekker.execution import FROM_INITIAL, INITIAL_THREAD, Trace, TraceEvent
from dekker.records import dataclass

SATISFIES, VIOLATES, DEADLOCK, FLAG = "satisfies", "violates", "deadlock", "flag"
VIOLATIONS = (
    *("assertion", "memory", "use after free", "double free", "call", "join", "release", "allocation"),
    *("leak", "uninitialised"),
    DEADLOCK,
    FLAG,
)
CLAIMS = (SATISFIES, VIOLATES, *VIOLATIONS)

LIBRARY_MEMORY = "library memory:"
"""How the name begins of what a library allocates for itself."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file that a program was compiled from. Of files that are not the user's, only the lines that matter."""

    file: str
    text: str


Position = tuple[int, ...]
"""A number in `sources`, line, column and length; or nothing."""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """`front_end` says who reads the text. A program that was compiled has the text of its representation, the files
    that it comes from, and for each function the positions of its instructions in these."""

    front_end: str
    file: str
    text: str
    sources: tuple[SourceText, ...] = ()
    positions: Mapping[str, tuple[Position, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncludedText:
    """A file that a model includes: `by` is the file that does, `path` what it says."""

    by: str
    path: str
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelText:
    """A built-in model has a name only; a user's model comes with its text and that of what it includes."""

    name: str
    file: str = ""
    text: str | None = None
    includes: tuple[IncludedText, ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessFrame:
    """A call that has not returned: the function, and where it is. `line` 0 means that there is no source line."""

    function: str
    file: str
    line: int
    column: int


Frames = tuple[WitnessFrame, ...]
"""The innermost call last."""


@dataclass(frozen=True, slots=True)
class WitnessThread:
    """`function` is what it runs. `created` says where the thread `parent` started it; -1 is no parent. `end` says how
    far it came, and `stack` where that was unless it is complete."""

    name: str
    function: str
    parent: int
    created: Frames
    end: str
    stack: Frames


@dataclass(frozen=True, slots=True)
class Note:
    """A place that has to do with what went wrong."""

    message: str
    thread: int
    stack: Frames


@dataclass(frozen=True, slots=True)
class Finding:
    """What goes wrong in an execution, where, and what else has to do with it."""

    kind: str
    message: str
    thread: int
    stack: Frames
    notes: tuple[Note, ...] = ()

    @property
    def place(self) -> WitnessFrame | None:
        return self.stack[-1] if self.stack else None


GONE = "gone"
"""What the end of an object writes to it."""


@dataclass(frozen=True, slots=True)
class WitnessEvent:
    """`index` is the position in program order, `instruction` that in the function that ran; initial writes belong to
    thread -1. `shown` is the value as a person reads it. `line` 0 means that there is no source line; `text` is what
    stands there. `function` did it, called by `callers`."""

    name: str
    kind: str
    thread: int
    index: int
    instruction: int
    location: str
    address: int
    size: int
    value: int
    shown: str
    order: str
    tags: tuple[str, ...]
    fence: str
    function: str
    file: str
    line: int
    column: int
    text: str
    callers: Frames


@dataclass(frozen=True, slots=True)
class Output:
    """What a thread printed; `position` events of the thread come before it."""

    thread: int
    position: int
    text: str
    stack: Frames


@dataclass(frozen=True, slots=True)
class Choice:
    """What a `choose` gave; `position` events of the thread come before it."""

    thread: int
    position: int
    instruction: int
    value: int


@dataclass(frozen=True)
class Witness:
    """`claim` says what the execution shows: that the condition's formula holds or does not, or a violation, which
    `violation` describes. The first `alone` accesses and fences of the first thread, before it starts another, are no
    events: their effect belongs to the initial writes. Relations hold pairs of positions in `events`; empty ones are
    left out."""

    name: str
    program: ProgramText
    model: ModelText
    engine: str
    claim: str
    condition: str
    violation: Finding | None
    threads: tuple[WitnessThread, ...]
    alone: int
    events: tuple[WitnessEvent, ...]
    choices: tuple[Choice, ...]
    output: tuple[Output, ...]
    relations: Mapping[str, tuple[Pair, ...]]
    final: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]

    def _repr_svg_(self) -> str:
        """For notebooks. Reports know witnesses and not the other way round, so this is looked up when it is asked."""
        return str(import_module("dekker.report.picture").svg_of(self))

    def trace(self) -> Trace:
        """The execution as engines deliver it. A read that has not exactly one source gets a link to nowhere."""
        steps = [(-1, TraceEvent(0, 0, "P", value=self.alone))] if self.alone else []
        steps += self._steps()
        position_of = {number: position for position, (number, _) in enumerate(steps) if number >= 0}
        sources: dict[int, list[int]] = {}
        ranks: dict[int, int] = {}
        for write, read in self.relations.get("rf", ()):
            sources.setdefault(read, []).append(write)
        for _, later in self.relations.get("co", ()):
            ranks[later] = ranks.get(later, 0) + 1
        found = []
        for number, step in steps:
            link = ranks.get(number, 0) if step.kind == "W" else 0
            if step.kind == "R":
                link = self._link(sources.get(number, []), position_of)
            found.append(step._replace(link=link))
        return tuple(found)

    def _link(self, sources: list[int], position_of: dict[int, int]) -> int:
        if len(sources) != 1:
            return NOWHERE
        (source,) = sources
        return FROM_INITIAL if self.events[source].thread == INITIAL_THREAD else position_of[source]

    def _steps(self) -> Iterator[tuple[int, TraceEvent]]:
        choices = list(self.choices)
        for thread in range(len(self.threads)):
            position = 0
            own = [(n, event) for n, event in enumerate(self.events) if event.thread == thread]
            for number, event in (*own, (-1, None)):
                while choices and (choices[0].thread, choices[0].position) == (thread, position):
                    choice = choices.pop(0)
                    yield -1, TraceEvent(thread, choice.instruction, "C", value=choice.value)
                if event is not None:
                    access = (event.address, event.size, event.value) if event.kind != "F" else (0, 0, 0)
                    yield number, TraceEvent(thread, event.instruction, event.kind, *access, function=event.function)
                    position += 1


NOWHERE = -2
