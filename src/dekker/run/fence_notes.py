"""What a reader of proposed fences should know besides: what cannot be fenced, and what nobody asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dekker.ir.instructions import Assert, CompareExchange, Load, Rmw, Store, StoreConditional
from dekker.ir.program import Program
from dekker.run.fence_files import Files, same_file
from dekker.run.fence_markers import Marked
from dekker.source import Span
from dekker.transform.classes import Classes
from dekker.transform.cycles import Segment
from dekker.transform.describe import AccessView, describe_pair

MOST_PAIRS = 5
MOST_REFUSED = 10
_NOT_ASKED = re.compile(r"`[^`]+`: |division by zero|the result of |a shift of ")
_ACCESSES = (Load, Store, Rmw, CompareExchange, StoreConditional)
_WORDS = {"R": "reading", "W": "writing"}


def nothing_asserted(program: Program) -> Iterator[str]:
    steps = (step for function in program.functions for step in function.body)
    asked = any(isinstance(step, Assert) and _is_asked(step) for step in steps)
    if program.property.condition is None and not asked:
        yield (
            "nothing is asserted in the program: only errors such as bad accesses of memory and threads that wait for"
            " ever count as wrong"
        )


def _is_asked(step: Assert) -> bool:
    """By the program; others belong to functions of the library, and to operations that may have no result."""
    return not step.is_limit and _NOT_ASKED.match(step.message) is None


def refused_places(marked: Marked) -> Iterator[str]:
    refused = marked.refused
    if refused:
        listed = ", ".join(dict.fromkeys(f"{path}:{gap.line}" for path, gap in refused[:MOST_REFUSED]))
        more = ", …" if len(refused) > MOST_REFUSED else ""
        yield f"where the compiler takes no statement, no fence was tried: {listed}{more}"


def left_out(program: Program, files: Files, told: Iterable[str]) -> Iterator[str]:
    """Files with accesses of the program that are not changed, and that were not told of."""
    names: dict[str, None] = {}
    for function in program.functions:
        for index, step in enumerate(function.body):
            span = function.span(index) if isinstance(step, _ACCESSES) else None
            if span is not None:
                names[span.source.name] = None
    left = [name for name in names if not any(same_file(name, path) for path in files.all)]
    left = [name for name in left if not any(f"({name})" in note for note in told)]
    if left:
        listed = ", ".join(left[:MOST_REFUSED]) + (", …" if len(left) > MOST_REFUSED else "")
        yield f"no fence was tried in {listed}: included in angle brackets (--in PATH changes such a header)"


def open_pairs(classes: Classes, files: Files, segments: Iterable[Segment]) -> Iterator[str]:
    """Accesses of a cycle with no place for a fence in between."""
    found = dict.fromkeys(_open_pair(files, *describe_pair(classes, segment).accesses) for segment in segments)
    yield from list(found)[:MOST_PAIRS]
    if len(found) > MOST_PAIRS:
        yield f"nor is there one between {len(found) - MOST_PAIRS} more pairs of accesses"


def _open_pair(files: Files, first: AccessView, second: AccessView) -> str:
    spans = (*first.spans, *second.spans)
    strange = [span for span in spans if not any(same_file(span.source.name, path) for path in files.all)]
    if not first.spans or not second.spans:
        why = "in a function of the library"
    elif strange:
        name = strange[0].source.name
        why = f"in a file that is not changed, because no source includes it in quotes ({name}); --in {name} changes it"
    else:
        why = "in one statement or macro"
    return f"there is no place for a fence between {_shown(first)} and {_shown(second)}: they are {why}"


def _shown(access: AccessView) -> str:
    return f"{_WORDS[access.direction]} {access.location}{_places(access.spans)}"


def _places(spans: tuple[Span, ...]) -> str:
    places = list(dict.fromkeys(f"{span.source.name}:{span.line}" for span in spans))
    return f" ({', '.join(places[:3])}{', …' if len(places) > 3 else ''})" if places else ""
