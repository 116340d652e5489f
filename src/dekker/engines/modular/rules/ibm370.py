"""IBM 370: a read may overtake writes to other variables, but it waits for an own write to its variable.

In the paper's terms: `addable` as for TSO (rule 2 with v ∉ U), without read-own-write-early (rule 3).
"""

from __future__ import annotations

from dekker.engines.modular.capture import NOWHERE, Local, PassedWrite
from dekker.engines.modular.code import Code, Read, Update
from dekker.engines.modular.memory import Memory
from dekker.engines.modular.rules.candidates import (
    Candidate,
    ReadMemory,
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
            if newest(local.passed, cell) is None:
                found.append(ReadMemory(cell))
        case Update() if not local.passed:
            found.append(UpdateMemory(memory.at(step, local.registers)))
        case _:
            found += local_steps(local, code)
    return tuple(found)
