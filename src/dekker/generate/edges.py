"""Edges, the letters of cycles: how they are spelt, and what each asks of the accesses it joins.

    Rfe Fre Coe         communication between threads: reads-from, from-read, coherence (Wse is Coe)
    Rfi Fri Coi         the same within a thread
    RfLeave … CoBack    communication that leaves for a fresh thread, and that returns to the thread left before
    DetourR … DetourWW  short for a Leave and a Back: out to another thread and straight back
    PodRW PosWW         program order to a different, to the same location; `*` leaves a direction to the neighbours
    SyncdWR DMB.SYsRR   a fence between two accesses
    DpAddrdR DpCtrldW   a dependency, always from a read
    LxSx Amo.Swp Rmw    the read and the write of one read-modify-write

A suffix of two annotations says what kind of access is at either end: `PodWRLA` goes from a release to an acquire.
An end without annotation takes the one of its neighbour, and is plain where both are silent.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from itertools import product

from dekker.errors import InputError
from dekker.records import dataclass


class Kind(Enum):
    READS_FROM = "Rf"
    FROM_READ = "Fr"
    COHERENCE = "Co"
    ORDER = "Po"
    FENCE = "fence"
    DEPENDENCY = "Dp"
    ATOMIC = "atomic"


COMMUNICATIONS = {Kind.READS_FROM: ("W", "R"), Kind.FROM_READ: ("R", "W"), Kind.COHERENCE: ("W", "W")}


@dataclass(frozen=True)
class Edge:
    """`detail` names the fence, the dependency or the read-modify-write; for communications it is the ending.
    Directions are "R", "W" or "*", annotations are None where the spelling leaves them open."""

    kind: Kind
    detail: str
    same_location: bool
    source: str
    target: str
    source_annotation: str | None = None
    target_annotation: str | None = None

    @property
    def communicates(self) -> bool:
        return self.kind in COMMUNICATIONS

    @property
    def external(self) -> bool:
        return self.communicates and self.detail != "i"

    @property
    def leaves(self) -> bool:
        return self.communicates and self.detail == "Leave"

    @property
    def returns(self) -> bool:
        return self.communicates and self.detail == "Back"

    @property
    def name(self) -> str:
        """The spelling without annotations."""
        place = "s" if self.same_location else "d"
        if self.communicates:
            return self.kind.value + self.detail
        if self.kind is Kind.ORDER:
            return f"Po{place}{self.source}{self.target}"
        if self.kind is Kind.FENCE:
            return f"{self.detail}{place}{self.source}{self.target}"
        if self.kind is Kind.DEPENDENCY:
            return f"Dp{self.detail}{place}{self.target}"
        return self.detail


DETOURS = {
    "DetourR": ("FrLeave", "RfBack"),
    "DetourW": ("CoLeave", "RfBack"),
    "DetourRW": ("FrLeave", "CoBack"),
    "DetourWW": ("CoLeave", "CoBack"),
}


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What an architecture adds to the edges that all have. `annotations` maps each annotation to the directions that
    can carry it, `plain` is the one meant by silence, `atomic_pairs` are those a read-modify-write can have on its
    read and its write, `synonyms` maps other beginnings of edges to the usual ones."""

    architecture: str
    fences: tuple[str, ...]
    dependencies: tuple[str, ...]
    atomics: tuple[str, ...]
    annotations: Mapping[str, str]
    plain: str = "P"
    atomic_pairs: frozenset[tuple[str, str]] = frozenset({("P", "P")})
    synonyms: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def edges(self) -> dict[str, Edge]:
        """Every edge with both directions known, by name, without annotations."""
        return {edge.name: edge for edge in self._all_edges("RW")}

    @cached_property
    def spellings(self) -> dict[str, Edge]:
        """What `edge` accepts: the edges, those with open directions, and synonyms."""
        found = {edge.name: edge for edge in self._all_edges("RW*")}
        for usual, other in (("Co", "Ws"), ("DpCtrlIsync", "DpCtrlISync")):
            found |= {other + name[len(usual) :]: edge for name, edge in found.items() if name.startswith(usual)}
        for other, usual in self.synonyms.items():
            found |= {other + name[len(usual) :]: edge for name, edge in found.items() if name.startswith(usual)}
        return found

    @cached_property
    def annotation_pairs(self) -> dict[str, tuple[str, str]]:
        return {first + second: (first, second) for first, second in product(self.annotations, repeat=2)}

    def _all_edges(self, directions: str) -> Iterator[Edge]:
        for kind, (source, target) in COMMUNICATIONS.items():
            for ending in ("e", "i", "Leave", "Back"):
                yield Edge(kind, ending, True, source, target)
        for same, source, target in product((False, True), directions, directions):
            yield Edge(Kind.ORDER, "", same, source, target)
            yield from (Edge(Kind.FENCE, fence, same, source, target) for fence in self.fences)
        for dependency, same, target in product(self.dependencies, (False, True), directions):
            if dependency != "Data" or target == "W":
                yield Edge(Kind.DEPENDENCY, dependency, same, "R", target)
        for atomic in self.atomics:
            yield Edge(Kind.ATOMIC, atomic, True, "R", "W")


