"""`Task`: what an engine is asked to do."""

from __future__ import annotations

from dataclasses import dataclass

from dekker.cat.model import Model
from dekker.ir.program import Program

DEFAULT_UNROLL = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run. `unroll` is how often a backward jump is followed; None means without limit."""

    unroll: int = DEFAULT_UNROLL
    timeout_s: float | None = None
    max_traces: int | None = None


@dataclass(frozen=True, slots=True)
class Task:
    program: Program
    model: Model
    limits: Limits = Limits()
