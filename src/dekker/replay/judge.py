"""What a model says about one execution."""

from __future__ import annotations

from dekker.cat.interpreter import base_values, empty_slots, evaluate, fill_inputs, holds, run_steps
from dekker.cat.model import Model
from dekker.cat.relational import Check
from dekker.execution import Execution, pairs
from dekker.records import dataclass


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


def flagged_pairs(model: Model, execution: Execution) -> dict[str, list[tuple[int, int]]]:
    """The flags that are raised, with the pairs of events that raise them where that is what they are about."""
    program = model.program
    if not any(check.flag for check in program.checks):
        return {}
    slots = empty_slots(program)
    fill_inputs(program, slots, base_values(model, execution))
    run_steps(program, program.steps, len(execution.events), slots)
    found: dict[str, list[tuple[int, int]]] = {}
    for check in program.checks:
        value = slots[check.slot]
        if check.flag and holds(check, slots):
            found[check.name] = pairs(value) if not isinstance(value, int) and check.kind == "empty" else []
    return found
