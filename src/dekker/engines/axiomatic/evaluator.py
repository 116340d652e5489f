"""Evaluates a compiled model, in stages.

What depends only on the events is computed once for them, what depends on reads-from once per reads-from, and only the
rest for every coherence order. Checks that can only get worse as coherence grows are also used on parts of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from dekker.cat.interpreter import Slots, holds, run_steps
from dekker.cat.relational import Check, Op, RelationalProgram, Step
from dekker.records import dataclass

EVENTS, READS_FROM, COHERENCE = range(3)
INPUT_STAGES = {"rf": READS_FROM, "co": COHERENCE, "fr": COHERENCE, "FW": COHERENCE}


@lru_cache(maxsize=64)
def staged(program: RelationalProgram) -> StagedModel:
    """Sorting takes longer than many a program that is run under the model."""
    return StagedModel(program)


@dataclass(frozen=True)
class StagedModel:
    """A relational program with its steps and checks sorted by the stage in which they can be computed."""

    program: RelationalProgram

    @cached_property
    def stage_of_slot(self) -> list[int]:
        stages = [EVENTS] * len(self.program.kinds)
        for item in self.program.inputs:
            stages[item.slot] = INPUT_STAGES.get(item.name, EVENTS)
        for step in self.program.steps:
            _assign_stages(step, stages)
        return stages

    @cached_property
    def plans(self) -> list[Plan]:
        """Per stage, the checks that can be made in it."""
        checks = [check for check in self.program.checks if not check.flag]
        return [
            self._plan([check for check in checks if self.stage_of_slot[check.slot] == stage], stage)
            for stage in (EVENTS, READS_FROM, COHERENCE)
        ]

    @cached_property
    def flag_plan(self) -> Plan:
        flags = [check for check in self.program.checks if check.flag]
        return self._plan(flags, COHERENCE)

    @cached_property
    def partial_plan(self) -> Plan:
        """The checks that fail for good once they fail on a part of coherence."""
        growing = self._slots_growing_from(COHERENCE)
        checks = [entry.check for entry in self.plans[COHERENCE].entries]
        return self._plan([check for check in checks if _fails_for_good(check, growing)], COHERENCE)

    @cached_property
    def cheap_partial_plan(self) -> Plan:
        """Those of them that need no closure and no fixpoint."""
        checks = [entry.check for entry in self.partial_plan.entries]
        return self._plan([check for check in checks if self._is_cheap(check)], COHERENCE)

    def _is_cheap(self, check: Check) -> bool:
        steps = self._plan([check], COHERENCE).entries[0].steps
        return all(isinstance(step, Op) and step.code not in ("plus", "star") for step in steps)

    def _plan(self, checks: Sequence[Check], stage: int) -> Plan:
        """What a later stage needs of this one is computed too, even where no check of this stage asks for it."""
        steps = [step for step in self.program.steps if self.stage_of_slot[_slot_of(step)] == stage]
        entries, done = [], set[int]()
        for check in checks:
            needed = _steps_for(check.slot, steps) - done
            done |= needed
            entries.append(PlanEntry(tuple(steps[i] for i in sorted(needed)), check))
        rest = () if stage == COHERENCE else tuple(step for i, step in enumerate(steps) if i not in done)
        return Plan(tuple(entries), rest)

    @cached_property
    def early_plans(self) -> list[Plan]:
        """Per stage, the checks that fail for good once they fail on a part of reads-from and coherence."""
        growing = self._slots_growing_from(READS_FROM)
        return [
            self._plan([entry.check for entry in plan.entries if _fails_for_good(entry.check, growing)], stage)
            for stage, plan in enumerate(self.plans)
        ]

    def _slots_growing_from(self, stage: int) -> list[bool]:
        """Which values only grow with the inputs of this stage and of those after it."""
        growing = [own < stage for own in self.stage_of_slot]
        for item in self.program.inputs:
            growing[item.slot] = item.name != "FW"
        for step in self.program.steps:
            _assign_growth(step, growing, self.stage_of_slot, stage)
        return growing


@dataclass(frozen=True)
class PlanEntry:
    """A check and the steps it needs beyond those of the checks before it."""

    steps: tuple[Step, ...]
    check: Check


@dataclass(frozen=True)
class Plan:
    """Checks in order, so that a cheap one that fails saves the steps of the others."""

    entries: tuple[PlanEntry, ...]
    rest: tuple[Step, ...]


def _fails_for_good(check: Check, growing: Sequence[bool]) -> bool:
    return not check.negated and growing[check.slot]


def _slot_of(step: Step) -> int:
    return step.dst if isinstance(step, Op) else step.variables[0]


def _steps_for(slot: int, steps: Sequence[Step]) -> set[int]:
    """Indices of the steps that the value of a slot depends on."""
    wanted = {slot}
    needed = set()
    for i in range(len(steps) - 1, -1, -1):
        if wanted & _slots_written(steps[i]):
            needed.add(i)
            wanted |= _slots_used(steps[i])
    return needed


def _slots_used(step: Step) -> set[int]:
    if isinstance(step, Op):
        return set(step.args)
    return {*step.results}.union(*(_slots_used(inner) for inner in step.body))


def _assign_stages(step: Step, stages: list[int]) -> None:
    if isinstance(step, Op):
        stages[step.dst] = max((stages[slot] for slot in step.args), default=EVENTS)
        return
    for inner in step.body:
        _assign_stages(inner, stages)
    stage = max(stages[slot] for slot in (*_slots_written(step), *step.results))
    for slot in _slots_written(step):
        stages[slot] = stage


def _slots_written(step: Step) -> set[int]:
    if isinstance(step, Op):
        return {step.dst}
    return {*step.variables}.union(*(_slots_written(inner) for inner in step.body))


def _assign_growth(step: Step, growing: list[bool], stages: list[int], first: int) -> None:
    if isinstance(step, Op):
        growing[step.dst] = stages[step.dst] < first or _op_grows(step, growing, stages, first)
        return
    for slot in step.variables:
        growing[slot] = True
    for inner in step.body:
        _assign_growth(inner, growing, stages, first)
    if not all(growing[slot] for slot in step.results):
        for slot in _slots_written(step):
            growing[slot] = stages[slot] < first


def _op_grows(step: Op, growing: list[bool], stages: list[int], first: int) -> bool:
    if step.code in ("compl", "set-compl"):
        return False
    if step.code in ("diff", "set-diff"):
        return growing[step.args[0]] and stages[step.args[1]] < first
    return all(growing[slot] for slot in step.args)


def run_plan(program: RelationalProgram, plan: Plan, size: int, slots: Slots) -> bool:
    """Whether all checks of the plan hold; stops at the first that does not."""
    for entry in plan.entries:
        run_steps(program, entry.steps, size, slots)
        if not holds(entry.check, slots):
            return False
    run_steps(program, plan.rest, size, slots)
    return True


def broken_checks(program: RelationalProgram, plan: Plan, size: int, slots: Slots) -> list[Check]:
    """All checks of the plan that do not hold."""
    broken = []
    for entry in plan.entries:
        run_steps(program, entry.steps, size, slots)
        if not holds(entry.check, slots):
            broken.append(entry.check)
    run_steps(program, plan.rest, size, slots)
    return broken


def raised_flags(program: RelationalProgram, plan: Plan, size: int, slots: Slots) -> tuple[str, ...]:
    raised = []
    for entry in plan.entries:
        run_steps(program, entry.steps, size, slots)
        if holds(entry.check, slots):
            raised.append(entry.check.name)
    return tuple(raised)
