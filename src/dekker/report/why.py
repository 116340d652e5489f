"""Why an outcome is possible under one model and not under another, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from dekker.cat.reasons import Chain, Link, Reason
from dekker.records import dataclass
from dekker.report.counterexample import OutOfOrder, counterexample_text
from dekker.report.execution_text import execution_text, wrapped
from dekker.report.explanation import COMMUNICATION, label
from dekker.report.run_rows import user_frames
from dekker.report.style import WIDTH
from dekker.witness import Witness, WitnessFrame

POSSIBLE, IMPOSSIBLE, UNDECIDED = "possible", "impossible", "undecided"
WITHIN_BOUND = "impossible within the bound"


@dataclass(frozen=True)
class Advice:
    """A fence between two events, and what would do in its place."""

    pair: tuple[int, int]
    fence: str
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    """One run. `order` says why it is no interleaving; `kept` for each pair of it what keeps the two in order in their
    own thread, if anything does. `advice` would forbid the run under its own model, `reasons` say why `forbidden_by`
    does not allow it."""

    witness: Witness
    order: OutOfOrder | None = None
    kept: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    forbidden_by: str = ""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Difference:
    """An outcome of one model that the other does not have, and a run that has it."""

    outcome: str
    story: Story | None


@dataclass(frozen=True)
class Answer:
    """What one model says to the question; `covered` says how much was looked at."""

    model: str
    status: str
    covered: str


@dataclass(frozen=True)
class Why:
    """`outcome` is what is asked about. `story` is the run that shows it, or the one that comes closest. `only` are the
    outcomes that one of two models has alone, by its name; `notes` what else is to be said."""

    outcome: str
    answer: Answer
    other: Answer | None = None
    story: Story | None = None
    only: tuple[tuple[str, tuple[Difference, ...]], ...] = ()
    compared: bool = False
    notes: tuple[str, ...] = ()
    shared: int = 0
    candidates: str = ""


MOST_SHOWN = 3


def why_text(why: Why, width: int = WIDTH) -> str:
    lines = list(_differences(why, width) if why.compared else _about_outcome(why, width))
    for note in why.notes:
        lines += ["", *wrapped(note, width, "", "")]
    return "\n".join(lines)


# --- one outcome


def _about_outcome(why: Why, width: int) -> Iterator[str]:
    yield from wrapped(_head(why), width, "", "")
    if why.candidates:
        yield from wrapped(why.candidates, width, "", "")
    if why.story is not None:
        yield from _story(why.story, width, head="The run:" if why.answer.status == POSSIBLE else "It would take this:")


def _head(why: Why) -> str:
    answer, other = why.answer, why.other
    said = f"Under {answer.model}, {why.outcome} is {answer.status} ({answer.covered})"
    if other is None:
        return f"{said}."
    if other.status == answer.status:
        end = ": no access has to take effect out of order for it." if answer.status == POSSIBLE else "."
        return f"{said}, and so it is under {other.model} ({other.covered}){end}"
    return f"{said}; under {other.model} it is {other.status} ({other.covered})."


def _story(story: Story, width: int, head: str) -> Iterator[str]:
    yield ""
    yield head
    yield ""
    by_lines = story.witness.program.sources and story.witness.violation is not None
    if by_lines:
        yield counterexample_text(story.witness, None, width, with_order=False).rstrip("\n")
    else:
        yield execution_text(story.witness, width).rstrip("\n")
    yield from _reordered(story, width)
    yield from _forbidden(story, width)
    yield from _advice(story, width)


def _reordered(story: Story, width: int) -> Iterator[str]:
    if story.order is None:
        return
    yield ""
    yield f"What {story.witness.model.name} does not keep in order:"
    for (first, second), kept in zip(story.order.pairs, story.kept, strict=True):
        yield from wrapped(_pair(story.witness, first, second, kept), width, "- ", "  ")


def _pair(witness: Witness, first: int, second: int, kept: str) -> str:
    thread = _thread(witness, witness.events[first].thread)
    before, after = access(witness, first), access(witness, second)
    if kept:
        return (
            f"{thread} does {before} and then {after} in this order ({kept} sees to that), but "
            f"{witness.model.name} does not make what others write visible to all threads at one moment"
        )
    return f"{thread}: {after} takes effect before {before}, which comes first in the program"


def _forbidden(story: Story, width: int) -> Iterator[str]:
    for reason in story.reasons:
        yield ""
        if not reason.chain:
            yield f"{story.forbidden_by} forbids this by its axiom `{reason.check}`, which asks for what is not there."
            continue
        yield f"{story.forbidden_by} forbids this by its axiom `{reason.check}`:"
        for depth, text in _steps(reason.chain, story.witness):
            indent = "  " * depth
            yield from wrapped(text, width, f"{indent}- ", f"{indent}  ")
        if reason.kind in ("acyclic", "irreflexive"):
            yield "So each of them would have to come before itself."


def _steps(chain: Chain, witness: Witness, depth: int = 0) -> Iterator[tuple[int, str]]:
    """What takes several steps is followed by them."""
    for link in chain:
        if link.names:
            yield depth, _step(link, witness)
        for path in link.because:
            yield from _steps(path, witness, depth + 1 if link.names else depth)


def _step(link: Link, witness: Witness) -> str:
    a, b = access(witness, link.source, thread=True), access(witness, link.target, thread=True)
    name = link.names[-1] if link.names else ""
    if name in COMMUNICATION:
        kind = name[:2]
        return {
            "rf": f"{b} takes its value from {a}, so it comes after that",
            "co": f"{a} comes before {b} in the order of the writes of {witness.events[link.source].location}",
            "fr": f"{a} does not see {b} yet, so it comes before that",
        }[kind]
    if name == "po":
        return f"{a} comes before {b} in the program"
    return f"{a} comes before {b}, because of {_rule(link)}"


def _rule(link: Link) -> str:
    spoken = {"addr": "an address dependency", "data": "a data dependency", "ctrl": "a control dependency"}
    inner = link.names[-1] if link.names else ""
    return f"{spoken[inner]} (`{label(link)}`)" if inner in spoken else f"the rule `{label(link)}`"


def _advice(story: Story, width: int) -> Iterator[str]:
    if story.order is None:
        return
    model = story.witness.model.name
    yield ""
    if not story.advice:
        yield f"No fence between these accesses would forbid the run under {model}."
        return
    several = " (all of them together)" if len(story.advice) > 1 else ""
    yield f"What would forbid this run under {model}{several}:"
    for item in story.advice:
        thread = _thread(story.witness, story.witness.events[item.pair[0]].thread)
        between = f"between {access(story.witness, item.pair[0])} and {access(story.witness, item.pair[1])}"
        instead = f"; instead, {' or '.join(item.instead)} from the first to the second" if item.instead else ""
        yield from wrapped(f"{thread}: `{item.fence}` {between}{instead}", width, "- ", "  ")


# --- two models


def _differences(why: Why, width: int) -> Iterator[str]:
    assert why.other is not None
    counts = {model: len(found) for model, found in why.only}
    names = (why.answer.model, why.other.model)
    covered = f"{names[0]}: {why.answer.covered}; {names[1]}: {why.other.covered}"
    if not any(counts.values()):
        what = f"have the same {why.outcome} ({why.shared})" if why.shared else f"have no {why.outcome}"
        yield from wrapped(f"{names[0]} and {names[1]} {what} here ({covered}).", width, "", "")
        return
    yield from wrapped(f"{names[0]} and {names[1]} differ here ({covered}).", width, "", "")
    for model, found in why.only:
        other = names[1] if model == names[0] else names[0]
        if not found:
            has_none = not why.shared and not found
            said = f"{model} has no {why.outcome}" if has_none else f"All {why.outcome} of {model} are of {other}, too"
            yield from ("", f"{said}.")
            continue
        yield from ("", f"Under {model} and not under {other}: {len(found)}")
        for difference in found:
            yield f"  {difference.outcome}"
        for difference in [item for item in found if item.story is not None][:MOST_SHOWN]:
            assert difference.story is not None
            yield from ("", f"{difference.outcome} under {model}")
            yield from _story(difference.story, width, "The run:")


# --- words


def access(witness: Witness, number: int, *, thread: bool = False) -> str:
    event = witness.events[number]
    verb = {"R": "the read of", "W": "the write of", "F": "the fence"}[event.kind]
    what = event.fence if event.kind == "F" else event.location
    value = "" if event.kind == "F" else f" = {event.shown}"
    place = user_frames((*event.callers, WitnessFrame(event.function, event.file, event.line, event.column)))
    line = place[-1].line if place and place[-1].line else event.line
    where = f" (line {line})" if line else ""
    if event.thread < 0:
        return f"the initial value of {event.location}"
    owner = f"{_thread(witness, event.thread)}'s " if thread else ""
    return f"{owner}{verb.removeprefix('the ') if thread else verb} {what}{value}{where}"


def _thread(witness: Witness, number: int) -> str:
    name = witness.threads[number].name
    return f"thread {name}" if name.isdigit() else name
