"""How many accesses of a thread can be delayed at a time, as far as the text says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import inf
from typing import Any

from dekker.ir.expressions import Address
from dekker.ir.flow import successors
from dekker.ir.instructions import Await, Call, Instruction, Spawn
from dekker.ir.program import Function, Program
from dekker.records import dataclass

Weight = Callable[[str, int, Instruction], float]


def executions(program: Program, weight: Weight) -> dict[str, float]:
    """By function, how often instructions are executed in a call of it at most, counted with their weight; infinite if
    one of them is in a loop, or calls are nested without end."""
    if not any(weight(item.name, index, step) for item in program.functions for index, step in enumerate(item.body)):
        return {function.name: 0 for function in program.functions}
    counter = _Counter(program, weight)
    return {function.name: counter.of(function.name) for function in program.functions}


def started_functions(program: Program) -> set[str]:
    """Functions in which threads begin."""
    found = {thread.function for thread in program.threads}
    targets = [step.function for function in program.functions for step in function.body if isinstance(step, Spawn)]
    if not all(isinstance(target, Address) for target in targets):
        return {function.name for function in program.functions}
    return found | {target.symbol for target in targets if isinstance(target, Address)}


@dataclass
class _Counter:
    program: Program
    weight: Weight
    found: dict[str, float] = field(default_factory=dict)

    def of(self, name: str) -> float:
        if name not in self.found:
            self.found[name] = inf  # for a function that calls itself
            self.found[name] = self._count(self.program.function_by_name[name])
        return self.found[name]

    def _count(self, function: Function) -> float:
        total = 0.0
        for index, step in enumerate(function.body):
            found = self.weight(function.name, index, step)
            if isinstance(step, Call):
                found += self._called(step)
            total += inf if found and comes_back(function, index) else found
        return total

    def _called(self, call: Call) -> float:
        if isinstance(call.function, Address):
            return self.of(call.function.symbol) if call.function.symbol in self.program.function_by_name else 0
        return max((self.of(function.name) for function in self.program.functions), default=0)


def comes_back(function: Function, start: int) -> bool:
    """Whether the instruction may be executed again in the same call. Loops that only wait go round once."""
    pending, seen = list(_following(function, start)), set[int]()
    while pending:
        index = pending.pop()
        if index == start:
            return True
        if index not in seen and index < len(function.body):
            seen.add(index)
            pending += _following(function, index)
    return False


def passes(function: Function, start: int, end: int, without: tuple[type[Any], ...]) -> bool:
    """Whether a path leads from one instruction to another, with none of these on its way."""
    pending, seen = [start], set[int]()
    while pending:
        index = pending.pop()
        if index == end:
            return True
        if index in seen or index >= len(function.body) or isinstance(function.body[index], without):
            continue
        seen.add(index)
        pending += _following(function, index)
    return False


def _following(function: Function, index: int) -> tuple[int, ...]:
    return (index + 1,) if isinstance(function.body[index], Await) else successors(function, index)
