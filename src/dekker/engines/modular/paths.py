"""States of a search, and the steps by which it came to them."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.engines.modular.machine import GlobalId, LocalId, Move
from dekker.records import dataclass

State = tuple[GlobalId, tuple[LocalId, ...]]


@dataclass(frozen=True, slots=True)
class Taken:
    """A step on the way to a state: who moved, how, and what that changed. `shift` is that of `Machine.written`."""

    before: State
    thread: LocalId
    move: Move
    becomes: LocalId
    memory: GlobalId
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Environment:
    """A step of a thread that is not among the concrete ones."""

    before: State
    thread: LocalId
    memory: GlobalId
    shift: int = 0


Arrival = Taken | Environment
Parents = Mapping[State, Arrival | None]
"""How a search came to each state first; None for those it began with."""


def path_to(parents: Parents, state: State) -> list[Arrival]:
    steps = []
    while (step := parents[state]) is not None:
        steps.append(step)
        state = step.before
    return steps[::-1]
