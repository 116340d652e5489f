"""TSO: a read may overtake all writes, and takes the value of the newest own one to its variable.

write      the first of those passed (rule 2: write ∉ F, read ∉ F)
read       from memory if no write to its variable was passed (rule 2: v ∉ U), else as an assignment of the value
           that the newest of them captured (rule 3, read own write early)
CMPXCHG    if no write was passed (rule 2: write ∉ F, read ∉ F)
barrier    if no write was passed (rule 2: cnt = 0; what else could be passed has taken effect)
"""

from __future__ import annotations

from dekker.engines.modular.capture import NOWHERE, Local, PassedWrite
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
    found: list[Candidate] = []
    if local.passed:
        first = local.passed[0]
        assert isinstance(first, PassedWrite)
        found.append(TakeEffect(0, *first))
    if local.position == NOWHERE:
        return tuple(found)
    step = code.steps[local.position]
    match step:
        case Read():
            cell = memory.at(step, local.registers)
            own = newest(local.passed, cell)
            found.append(ReadMemory(cell) if own is None else ReadOwn(cell, own.value))
        case Update() if not local.passed:
            found.append(UpdateMemory(memory.at(step, local.registers)))
        case _:
            found += local_steps(local, code)
    return tuple(found)
