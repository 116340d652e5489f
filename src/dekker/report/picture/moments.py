"""A run moment by moment.

Engines that work with store buffers say themselves what happened when. For other runs there is an order in which the
accesses can have taken effect: reads-from, coherence and from-reads all point forward in it, and program order too,
except where the model does not keep it. An access that others overtake is pending meanwhile, as a store in a buffer
is; its own thread may already read what it will write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from dekker.execution import INITIAL_THREAD
from dekker.records import dataclass
from dekker.report.counterexample import about_thread
from dekker.report.execution_text import clean
from dekker.report.picture.causes import Cause
from dekker.report.picture.view import LIBRARY, LOCAL, RunView
from dekker.result import ScheduleStep
from dekker.witness import Pair, Witness

Buffers = tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """`nodes` are positions in the view. `overtakes` are those before it in its thread that have not taken effect.
    `writes` are locations and their new values. `text` is empty if the nodes say it all."""

    thread: int
    nodes: tuple[int, ...]
    overtakes: tuple[int, ...] = ()
    writes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    file: str = ""
    line: int = 0
    buffers: Buffers | None = None


# --- an order of effects


def in_order_of_effect(witness: Witness, view: RunView, cause: Cause | None) -> tuple[Moment, ...]:
    node_of = {event: number for number, node in enumerate(view.nodes) for event in node.events}
    run = _Run(witness, _waits_for(witness), _may_wait(cause), _updates(witness))
    found: list[Moment] = []
    for event, overtaken in run.order():
        node = node_of.get(event)
        if node is None or view.nodes[node].fold in (LOCAL, LIBRARY):
            continue
        writes = _written(witness, event)
        passed = tuple(dict.fromkeys(node_of[e] for e in overtaken if node_of.get(e, node) != node))
        if found and found[-1].nodes == (node,):
            last = found.pop()
            writes = (*last.writes, *writes)
            passed = tuple(dict.fromkeys((*last.overtakes, *passed)))
        found.append(Moment(witness.events[event].thread, (node,), passed, writes))
    return tuple(found)


def _written(witness: Witness, number: int) -> tuple[tuple[str, str], ...]:
    event = witness.events[number]
    changes_memory = event.kind == "W" and about_thread(event) is None
    return ((clean(event.location), clean(event.shown)),) if changes_memory else ()


def _waits_for(witness: Witness) -> list[list[int]]:
    """For each event those that take effect before it. What a thread reads of its own writes it may read early."""
    events, relations = witness.events, witness.relations
    found: list[list[int]] = [[] for _ in events]
    for name in ("rf", "co", "fr"):
        for a, b in relations.get(name, ()):
            own = name == "rf" and events[a].thread == events[b].thread
            if events[a].thread != INITIAL_THREAD and not own:
                found[b].append(a)
    return found


def _updates(witness: Witness) -> dict[int, int]:
    return dict(pair for name in ("amo", "lxsx") for pair in witness.relations.get(name, ()))


def _may_wait(cause: Cause | None) -> dict[int, int]:
    """Events that later ones overtake, up to which one."""
    found: dict[int, int] = {}
    for first, second in cause.loose if cause is not None else ():
        found[first] = max(second, found.get(first, second))
    return found


@dataclass
class _Run:
    witness: Witness
    waits_for: list[list[int]]
    may_wait: dict[int, int]
    updates: dict[int, int]
    """The writes of atomic updates, by their reads."""
    left: list[list[int]] = field(default_factory=list)
    """For each thread what has not taken effect, in program order."""
    done: set[int] = field(default_factory=set)

    def order(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Each event, and those that it overtakes."""
        self.left = [[] for _ in self.witness.threads]
        for number, event in enumerate(self.witness.events):
            if event.thread == INITIAL_THREAD:
                self.done.add(number)
            else:
                self.left[event.thread].append(number)
        current = 0
        while any(self.left):
            current, position = self._next(current)
            taken = self.left[current].pop(position)
            self.done.add(taken)
            yield taken, tuple(self.left[current][:position])

    def _next(self, current: int) -> Pair:
        """The thread goes on that went last, as long as it can; what may wait waits until nothing else is left."""
        threads = [*range(current, len(self.left)), *range(current)]
        for patient in (True, False):
            for thread in threads:
                position = self._first_ready(thread, patient)
                if position is not None:
                    return thread, position
        ready = (
            (position, thread)
            for thread in threads
            for position, event in enumerate(self.left[thread])
            if self._can_take_effect(event)
        )
        position, thread = min(ready)  # there is one: per location, communication has no cycle
        return thread, position

    def _first_ready(self, thread: int, patient: bool) -> int | None:
        for position, event in enumerate(self.left[thread]):
            waits = event in self.may_wait
            if self._is_ready(event) and not (waits and patient):
                return position
            if not waits or any(event > self.may_wait[other] for other in self.left[thread][:position]):
                return None
        return None

    def _is_ready(self, event: int) -> bool:
        """The halves of an update go together as long as there is something else to do."""
        write = self.updates.get(event)
        together = write is None or self._can_take_effect(write, besides=event)
        return together and self._can_take_effect(event)

    def _can_take_effect(self, event: int, besides: int = -1) -> bool:
        return all(other in self.done or other == besides for other in self.waits_for[event])


