"""What was found in several parts of one exploration, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from dekker.native import Exploration, RawTrace

NOTHING = Exploration({}, [], {}, [], "")


def put_together(parts: Iterable[Exploration]) -> Exploration:
    """Of examples of the same thing the first is kept; `rest` is that of the last part, and says nothing about the
    others."""
    total = NOTHING
    for part in parts:
        total = _both(total, part)
    return total


def _both(total: Exploration, part: Exploration) -> Exploration:
    return replace(
        part,
        statistics=dict(Counter(total.statistics) + Counter(part.statistics)) | _zeros(total, part),
        states=_states(total, part),
        flags=dict(sorted((Counter(total.flags) + Counter(part.flags)).items())),
        violations=_violations(total, part),
        stopped_by=total.stopped_by or part.stopped_by,
        flag_examples={**part.flag_examples, **total.flag_examples},
        deadlock_example=total.deadlock_example or part.deadlock_example,
        cut_at=sorted({*total.cut_at, *part.cut_at}),
        stuck_at=total.stuck_at or part.stuck_at,
        too_long_at=total.too_long_at or part.too_long_at,
        n_alone=max(total.n_alone, part.n_alone),
    )


def _zeros(total: Exploration, part: Exploration) -> dict[str, int]:
    """Counters drop them."""
    names = {**total.statistics, **part.statistics}
    return {name: 0 for name in names if not total.statistics.get(name) and not part.statistics.get(name)}


def _states(total: Exploration, part: Exploration) -> list[tuple[tuple[int, ...], int, RawTrace]]:
    found = {state: (count, example) for state, count, example in total.states}
    for state, count, example in part.states:
        known, first = found.get(state, (0, []))
        found[state] = (known + count, first or example)
    return [(state, *found[state]) for state in sorted(found)]


def _violations(total: Exploration, part: Exploration) -> list[tuple[str, tuple[int, int, int], int, RawTrace]]:
    found = {violation[:3]: violation for violation in (*part.violations, *total.violations)}
    return [*total.violations, *(v for v in part.violations if found[v[:3]] is v)]
