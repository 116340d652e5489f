"""A witness for a person: threads side by side, then how their events are tied together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap

from dekker.execution import INITIAL_THREAD
from dekker.report.style import WIDTH
from dekker.witness import SATISFIES, VIOLATES, Pair, Witness, WitnessEvent

NO_BREAK = "\u00a0"
ARROW = f"{NO_BREAK}->{NO_BREAK}"
GAP = "   "
LONGEST_TEXT = 44

# Program order is visible, and rmw says what its parts say.
_NOT_SHOWN = frozenset(("po", "co", "fr", "amo", "lxsx", "allocation"))


def execution_text(witness: Witness, width: int = WIDTH) -> str:
    """The execution itself: events, edges, final values."""
    return "\n".join((*_threads(witness, width), "", *_edges(witness, width), *_endings(witness))) + "\n"


def heading(witness: Witness) -> str:
    """What the execution is, in one line."""
    return f"Execution of {clean(witness.name)} under {clean(witness.model.name)}: {claim_text(witness)}"


def claim_text(witness: Witness) -> str:
    if witness.claim in (SATISFIES, VIOLATES):
        formula = clean(witness.condition.partition(" ")[2]) or "(true)"
        return f"{witness.claim} {formula}"
    found = witness.violation
    if found is None:
        return witness.claim
    place = found.place
    where = f"{place.file}:{place.line}:{place.column}: " if place is not None and place.line else ""
    return clean(f"{found.kind}: {where}{found.message}")


def event_text(event: WitnessEvent) -> str:
    """Such as `R x=1`, `W x=1 release`, `F sync`."""
    if event.kind == "F":
        return f"F {event.fence}"
    order = "" if event.order == "plain" else f" {event.order}"
    return f"{event.kind} {clean(event.location)}={clean(event.shown)}{order}"


def _threads(witness: Witness, width: int) -> list[str]:
    columns = [_column(witness, thread) for thread in range(len(witness.threads))]
    widths = [max(map(len, column)) for column in columns]
    if 2 + sum(widths) + len(GAP) * (len(columns) - 1) > width:
        return [line for i, column in enumerate(columns) for line in (*[""] * (i > 0), *_indented(column))]
    rows = zip_longest(*columns, fillvalue="")
    lines = (GAP.join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows)
    return list(_indented(lines))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in lines)


def _column(witness: Witness, thread: int) -> list[str]:
    events = [event for event in witness.events if event.thread == thread]
    heads = [f"{event.name}: {event_text(event)}" for event in events]
    size = max(map(len, heads), default=0)
    name = witness.threads[thread].name
    lines = [clean(f"thread {name}" if name.isdigit() else name)]
    for head, event in zip(heads, events, strict=True):
        where = f"{event.line:>3}| {_cut(event.text)}" if event.line else ""
        lines.append(f"{head.ljust(size)}  {where}".rstrip())
    return lines


def _cut(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def clean(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _edges(witness: Witness, width: int) -> Iterator[str]:
    names = [event.name for event in witness.events]
    shown = {
        "rf": _pairs_text(witness.relations.get("rf", ()), names),
        "co": _coherence_text(witness),
        "fr": _pairs_text(_nearest_from_read(witness), names),
        **{
            name: _pairs_text(found, names)
            for name, found in witness.relations.items()
            if name not in _NOT_SHOWN and name != "rf"
        },
    }
    size = max(len(name) for name in shown)
    for name, items in shown.items():
        if items:
            yield from wrapped(", ".join(items), width, f"  {name.ljust(size)}  ", " " * (size + 4))


def wrapped(text: str, width: int, first: str, following: str) -> list[str]:
    """Lines that start with `first` and `following`; `NO_BREAK` is a blank at which no line ends."""
    lines = wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def _pairs_text(found: Iterable[Pair], names: Sequence[str]) -> list[str]:
    """Pairs with the same source together, no line break inside of one."""
    targets: dict[int, list[str]] = {}
    for source, target in found:
        targets.setdefault(source, []).append(names[target])
    return [f"{names[source]}{ARROW}{NO_BREAK.join(reached)}" for source, reached in targets.items()]


def _coherence_text(witness: Witness) -> list[str]:
    """Per location its writes in order, where there are any besides the initial one."""
    later: dict[int, int] = {}
    for source, _ in witness.relations.get("co", ()):
        later[source] = later.get(source, 0) + 1
    chains = []
    for first, event in enumerate(witness.events):
        if event.thread == INITIAL_THREAD and later.get(first):
            place = (event.address, event.size)
            writes = [n for n, e in enumerate(witness.events) if e.kind == "W" and (e.address, e.size) == place]
            ordered = sorted(writes, key=lambda number: -later.get(number, 0))
            chains.append(ARROW.join(witness.events[number].name for number in ordered))
    return chains


def _nearest_from_read(witness: Witness) -> list[Pair]:
    """The first write after what a read saw; the others follow in coherence."""
    co = set(witness.relations.get("co", ()))
    fr = witness.relations.get("fr", ())
    return [(read, write) for read, write in fr if not any((read, w) in fr and (w, write) in co for _, w in fr)]


def _endings(witness: Witness) -> Iterator[str]:
    if witness.final:
        yield ""
        yield "  Final: " + " ".join(f"{clean(name)}={clean(value)};" for name, value in witness.final)
    for flag in witness.flags:
        yield f"  Flag: {clean(flag)}"
