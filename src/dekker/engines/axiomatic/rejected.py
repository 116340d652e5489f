"""Why an outcome is forbidden: the candidates that have it, and the checks that each of them breaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import combinations, permutations, product

from dekker.cat.algebra import union
from dekker.cat.interpreter import Slots, base_values, empty_slots, fill_inputs
from dekker.cat.reasons import cycle_length
from dekker.cat.relational import Check
from dekker.engines.axiomatic.candidates import Search, Structure, build
from dekker.engines.axiomatic.evaluator import COHERENCE, EVENTS, READS_FROM, broken_checks, staged
from dekker.engines.axiomatic.paths import Path, thread_paths
from dekker.engines.axiomatic.states import final_state
from dekker.engines.axiomatic.traces import trace
from dekker.execution import Execution, Relation, Trace, empty_relation, final_writes, from_read, relation
from dekker.ir.conditions import Values, formula_holds
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.property import And, Formula, MemoryValue, Not, Or, observables
from dekker.records import dataclass
from dekker.task import Task

BOTH = frozenset((True, False))


@dataclass
class Rejected:
    """`candidates` counts the well-formed executions that satisfy the formula, `allowed` those of them that the model
    allows, `excluded` for each check those that it alone would rule out. `closest` breaks the fewest checks, with the
    shortest cycle. `self_justifying` counts choices of sources in which a value is justified by nothing but itself."""

    candidates: int = 0
    allowed: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    closest: Trace | None = None
    self_justifying: int = 0
    stopped_by: str | None = None


def rejected(task: Task, formula: Formula) -> Rejected:
    """Looks at every candidate in which the formula holds, until the time is up."""
    result = Rejected()
    survey = _Survey(task, formula, result)
    try:
        survey.run()
    except _OutOfTime:
        result.stopped_by = "time"
    except KeyboardInterrupt:
        result.stopped_by = "interrupt"
    return result


class _OutOfTime(Exception):
    pass


class _Survey:
    def __init__(self, task: Task, formula: Formula, result: Rejected) -> None:
        self.task = task
        self.formula = formula
        self.result = result
        self.layout = layout(task.program)
        self.memory = InitialMemory(task.program, self.layout)
        self.staged = staged(task.model.program)
        self.best = (len(task.model.checks) + 1, 0)
        self.deadline = None if task.limits.timeout_s is None else time.monotonic() + task.limits.timeout_s
        self.excluded = {check.name: 0 for check in task.model.program.checks if not check.flag}
        result.excluded = self.excluded

    def run(self) -> None:
        program = self.task.program
        paths = [self._complete_paths(thread) for thread in range(len(program.threads))]
        for combination in product(*paths):
            search = Search(combination, self.memory, self._check_time)
            for known, sources in search.run():
                self._try_orders(build(search.paths, search.memory, known, sources))
            self.result.self_justifying += search.unresolved

    def _complete_paths(self, thread: int) -> list[Path]:
        found = []
        for path in thread_paths(self.task.program, self.layout, thread, self.task.limits):
            self._check_time()
            if path.status == "complete":
                found.append(path)
        return found

    def _try_orders(self, structure: Structure) -> None:
        registers = [
            {name: structure.final_value(value) for name, value in path.frames[0].registers.items()}
            for path in structure.paths
        ]
        finals = self._finals(registers)
        if True not in _outcomes(self.formula, finals({}), self.layout):
            return
        early: list[Check] | None = None
        slots: Slots = []
        for co in _orders(list(structure.writes.values()), len(structure.events)):
            self._check_time()
            memory = {
                location: structure.events[write].value
                for location, writes in structure.writes.items()
                for write in writes
                if not co[write]
            }
            if not formula_holds(self.formula, finals(memory), self.layout):
                continue
            if early is None:
                early, slots = self._without_coherence(structure)
            self._judge(structure, co, early, slots)

    def _finals(self, registers: Sequence[dict[str, int]]) -> Callable[[dict[tuple[int, int], int]], Values]:
        prop = self.task.program.property
        return lambda memory: final_state(prop, registers, memory, self.layout, self.memory)

    def _without_coherence(self, structure: Structure) -> tuple[list[Check], Slots]:
        """Checks that fail whatever coherence is, and the values that do not depend on it."""
        program, size = self.staged.program, len(structure.events)
        slots = empty_slots(program)
        nothing = empty_relation(size)
        primitive = {**structure.static_relations, "rf": structure.rf, "co": nothing}
        fill_inputs(program, slots, base_values(self.task.model, Execution(structure.events, primitive)))
        stages = (self.staged.plans[stage] for stage in (EVENTS, READS_FROM))
        return [check for plan in stages for check in broken_checks(program, plan, size, slots)], slots

    def _judge(self, structure: Structure, co: Relation, early: list[Check], slots: Slots) -> None:
        program, size = self.staged.program, len(structure.events)
        fr, last = from_read(structure.rf, co), final_writes(structure.events, co)
        fill_inputs(program, slots, {"co": co, "fr": fr, "FW": last})
        broken = [*early, *broken_checks(program, self.staged.plans[COHERENCE], size, slots)]
        self.result.candidates += 1
        self.result.allowed += not broken
        for name in {check.name for check in broken}:
            self.excluded[name] += 1
        if not broken or len(broken) > self.best[0]:
            return
        closeness = (len(broken), sum(cycle_length(check, slots[check.slot]) for check in broken))
        if closeness < self.best or self.result.closest is None:
            self.best = closeness
            self.result.closest = trace(structure, co)

    def _check_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _OutOfTime


def _orders(locations: Sequence[Sequence[int]], size: int) -> Iterator[Relation]:
    """Every coherence order of these locations, given by their writes, the initial one first."""
    if not locations:
        yield empty_relation(size)
        return
    (initial, *others), *rest = locations
    for order in permutations(others):
        own = relation(size, combinations((initial, *order), 2))
        for remaining in _orders(rest, size):
            yield union(own, remaining)


def _outcomes(formula: Formula, values: Values, places: Layout) -> frozenset[bool]:
    """What the formula may come to, when registers are known and memory is not."""
    match formula:
        case Not(operand):
            return frozenset(not outcome for outcome in _outcomes(operand, values, places))
        case And(operands) | Or(operands):
            neutral = isinstance(formula, And)
            parts = [_outcomes(operand, values, places) for operand in operands]
            if frozenset((not neutral,)) in parts:
                return frozenset((not neutral,))
            return frozenset[bool]((neutral,)).union(*parts)
    if any(isinstance(item, MemoryValue) for item in observables(formula)):
        return BOTH
    return frozenset((formula_holds(formula, values, places),))
