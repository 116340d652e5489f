"""Evaluates compiled models on executions, in plain Python: the native evaluator's twin, sharing nothing with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dekker.cat import algebra
from dekker.cat.model import Model
from dekker.cat.relational import Check, Fixpoint, Op, RelationalProgram, Step
from dekker.execution import Execution, Relation, as_seen_by, base_value

SlotValue = int | Relation
Slots = list[SlotValue]


def evaluate(program: RelationalProgram, size: int, values: Mapping[str, SlotValue]) -> list[bool]:
    """The result of every check of the program on one execution, all at once."""
    slots = empty_slots(program)
    fill_inputs(program, slots, values)
    run_steps(program, program.steps, size, slots)
    return [holds(check, slots) for check in program.checks]


def base_values(model: Model, execution: Execution) -> dict[str, SlotValue]:
    """The base sets and relations of an execution that the model uses, as the model sees them."""
    seen = Execution(execution.events, as_seen_by(execution.relations, model.uses))
    return {item.name: base_value(item.name, seen) for item in model.program.inputs}


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
