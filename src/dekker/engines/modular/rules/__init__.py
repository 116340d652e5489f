"""The rule sets: which candidates a thread has under each memory model. Each is a file of its own."""

from __future__ import annotations

from collections.abc import Callable

from dekker.engines.modular.capture import Local
from dekker.engines.modular.code import Code
from dekker.engines.modular.memory import Memory
from dekker.engines.modular.rules import ibm370, pso, sc, tso
from dekker.engines.modular.rules.candidates import Candidate
from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class RuleSet:
    """`passes_writes` and `keeps_marks` are those of `Capture`."""

    name: str
    candidates: Callable[[Local, Code, Memory], tuple[Candidate, ...]]
    passes_writes: bool = True
    keeps_marks: bool = False


RULE_SETS = {
    rules.name: rules
    for rules in (
        RuleSet("sc", sc.candidates, passes_writes=False),
        RuleSet("ibm370", ibm370.candidates),
        RuleSet("tso", tso.candidates),
        RuleSet("pso", pso.candidates, keeps_marks=True),
    )
}
