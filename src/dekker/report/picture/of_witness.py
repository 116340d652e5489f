"""From a witness to what is drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dekker.execution import INITIAL_THREAD
from dekker.report.counterexample import about_thread, source_line, texts_of
from dekker.report.execution_text import clean, event_text, heading
from dekker.report.picture.causes import Cause, kind_of
from dekker.report.picture.view import (
    ADDR,
    CO,
    CTRL,
    DATA,
    FENCE,
    FR,
    LIBRARY,
    LOCAL,
    PO,
    RF,
    RMW,
    Column,
    Edge,
    Node,
    RunView,
    with_stretches,
)
from dekker.report.run_rows import COMPILER_FENCE, Row, Rows, user_frames
from dekker.witness import DEADLOCK, Pair, Witness, WitnessEvent, WitnessFrame

MOST_INITIAL = 40
"""Initial values that are listed."""


def run_view(witness: Witness, cause: Cause | None) -> RunView:
    nodes = _nodes(witness)
    node_of = {event: number for number, node in enumerate(nodes) for event in node.events}
    edges = _edges(witness, nodes, node_of, cause)
    view = RunView(
        title=heading(witness),
        columns=tuple(_column(witness, thread) for thread in range(len(witness.threads))),
        nodes=tuple(nodes),
        edges=tuple(edges),
        why=cause.text if cause is not None else "",
        initially=tuple(_initially(witness, nodes)),
        finally_=tuple((clean(name), clean(value)) for name, value in witness.final),
    )
    return with_stretches(view)


def _column(witness: Witness, number: int) -> Column:
    thread = witness.threads[number]
    if not witness.program.sources:
        return Column(clean(f"thread {thread.name}" if thread.name.isdigit() else thread.name))
    place = user_frames(thread.created)[-1:]
    started = f"\nstarted by thread {thread.parent}" if thread.parent >= 0 else ""
    where = f", line {place[0].line}" if started and place and place[0].line else ""
    return Column(f"thread {number}", f"{clean(thread.function)}{started}{where}")


def _initially(witness: Witness, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    """Of locations that something accesses that is not folded, nor inside of a library."""
    shown = (node for node in nodes if not node.fold and node.kind != "call")
    used = {witness.events[event].address for node in shown for event in node.events}
    named = [event for event in witness.events if event.thread == INITIAL_THREAD and event.address in used]
    listed = [event for event in named if " of thread " not in event.location]
    for event in listed[:MOST_INITIAL]:
        yield clean(event.location), clean(event.shown)
    if len(listed) > MOST_INITIAL:
        yield "…", f"{len(listed) - MOST_INITIAL} more"


# --- nodes


def _nodes(witness: Witness) -> list[Node]:
    if witness.program.sources:
        maker = _RowNodes(witness)
        return _told_of(witness, [node for thread in range(len(witness.threads)) for node in maker.of_thread(thread)])
    initial = _reads_of_initial_values(witness)
    own = [number for number, event in enumerate(witness.events) if event.thread != INITIAL_THREAD]
    return [
        replace(_event_node(witness, number, number in initial), column=witness.events[number].column) for number in own
    ]


def _told_of(witness: Witness, nodes: list[Node]) -> list[Node]:
    """With the accesses marked that the violation speaks of: the last in its thread on that line."""
    finding = witness.violation
    if finding is None:
        return nodes
    places = [(finding.thread, finding.stack), *((note.thread, note.stack) for note in finding.notes)]
    for thread, stack in places:
        frames = user_frames(stack)
        place = (thread, frames[-1].file, frames[-1].line) if frames else None
        found = [
            n
            for n, node in enumerate(nodes)
            if node.kind != "end" and not node.fold and (node.thread, node.file, node.line) == place
        ]
        if found:
            nodes[found[-1]] = replace(nodes[found[-1]], told=True)
    return nodes


def _reads_of_initial_values(witness: Witness) -> frozenset[int]:
    found = witness.relations.get("rf", ())
    return frozenset(read for write, read in found if witness.events[write].thread == INITIAL_THREAD)


def _event_node(witness: Witness, number: int, initial: bool, fold: str = "") -> Node:
    event = witness.events[number]
    return Node(
        event.thread,
        event.name,
        event.kind,
        event_text(event),
        clean(" ".join(event.text.split())),
        event.file,
        event.line,
        (clean(event.location),) if event.location else (),
        (number,),
        fold,
        initial,
    )


class _RowNodes:
    """A compiled program: its rows of source lines and calls, and what the rows hide as nodes that are folded."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.rows = Rows(witness)
        self.texts = texts_of(witness)
        self.initial = _reads_of_initial_values(witness)
        self.updates = dict(pair for name in ("amo", "lxsx") for pair in witness.relations.get(name, ()))

    def of_thread(self, thread: int) -> Iterator[Node]:
        in_rows = self.rows.row_of
        own = [n for n, event in enumerate(self.witness.events) if event.thread == thread]
        hidden = [n for n in own if n not in in_rows and not self._says_nothing(self.witness.events[n])]
        for row in self.rows.rows[thread]:
            while row.events and hidden and hidden[0] < row.events[0]:
                yield self._hidden(hidden.pop(0))
            yield self._node(row)
        yield from map(self._hidden, hidden)
        yield from self._end(thread)

    def _says_nothing(self, event: WitnessEvent) -> bool:
        """Fences that belong to something else, and what begins and ends a thread."""
        return event.kind == "F" or self.rows.is_end(event)

    def _hidden(self, number: int) -> Node:
        event = self.witness.events[number]
        fold = LOCAL if event.address in self.rows.private else LIBRARY
        node = _event_node(self.witness, number, number in self.initial, fold)
        line = source_line(WitnessFrame(event.function, event.file, event.line, event.column), self.texts)
        return replace(node, source=clean(line)) if line else node

    def _node(self, row: Row) -> Node:
        place = row.place
        events = [self.witness.events[number] for number in row.events]
        named = dict.fromkeys(clean(event.location) for event in events if event.location)
        return Node(
            row.thread,
            self.rows.name(row),
            self._kind(row, events),
            clean(row.says) if row.says else self._text(row),
            clean(source_line(place, self.texts)),
            place.file if place is not None else "",
            place.line if place is not None else 0,
            tuple(named),
            row.events,
            initial=any(number in self.initial for number in row.events),
        )

    def _kind(self, row: Row, events: list[WitnessEvent]) -> str:
        if row.says:
            return "print"
        if row.call:
            return "call"
        kinds = {event.kind for event in events}
        return kinds.pop() if len(kinds) == 1 else "U"

    def _text(self, row: Row) -> str:
        if row.call:
            told = (about_thread(self.witness.events[number]) for number in row.events)
            return clean(next((text for text in told if text is not None), row.call))
        return ", ".join(dict.fromkeys(self._actions(row)))

    def _actions(self, row: Row) -> Iterator[str]:
        done: set[int] = set()
        for number in row.events:
            event, write = self.witness.events[number], self.updates.get(number)
            if number in done:
                continue
            if write in row.events:
                done.add(write)
                after = self.witness.events[write].shown
                yield f"U {clean(event.location)}={clean(event.shown)}→{clean(after)}"
            else:
                yield about_thread(event) or event_text(event)

    def _end(self, number: int) -> Iterator[Node]:
        thread, finding = self.witness.threads[number], self.witness.violation
        if finding is not None and finding.kind != "deadlock" and finding.thread == number:
            text, stack = finding.kind, finding.stack
        elif thread.end in ("waiting", "failed"):
            waits = "waits for ever" if self.witness.claim == DEADLOCK else "waits"
            text, stack = {"waiting": waits, "failed": "fails"}[thread.end], thread.stack
        else:
            return
        frames = user_frames(stack)
        place = frames[-1] if frames else None
        file, line = (place.file, place.line) if place is not None else ("", 0)
        yield Node(number, "", "end", clean(text), clean(source_line(place, self.texts)), file, line)


