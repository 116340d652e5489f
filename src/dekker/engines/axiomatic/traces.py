"""Candidates in the form in which all engines deliver executions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dekker.engines.axiomatic.candidates import Structure
from dekker.execution import FROM_INITIAL, Event, Relation, Trace, TraceEvent, pairs


def trace(structure: Structure, co: Relation) -> Trace:
    source_of = {read: write for write, read in pairs(structure.rf)}
    rank_of = Counter(write for _, write in pairs(co))
    steps = list(_steps(structure))
    position_of = {number: position for position, (number, _) in enumerate(steps) if number >= 0}
    found = []
    for number, step in steps:
        link = rank_of[number] if step.kind == "W" else 0
        if step.kind == "R":
            link = position_of.get(source_of[number], FROM_INITIAL)
        found.append(step._replace(link=link))
    return tuple(found)


def _steps(structure: Structure) -> Iterator[tuple[int, TraceEvent]]:
    """What happens, with the numbers of events; choices, and what is left out at the beginning, have none (-1)."""
    alone = structure.paths[0].alone if structure.paths else 0
    if alone:
        yield -1, TraceEvent(0, 0, "P", value=alone)
    number = sum(event.initial for event in structure.events)
    for thread, path in enumerate(structure.paths):
        choices = [(chosen, chosen.value) for chosen in path.choices if chosen.value is not None]
        for index in range(len(path.events) + 1):
            while choices and choices[0][0].position == index:
                chosen, value = choices.pop(0)
                yield -1, TraceEvent(thread, chosen.instruction, "C", value=value)
            if index < len(path.events):
                event = structure.events[number]
                done = path.events[index]
                yield number, _access(event, max(0, done.instruction), done.function)
                number += 1


def _access(event: Event, instruction: int, function: str) -> TraceEvent:
    access = event.address, event.size, event.value
    return TraceEvent(event.thread, instruction, event.kind, *access, function=function)
