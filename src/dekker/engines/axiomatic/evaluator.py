"""Evaluates a compiled model, in stages.

What depends only on the events is computed once for them, what depends on reads-from once per reads-from, and only the
rest for every coherence order. Checks that can only get worse as coherence grows are also used on parts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dekker.cat.relational import Check, Fixpoint, Op, RelationalProgram, Step
from dekker.engines.axiomatic import relations as algebra
from dekker.execution import Relation

EVENTS, READS_FROM, COHERENCE = range(3)
INPUT_STAGES = {"rf": READS_FROM, "co": COHERENCE, "fr": COHERENCE, "FW": COHERENCE}

SlotValue = int | Relation
Slots = list[SlotValue]


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
        growing = self._slots_growing_with_coherence
        checks = [entry.check for entry in self.plans[COHERENCE].entries]
        return self._plan([check for check in checks if not check.negated and growing[check.slot]], COHERENCE)

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
    def _slots_growing_with_coherence(self) -> list[bool]:
        growing = [stage < COHERENCE for stage in self.stage_of_slot]
        for item in self.program.inputs:
            growing[item.slot] = item.name != "FW"
        for step in self.program.steps:
            _assign_growth(step, growing, self.stage_of_slot)
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


def _assign_growth(step: Step, growing: list[bool], stages: list[int]) -> None:
    if isinstance(step, Op):
        growing[step.dst] = stages[step.dst] < COHERENCE or _op_grows(step, growing, stages)
        return
    for slot in step.variables:
        growing[slot] = True
    for inner in step.body:
        _assign_growth(inner, growing, stages)
    if not all(growing[slot] for slot in step.results):
        for slot in _slots_written(step):
            growing[slot] = stages[slot] < COHERENCE


def _op_grows(step: Op, growing: list[bool], stages: list[int]) -> bool:
    if step.code in ("compl", "set-compl"):
        return False
    if step.code in ("diff", "set-diff"):
        return growing[step.args[0]] and stages[step.args[1]] < COHERENCE
    return all(growing[slot] for slot in step.args)


Operation = Callable[[int, Sequence[SlotValue]], SlotValue]


def _lift(function: Callable[..., SlotValue]) -> Operation:
    return lambda size, values: function(*values)


OPERATIONS: dict[str, Operation] = {
    "union": _lift(algebra.union),
    "inter": _lift(algebra.intersection),
    "diff": _lift(algebra.difference),
    "seq": _lift(algebra.composition),
    "inverse": _lift(algebra.inverse),
    "plus": _lift(algebra.transitive_closure),
    "star": _lift(lambda rows: algebra.reflexive(algebra.transitive_closure(rows))),
    "opt": _lift(algebra.reflexive),
    "compl": _lift(algebra.complement),
    "set-union": _lift(lambda left, right: left | right),
    "set-inter": _lift(lambda left, right: left & right),
    "set-diff": _lift(lambda left, right: left & ~right),
    "set-compl": lambda size, values: (1 << size) - 1 & ~_as_set(values[0]),
    "identity": lambda size, values: algebra.identity_on(_as_set(values[0]), size),
    "cross": lambda size, values: algebra.cross(_as_set(values[0]), _as_set(values[1]), size),
    "domain": _lift(algebra.domain),
    "range": _lift(algebra.codomain),
    "empty-rel": lambda size, values: [0] * size,
    "empty-set": lambda size, values: 0,
    "full-rel": lambda size, values: [(1 << size) - 1] * size,
    "full-set": lambda size, values: (1 << size) - 1,
    "id": lambda size, values: [1 << i for i in range(size)],
}


def _as_set(value: SlotValue) -> int:
    assert isinstance(value, int)
    return value


def empty_slots(program: RelationalProgram) -> Slots:
    return [0] * len(program.kinds)


def fill_inputs(program: RelationalProgram, slots: Slots, values: Mapping[str, SlotValue]) -> None:
    for item in program.inputs:
        if item.name in values:
            slots[item.slot] = values[item.name]


def run_steps(program: RelationalProgram, steps: Iterable[Step], size: int, slots: Slots) -> None:
    for step in steps:
        if isinstance(step, Op):
            slots[step.dst] = OPERATIONS[step.code](size, [slots[slot] for slot in step.args])
        else:
            _run_fixpoint(program, step, size, slots)


def _run_fixpoint(program: RelationalProgram, step: Fixpoint, size: int, slots: Slots) -> None:
    for slot in step.variables:
        slots[slot] = 0 if program.kinds[slot] == "set" else [0] * size
    while True:
        run_steps(program, step.body, size, slots)
        results = [slots[slot] for slot in step.results]
        if results == [slots[slot] for slot in step.variables]:
            return
        for slot, result in zip(step.variables, results, strict=True):
            slots[slot] = result


def holds(check: Check, slots: Slots) -> bool:
    value = slots[check.slot]
    if check.kind == "empty":
        result = not (value if isinstance(value, int) else any(value))
    else:
        assert not isinstance(value, int)
        test = algebra.is_acyclic if check.kind == "acyclic" else algebra.is_irreflexive
        result = test(value)
    return result != check.negated


def run_plan(program: RelationalProgram, plan: Plan, size: int, slots: Slots) -> bool:
    """Whether all checks of the plan hold; stops at the first that does not."""
    for entry in plan.entries:
        run_steps(program, entry.steps, size, slots)
        if not holds(entry.check, slots):
            return False
    run_steps(program, plan.rest, size, slots)
    return True


def raised_flags(program: RelationalProgram, plan: Plan, size: int, slots: Slots) -> tuple[str, ...]:
    raised = []
    for entry in plan.entries:
        run_steps(program, entry.steps, size, slots)
        if holds(entry.check, slots):
            raised.append(entry.check.name)
    return tuple(raised)


def evaluate(program: RelationalProgram, size: int, values: Mapping[str, SlotValue]) -> list[bool]:
    """The result of every check of the program on one execution, all at once."""
    slots = empty_slots(program)
    fill_inputs(program, slots, values)
    run_steps(program, program.steps, size, slots)
    return [holds(check, slots) for check in program.checks]
