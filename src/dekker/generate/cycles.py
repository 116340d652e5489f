"""Cycles of edges: whether their edges compose, what they leave open, and all of them up to a size.

A cycle is valid when
- each edge ends with the direction and the annotation that the next one starts with,
- Leave and Back edges match like brackets,
- two communications between threads stand outside such brackets, so that there are two threads to go round,
- it changes location never, or at least twice,
- it has an edge other than a communication, since no execution has a cycle of communications alone.

A cycle that never changes location may do with one communication between threads: it then asks whether a thread can
contradict its own program order, as in `PosWW Coe` (CoWW).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dekker.errors import InputError
from dekker.generate.edges import WORDS, Edge, Kind, Vocabulary, parse_edge, spell

Cycle = tuple[Edge, ...]


def parse_cycle(text: str) -> tuple[str, ...]:
    """The words of a cycle: separated by blanks or commas; quotes and brackets around groups say nothing."""
    words = tuple(text.translate(str.maketrans(',[]"', "    ")).split())
    if not words:
        raise InputError("the cycle is empty", hint="a cycle is a sequence of edges, such as 'PodWW Rfe PodRR Fre'")
    return words


def resolve(words: Sequence[str], vocabulary: Vocabulary) -> Cycle:
    """The valid cycle that the words spell, every direction and annotation filled in."""
    return complete(tuple(edge for word in words for edge in parse_edge(word, vocabulary)), vocabulary)


def complete(edges: Cycle, vocabulary: Vocabulary) -> Cycle:
    problem = _first_problem(edges, vocabulary)
    if problem is not None:
        raise problem
    return _fill(edges, vocabulary)


def rotations(cycle: Cycle) -> Iterator[Cycle]:
    """The cycle from each place where a thread begins, in order: the last edge leads from another thread."""
    depths = _depths(cycle)
    ground = min(depths)
    for end in (len(cycle) - 1, *range(len(cycle) - 1)):
        edge = cycle[end]
        if edge.external and not edge.leaves and not edge.returns and depths[end] == ground:
            yield cycle[end + 1 :] + cycle[: end + 1]


def canonical(cycle: Sequence[str]) -> tuple[str, ...]:
    """The least of all rotations: the same for every way to write the cycle."""
    return min(tuple(cycle[i:]) + tuple(cycle[:i]) for i in range(len(cycle)))


def enumerate_resolved(
    words: Sequence[str], sizes: Sequence[int], vocabulary: Vocabulary, redundant: bool = False
) -> Iterator[tuple[str, ...]]:
    """Every valid cycle of the given numbers of words, each once whatever its rotation. Unless `redundant`, none in
    which two neighbours amount to one edge (Coe Coe, Fre Coe, Rfe Fre; PodRR PodRW)."""
    pool = list(dict.fromkeys(words))
    letters = [parse_edge(word, vocabulary) for word in pool]
    links = [[_follows(left[-1], right[0], vocabulary, redundant) for right in letters] for left in letters]
    counts = [_count(letter) for letter in letters]
    # Annotations, stars, detours and synonyms give one cycle several spellings.
    distinct = all(word in vocabulary.edges for word in pool)
    seen: set[tuple[str, ...]] = set()
    for size in sorted(set(sizes)):
        for necklace in _necklaces(size, links):
            if not _plausible([counts[letter] for letter in necklace]):
                continue
            edges = tuple(edge for letter in necklace for edge in letters[letter])
            if _unfit_shape(edges) is not None or _unfit_atomic(edges, vocabulary) is not None:
                continue
            if not distinct:
                key = canonical([spell(edge, vocabulary) for edge in _fill(edges, vocabulary)])
                if key in seen:
                    continue
                seen.add(key)
            yield tuple(pool[letter] for letter in necklace)


def _count(edges: Cycle) -> tuple[int, int, int, int]:
    """Changes of thread, changes of location, edges other than communications, Leaves less Backs."""
    return (
        sum(edge.external and not edge.leaves and not edge.returns for edge in edges),
        sum(not edge.same_location for edge in edges),
        sum(not edge.communicates for edge in edges),
        sum(edge.leaves - edge.returns for edge in edges),
    )


def _plausible(counts: Sequence[tuple[int, int, int, int]]) -> bool:
    """What `_unfit_shape` asks for at least, to sort out quickly."""
    threads, changes, others, open_brackets = map(sum, zip(*counts, strict=True))
    return others > 0 and changes != 1 and open_brackets == 0 and threads > (1 if changes else 0)


def _follows(left: Edge, right: Edge, vocabulary: Vocabulary, redundant: bool) -> bool:
    open_direction = left.target == right.source == "*"
    fits = not open_direction and _mismatch(left, right, vocabulary) is None
    return fits and (redundant or not _amount_to_one(left, right))


def _mismatch(left: Edge, right: Edge, vocabulary: Vocabulary) -> str | None:
    ends, starts = left.target, right.source
    if "*" not in (ends, starts) and ends != starts:
        return f"{{0}} ends in a {WORDS[ends]}, {{1}} starts with a {WORDS[starts]}"
    first, second = left.target_annotation, right.source_annotation
    if first is not None and second is not None and first != second:
        return f"{{0}} ends in an access of kind '{first}', {{1}} starts with one of kind '{second}'"
    annotation = first or second or vocabulary.plain
    direction = ends if ends != "*" else starts
    if direction != "*" and direction not in vocabulary.annotations[annotation]:
        return f"a {WORDS[direction]} cannot be '{annotation}' on {vocabulary.architecture}"
    return None


def _amount_to_one(left: Edge, right: Edge) -> bool:
    if left.kind is right.kind is Kind.ORDER:
        return True
    if left.detail != "e" or right.detail != "e":
        return False
    return right.kind is Kind.COHERENCE or (left.kind, right.kind) == (Kind.READS_FROM, Kind.FROM_READ)


def _first_problem(edges: Cycle, vocabulary: Vocabulary) -> InputError | None:
    for i, left in enumerate(edges):
        right = edges[(i + 1) % len(edges)]
        mismatch = _mismatch(left, right, vocabulary)
        if mismatch is not None:
            first, second = spell(left, vocabulary), spell(right, vocabulary)
            return InputError(
                f"edges '{first}' and '{second}' do not compose: " + mismatch.format(first, second),
                hint="the last edge of a cycle is followed by the first" if i == len(edges) - 1 else None,
            )
        if left.target == right.source == "*":
            first, second = spell(left, vocabulary), spell(right, vocabulary)
            return InputError(
                f"nothing says whether the access between '{first}' and '{second}' is a read or a write",
                hint="write R or W in place of one of the stars",
            )
    return _unfit_atomic(edges, vocabulary) or _unfit_shape(edges)


def _unfit_atomic(edges: Cycle, vocabulary: Vocabulary) -> InputError | None:
    if all(edge.kind is not Kind.ATOMIC for edge in edges):
        return None
    for edge in _fill(edges, vocabulary):
        pair = (edge.source_annotation or vocabulary.plain, edge.target_annotation or vocabulary.plain)
        if edge.kind is Kind.ATOMIC and pair not in vocabulary.atomic_pairs:
            possible = ", ".join(sorted(edge.name + "".join(pair) for pair in vocabulary.atomic_pairs))
            return InputError(
                f"'{edge.name}' cannot read as '{pair[0]}' and write as '{pair[1]}' on {vocabulary.architecture}",
                hint=f"possible are {possible}",
            )
    return None


def _unfit_shape(edges: Cycle) -> InputError | None:
    if sum(edge.leaves for edge in edges) != sum(edge.returns for edge in edges):
        return InputError("Leave and Back edges do not match", hint="each Leave needs a later Back")
    if all(edge.communicates for edge in edges):
        return InputError(
            "the cycle consists of communications alone, which no execution can contain",
            hint="add program order, fences or dependencies: PodWR Fre PodWR Fre",
        )
    changes = sum(not edge.same_location for edge in edges)
    if changes == 1:
        return InputError(
            "the cycle changes location once and never comes back",
            hint="at least two edges must go to a different location (d), or none",
        )
    starts = sum(1 for _ in rotations(edges))
    if starts == 0 or (starts == 1 and changes):
        return InputError(
            "the cycle has one thread only",
            hint="at least two communications between threads are needed: Rfe, Fre, Coe",
        )
    return None


def _depths(edges: Cycle) -> list[int]:
    depth, depths = 0, []
    for edge in edges:
        depth += edge.leaves - edge.returns
        depths.append(depth)
    return depths


def _fill(edges: Cycle, vocabulary: Vocabulary) -> Cycle:
    filled = []
    for i, edge in enumerate(edges):
        before, after = edges[i - 1], edges[(i + 1) % len(edges)]
        filled.append(
            replace(
                edge,
                source=edge.source if edge.source != "*" else before.target,
                target=edge.target if edge.target != "*" else after.source,
                source_annotation=edge.source_annotation or before.target_annotation or vocabulary.plain,
                target_annotation=edge.target_annotation or after.source_annotation or vocabulary.plain,
            )
        )
    return tuple(filled)


def _necklaces(size: int, links: Sequence[Sequence[bool]]) -> Iterator[tuple[int, ...]]:
    """The words of a size that are least among their rotations and in which each letter may follow the one before,
    around the end too. Words are extended in lexicographic order; `period` is the length of the shortest prefix whose
    repetition gives the word so far, and a word is least when its length is a multiple of it."""
    word = [0] * size
    followers = [[letter for letter, link in enumerate(row) if link] for row in links]

    def extend(length: int, period: int) -> Iterator[tuple[int, ...]]:
        if length == size:
            if size % period == 0 and links[word[-1]][word[0]]:
                yield tuple(word)
            return
        allowed = followers[word[length - 1]] if length else range(len(links))
        least = word[length - period] if length else 0
        for letter in allowed[bisect_left(allowed, least) :]:
            word[length] = letter
            repeats = length > 0 and letter == word[length - period]
            yield from extend(length + 1, period if repeats else length + 1)

    if size > 0:
        yield from extend(0, 1)
