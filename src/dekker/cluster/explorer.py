"""An exploration by a crew."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import field, replace

from dekker.cluster.coordinator import Call, Coordinator
from dekker.cluster.crew import Crew, Patience, wait_for_one
from dekker.cluster.worker import answer, question_of
from dekker.native import Exploration, Request, Rest, Work
from dekker.records import dataclass
from dekker.resources import resident_mb
from dekker.run.checkpoint import noted_interrupts

CALLS_PER_SLOT = 2
"""So that nobody waits for the next call while its answer travels."""
LOOK_S = 0.05


@dataclass
class _Session:
    """An exploration that is going on."""

    crew: Crew
    digest: str
    question: bytes
    coordinator: Coordinator
    started: float = field(default_factory=time.monotonic)
    calls: dict[Future[Exploration | None], Call] = field(default_factory=dict)
    to_tell: int = 0
    """Calls that bring the question along."""

    def __post_init__(self) -> None:
        self.patience = Patience(self.crew)

    def hand_out(self) -> None:
        slots = self.patience.slots()
        while len(self.calls) < CALLS_PER_SLOT * slots:
            call = self.coordinator.next_call(slots, time.monotonic() - self.started)
            if call is None:
                return
            question = self.question if self.to_tell > 0 else None
            self.to_tell -= question is not None
            self.calls[self.crew.submit(answer, call, self.digest, question)] = call

    def take_answers(self) -> None:
        wait_for_one(self.calls, LOOK_S)
        for future in [future for future in self.calls if future.done()]:
            call = self.calls.pop(future)
            if future.cancelled():
                self.coordinator.lose(call)
                continue
            found = future.result()
            if found is None:
                self.to_tell = CALLS_PER_SLOT * self.crew.slots()
                self.coordinator.lose(call)
            else:
                self.coordinator.take(call, found)
        for future, call in list(self.calls.items()):
            if not self.coordinator.is_running(call):
                self._drop(future)

    def _drop(self, future: Future[Exploration | None]) -> None:
        del self.calls[future]
        future.cancel()

    def abandon(self) -> None:
        for future in list(self.calls):
            self._drop(future)


class CrewExplorer:
    """Stands in for `native.explore`. Of an exploration in slices, what the crew is at when a slice ends goes on; in
    the answer it counts as left."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self._session: _Session | None = None
        self._left: Rest | None = None

    def __call__(self, request: Request, work: Work) -> Exploration:
        session = self._going_on(request, work) or self._begun(request, work)
        self._session = None
        try:
            stopped_by = self._run(session, request, work)
        except BaseException:
            session.abandon()
            raise
        found = session.coordinator.take_found()
        if stopped_by or session.coordinator.is_over:
            session.abandon()
        else:
            self._session, self._left = session, found.rest
        return replace(found, stopped_by=found.stopped_by or stopped_by)

    def _going_on(self, request: Request, work: Work) -> _Session | None:
        session = self._session
        if session is None:
            return None
        if work.rest is self._left and session.digest == request.digest():
            session.coordinator.max_traces = request.limits.max_traces
            return session
        session.abandon()
        return None

    def _begun(self, request: Request, work: Work) -> _Session:
        coordinator = Coordinator(work.rest, len(request.program.threads), request.limits.max_traces)
        session = _Session(self.crew, request.digest(), question_of(request), coordinator)
        session.to_tell = CALLS_PER_SLOT * max(1, self.crew.slots())
        return session

    def _run(self, session: _Session, request: Request, work: Work) -> str:
        """What stopped it, if that was not the exploration itself."""
        limits, started = request.limits, time.monotonic()
        coordinator = session.coordinator
        with noted_interrupts() as interrupts:
            while True:
                session.hand_out()
                session.take_answers()
                elapsed = time.monotonic() - started
                if coordinator.is_over:
                    break
                if limits.timeout_s is not None and elapsed > limits.timeout_s:
                    return "time"
                if limits.memory_mb is not None and resident_mb() > limits.memory_mb:
                    return "memory"
                if request.progress is not None:
                    request.progress({**coordinator.statistics, "workers": self.crew.slots()})
                if interrupts.seen:
                    return "interrupt"
                if work.slice_s and elapsed > work.slice_s:
                    break
        return ""
