"""TSO: a read may overtake all writes, and takes the value of the newest own one to its variable.

write      the first of those passed (rule 2: write ∉ F, read ∉ F)
read       from memory if no write to its variable was passed (rule 2: v ∉ U), else as an assignment of the value
           that the newest of them captured (rule 3, read own write early)
CMPXCHG    if no write was passed (rule 2: write ∉ F, read ∉ F)
barrier    if no write was passed (rule 2: cnt = 0; what else could be passed has taken effect)
"""

from __future__ import annotations

from dekker.engines.modular.capture import Local
from dekker.engines.modular.code import Code
from dekker.engines.modular.memory import Memory
from dekker.engines.modular.rules.candidates import Candidate, at_position, oldest, own_or_memory


def candidates(local: Local, code: Code, memory: Memory) -> tuple[Candidate, ...]:
    return (*oldest(local.passed), *at_position(local, code, memory, own_or_memory))
