"""Sequential consistency: the only candidate is the first memory access of the code; only local steps are passed."""

from __future__ import annotations

from dekker.engines.modular.capture import NOWHERE, Local
from dekker.engines.modular.code import Code, Read, Update, Write
from dekker.engines.modular.memory import Memory
from dekker.engines.modular.rules.candidates import (
    Candidate,
    ReadMemory,
    UpdateMemory,
    WriteMemory,
    local_steps,
)


def candidates(local: Local, code: Code, memory: Memory) -> tuple[Candidate, ...]:
    if local.position == NOWHERE:
        return ()
    step = code.steps[local.position]
    match step:
        case Read():
            return (ReadMemory(memory.at(step, local.registers)),)
        case Write():
            return (WriteMemory(memory.at(step, local.registers), step.value(local.registers)),)
        case Update():
            return (UpdateMemory(memory.at(step, local.registers)),)
    return local_steps(local, code)
