"""A cluster that exists in one process and has every misfortune at random: workers die before and after they have
answered, answers come late, twice and in any order, calls are cut anywhere, and the coordinator is killed and goes on
from what it last wrote down."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from random import Random

from dekker.cluster.coordinator import Call, Coordinator
from dekker.native import EVERYTHING, WHOLE_UNIT, Exploration, Request, Rest, explore
from dekker.run.parts import NOTHING, put_together
from dekker.task import Task


@dataclass
class SimulatedCluster:
    """An explorer for tasks; `seen` counts what happened."""

    random: Random
    misfortune: float = 0.2
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, task: Task, request: Request) -> Exploration:
        found, rest = NOTHING, EVERYTHING
        while True:
            part = self._until_killed(request, rest, found)
            if part.mixed_sizes is not None or part.guess is not None:
                return part
            found = put_together([NOTHING if part.started_again else found, part])
            rest = part.rest
            if part.stopped_by or not rest.units:
                return replace(found, stopped_by=part.stopped_by)
            self.seen["killed coordinator"] += 1

    def _until_killed(self, request: Request, rest: Rest, before: Exploration) -> Exploration:
        """What was written down last. What came after that is lost."""
        limit = request.limits.max_traces
        left = None if limit is None else limit - before.statistics.get("complete", 0)
        coordinator = Coordinator(rest, len(request.program.threads), left)
        slots = self.random.randint(1, 4)
        running: list[Call] = []
        late: list[tuple[Call, Exploration]] = []
        steps_left = self.random.randint(1, 8) if self.random.random() < 0.5 else None
        saved: Exploration | None = None
        while not coordinator.is_over:
            if steps_left is not None:
                steps_left -= 1
                if saved is None and self.random.random() < 0.4:
                    saved = coordinator.take_found()
                if steps_left < 0 and saved is not None:
                    return saved
            call = coordinator.next_call(slots, self.random.random())
            if call is not None:
                running.append(call)
            if running and (call is None or self.random.random() < 0.5):
                self._go_on(coordinator, request, running.pop(self.random.randrange(len(running))), late)
            if late and self.random.random() < 0.5:
                self.seen["late answer"] += 1
                coordinator.take(*late.pop())
            running = [call for call in running if coordinator.is_running(call)]
        part = coordinator.take_found()
        if saved is None or part.started_again or part.mixed_sizes is not None or part.guess is not None:
            return part
        together = put_together([saved, part])
        return replace(together, rest=part.rest, stopped_by=part.stopped_by, started_again=saved.started_again)

    def _go_on(
        self, coordinator: Coordinator, request: Request, call: Call, late: list[tuple[Call, Exploration]]
    ) -> None:
        if self.random.random() < self.misfortune:
            self.seen["dead before"] += 1
            coordinator.lose(call)
            return
        part = self._explored(request, call)
        if self.random.random() < self.misfortune:
            self.seen["dead behind"] += 1
            coordinator.lose(call)
            late.append((call, part))
            return
        self._note(part)
        coordinator.take(call, part)
        if not part.started_again and coordinator.started_again and coordinator.rest().units == [WHOLE_UNIT]:
            self.seen["contradiction"] += 1
        if self.random.random() < self.misfortune:
            self.seen["second answer"] += 1
            coordinator.take(call, part)

    def _explored(self, request: Request, call: Call) -> Exploration:
        """Cut after a few complete runs, or at once."""
        cut = self.random.choice((1, 2, 5, 20, 1000))
        traces = cut if call.max_traces is None else min(cut, call.max_traces)
        limits = replace(request.limits, max_traces=traces, timeout_s=None, memory_mb=None)
        slice_s = self.random.choice((1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1.0))
        split_seed = self.random.choice((0, self.random.randint(1, 1 << 30)))
        work = replace(call.work(), slice_s=slice_s, split_seed=split_seed, jobs=self.random.choice((1, 1, 2)))
        return explore(replace(request, limits=limits, progress=None), work)

    def _note(self, part: Exploration) -> None:
        self.seen["asking"] += bool(part.asking)
        self.seen["unknown thread"] += part.unknown_thread is not None
        self.seen["new knowledge"] += part.started_again
        self.seen["units"] += len(part.rest.units)
