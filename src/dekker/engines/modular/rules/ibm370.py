"""IBM 370: a read may overtake writes to other variables, but it waits for an own write to its variable.

In the paper's terms: `addable` as for TSO (rule 2 with v ∉ U), without read-own-write-early (rule 3).
"""

from __future__ import annotations

from dekker.engines.modular.capture import Local, Passed
from dekker.engines.modular.code import Code
from dekker.engines.modular.memory import Cell, Memory
from dekker.engines.modular.rules.candidates import Candidate, ReadMemory, at_position, newest, oldest


def candidates(local: Local, code: Code, memory: Memory) -> tuple[Candidate, ...]:
    return (*oldest(local.passed), *at_position(local, code, memory, _read))


def _read(passed: Passed, cell: Cell) -> tuple[Candidate, ...]:
    return (ReadMemory(cell),) if newest(passed, cell) is None else ()
