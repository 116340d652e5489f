"""PSO (section 5.7): as TSO, but writes to different variables may overtake one another.

write      the first of those passed to each variable, up to the first mark that keeps later writes waiting
read       as under TSO, but it waits while a mark that keeps reads waiting has writes in front of it
CMPXCHG, barrier   if no write was passed
"""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.modular.capture import NOWHERE, Local, Mark, Passed
from dekker.engines.modular.code import Code, Read, Update
from dekker.engines.modular.memory import Memory
from dekker.engines.modular.rules.candidates import (
    Candidate,
    ReadMemory,
    ReadOwn,
    TakeEffect,
    UpdateMemory,
    local_steps,
    newest,
)


def candidates(local: Local, code: Code, memory: Memory) -> tuple[Candidate, ...]:
    found: list[Candidate] = list(_first_writes(local.passed))
    if local.position == NOWHERE:
        return tuple(found)
    step = code.steps[local.position]
    match step:
        case Read() if Mark.BEFORE_READS not in local.passed:
            cell = memory.at(step, local.registers)
            own = newest(local.passed, cell)
            found.append(ReadMemory(cell) if own is None else ReadOwn(cell, own.value))
        case Update() if not local.passed:
            found.append(UpdateMemory(memory.at(step, local.registers)))
        case _:
            found += local_steps(local, code)
    return tuple(found)


def _first_writes(passed: Passed) -> Iterator[TakeEffect]:
    seen = set()
    for index, item in enumerate(passed):
        if item is Mark.BEFORE_WRITES:
            return
        if not isinstance(item, Mark) and item.cell not in seen:
            seen.add(item.cell)
            yield TakeEffect(index, item.cell, item.value)
