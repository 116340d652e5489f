"""What was found in many parts, added one by one at a cost that depends on the part alone."""

from __future__ import annotations

from collections import Counter

from dekker.native import COUNTED, Exploration, Place, RawTrace


class Gathering:
    """`run.parts.put_together` for parts that come in any order, one at a time."""

    def __init__(self) -> None:
        self.statistics: Counter[str] = Counter(dict.fromkeys(COUNTED, 0))
        self._states: dict[tuple[int, ...], tuple[int, RawTrace]] = {}
        self._flags: Counter[str] = Counter()
        self._violations: dict[tuple[str, Place, int], RawTrace] = {}
        self._flag_examples: dict[str, RawTrace] = {}
        self._deadlock_example: RawTrace = []
        self._cut_at: set[Place] = set()
        self._stuck_at: Place | None = None
        self._too_long_at: Place | None = None
        self._n_alone = 0

    def add(self, part: Exploration) -> None:
        self.statistics.update(part.statistics)
        self._flags.update(part.flags)
        for state, count, example in part.states:
            known, first = self._states.get(state, (0, []))
            self._states[state] = (known + count, first or example)
        for kind, place, address, example in part.violations:
            self._violations.setdefault((kind, place, address), example)
        self._flag_examples = {**part.flag_examples, **self._flag_examples}
        self._deadlock_example = self._deadlock_example or part.deadlock_example
        self._cut_at.update(part.cut_at)
        self._stuck_at = self._stuck_at or part.stuck_at
        self._too_long_at = self._too_long_at or part.too_long_at
        self._n_alone = max(self._n_alone, part.n_alone)

    def total(self) -> Exploration:
        return Exploration(
            dict(self.statistics),
            [(state, *self._states[state]) for state in sorted(self._states)],
            dict(sorted(self._flags.items())),
            [(*violation, example) for violation, example in self._violations.items()],
            "",
            self._flag_examples,
            self._deadlock_example,
            sorted(self._cut_at),
            self._n_alone,
            self._stuck_at,
            self._too_long_at,
        )
