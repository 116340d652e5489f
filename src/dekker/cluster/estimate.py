"""How many executions a program has, from probes that all workers make at the same time."""

from __future__ import annotations

import time

from dekker.cluster.crew import Crew
from dekker.ir.program import Program
from dekker.replay.record import model_text
from dekker.run.estimate import Estimate, estimate_from, has_waits, probes
from dekker.run.witnesses import load_model_text
from dekker.task import Limits, Task
from dekker.witness import ModelText

MOST_PROBES = 1 << 40
"""Of a worker: each has seeds of its own."""


def estimate_on(crew: Crew, task: Task, seconds: float) -> Estimate:
    started = time.monotonic()
    question = (task.program, model_text(task.model), task.limits, seconds)
    sent = [crew.submit(_probes, *question, 1 + number * MOST_PROBES) for number in range(max(1, crew.slots()))]
    found = [future.result() for future in sent]
    runs = [run for part, _ in found for run in part]
    stop = max((stop for _, stop in found), key=lambda name: (name not in ("", "time"), name))
    return estimate_from(runs, stop, seconds, time.monotonic() - started, waits=has_waits(task.program))


def _probes(
    program: Program, model: ModelText, limits: Limits, seconds: float, seed: int
) -> tuple[list[tuple[float, float]], str]:
    return probes(Task(program, load_model_text(model), limits), seconds, seed)
