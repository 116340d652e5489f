"""From a replayed execution to a `Witness`."""

from __future__ import annotations

from dataclasses import dataclass

from dekker.cat.model import Model
from dekker.execution import BASE_RELATIONS, INITIAL_THREAD, Event, Execution, Trace, base_value, pairs
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import Layout, layout
from dekker.ir.notation import condition_text, shown_order, value_text
from dekker.ir.program import Program
from dekker.models import is_built_in
from dekker.replay.judge import judge
from dekker.replay.rebuild import Replayed
from dekker.result import Violation
from dekker.witness import (
    SATISFIES,
    VIOLATES,
    Choice,
    IncludedText,
    ModelText,
    Pair,
    ProgramText,
    Witness,
    WitnessEvent,
)

# What follows from the events alone is not worth the space.
_LEFT_OUT = frozenset(("loc", "int", "ext", "id"))


@dataclass(frozen=True)
class Origin:
    """Where an execution comes from: the text of the program, and the engine that found it."""

    program: ProgramText
    engine: str


def make_witness(origin: Origin, program: Program, model: Model, trace: Trace, replayed: Replayed) -> Witness:
    """All that is to be known about an execution, under a model that need not allow it."""
    places = layout(program)
    condition = program.property.condition
    claim, violation = _claim(program, places, replayed)
    return Witness(
        name=program.name,
        program=origin.program,
        model=_model_text(model),
        engine=origin.engine,
        claim=claim,
        condition=condition_text(condition) if condition is not None else "",
        violation=violation,
        threads=tuple(thread.name or str(number) for number, thread in enumerate(program.threads)),
        events=_events(places, replayed),
        choices=_choices(trace),
        relations=_relations(replayed.execution),
        final=_final(program, places, replayed) if violation == "" else (),
        flags=judge(model, replayed.execution).flags,
    )


def _claim(program: Program, places: Layout, replayed: Replayed) -> tuple[str, str]:
    """What the execution shows, and for a runtime violation its description."""
    if replayed.violations:
        first = replayed.violations[0]
        return first.kind, _describe(first)
    condition = program.property.condition
    holds = condition is None or formula_holds(condition.formula, replayed.values, places)
    return (SATISFIES if holds else VIOLATES), ""


def _describe(violation: Violation) -> str:
    where = f"{violation.span}: " if violation.span is not None else ""
    return f"{where}{violation.message}"


def _model_text(model: Model) -> ModelText:
    if is_built_in(model):
        return ModelText(model.name)
    includes = tuple(
        IncludedText(item.by, item.path, item.source.name, item.source.text)
        for item in model.includes
        if not item.shipped
    )
    return ModelText(model.name, model.source.name, model.source.text, includes)


def _events(places: Layout, replayed: Replayed) -> tuple[WitnessEvent, ...]:
    found: list[WitnessEvent] = []
    letters = 0
    for event, instruction in zip(replayed.execution.events, replayed.instructions, strict=True):
        if event.initial:
            name = f"init({places.show(event.address)})"
        else:
            name = letter_name(letters)
            letters += 1
        found.append(_event(name, event, instruction, places))
    return tuple(found)


def _event(name: str, event: Event, instruction: int, places: Layout) -> WitnessEvent:
    span = event.span
    line, column = span.source.position(span.start) if span is not None else (0, 0)
    access = event.accesses_memory
    return WitnessEvent(
        name=name,
        kind=event.kind,
        thread=event.thread,
        index=event.index,
        instruction=instruction,
        location=places.show(event.address) if access else "",
        address=event.address,
        size=event.size,
        value=event.value,
        shown=places.show(event.value, 8 * event.size) if access else "",
        order=event.order.value,
        tags=tuple(sorted(event.tags)),
        fence=event.fence,
        line=line,
        column=column,
        text=" ".join(span.text.split()) if span is not None else "",
    )


def letter_name(number: int) -> str:
    """a, b, …, z, aa, ab, …"""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("a") + digit) + name
    return name


def _choices(trace: Trace) -> tuple[Choice, ...]:
    found, position, thread = [], 0, INITIAL_THREAD
    for item in trace:
        if item.thread != thread:
            thread, position = item.thread, 0
        if item.kind == "C":
            found.append(Choice(item.thread, position, item.instruction, item.value))
        else:
            position += 1
    return tuple(found)


def _relations(execution: Execution) -> dict[str, tuple[Pair, ...]]:
    found = {}
    for name in BASE_RELATIONS:
        if name not in _LEFT_OUT:
            value = base_value(name, execution)
            assert not isinstance(value, int)
            if any(value):
                found[name] = tuple(pairs(value))
    return found


def _final(program: Program, places: Layout, replayed: Replayed) -> tuple[tuple[str, str], ...]:
    observed = program.property.observed
    return tuple(
        (str(observed[i]), value_text(observed[i], replayed.values[observed[i]], places)) for i in shown_order(observed)
    )
