"""Whether a witness holds: everything it says is worked out again from its trace, its program and a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from dekker.cat.model import Model
from dekker.ir.conditions import formula_holds
from dekker.ir.layout import layout
from dekker.ir.program import Program
from dekker.replay.judge import judge
from dekker.replay.machine import BLOCKED, ENDED, STOPPED, WAITING
from dekker.replay.rebuild import Mismatch, Replayed, replay
from dekker.replay.record import Origin, make_witness
from dekker.witness import SATISFIES, VIOLATES, Pair, Witness

MOST_SHOWN = 6


def check_witness(witness: Witness, program: Program, model: Model) -> list[str]:
    """What is wrong with a witness of this program and model; nothing if it holds."""
    found = deviations(witness, program, model)
    try:
        broken = judge(model, replay(program, witness.trace()).execution).broken
    except Mismatch:
        return found
    return [*found, *(f"the model '{model.name}' forbids it: the check '{check.name}' fails" for check in broken)]


def deviations(witness: Witness, program: Program, model: Model) -> list[str]:
    """Where a witness differs from what the program does, whether or not the model allows that."""
    trace = witness.trace()
    try:
        replayed = replay(program, trace)
    except Mismatch as mismatch:
        return [str(mismatch)]
    said = (witness.claim, witness.violation)
    origin = Origin(witness.program, witness.engine)
    rebuilt = make_witness(origin, program, model, trace, replayed, lambda *found: found == said)
    return [*_incomplete(witness.claim, program, replayed), *_differences(witness, rebuilt)]


def _incomplete(claim: str, program: Program, replayed: Replayed) -> Iterator[str]:
    """A final state needs all threads to have ended; a violation may be shown by the beginning of an execution."""
    if claim not in (SATISFIES, VIOLATES):
        return
    if replayed.ended(ENDED):
        endings: dict[str, str] = {}
    else:
        endings = {
            STOPPED: "goes on beyond its trace",
            BLOCKED: "stops at an assumption that does not hold",
            WAITING: "waits",
        }
    for how, said in endings.items():
        for thread in replayed.ended(how):
            yield f"thread {_name(program, thread)} {said}"
    places = layout(program)
    wanted = program.property.filter
    if wanted is not None and not formula_holds(wanted, replayed.values, places):
        yield "its final state does not pass the filter of the program"


def _name(program: Program, thread: int) -> str:
    return (program.threads[thread].name if thread < len(program.threads) else "") or str(thread)


def _differences(said: Witness, found: Witness) -> Iterator[str]:
    for item in fields(Witness):
        if item.name not in ("events", "relations", "model"):
            claimed, actual = getattr(said, item.name), getattr(found, item.name)
            if claimed != actual:
                yield f"{item.name}: the witness says {_shown(claimed)}, the execution gives {_shown(actual)}"
    if len(said.events) != len(found.events):
        yield f"the witness has {len(said.events)} events, the execution {len(found.events)}"
        return
    for claimed, actual in zip(said.events, found.events, strict=True):
        for part in fields(type(claimed)):
            before, after = getattr(claimed, part.name), getattr(actual, part.name)
            if before != after:
                yield f"event {actual.name}, {part.name}: the witness says {_shown(before)}, it is {_shown(after)}"
    for name in {**found.relations, **said.relations}:
        yield from _relation_differences(name, said.relations.get(name, ()), found.relations.get(name, ()), found)


def _relation_differences(
    name: str, said: tuple[Pair, ...], found: tuple[Pair, ...], witness: Witness
) -> Iterator[str]:
    def shown(pairs: set[Pair]) -> str:
        ordered = sorted(pairs)[:MOST_SHOWN]
        text = ", ".join(f"({witness.events[a].name}, {witness.events[b].name})" for a, b in ordered)
        return text if len(pairs) <= MOST_SHOWN else f"{text}, …"

    extra, missing = set(said) - set(found), set(found) - set(said)
    if extra:
        yield f"relation {name}: the witness has {shown(extra)}, the execution does not"
    if missing:
        yield f"relation {name}: the execution has {shown(missing)}, the witness does not"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
