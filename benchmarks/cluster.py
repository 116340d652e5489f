"""Several workers of a local Dask cluster: how much faster, at what cost. `python -m benchmarks.cluster`.

As in `benchmarks.workers`, processor time is what counts while other work is on the machine: the speed-up is the time
of one worker divided by that of the busiest of several. Workers are processes, whose time includes all that Dask does
in them; that of this process, which coordinates and schedules, is shown apart. Both clusters are up before anything is
measured.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from benchmarks.sets import fig11, updates
from benchmarks.sets.family import Family
from benchmarks.workers import family_task
from dekker.cluster.coordinator import Call, Coordinator
from dekker.cluster.dask_cluster import DaskCrew, dask_crew
from dekker.cluster.explorer import CALLS_PER_SLOT, CrewExplorer
from dekker.engines.rsmc import engine
from dekker.native import EVERYTHING, Exploration, Request, explore, explorer_with
from dekker.task import Task

PROGRAMS: tuple[tuple[str, Family, int, str], ...] = (
    ("Fig. 11, 10 writes", fig11.UNFENCED, 10, "power"),
    ("Fig. 11, 11 writes", fig11.UNFENCED, 11, "power"),
    ("Fig. 11, 12 writes", fig11.UNFENCED, 12, "power"),
    ("fib 5", updates.FIB, 5, "tso"),
    ("fib 6", updates.FIB, 6, "tso"),
)
ROUND_TRIPS = 200


@dataclass(frozen=True)
class Measured:
    traces: int
    wall_s: float
    workers_s: tuple[float, ...]
    coordinator_s: float
    calls: int


class CountingCrew:
    def __init__(self, crew: DaskCrew) -> None:
        self.crew, self.calls = crew, 0

    def slots(self) -> int:
        return self.crew.slots()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        self.calls += 1
        return self.crew.submit(function, *arguments)


def measure(crew: DaskCrew, task: Task) -> Measured:
    counting = CountingCrew(crew)
    explored = replace(task, explorer=explorer_with(CrewExplorer(counting)))
    before, own, wall = crew.run_everywhere(time.process_time), time.process_time(), time.monotonic()
    result = engine.run(explored)
    own, wall = time.process_time() - own, time.monotonic() - wall
    spent = [now - then for now, then in zip(crew.run_everywhere(time.process_time), before, strict=True)]
    return Measured(result.complete_executions, wall, tuple(spent), own, counting.calls)


def best(crew: DaskCrew, task: Task, repetitions: int) -> Measured:
    """The first time, workers get to know the program."""
    found = [measure(crew, task) for _ in range(repetitions + 1)][1:]
    return min(found, key=lambda measured: max(measured.workers_s))


def alone_s(task: Task, repetitions: int) -> float:
    """Without a cluster."""
    times = []
    for _ in range(repetitions):
        started = time.process_time()
        engine.run(task)
        times.append(time.process_time() - started)
    return min(times)


def speed_up(workers: tuple[int, ...], repetitions: int) -> Iterator[str]:
    heads = [f"{n}: speed-up (wall) | {n}: work | {n}: coordinator s | {n}: calls" for n in workers]
    yield f"| program | traces | no cluster: s | one worker: s | {' | '.join(heads)} |"
    yield "|---" * (4 + 4 * len(workers)) + "|"
    with ExitStack() as stack:
        crews = {n: stack.enter_context(dask_crew(f"local:{n}")) for n in (1, *workers)}
        for name, family, size, model in PROGRAMS:
            task = family_task(family, size, model)
            found = {n: best(crew, task, repetitions) for n, crew in crews.items()}
            alone, one = alone_s(task, repetitions), found[1]
            cells = [_cells(one, found[n]) for n in workers]
            yield f"| {name} | {one.traces} | {alone:.2f} | {one.workers_s[0]:.2f} | {' | '.join(cells)} |"


def _cells(one: Measured, several: Measured) -> str:
    speed_up = one.workers_s[0] / max(several.workers_s)
    work = sum(several.workers_s) / one.workers_s[0]
    wall = one.wall_s / several.wall_s
    return f"{speed_up:.2f} ({wall:.2f}) | {work:.2f} | {several.coordinator_s:.2f} | {several.calls}"


def call_cost() -> Iterator[str]:
    """What a call costs in which nothing is done."""
    with dask_crew("local:1") as crew:
        crew.submit(int).result()
        trips = []
        for _ in range(ROUND_TRIPS):
            started = time.monotonic()
            crew.submit(int).result()
            trips.append(time.monotonic() - started)
        before, own = sum(crew.run_everywhere(time.process_time)), time.process_time()
        for future in [crew.submit(int) for _ in range(ROUND_TRIPS)]:
            future.result()
        spent, own = sum(crew.run_everywhere(time.process_time)) - before, time.process_time() - own
        yield f"An empty call there and back: {1e3 * median(trips):.1f} ms; processor time of the worker "
        yield f"{1e3 * spent / ROUND_TRIPS:.2f} ms, of coordinator and scheduler {1e3 * own / ROUND_TRIPS:.2f} ms"


def unit_cost(traces_per_call: tuple[int, ...]) -> Iterator[str]:
    """Calls that are answered in this process, each after so many traces: what splitting costs without Dask."""
    yield "| program | traces per call | calls | units | work | per call: ms |"
    yield "|---|---|---|---|---|---|"
    for name, family, size, model in (PROGRAMS[1], PROGRAMS[4]):
        task = family_task(family, size, model)
        alone = alone_s(task, 3)
        for traces in traces_per_call:
            split = Splitting(traces)
            started = time.process_time()
            engine.run(replace(task, explorer=split))
            spent = time.process_time() - started
            cost = 1e3 * (spent - alone) / split.calls
            yield f"| {name} | {traces} | {split.calls} | {split.units} | {spent / alone:.2f} | {cost:.2f} |"


@dataclass
class Splitting:
    """Two workers that take turns."""

    traces: int
    calls: int = 0
    units: int = 0

    def __call__(self, task: Task, request: Request) -> Exploration:
        coordinator = Coordinator(EVERYTHING, len(request.program.threads))
        limited = replace(request, limits=replace(request.limits, max_traces=self.traces))
        waiting: deque[Call] = deque()
        while not coordinator.is_over:
            while len(waiting) < 2 * CALLS_PER_SLOT and (call := coordinator.next_call(2, 0.0)) is not None:
                waiting.append(call)
            call = waiting.popleft()
            coordinator.take(call, explore(limited, replace(call.work(), slice_s=0.0)))
            self.calls += 1
            self.units += len(call.units)
        return coordinator.take_found()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--only", choices=("speed-up", "call", "unit"))
    options = parser.parse_args()
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "speed-up": lambda: speed_up(tuple(options.workers), options.repetitions),
        "call": call_cost,
        "unit": lambda: unit_cost((2_000, 10_000, 50_000)),
    }
    for name, table in tables.items():
        if options.only in (None, name):
            print(flush=True)
            for line in table():
                print(line, flush=True)


if __name__ == "__main__":
    main()
