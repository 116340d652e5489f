"""Why an outcome is forbidden, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from dekker.cat.reasons import Chain, Link, Reason
from dekker.records import dataclass
from dekker.report.execution_text import NO_BREAK, event_text, execution_text, wrapped
from dekker.report.style import WIDTH
from dekker.witness import Witness

COMMUNICATION = frozenset(("rf", "rfe", "rfi", "co", "coe", "coi", "fr", "fre", "fri"))


@dataclass(frozen=True)
class Explanation:
    """`closest` is the execution that breaks the fewest checks among those that satisfy `formula`, and `reasons` say
    why it breaks them. `excluded` counts for each check the candidates that it alone would rule out."""

    model: str
    formula: str
    candidates: int
    excluded: tuple[tuple[str, int], ...]
    closest: Witness | None = None
    reasons: tuple[Reason, ...] = ()
    self_justifying: int = 0
    stopped_by: str | None = None


def explanation_text(explanation: Explanation, width: int = WIDTH) -> str:
    return "\n".join(_explained(explanation, width)) + "\n"


def reasons_text(reasons: tuple[Reason, ...], witness: Witness, width: int = WIDTH) -> str:
    """Why a model forbids an execution."""
    return "\n".join(line for reason in reasons for line in _reason(reason, witness, width)) + "\n"


def _explained(explanation: Explanation, width: int) -> Iterator[str]:
    yield from wrap(_verdict(explanation), width)
    if explanation.candidates:
        size = max(len(name) for name, _ in explanation.excluded)
        for name, count in explanation.excluded:
            yield f"  {name.ljust(size)}  excludes {count}"
    if explanation.closest is None:
        return
    yield ""
    if explanation.candidates > 1:
        yield "The one that breaks the fewest axioms, in the shortest way:"
        yield ""
    yield execution_text(explanation.closest, width)
    for reason in explanation.reasons:
        yield from _reason(reason, explanation.closest, width)


def _verdict(explanation: Explanation) -> str:
    searched = " in the time given" if explanation.stopped_by else ""
    if not explanation.candidates:
        why = f"No candidate execution{searched} satisfies {explanation.formula}, whatever the model: "
        if explanation.self_justifying:
            return f"{why}the values could only come from themselves, out of thin air."
        return f"{why}no choice of sources for the reads and of an order of the writes gives these values."
    count = explanation.candidates
    noun = "candidate execution satisfies" if count == 1 else "candidate executions satisfy"
    allowed = "it" if count == 1 else "any of them"
    return (
        f"{count} {noun} {explanation.formula}{searched}; {explanation.model} does not allow {allowed}. "
        "Each axiom alone:"
    )


def _reason(reason: Reason, witness: Witness, width: int) -> Iterator[str]:
    if not reason.chain:
        yield f"forbidden by axiom `{reason.check}`, which asks for something that is not there"
        return
    kind = {"acyclic": "a cycle", "irreflexive": "a cycle", "empty": "what must not be"}[reason.kind]
    yield f"forbidden by axiom `{reason.check}`, {kind}:"
    for i, chain in enumerate(_shown_chains(reason.chain)):
        start = "" if i == 0 else "and at the same time "
        text = start.replace(" ", NO_BREAK) + _chain_text(chain, witness, described=i == 0)
        yield from wrapped(text, width, "  ", "    ")
        yield from _details(chain, witness, width, "    ")


def _shown_chains(chain: Chain) -> tuple[Chain, ...]:
    """A pair that must not be in two relations at once is shown in both."""
    return chain[0].because if len(chain) == 1 and not chain[0].names else (chain,)


def _details(chain: Chain, witness: Witness, width: int, indent: str) -> Iterator[str]:
    for link in chain:
        for i, path in enumerate(link.because):
            start = f"where {_link_text(link, witness)} is " if i == 0 else "and at the same time "
            text = start.replace(" ", NO_BREAK) + _chain_text(path, witness)
            yield from wrapped(text, width, indent, f"{indent}  ")
            yield from _details(path, witness, width, f"{indent}  ")


def _chain_text(chain: Chain, witness: Witness, described: bool = False) -> str:
    """`a (W x=1) -co-> b …`; a line may break before an arrow only. Events are described where they first appear."""
    seen: set[int] = set()

    def event(number: int) -> str:
        item = witness.events[number]
        if number in seen or not described:
            return item.name
        seen.add(number)
        return f"{item.name} ({event_text(item)})"

    parts = [event(chain[0].source)]
    parts += [f"-{label(link)}-> {event(link.target)}" for link in chain]
    return " ".join(part.replace(" ", NO_BREAK) for part in parts)


def _link_text(link: Link, witness: Witness) -> str:
    return f"{witness.events[link.source].name} -{label(link)}-> {witness.events[link.target].name}"


def label(link: Link) -> str:
    """The outermost name, and the innermost if that says more."""
    if not link.names:
        return "both"
    outer, inner = link.names[0], link.names[-1]
    if inner in COMMUNICATION:
        return inner
    return outer if outer == inner else f"{outer}: {inner}"
