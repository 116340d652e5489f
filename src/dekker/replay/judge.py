"""What a model says about one execution."""

from __future__ import annotations

from dataclasses import dataclass

from dekker.cat.interpreter import base_values, evaluate
from dekker.cat.model import Model
from dekker.cat.relational import Check
from dekker.execution import Execution


@dataclass(frozen=True)
class Judgement:
    """`broken` are the checks that fail; the model allows the execution if there is none. `flags` are those raised."""

    broken: tuple[Check, ...]
    flags: tuple[str, ...]

    @property
    def allowed(self) -> bool:
        return not self.broken


def judge(model: Model, execution: Execution) -> Judgement:
    outcomes = evaluate(model.program, len(execution.events), base_values(model, execution))
    judged = list(zip(model.program.checks, outcomes, strict=True))
    return Judgement(
        tuple(check for check, holds in judged if not check.flag and not holds),
        tuple(check.name for check, holds in judged if check.flag and holds),
    )