def parse_edge(text: str, vocabulary: Vocabulary) -> tuple[Edge, ...]:
    """The edge that a text spells: one, or two for a detour."""
    if text in DETOURS:
        return tuple(vocabulary.edges[name] for name in DETOURS[text])
    for end in range(len(text), 0, -1):
        edge = vocabulary.spellings.get(text[:end])
        if edge is not None and end == len(text):
            return (edge,)
        if edge is not None and text[end:] in vocabulary.annotation_pairs:
            return (annotate(edge, *vocabulary.annotation_pairs[text[end:]], vocabulary, text),)
    raise InputError(f"unknown edge '{text}' for {vocabulary.architecture}", hint=_hint(text, vocabulary))


def annotate(edge: Edge, first: str, second: str, vocabulary: Vocabulary, text: str) -> Edge:
    for annotation, direction, end in ((first, edge.source, "starts"), (second, edge.target, "ends")):
        if direction not in vocabulary.annotations[annotation] and direction != "*":
            word, architecture = WORDS[direction], vocabulary.architecture
            raise InputError(
                f"edge '{text}' {end} with a {word}, which cannot be '{annotation}' on {architecture}",
                hint=f"annotations of a {word}: {', '.join(allowed_annotations(vocabulary, direction))}",
            )
    return replace(edge, source_annotation=first, target_annotation=second)


WORDS = {"R": "read", "W": "write"}


def allowed_annotations(vocabulary: Vocabulary, direction: str) -> list[str]:
    return [name for name, directions in vocabulary.annotations.items() if direction in directions]


def spell(edge: Edge, vocabulary: Vocabulary) -> str:
    """The spelling with annotations, which are left out where both ends are plain or open."""
    pair = (edge.source_annotation or vocabulary.plain, edge.target_annotation or vocabulary.plain)
    return edge.name if pair == (vocabulary.plain, vocabulary.plain) else edge.name + "".join(pair)


def _hint(text: str, vocabulary: Vocabulary) -> str:
    names = [*vocabulary.spellings, *DETOURS]
    folded = {name.lower(): name for name in names if "*" not in name}
    close = [folded[name] for name in difflib.get_close_matches(text.lower(), folded, n=5, cutoff=0.6)]
    if close:
        return f"close to it: {', '.join(close)}"
    fences = ", ".join(vocabulary.fences)
    return (
        f"edges are Rfe, Fre, Coe, Rfi, Fri, Coi, PodWR, PosRR, fences ({fences}) as in {vocabulary.fences[0]}dWW"
        + (
            f", and dependencies ({', '.join(vocabulary.dependencies)}) as in Dp{vocabulary.dependencies[0]}dR"
            if vocabulary.dependencies
            else ""
        )
    )
