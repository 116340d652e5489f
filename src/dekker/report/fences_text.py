"""Where fences are needed, for a person and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from dekker.records import dataclass
from dekker.report.cycles_text import cycle_record
from dekker.transform.describe import CycleView

_MOST_IDIOMS = 10

NONE_NEEDED, PLACED, NO_HELP, WRONG_ANYWAY, UNDECIDED = (
    "none needed",
    "placed",
    "no fence helps",
    "wrong under sc",
    "undecided",
)


@dataclass(frozen=True)
class FenceView:
    """`beside` says between which statements, if several stand in the line; `without` what goes wrong if this one is
    left out, where that was tried; `more` how many cycles it breaks besides those listed, which are the shortest."""

    file: str
    line: int
    after: bool
    kind: str
    text: str
    cost: float
    cycles: tuple[CycleView, ...] = ()
    without: str = ""
    excerpt: str = ""
    function: str = ""
    more: int = 0
    column: int = 1
    beside: str = ""

    @property
    def where(self) -> str:
        return self.beside or f"{'after' if self.after else 'before'} this line"

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.where}, in {self.function}"


@dataclass(frozen=True)
class FencesReport:
    """`verified` says how it is known that the property holds; `notes` what a reader should know besides."""

    program: str
    model: str
    outcome: str
    fences: tuple[FenceView, ...] = ()
    verified: str = ""
    notes: tuple[str, ...] = ()
    cycles: int = 0
    complete: bool = True
    minimal: bool = False
    checks: int = 0
    time_s: float = 0.0
    details: dict[str, object] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        return sum(fence.cost for fence in self.fences)


def fences_text(report: FencesReport) -> str:
    return "\n".join(_lines(report))


def _lines(report: FencesReport) -> Iterator[str]:
    yield _headline(report)
    for fence in report.fences:
        yield ""
        yield f"{fence.place}: {fence.kind}"
        yield from (f"  {line}" for line in (fence.text, fence.excerpt) if line)
        if fence.cycles:
            yield f"  breaks {_idioms(fence)}"
        if fence.without:
            yield f"  without it: {fence.without}"
    if report.verified or report.notes:
        yield ""
    if report.verified:
        yield f"verified: {report.verified}"
    yield from (f"note: {note}" for note in report.notes)


def _headline(report: FencesReport) -> str:
    under = f"{report.program} under {report.model}"
    if report.outcome == PLACED:
        count = len(report.fences)
        kinds = Counter(fence.kind for fence in report.fences)
        listed = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        minimal = ", and none can be left out" if report.minimal else ""
        return f"{under}: {count} fence{'' if count == 1 else 's'} ({listed}; cost {report.cost:g}){minimal}"
    return {
        NONE_NEEDED: f"{under}: no fence is needed",
        NO_HELP: f"{under}: no fence helps",
        WRONG_ANYWAY: f"{under}: the property fails under sc already, so no fence can help",
        UNDECIDED: f"{under}: undecided",
    }[report.outcome]


def _idioms(fence: FenceView) -> str:
    counts = Counter(cycle.idiom for cycle in fence.cycles)
    listed = list(counts.items())[:_MOST_IDIOMS]
    text = ", ".join(idiom if count == 1 else f"{idiom} ({count} times)" for idiom, count in listed)
    rest = sum(counts.values()) - sum(count for _, count in listed) + fence.more
    return f"{text}, and {rest} longer cycles" if rest else text


def fences_json(report: FencesReport) -> str:
    record = {
        "program": report.program,
        "model": report.model,
        "outcome": report.outcome,
        "cost": report.cost,
        "minimal": report.minimal,
        "fences": [_fence_record(fence) for fence in report.fences],
        "verified": report.verified or None,
        "notes": list(report.notes),
        "cycles": report.cycles,
        "complete": report.complete,
        "checks": report.checks,
        "time_s": round(report.time_s, 6),
    }
    return json.dumps(record, ensure_ascii=False)


def _fence_record(fence: FenceView) -> dict[str, object]:
    return {
        "file": fence.file,
        "line": fence.line,
        "column": fence.column,
        "after": fence.after,
        "where": fence.where,
        "function": fence.function,
        "kind": fence.kind,
        "text": fence.text,
        "cost": fence.cost,
        "breaks": [cycle_record(cycle) for cycle in fence.cycles],
        "breaks_more": fence.more,
        **({"without": fence.without} if fence.without else {}),
    }
