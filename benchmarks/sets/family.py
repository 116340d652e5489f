"""`Family`: programs that grow with one number, and how many traces they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.languages import Inexpressible, write_litmus
from benchmarks.sets.case import Case
from benchmarks.sketch import Sketch

Traces = Callable[[str, int], int | None]


@dataclass(frozen=True)
class Family:
    """`size` says what the number counts. `traces` gives the complete traces under a model, or None where no formula is
    known; `formula` is the same for a person to read. `models` are those run if none is named; the program makes sense
    from the size `smallest`."""

    name: str
    about: str
    size: str
    sizes: tuple[int, ...]
    models: tuple[str, ...]
    sketch: Callable[[int], Sketch]
    traces: Traces
    formula: str
    smallest: int = 1


def family_cases(
    set_name: str, family: Family, sizes: Sequence[int] = (), models: Sequence[str] = ()
) -> Iterator[Case]:
    for model in models or family.models:
        for size in sizes or family.sizes:
            yield family_case(set_name, family, size, model)


def family_case(set_name: str, family: Family, size: int, model: str) -> Case:
    label = f"{family.name} {size}"
    if size < family.smallest:
        return Case(set_name, label, model, skipped=f"begins with {family.smallest} {family.size}")
    sketch = family.sketch(size)
    file = f"{family.name}-{size}-{model}.litmus"
    try:
        text = write_litmus(sketch, model)
    except Inexpressible as reason:
        return Case(set_name, label, model, skipped=str(reason))
    traces = family.traces(model, size)
    expected = {} if traces is None else {file: traces}
    return Case(set_name, label, model, texts={file: text}, expected=expected, sketch=sketch)
