"""PSO (section 5.7): as TSO, but writes to different variables may overtake one another.

write      the first of those passed to each variable, up to the first mark that keeps later writes waiting
read       as under TSO, but it waits while a mark that keeps reads waiting has writes in front of it
CMPXCHG, barrier   if no write was passed
"""

from __future__ import annotations

from collections.abc import Iterator

from dekker.engines.modular.capture import Local, Mark, Passed
from dekker.engines.modular.code import Code
from dekker.engines.modular.memory import Cell, Memory
from dekker.engines.modular.rules.candidates import Candidate, TakeEffect, at_position, own_or_memory


def candidates(local: Local, code: Code, memory: Memory) -> tuple[Candidate, ...]:
    return (*_first_writes(local.passed), *at_position(local, code, memory, _read))


def _first_writes(passed: Passed) -> Iterator[TakeEffect]:
    seen = set()
    for index, item in enumerate(passed):
        if item is Mark.BEFORE_WRITES:
            return
        if not isinstance(item, Mark) and item.cell not in seen:
            seen.add(item.cell)
            yield TakeEffect(index, item.cell, item.value)


def _read(passed: Passed, cell: Cell) -> tuple[Candidate, ...]:
    return () if Mark.BEFORE_READS in passed else own_or_memory(passed, cell)
