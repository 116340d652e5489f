"""The events of all threads of a run in one sequence."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.execution import INITIAL_THREAD
from dekker.witness import Witness

INTERLEAVING = ("po", "rf", "co", "fr")


def run_order(witness: Witness) -> tuple[list[int], bool]:
    """An order that explains what each read sees, and true, if there is one. Else reads come behind the writes that
    they see, as far as program order can be kept, which may say little about when anything takes effect."""
    for relations in (INTERLEAVING, ("po", "rf"), ("po",)):
        found = _ordered(witness, relations)
        if found is not None:
            return found, relations == INTERLEAVING
    raise AssertionError("program order has a cycle")


def _ordered(witness: Witness, relations: Sequence[str]) -> list[int] | None:
    """A topological order with few changes between threads."""
    events = [n for n, event in enumerate(witness.events) if event.thread != INITIAL_THREAD]
    before: dict[int, set[int]] = {number: set() for number in events}
    after: dict[int, list[int]] = {number: [] for number in events}
    for name in relations:
        for source, target in witness.relations.get(name, ()):
            if source in before and target in before and source not in before[target]:
                before[target].add(source)
                after[source].append(target)
    found: list[int] = []
    ready = [number for number in events if not before[number]]
    while ready:
        last = witness.events[found[-1]].thread if found else 0
        number = min(ready, key=lambda item: (witness.events[item].thread != last, item))
        ready.remove(number)
        found.append(number)
        for target in after[number]:
            before[target].discard(number)
            if not before[target]:
                ready.append(target)
    return found if len(found) == len(events) else None