# --- schedules of an engine

_LETTERS = {"read": "R", "write": "W", "buffered": "W", "fence": "F", "spawn": "W", "join": "R"}
_LOOK_AHEAD = 12


def of_schedule(schedule: Sequence[ScheduleStep], witness: Witness, view: RunView) -> tuple[Moment, ...]:
    """The steps, each with the node that stands for it where there is one, and with the names of the witness."""
    finder = _Finder(witness)
    events = [finder.event(step) for step in schedule]
    node_of = {event: number for number, node in enumerate(view.nodes) for event in node.events}
    found = []
    for step, event in zip(schedule, events, strict=True):
        node = node_of.get(event) if event is not None else None
        text = finder.renamed(f"{step.text} ({step.overtaken})" if step.overtaken else step.text)
        file, line = (step.span.source.name, step.span.line) if step.span is not None else ("", 0)
        buffers = tuple((thread, tuple(map(finder.renamed, entries))) for thread, entries in step.buffers)
        takes_effect = event is not None and step.kind in ("write", "commit")
        writes = _written(witness, event) if event is not None and takes_effect else ()
        nodes = () if node is None else (node,)
        found.append(Moment(step.thread, nodes, (), writes, text, file, line, buffers))
    return tuple(found)


_ENTRY = re.compile(r"(?:^reads |^writes |^puts |^)(\S+) = ")


class _Finder:
    """Goes through the events of each thread along with a schedule, and learns how it names locations."""

    def __init__(self, witness: Witness) -> None:
        self.events = witness.events
        self.following: dict[int, int] = {}
        self.own: dict[int, list[int]] = {}
        self.buffered: dict[int, list[tuple[str, int]]] = {}
        self.names: dict[str, str] = {}
        for number, event in enumerate(self.events):
            self.own.setdefault(event.thread, []).append(number)

    def event(self, step: ScheduleStep) -> int | None:
        if step.kind == "commit":
            return self._committed(step)
        event = self._next(step)
        entry = _ENTRY.match(step.text)
        if event is not None and entry is not None and self.events[event].location:
            self.names[entry[1]] = clean(self.events[event].location)
        if event is not None and step.kind == "buffered":
            text = step.text.removeprefix("puts ").removesuffix(" into its buffer")
            self.buffered.setdefault(step.thread, []).append((text, event))
        return event

    def renamed(self, text: str) -> str:
        """With the names that the picture has."""
        return re.sub(r"(\S+)(?= = )", lambda found: self.names.get(found[1], found[1]), clean(text))

    def _next(self, step: ScheduleStep) -> int | None:
        letter, own = _LETTERS.get(step.kind), self.own.get(step.thread, [])
        start = self.following.get(step.thread, 0)
        for position in range(start, min(start + _LOOK_AHEAD, len(own))):
            event = self.events[own[position]]
            if event.kind == letter and (step.span is None or event.line == step.span.line):
                self.following[step.thread] = position + 1
                return own[position]
        return None

    def _committed(self, step: ScheduleStep) -> int | None:
        waiting = self.buffered.get(step.thread, [])
        entry = step.text.removesuffix(" reaches memory")
        for position, (text, event) in enumerate(waiting):
            if text == entry:
                waiting.pop(position)
                return event
        return None
