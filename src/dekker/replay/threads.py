"""Runs all threads of a program along a trace, those that it starts included."""

from __future__ import annotations

from dekker.execution import Trace
from dekker.ir.expressions import Address, Const
from dekker.ir.layout import Layout
from dekker.ir.program import Program, Thread
from dekker.records import dataclass
from dekker.replay.machine import Machine, Mismatch, Steps, ThreadRun
from dekker.replay.runtime_steps import RUNTIME_STEPS, RUNTIME_STEPS_ALONE
from dekker.replay.steps import STEPS, STEPS_ALONE
from dekker.replay.words import Word, number
from dekker.replay.world import Start, World

MAX_THREADS = 1_000
MAX_ROUNDS = 20


_STEPS = Steps({**STEPS, **RUNTIME_STEPS}, {**STEPS_ALONE, **RUNTIME_STEPS_ALONE})


@dataclass(frozen=True)
class Runs:
    world: World
    threads: tuple[ThreadRun, ...]


def run_threads(program: Program, places: Layout, trace: Trace) -> Runs:
    """`Mismatch` if a thread does anything else than its part of the trace. What others write may be indeterminate:
    threads are run again until nothing new is known about that."""
    runs = _run_once(program, places, trace, None)
    for _ in range(MAX_ROUNDS):
        if runs.world.is_settled:
            break
        runs = _run_once(program, places, trace, runs.world)
    return runs


def _run_once(program: Program, places: Layout, trace: Trace, before: World | None) -> Runs:
    alone, parts = _by_thread(program, trace)
    world = World(program, places, before=before)
    machines = [Machine(world, _STEPS, n, f"thread {_name(program, n)}", part) for n, part in enumerate(parts)]
    machines[0].alone = alone
    offset = 1 if trace and trace[0].kind == "P" else 0
    for machine, part in zip(machines, parts, strict=True):
        machine.offset = offset
        offset += len(part)
    for machine, thread in zip(machines, program.threads, strict=False):
        function = program.function_by_name[thread.function]
        world.starts[machine.run.thread] = Start(function, ())
        machine.begin(function, _registers(thread, places))
    _run_all(machines, len(program.threads), world)
    if machines[0].alone:
        raise Mismatch("more is left out at the beginning of the trace than the first thread does")
    return Runs(world, tuple(machine.finish() for machine in machines))


def _run_all(machines: list[Machine], n_first: int, world: World) -> None:
    """Threads that need to know what others do wait for them, as long as others go on."""
    running = machines[:n_first]
    begun = set(range(n_first))
    patient = True
    while running:
        left = [machine for machine in running if not machine.advance(patient)]
        started = world.starts.keys() - begun
        begun |= started
        patient = len(left) < len(running) or bool(started)
        running = [*left, *(_begin(machines, thread, world) for thread in sorted(started))]


def _begin(machines: list[Machine], thread: int, world: World) -> Machine:
    if thread >= MAX_THREADS:
        raise Mismatch(f"thread {thread} is one too many")
    while thread >= len(machines):
        machines.append(Machine(world, _STEPS, len(machines), f"thread {len(machines)}", ()))
    machines[thread].begin_spawned(world.starts[thread].function, world.starts[thread].arguments)
    return machines[thread]


def _by_thread(program: Program, trace: Trace) -> tuple[int, list[Trace]]:
    alone = 0
    if trace and trace[0].kind == "P":
        alone, trace = trace[0].value, trace[1:]
    threads = [item.thread for item in trace]
    last = max((*threads, len(program.threads) - 1))
    if threads != sorted(threads) or min((*threads, 0)) < 0 or last >= MAX_THREADS:
        raise Mismatch("the threads of the trace are not those of the program, one after the other")
    if any(item.kind not in "RWFC" for item in trace):
        raise Mismatch("there is something in the trace that is no event")
    return alone, [tuple(item for item in trace if item.thread == thread) for thread in range(last + 1)]


def _name(program: Program, thread: int) -> str:
    return (program.threads[thread].name if thread < len(program.threads) else "") or str(thread)


def _registers(thread: Thread, places: Layout) -> dict[str, Word]:
    return {name: number(_constant(initial, places)) for name, initial in thread.registers}


def _constant(initial: Const | Address, places: Layout) -> int:
    return initial.value if isinstance(initial, Const) else places.resolve(initial)
