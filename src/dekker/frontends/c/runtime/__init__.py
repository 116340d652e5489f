"""What functions do that a program calls and does not define."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dekker.frontends.c.runtime.allocation import ALLOCATION
from dekker.frontends.c.runtime.asynchronous import ASYNCHRONOUS
from dekker.frontends.c.runtime.atomics import ATOMICS
from dekker.frontends.c.runtime.attributes import ATTRIBUTES
from dekker.frontends.c.runtime.basic import BASIC, NONDET, nondet
from dekker.frontends.c.runtime.c11_threads import C11_THREADS
from dekker.frontends.c.runtime.cplusplus import CPLUSPLUS
from dekker.frontends.c.runtime.cplusplus_sources import source_flags, source_of
from dekker.frontends.c.runtime.cplusplus_threads import CPLUSPLUS_PATTERNS, CPLUSPLUS_THREADS
from dekker.frontends.c.runtime.cplusplus_waiting import WAITING_PATTERNS
from dekker.frontends.c.runtime.endings import ENDINGS
from dekker.frontends.c.runtime.formatting import FORMATTING
from dekker.frontends.c.runtime.interface import External, ExternalCall, Runtime
from dekker.frontends.c.runtime.locks import LOCKS
from dekker.frontends.c.runtime.output import OUTPUT
from dekker.frontends.c.runtime.rechecking import note_effect
from dekker.frontends.c.runtime.refused import REFUSED
from dekker.frontends.c.runtime.strings import STRINGS
from dekker.frontends.c.runtime.threads import THREADS
from dekker.frontends.c.runtime.waiting import WAITING

if TYPE_CHECKING:
    from dekker.frontends.c.llvm.syntax import Instruction
    from dekker.frontends.c.lowering.function import FunctionLowering

_ANY_NUMBER = External(nondet)
_PATTERNS = {**CPLUSPLUS_PATTERNS, **WAITING_PATTERNS}


class Library(Runtime):
    """The table, and names that are spelled with a pattern."""

    def find(self, name: str) -> External | None:
        found = self.table.get(name)
        if found is None and name.startswith(NONDET):
            return _ANY_NUMBER
        if found is not None or not name.startswith("_ZN"):
            return found
        return next((item for pattern, item in _PATTERNS.items() if re.fullmatch(pattern, name)), None)

    def before(self, lowering: FunctionLowering, instruction: Instruction) -> None:
        note_effect(lowering, instruction)

    def source_of(self, name: str) -> str | None:
        path = source_of(name)
        return None if path is None or not path.exists() else str(path)


RUNTIME = Library(
    *(REFUSED, BASIC, ENDINGS, ALLOCATION, STRINGS, OUTPUT, FORMATTING, ATOMICS),
    *(ATTRIBUTES, THREADS, ASYNCHRONOUS, LOCKS, WAITING, C11_THREADS),
    *(CPLUSPLUS, CPLUSPLUS_THREADS),
)

__all__ = ["RUNTIME", "External", "ExternalCall", "Runtime", "source_flags"]