# --- edges


def _edges(witness: Witness, nodes: list[Node], node_of: dict[int, int], cause: Cause | None) -> Iterator[Edge]:
    """One for each pair of nodes and kind; those of the cycle first, so that the others do not replace them."""
    seen: set[tuple[int, int, str]] = set()
    for a, b, kind, label, cycle, loose in (*_of_cause(cause), *_of_relations(witness), *_of_fences(witness)):
        source, target = node_of.get(a, -1), node_of.get(b, -1)
        if source < 0 or target < 0 or source == target or (source, target, kind) in seen:
            continue
        if not cycle and (nodes[source].kind == "call" or nodes[target].kind == "call") and kind not in (RF, PO):
            continue
        seen.add((source, target, kind))
        yield Edge(source, target, kind, label, cycle, loose)


Found = tuple[int, int, str, str, bool, bool]


def _of_cause(cause: Cause | None) -> Iterator[Found]:
    if cause is None:
        return
    loose = set(cause.loose)
    for a, name, b in cause.steps:
        yield a, b, kind_of(name), name, True, kind_of(name) == PO and (a, b) in loose


def _of_relations(witness: Witness) -> Iterator[Found]:
    relations, events = witness.relations, witness.events
    for a, b in relations.get("rf", ()):
        yield a, b, RF, RF, False, False
    co = relations.get("co", ())
    for a, b in _nearest(co, set(co)):
        if events[a].thread != events[b].thread:
            yield a, b, CO, CO, False, False
    for a, b in _nearest(relations.get("fr", ()), set(co)):
        if events[a].thread != events[b].thread:
            yield a, b, FR, FR, False, False
    for prefix in ("", "pick-", "status-"):
        for kind in (ADDR, DATA):
            for a, b in relations.get(f"{prefix}{kind}", ()):
                yield a, b, kind, f"{prefix}{kind}", False, False
        for a, b in _first_targets(relations.get(f"{prefix}{CTRL}", ())):
            yield a, b, CTRL, f"{prefix}{CTRL}", False, False
    for name in ("amo", "lxsx"):
        for a, b in relations.get(name, ()):
            yield a, b, RMW, RMW, False, False


def _nearest(found: Iterable[Pair], co: set[Pair]) -> Iterator[Pair]:
    """Without what follows in coherence from another pair with the same source."""
    targets: dict[int, list[int]] = {}
    for a, b in found:
        targets.setdefault(a, []).append(b)
    for a, reached in targets.items():
        for b in reached:
            if not any((between, b) in co for between in reached):
                yield a, b


def _first_targets(found: Iterable[Pair]) -> Iterator[Pair]:
    first: dict[int, int] = {}
    for a, b in found:
        first[a] = min(b, first.get(a, b))
    yield from first.items()


def _of_fences(witness: Witness) -> Iterator[Found]:
    """From the last access before a fence to the first after it."""
    for number, event in enumerate(witness.events):
        if event.kind != "F" or event.fence == COMPILER_FENCE:
            continue
        before = _access(witness, number, -1)
        after = _access(witness, number, 1)
        if before is not None and after is not None:
            yield before, after, FENCE, event.fence, False, False


def _access(witness: Witness, number: int, step: int) -> int | None:
    thread = witness.events[number].thread
    number += step
    while 0 <= number < len(witness.events) and witness.events[number].thread == thread:
        if witness.events[number].kind != "F":
            return number
        number += step
    return None
