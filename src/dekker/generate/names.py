"""The customary names of tests: a family, then what stands between the accesses of each thread.

The family says how each thread begins and ends, from which the communications between them follow: MP is a thread
that writes twice and one that reads twice. Families without a name of their own are spelt out: `WW+RR+WR+WR`.
Then come, in the order of the threads, the edges within each thread of two accesses or more, joined by `-`:
`MP+lwsync+addr`, `MP+dmb.sy+addr-po`. Equal ones are written once, in the plural: `IRIW+syncs`. Plain program order
throughout goes without saying: `MP`; in the families of one location that is order on one location: `CoRR`. Last come
the annotations of threads with one access only, if any has one, Na for none: `RWC+poaa+pola+L`, `IRIW+poaas+NaL`.

Names do not tell the direction of accesses in the middle of a thread, so several cycles can share a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dekker.errors import InputError
from dekker.generate.cycles import Cycle, rotations
from dekker.generate.edges import COMMUNICATIONS, Edge, Kind, Vocabulary
from dekker.ir.families import FAMILIES, REPEATED

ONE_LOCATION_FAMILIES = {
    "CoRR": "W RR",
    "CoRW2": "W RW",
    "CoWR": "W WR",
    "CoWW": "WW",
    "CoRW1": "RW",
    "CoWR0": "WR",
}


def name_and_rotation(cycle: Cycle, vocabulary: Vocabulary) -> tuple[str, Cycle]:
    """The name of a cycle, and the cycle from where its first thread in the sense of the name begins."""
    one_location = all(edge.same_location for edge in cycle)
    candidates = list(rotations(cycle))
    for candidate in candidates:
        family = _family_of(_shapes(candidate), one_location)
        if family is not None:
            return _with_suffixes(family, candidate, vocabulary), candidate
    best = min(candidates, key=_preference)
    return _with_suffixes("+".join(_shapes(best)), best, vocabulary), best


def edges_of_name(name: str, vocabulary: Vocabulary) -> Cycle:
    """A cycle with that name, not yet checked. Where the name leaves directions open, reads are preferred."""
    for shapes, one_location, suffixes in _readings(name):
        edges = _edges(shapes, suffixes, "pos" if one_location else "po", vocabulary)
        if edges is not None:
            return edges
    raise InputError(
        f"'{name}' is not the name of a cycle on {vocabulary.architecture}",
        hint="a name is a family and the edges of each thread, such as MP+po+addr or SB+rfi-pos; "
        f"families: {', '.join([*FAMILIES, *ONE_LOCATION_FAMILIES])}",
    )


def _threads(cycle: Cycle) -> list[list[Edge]]:
    """The edges of each thread; what lies between a Leave and its Back counts as part of the thread left."""
    threads: list[list[Edge]] = [[]]
    depth = 0
    for edge in cycle:
        depth += edge.leaves - edge.returns
        if edge.external and depth == 0 and not edge.returns:
            threads.append([])
        else:
            threads[-1].append(edge)
    return threads[:-1]


def _shapes(cycle: Cycle) -> tuple[str, ...]:
    """The first and last direction of each thread, one letter for a thread of one access."""
    shapes, start = [], 0
    for thread in _threads(cycle):
        end = start + len(thread)
        shapes.append(cycle[start].source + (cycle[end].source if thread else ""))
        start = end + 1
    return tuple(shapes)


def _family_of(shapes: tuple[str, ...], one_location: bool) -> str | None:
    text = " ".join(shapes)
    tables = (ONE_LOCATION_FAMILIES, FAMILIES) if one_location else (FAMILIES,)
    for table in tables:
        for family, shape in table.items():
            if shape == text:
                return family
    for family, shape in REPEATED.items():
        if len(shapes) > 2 and set(shapes) == {shape}:
            return f"{len(shapes)}.{family}"
    return None


PREFERENCE = ["W", "WW", "RR", "RW", "WR", "R"]


def _preference(cycle: Cycle) -> list[int]:
    return [PREFERENCE.index(shape) for shape in _shapes(cycle)]


def _with_suffixes(family: str, cycle: Cycle, vocabulary: Vocabulary) -> str:
    threads = _threads(cycle)
    usual = "pos" if family in ONE_LOCATION_FAMILIES else "po"
    suffixes = ["-".join(_short_names(thread, vocabulary)) for thread in threads if thread]
    if set(suffixes) == {usual}:
        suffixes = []
    elif len(suffixes) > 1 and len(set(suffixes)) == 1:
        suffixes = [f"{suffixes[0]}s"]
    return "+".join([family, *suffixes, *_lonely_annotations(cycle, threads, vocabulary)])


def _lonely_annotations(cycle: Cycle, threads: Sequence[Sequence[Edge]], vocabulary: Vocabulary) -> list[str]:
    start, annotations = 0, []
    for thread in threads:
        if not thread:
            annotations.append(cycle[start].source_annotation or vocabulary.plain)
        start += len(thread) + 1
    if all(annotation == vocabulary.plain for annotation in annotations):
        return []
    return ["".join("Na" if annotation == vocabulary.plain else annotation for annotation in annotations)]


def _short_names(thread: Sequence[Edge], vocabulary: Vocabulary) -> Iterator[str]:
    """Short names of edges; `[fr-rf]` for a way out to another thread and back."""
    for edge in thread:
        name, annotations = short_name(edge), _short_annotations(edge, vocabulary)
        yield (
            f"[{name}{annotations}" if edge.leaves else f"{name}]{annotations}" if edge.returns else name + annotations
        )


def short_name(edge: Edge) -> str:
    if edge.communicates:
        return edge.kind.value.lower() + (edge.detail if edge.detail in "ie" else "")
    stem = "po" if edge.kind is Kind.ORDER else edge.detail.lower()
    return stem + ("s" if edge.same_location and edge.kind is not Kind.ATOMIC else "")


def _short_annotations(edge: Edge, vocabulary: Vocabulary) -> str:
    pair = (edge.source_annotation or vocabulary.plain, edge.target_annotation or vocabulary.plain)
    return "" if pair == (vocabulary.plain, vocabulary.plain) else "".join(pair).lower()


def _readings(name: str) -> Iterator[tuple[list[str], bool, list[str]]]:
    """The ways to split a name into a family and suffixes, longest family first."""
    words = name.split("+")
    for end in range(len(words), 0, -1):
        family, suffixes = "+".join(words[:end]), words[end:]
        if family in ONE_LOCATION_FAMILIES:
            yield ONE_LOCATION_FAMILIES[family].split(), True, suffixes
        if family in FAMILIES:
            yield FAMILIES[family].split(), False, suffixes
        number, _, repeated = family.partition(".")
        if number.isdecimal() and repeated in REPEATED and 2 < int(number) < 100:
            yield [REPEATED[repeated]] * int(number), False, suffixes
        if all(word in PREFERENCE for word in words[:end]):
            yield words[:end], False, suffixes


def _edges(shapes: Sequence[str], suffixes: Sequence[str], usual: str, vocabulary: Vocabulary) -> Cycle | None:
    wide = sum(len(shape) == 2 for shape in shapes)
    lonely = len(shapes) - wide
    readings = [(suffixes, [vocabulary.plain] * lonely)]
    if suffixes:
        readings += [(suffixes[:-1], annotations) for annotations in _lonely_readings(suffixes[-1], lonely, vocabulary)]
    for given, of_lonely in readings:
        for per_thread in _distributions(given, wide, usual):
            edges = _joined(shapes, per_thread, of_lonely, vocabulary)
            if edges is not None:
                return edges
    return None


def _lonely_readings(suffix: str, lonely: int, vocabulary: Vocabulary) -> Iterator[list[str]]:
    """The ways to read a suffix as the annotations of so many accesses."""
    if lonely == 0:
        if not suffix:
            yield []
        return
    for name in vocabulary.annotations:
        spelt = "Na" if name == vocabulary.plain else name
        if suffix.startswith(spelt):
            yield from ([name, *rest] for rest in _lonely_readings(suffix[len(spelt) :], lonely - 1, vocabulary))


def _distributions(suffixes: Sequence[str], wide: int, usual: str) -> Iterator[list[str]]:
    """The suffix of each thread of two accesses or more: all given, none given, or one in the plural."""
    if len(suffixes) == wide:
        yield list(suffixes)
    if not suffixes:
        yield [usual] * wide
    if len(suffixes) == 1 and wide > 1 and suffixes[0].endswith("s"):
        yield [suffixes[0][:-1]] * wide


def _joined(
    shapes: Sequence[str], suffixes: Sequence[str], annotations: Sequence[str], vocabulary: Vocabulary
) -> Cycle | None:
    """The edges of all threads and the communications between them, which carry the annotations of lonely accesses."""
    inner, lonely = iter(suffixes), iter(annotations)
    carried = [next(lonely) if len(shape) == 1 else None for shape in shapes]
    edges: list[Edge] = []
    for i, shape in enumerate(shapes):
        thread = _thread_edges(shape, next(inner), vocabulary) if len(shape) == 2 else []
        after = (i + 1) % len(shapes)
        kind = next((kind for kind, ends in COMMUNICATIONS.items() if ends == (shape[-1], shapes[after][0])), None)
        if thread is None or kind is None:
            return None
        edges += [*thread, Edge(kind, "e", True, *COMMUNICATIONS[kind], carried[i], carried[after])]
    return tuple(edges)


def _thread_edges(shape: str, suffix: str, vocabulary: Vocabulary) -> list[Edge] | None:
    """The edges within a thread, their open directions chosen so that they lead from the first to the last."""
    reachable: dict[str, list[Edge]] = {shape[0]: []}
    for part in suffix.split("-"):
        step: dict[str, list[Edge]] = {}
        for edge in _edges_called(part, vocabulary):
            if edge.source in reachable and edge.target not in step:
                step[edge.target] = [*reachable[edge.source], edge]
        reachable = step
    return reachable.get(shape[1])


def _edges_called(part: str, vocabulary: Vocabulary) -> Iterator[Edge]:
    """The edges with a short name, those that start with a read first."""
    ending = "Leave" if part.startswith("[") else "Back" if "]" in part else None
    text = part.replace("[", "").replace("]", "")
    if text.startswith("ws"):
        text = f"co{text[2:]}"
    pairs = {"".join(pair).lower(): pair for pair in vocabulary.annotation_pairs.values()}
    suits = vocabulary.annotations
    for edge in sorted(vocabulary.edges.values(), key=lambda edge: edge.source):
        short = short_name(edge)
        if (edge.detail != ending if ending else edge.external) or not text.startswith(short):
            continue
        rest = text[len(short) :]
        first, second = pairs.get(rest, ("", ""))
        if not rest:
            yield edge
        elif edge.source in suits.get(first, "") and edge.target in suits.get(second, ""):
            yield replace(edge, source_annotation=first, target_annotation=second)
