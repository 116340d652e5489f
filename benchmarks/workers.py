"""Several workers: how much faster, at what cost; and how time and memory grow. `python -m benchmarks.workers`.

Other work on the machine makes wall time worthless, so that processor time is what counts: the speed-up is the time of
one worker divided by that of the busiest of several, which is what idle processors would show. Both are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.sets import fig11, updates
from benchmarks.sets.family import Family, family_case
from dekker.engines.rsmc import engine
from dekker.engines.states import engine as states
from dekker.frontends import parse_program
from dekker.frontends.c import Options, parse_c
from dekker.ir.text import parse_program as parse_representation
from dekker.models import load_model
from dekker.native import Exploration, Request, Work, explore
from dekker.result import Result
from dekker.run.prepare import prepare
from dekker.source import Source
from dekker.task import Limits, Search, Task

TICKS = os.sysconf("SC_CLK_TCK")
KILOBYTE = 1024
FOLDER = Path(__file__).parent / "state_spaces"


@dataclass(frozen=True)
class Measured:
    traces: int  # or states
    wall_s: float
    cpu_s: float
    busiest_s: float
    peak_mb: float


def family_task(family: Family, size: int, model: str) -> Task:
    (text,) = family_case("workers", family, size, model).texts.values()
    found = load_model(model)
    return Task(prepare(parse_program(Source("family.litmus", text)), found), found)


def chain_task(events: int) -> Task:
    """Two threads that write to locations of their own, and race on one location at the end: runs grow, traces do
    not."""
    bodies = []
    for thread in "ab":
        stores = "\n".join(f"  store.4 [&{thread}{i}] = 1" for i in range(events // 2 - 4))
        bodies.append(f"function {thread}() {{\n{stores}\n" + "  store.4 [&x] = 1\n  r = load.4 [&x]\n" * 2 + "}")
    objects = "\n".join(f"object {thread}{i}[8]" for thread in "ab" for i in range(events // 2 - 4))
    text = f"program chain\narchitecture none\nobject x[8]\n{objects}\n" + "\n".join(bodies)
    text += "\nthread A runs a\nthread B runs b\nobserve [x].4\n"
    return Task(parse_representation(Source("chain.ir", text)), load_model("sc"))


def measure(task: Task, run: Callable[[Task], Result] = engine.run) -> Measured:
    before = _worker_times()
    busiest: dict[str, float] = {}

    def watch(statistics: dict[str, int]) -> None:
        busiest.update({name: now - before.get(name, 0.0) for name, now in _worker_times().items()})

    cpu, wall = _cpu_s(), time.monotonic()
    result = run(replace(task, progress=watch))
    cpu, wall = _cpu_s() - cpu, time.monotonic() - wall
    longest = max(busiest.values(), default=cpu) if task.jobs > 1 else cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTE
    n_found = result.statistics["states"] if run is states.run else result.complete_executions
    return Measured(n_found, wall, cpu, longest, peak)


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _worker_times() -> dict[str, float]:
    """Processor time by thread; those that have ended are gone."""
    found = {}
    for folder in Path("/proc/self/task").iterdir():
        try:
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        found[folder.name] = (int(fields[11]) + int(fields[12])) / TICKS
    return found


def best(task: Task, repetitions: int, run: Callable[[Task], Result] = engine.run) -> Measured:
    return min((measure(task, run) for _ in range(repetitions)), key=lambda m: m.busiest_s)


SPEED_UP = (
    ("Fig. 11, 10 writes", fig11.UNFENCED, 10, "power"),
    ("Fig. 11, 11 writes", fig11.UNFENCED, 11, "power"),
    ("Fig. 11, 12 writes", fig11.UNFENCED, 12, "power"),
    ("fib 6", updates.FIB, 6, "tso"),
)


def speed_up(repetitions: int) -> Iterator[str]:
    yield "| program | traces | one worker: s | 2: speed-up (wall) | 2: work | 4: speed-up (wall) | 4: work |"
    yield "|---|---|---|---|---|---|---|"
    for name, family, size, model in SPEED_UP:
        task = family_task(family, size, model)
        runs = {jobs: best(replace(task, jobs=jobs), repetitions) for jobs in (1, 2, 4)}
        yield f"| {name}, `{model}` | {runs[1].traces} | {runs[1].cpu_s:.2f} | {_cells(runs)} |"


STATE_SPACES = (
    ("Peterson, 200 rounds", "peterson", 200, "tso", Search(buffer=4)),
    ("counters, 40 rounds", "counters", 40, "sc", Search()),
    ("counters, 40 rounds, all interleavings", "counters", 40, "sc", Search(reduction=False)),
    ("stack of Treiber, 3 rounds", "treiber", 3, "tso", Search(buffer=2)),
)


def search_speed_up(repetitions: int) -> Iterator[str]:
    """Searches of states. Several workers visit a few more of them than one."""
    yield (
        "| program | states: one worker | several | one worker: s "
        "| 2: speed-up (wall) | 2: work | 4: speed-up (wall) | 4: work |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for title, name, rounds, model_name, search in STATE_SPACES:
        model = load_model(model_name)
        parsed = parse_c([str(FOLDER / f"{name}.c")], Options(flags=(f"-DROUNDS={rounds}",)))
        task = Task(prepare(parsed, model), model, search=search)
        runs = {jobs: best(replace(task, jobs=jobs), repetitions, states.run) for jobs in (1, 2, 4)}
        alone, several = runs[1], runs[2]
        yield f"| {title}, `{model_name}` | {alone.traces} | {several.traces} | {alone.cpu_s:.2f} | {_cells(runs)} |"


def _cells(runs: dict[int, Measured]) -> str:
    alone = runs[1]
    return " | ".join(
        f"{alone.cpu_s / runs[jobs].busiest_s:.2f} ({alone.wall_s / runs[jobs].wall_s:.2f}) | "
        f"{runs[jobs].cpu_s / alone.cpu_s:.2f}"
        for jobs in (2, 4)
    )


def unit_cost() -> Iterator[str]:
    """Many short slices: what a unit costs that is packed, unpacked and replayed."""
    task = family_task(fig11.UNFENCED, 9, "power")
    alone = measure(task)
    n_units = 0

    def in_slices(_: Task, request: Request) -> Exploration:
        nonlocal n_units
        part = explore(replace(request, limits=Limits(max_traces=20)), Work(keeps_rest=True))
        while part.rest.units:
            one, others = part.rest.units[:1], part.rest.units[1:]
            n_units += 1
            found = explore(
                replace(request, limits=Limits(max_traces=200)),
                Work(keeps_rest=True, rest=replace(part.rest, units=one)),
            )
            part = replace(found, rest=replace(found.rest, units=found.rest.units + others))
        return part

    cpu = _cpu_s()
    engine.run(replace(task, explorer=in_slices))
    cpu = _cpu_s() - cpu
    yield f"A unit in a call of its own: {1e6 * (cpu - alone.cpu_s) / n_units:.0f} µs ({n_units} units)"


def length_cost() -> Iterator[str]:
    yield "| events of a run | traces | µs for a trace |"
    yield "|---|---|---|"
    for events in (8, 16, 32, 64, 128, 256):
        found = measure(chain_task(events))
        repeated = max(1, int(0.2 / max(found.cpu_s, 1e-4)))
        cpu = _cpu_s()
        for _ in range(repeated):
            engine.run(chain_task(events))
        yield f"| {events} | {found.traces} | {1e6 * (_cpu_s() - cpu) / repeated / found.traces:.0f} |"


def memory(writes: int, jobs: int) -> Iterator[str]:
    """How large the process is while the traces become more."""
    task = family_task(fig11.UNFENCED, writes, "power")
    seen: list[tuple[int, float]] = []

    def watch(statistics: dict[str, int]) -> None:
        if not seen or statistics["complete"] >= 2 * seen[-1][0]:
            seen.append((max(1, statistics["complete"]), _resident_mb()))

    result = engine.run(replace(task, jobs=jobs, progress=watch))
    yield "| traces so far | MB |"
    yield "|---|---|"
    for traces, size in (*seen, (result.complete_executions, _resident_mb())):
        yield f"| {traces} | {size:.1f} |"


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / KILOBYTE**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--writes", type=int, default=13, help="of Fig. 11, to see memory: 13 have 10 400 603 traces")
    parser.add_argument("--only", choices=("speed-up", "states", "unit", "length", "memory"))
    options = parser.parse_args()
    tables: dict[str, Callable[[], Iterator[str]]] = {
        "speed-up": lambda: speed_up(options.repetitions),
        "states": lambda: search_speed_up(options.repetitions),
        "unit": unit_cost,
        "length": length_cost,
        "memory": lambda: memory(options.writes, 2),
    }
    for name, table in tables.items():
        if options.only in (None, name):
            print("\n".join(["", *table()]), flush=True)


if __name__ == "__main__":
    main()
