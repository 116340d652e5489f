"""Whether the atomic sections of an execution are atomic: does anything of other threads come in between?

Sections are critical sections of one lock, which keeps them apart from one another. An access outside of all may still
see one half done, or come between its accesses. It does if the order in which things happen leads out of a section and
back into it. What that order is depends on the model; where there is no single one, it is communication, and program
order across full fences.
"""

from __future__ import annotations

from dekker.cat.algebra import composition, identity_on, union
from dekker.cat.interpreter import base_values, empty_slots, fill_inputs, run_steps
from dekker.cat.model import Model
from dekker.execution import Event, Execution, Relation, base_set, base_value, empty_relation
from dekker.ir.layout import layout
from dekker.ir.program import SECTION_LOCK, Program
from dekker.models import is_built_in
from dekker.records import dataclass
from dekker.shortest_cycle import shortest_cycle

_GLOBAL_ORDERS = {
    **{name: name for name in ("sc", "ibm370", "tso", "pso", "rmo")},
    **{f"ghb-{name}": "ghb" for name in ("tso", "pso", "rmo")},
    "aarch64": "external",
    "riscv": "model",
}
"""By model, the check that says that one order of all events exists."""


@dataclass(frozen=True)
class Torn:
    """An access of a section, and one outside that comes in between."""

    inside: Event
    outside: Event


def torn_section(program: Program, model: Model, execution: Execution, thread: int | None = None) -> Torn | None:
    """What keeps a section of the execution from being atomic. `thread` is the one that goes wrong, if it is one: what
    happens behind a section that has not ended did not happen for it."""
    sections = _Sections(execution, layout(program).starts[SECTION_LOCK])
    rows = sections.lifted(_order(model, execution))
    for first in sections.firsts:
        cycle = shortest_cycle(rows, _strongly_connected(rows, first))
        if cycle is not None:
            outside = next(event for event in cycle if event != first)
            return Torn(execution.events[first], execution.events[outside])
    for first in sections.open_firsts:
        behind = _reachable(rows, first) & ~(1 << first)
        own = execution.events[first].thread
        for number, event in enumerate(execution.events):
            if behind >> number & 1 and own != thread and thread in (None, event.thread):
                return Torn(execution.events[first], event)
    return None


def _order(model: Model, execution: Execution) -> Relation:
    name = _GLOBAL_ORDERS.get(model.name) if is_built_in(model) else None
    check = next((item for item in model.program.checks if item.name == name), None)
    if check is None:
        return union(_communication(execution), _across_full_fences(execution))
    slots = empty_slots(model.program)
    fill_inputs(model.program, slots, base_values(model, execution))
    run_steps(model.program, model.program.steps, len(execution.events), slots)
    value = slots[check.slot]
    assert not isinstance(value, int)
    return value


def _communication(execution: Execution) -> Relation:
    found = empty_relation(len(execution.events))
    for name in ("rf", "co", "fr"):
        found = union(found, _relation(name, execution))
    return found


def _across_full_fences(execution: Execution) -> Relation:
    order, events = _relation("po", execution), execution.events
    fences = identity_on(base_set("FULL", events), len(events))
    return composition(composition(order, fences), order)


def _relation(name: str, execution: Execution) -> Relation:
    value = base_value(name, execution)
    assert not isinstance(value, int)
    return value


class _Sections:
    """Events of a section are known by the first of them. An attempt to begin one that fails takes no part."""

    def __init__(self, execution: Execution, lock: int) -> None:
        events = execution.events
        self._first: dict[int, int] = {}
        self._ignored: set[int] = set()
        current: dict[int, int] = {}
        by_thread = sorted(range(len(events)), key=lambda number: (events[number].thread, events[number].index))
        for number in by_thread:
            event = events[number]
            takes = event.address == lock and event.accesses_memory and not event.initial
            if takes and event.kind == "W" and "RMW" in event.tags:
                current[event.thread] = number
            elif takes and event.kind == "R" and "RMW" not in event.tags:
                self._ignored.add(number)
            if event.thread in current:
                self._first[number] = current[event.thread]
            if takes and event.kind == "W" and "RMW" not in event.tags:
                current.pop(event.thread, None)
        self.firsts = tuple(sorted(set(self._first.values())))
        self.open_firsts = tuple(sorted(current.values()))

    def lifted(self, order: Relation) -> Relation:
        """Sections as single events."""
        rows = empty_relation(len(order))
        for source, row in enumerate(order):
            if source in self._ignored:
                continue
            first = self._first.get(source, source)
            for target in range(row.bit_length()):
                if row >> target & 1 and target not in self._ignored:
                    other = self._first.get(target, target)
                    rows[first] |= (other != first) << other
        return rows


def _reachable(rows: Relation, start: int) -> int:
    found, pending = 0, rows[start]
    while pending:
        found |= pending
        step = 0
        for number in range(pending.bit_length()):
            step |= rows[number] if pending >> number & 1 else 0
        pending = step & ~found
    return found


def _strongly_connected(rows: Relation, start: int) -> int:
    """The events that the order leads to from here, and back from."""
    ahead = _reachable(rows, start)
    return sum(
        1 << number for number in range(len(rows)) if ahead >> number & 1 and _reachable(rows, number) >> start & 1
    )
