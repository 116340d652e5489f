"""Who explores which units, and what counts: an exploration that many do at once, without a word about how they are
reached.

A `Call` is some units for one worker. It counts when its answer is taken, as a whole and once: what it found is added,
its units are replaced by those that it left. Whatever else happens to a call (its worker dies, its answer comes twice,
all start again meanwhile), nothing of it counts, and its units are given to others.

What one explorer would know by itself is kept here:

- which reads slept. Each call numbers reads in a range of its own; units that let reads of other ranges sleep come
  back, and of those with the same number one is kept;
- what was found out about the program. If two together know what contradicts something that either relied on, all start
  again, as one explorer would;
- the numbers of threads. The first call is alone and may number them; later ones ask.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import replace

from dekker.cluster.gathering import Gathering
from dekker.native import WHOLE_UNIT, Exploration, Known, Rest, Unit, Work, known_at_start, merge_known
from dekker.records import dataclass

ID_BITS = 32
"""Of the numbers that a call may give to reads."""
FIRST_SLICE_S = 0.005
SHORTEST_SLICE_S, LONGEST_SLICE_S = 0.06, 1.0
SLICE_SHARE = 0.1
"""Of the time so far: what may be lost when there is nothing more to hand out."""
CALLS_PER_SECOND = 100
"""More than that, from many workers, would keep the coordinator busy; slices are longer then."""
MOST_UNITS = 64
"""Of a call; and for each worker, before the deepest come first, so that they do not become more and more."""


@dataclass(frozen=True)
class Call:
    """Some units for one worker, who may count `max_traces` complete runs."""

    number: int
    units: tuple[Unit, ...]
    words: int
    known: Known
    slice_s: float
    max_traces: int | None

    @property
    def is_first(self) -> bool:
        """The whole exploration, alone."""
        return WHOLE_UNIT in self.units

    def work(self) -> Work:
        first_id = self.number << ID_BITS
        asleep = [sleep_id for _, _, sleep_id in self.units if sleep_id]
        return Work(
            keeps_rest=True,
            slice_s=self.slice_s,
            numbers_threads=self.is_first,
            rest=Rest(list(self.units), self.words, self.known, first_id, asleep),
            first_own_id=first_id,
        )


class Coordinator:
    """Goes on from `rest`, in a program with so many threads of its own. `max_traces` complete runs are counted."""

    def __init__(self, rest: Rest, n_threads: int, max_traces: int | None = None) -> None:
        self.max_traces = max_traces
        self.started_again = False
        self.stopped_by = ""
        self.refusal: Exploration | None = None
        self._n_threads = n_threads
        self._found = Gathering()
        self._units: list[Unit] = []  # by depth
        self._words = rest.words
        self._known = rest.known
        self._slept = set(rest.slept)
        self._next_number = (rest.next_id >> ID_BITS) + 1
        self._running: dict[int, Call] = {}
        for unit in rest.units or [WHOLE_UNIT]:
            self._put(unit)

    # --- what is to be done

    @property
    def is_over(self) -> bool:
        """Nothing more is to be done, or wanted."""
        return self._is_stopped or not (self._units or self._running)

    @property
    def _is_stopped(self) -> bool:
        return self.refusal is not None or self.stopped_by != ""

    def next_call(self, slots: int, elapsed_s: float) -> Call | None:
        """For one of so many workers; None if there is nothing for them now."""
        if self._is_stopped or not self._units or any(call.is_first for call in self._running.values()):
            return None
        allowance = self._allowance(slots)
        if allowance == 0:
            return None
        units = self._taken(slots)
        call = Call(self._next_number, units, self._words, self._known, 0.0, allowance)
        call = replace(call, slice_s=FIRST_SLICE_S if call.is_first else self._slice_s(slots, elapsed_s))
        self._next_number += 1
        self._running[call.number] = call
        return call

    def _allowance(self, slots: int) -> int | None:
        """All that run share what is left. When nothing is, one run more, which would not count, shows that there
        are more."""
        if self.max_traces is None:
            return None
        left = self.max_traces - self._found.statistics["complete"]
        if left == 0:
            return 0 if self._running else 1
        unclaimed = max(0, left - sum(call.max_traces or 0 for call in self._running.values()))
        return unclaimed if unclaimed < slots else unclaimed // slots

    def _taken(self, slots: int) -> tuple[Unit, ...]:
        """Large and small ones, or if there are many, small ones."""
        n_units = len(self._units)
        wanted = min(MOST_UNITS, -(-n_units // (2 * slots)))
        are_many = n_units >= MOST_UNITS * slots
        step = 1 if are_many else n_units // wanted
        last = n_units - 1 if are_many else step * (wanted - 1)
        return tuple(self._units.pop(last - step * number) for number in range(wanted))

    def _slice_s(self, slots: int, elapsed_s: float) -> float:
        """Short while others wait for work."""
        if len(self._units) < slots:
            return SHORTEST_SLICE_S
        longest = max(LONGEST_SLICE_S, slots / CALLS_PER_SECOND)
        return min(longest, max(SHORTEST_SLICE_S, SLICE_SHARE * elapsed_s))

    # --- what was done

    def is_running(self, call: Call) -> bool:
        return call.number in self._running

    def lose(self, call: Call) -> None:
        """Nothing will come of it."""
        if self._running.pop(call.number, None) is not None:
            self._put_back(call)

    def take(self, call: Call, part: Exploration) -> None:
        """An answer to a call that does not run (any more) says nothing."""
        if self._is_stopped or self._running.pop(call.number, None) is None:
            return
        if part.mixed_sizes is not None or part.guess is not None:
            self.refusal = part
        elif part.unknown_thread is not None:
            self._number_thread(*part.unknown_thread)
            self._put_back(call)
        elif not part.started_again and self._is_too_much(part):
            self._put_back(call)
        else:
            self._count(part)

    def _is_too_much(self, part: Exploration) -> bool:
        counted = self._found.statistics["complete"]
        if self.max_traces is None or counted + part.statistics["complete"] <= self.max_traces:
            return False
        if counted == self.max_traces:
            self.stopped_by = "traces"
        return True

    def _count(self, part: Exploration) -> None:
        is_consistent = True
        if part.rest.known != self._known:
            self._known, is_consistent = merge_known(self._known, part.rest.known)
        if part.started_again or not is_consistent:
            self._start_again()
            return
        self._found.add(part)
        self._words = max(self._words, part.rest.words)
        for unit in part.rest.units:
            self._put(unit)
        for unit in part.asking:
            if unit[2] not in self._slept:
                self._slept.add(unit[2])
                self._put(unit)
        self._slept.update(part.rest.slept)
        if part.stopped_by in ("violation", "events"):
            self.stopped_by = part.stopped_by

    def _start_again(self) -> None:
        """Whoever is at something is at it in vain."""
        self.started_again = True
        self._known = known_at_start(self._known)
        self._found = Gathering()
        self._slept.clear()
        self._running.clear()
        self._units = [WHOLE_UNIT]

    def _number_thread(self, parent: int, nth: int) -> None:
        """As the core does."""
        *others, threads = self._known
        if all(thread[:2] != (parent, nth) for thread in threads):
            threads = [*threads, (parent, nth, self._n_threads + len(threads))]
        self._known = (*others, threads)  # type: ignore[assignment]

    def _put(self, unit: Unit) -> None:
        insort(self._units, unit, key=lambda item: item[1])

    def _put_back(self, call: Call) -> None:
        for unit in call.units:
            self._put(unit)

    # --- how far it has come

    @property
    def statistics(self) -> dict[str, int]:
        return dict(self._found.statistics)

    def rest(self) -> Rest:
        """What is left, with all that runs."""
        running = [unit for call in self._running.values() for unit in call.units]
        next_id = self._next_number << ID_BITS
        return Rest([*self._units, *running], self._words, self._known, next_id, sorted(self._slept))

    def take_found(self) -> Exploration:
        """What was found since the last time, or since all started again, and what is left."""
        if self.refusal is not None:
            return self.refusal
        found = replace(
            self._found.total(), rest=self.rest(), stopped_by=self.stopped_by, started_again=self.started_again
        )
        if self.max_traces is not None:
            self.max_traces -= found.statistics.get("complete", 0)
        self._found = Gathering()
        self.started_again = False
        return found
