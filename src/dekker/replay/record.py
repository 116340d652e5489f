"""From a replayed execution to a `Witness`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dekker.cat.model import Model
from dekker.execution import BASE_RELATIONS, INITIAL_THREAD, Event, Execution, Trace, base_value, pairs
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import Layout, layout
from dekker.ir.notation import condition_text, shown_order, value_text
from dekker.ir.program import Program
from dekker.models import is_built_in
from dekker.records import dataclass
from dekker.replay.findings import findings
from dekker.replay.frames import function_of_thread, to_frames
from dekker.replay.judge import judge
from dekker.replay.machine import COMPLETE
from dekker.replay.names import Names
from dekker.replay.output import printed_text
from dekker.replay.rebuild import Replayed
from dekker.replay.world import Stack
from dekker.witness import (
    FLAG,
    GONE,
    SATISFIES,
    VIOLATES,
    Choice,
    Finding,
    IncludedText,
    ModelText,
    Output,
    Pair,
    ProgramText,
    Witness,
    WitnessEvent,
    WitnessThread,
)

# What follows from the events alone is not worth the space.
_LEFT_OUT = frozenset(("loc", "int", "ext", "id"))


@dataclass(frozen=True)
class Origin:
    """Where an execution comes from: the text of the program, and the engine that found it."""

    program: ProgramText
    engine: str


Wanted = Callable[[str, Finding], bool]


def make_witness(
    origin: Origin, program: Program, model: Model, trace: Trace, replayed: Replayed, wanted: Wanted | None = None
) -> Witness:
    """All that is to be known about an execution, under a model that need not allow it. If there are several things
    that it may claim, `wanted` says which; else it is the first runtime violation."""
    places, names = layout(program), Names(replayed.world)
    condition = program.property.condition
    claim, violation = _claim(program, model, replayed, names, wanted)
    return Witness(
        name=program.name,
        program=origin.program,
        model=model_text(model),
        engine=origin.engine,
        claim=claim,
        condition=condition_text(condition) if condition is not None else "",
        violation=violation,
        threads=_threads(program, replayed),
        alone=trace[0].value if trace and trace[0].kind == "P" else 0,
        events=_events(names, replayed),
        choices=_choices(trace),
        output=_output(names, replayed),
        relations=_relations(replayed.execution),
        final=_final(program, places, replayed) if violation is None else (),
        flags=judge(model, replayed.execution).flags,
    )


def _claim(
    program: Program, model: Model, replayed: Replayed, names: Names, wanted: Wanted | None
) -> tuple[str, Finding | None]:
    """What the execution shows, and for a violation its description."""
    found = findings(model, replayed, names)
    asked = [item for item in found if wanted is not None and wanted(*item)]
    runtime = [item for item in found if item[0] != FLAG]
    if asked or runtime:
        return (*asked, *runtime)[0]
    condition = program.property.condition
    holds = condition is None or formula_holds(condition.formula, replayed.values, names.places)
    return (SATISFIES if holds else VIOLATES), None


def _threads(program: Program, replayed: Replayed) -> tuple[WitnessThread, ...]:
    return tuple(_thread(program, replayed, number) for number in range(len(replayed.runs)))


def _thread(program: Program, replayed: Replayed, number: int) -> WitnessThread:
    run, start = replayed.runs[number], replayed.world.starts.get(number)
    name = program.threads[number].name if number < len(program.threads) else ""
    return WitnessThread(
        name=name or str(number),
        function=function_of_thread(replayed.world, number),
        parent=start.parent if start is not None else INITIAL_THREAD,
        created=to_frames(start.stack) if start is not None else (),
        end=run.end,
        stack=to_frames(run.stack) if run.end != COMPLETE else (),
    )


def _output(names: Names, replayed: Replayed) -> tuple[Output, ...]:
    return tuple(
        Output(run.thread, item.position, printed_text(item.text, item.values, names), to_frames(item.stack))
        for run in replayed.runs
        for item in run.printed
    )


def model_text(model: Model) -> ModelText:
    if is_built_in(model):
        return ModelText(model.name)
    includes = tuple(
        IncludedText(item.by, item.path, item.source.name, item.source.text)
        for item in model.includes
        if not item.shipped
    )
    return ModelText(model.name, model.source.name, model.source.text, includes)


def _events(names: Names, replayed: Replayed) -> tuple[WitnessEvent, ...]:
    found: list[WitnessEvent] = []
    letters = 0
    for event, instruction in zip(replayed.execution.events, replayed.instructions, strict=True):
        stack: Stack = ()
        is_end = False
        if event.initial:
            name = f"init({names.location(event.address)})"
        else:
            name = letter_name(letters)
            letters += 1
            done = replayed.done(event)
            stack, is_end = done.stack, done.release
        told = _event(name, event, instruction, names, stack)
        found.append(replace(told, shown=GONE) if is_end else told)
    return tuple(found)


def _event(name: str, event: Event, instruction: int, names: Names, stack: Stack) -> WitnessEvent:
    span = names.world.writer(event.address) if event.initial else event.span
    line, column = span.source.position(span.start) if span is not None else (0, 0)
    access = event.accesses_memory
    return WitnessEvent(
        name=name,
        kind=event.kind,
        thread=event.thread,
        index=event.index,
        instruction=instruction,
        location=names.location(event.address) if access else "",
        address=event.address,
        size=event.size,
        value=event.value,
        shown=names.value(event.value, 8 * event.size) if access else "",
        order=event.order.value,
        tags=tuple(sorted(event.tags)),
        fence=event.fence,
        function=to_frames(stack)[-1].function if stack else "",
        file=span.source.name if span is not None else "",
        line=line,
        column=column,
        text=" ".join(span.text.split()) if span is not None else "",
        callers=to_frames(stack)[:-1],
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
        if item.kind == "P":
            continue
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
