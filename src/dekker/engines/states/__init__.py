"""Explicit-state search under SC, TSO and PSO, with store buffers whose choices are delayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dekker.result import Result
    from dekker.task import Task

NAME = "states"
MODELS = ("sc", "tso", "pso")


def run(task: Task) -> Result:
    """Every state that the program can reach. Final states are counted, not executions."""
    from dekker.engines.states import engine  # noqa: PLC0415 — few tasks need it

    return engine.run(task)
