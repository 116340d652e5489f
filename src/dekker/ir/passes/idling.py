"""Takes out code that only lets time pass: counters of a back-off, and the loops that run them down.

    int pause = 1;
    while (exchange(&locked, 1)) {
      for (int i = 0; i < pause; i++) ;
      pause *= 2;
    }

Without it the rounds of the outer loop are alike, and it is seen that the loop waits (`waiting`). What other engines or
threads can see stays as it is:

- A branch goes if nothing matters between it and where its ways meet again, and if what it depends on is computed from
  numbers alone, so that it controls nothing behind it.
- An instruction matters if it does anything but assign to a register, jump or branch, or if it assigns to one that is
  read by an instruction that matters.
- A branch that may come back to itself goes only if it counts to its end: as long as a register, to which each round
  adds one, is less than what no round changes.
- A branch stays if one of its ways never ends (`if (n == 3) for (;;);`).
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from dekker.ir.expressions import Binary, Const, Reg, has_unset, registers
from dekker.ir.flow import Resource, defined, live_where, predecessors, successors
from dekker.ir.instructions import Assign, Branch, Instruction, Jump
from dekker.ir.passes.waiting import observed_registers
from dekker.ir.program import Function, Program

_LESS, _NOT_LESS = frozenset(("slt", "ult")), frozenset(("sge", "uge"))


def leave_out_idling(program: Program) -> Program:
    """The program without branches that only let time pass, in functions with loops."""
    functions = tuple(without_idling(program, function) for function in program.functions)
    return program if functions == program.functions else replace(program, functions=functions)


def live_values(program: Program, function: Function) -> list[frozenset[Resource]]:
    """What may still make a difference, at each instruction: not what only lets time pass, nor what is computed and
    never used."""
    function = without_idling(program, function)
    body = function.body

    def counts(index: int, after: frozenset[Resource]) -> bool:
        return not isinstance(body[index], Assign) or _assigns(body[index], after)

    return live_where(function, frozenset(), counts)


def without_idling(program: Program, function: Function) -> Function:
    """Of the same length: instructions keep their places."""
    observed = observed_registers(program, function)
    if not any(_is_back_edge(function, index) for index in range(len(function.body))):
        return function
    pure = _pure_registers(function)
    meetings = _meetings(function)
    idle = _idle_branches(function, pure, meetings, observed)
    if not any(_is_in_loop(function, index) for index in idle):
        return function
    body, labels = list(function.body), dict(function.labels)
    for index in idle:
        label = f"idle{index}"
        labels[label] = meetings[index]
        body[index] = Jump(label)
    return replace(function, body=tuple(body), labels=labels)


def _is_back_edge(function: Function, index: int) -> bool:
    instruction = function.body[index]
    return isinstance(instruction, Jump | Branch) and function.labels[instruction.target] <= index


def _is_in_loop(function: Function, index: int) -> bool:
    return index in _reached(function, successors(function, index), len(function.body))


def _pure_registers(function: Function) -> frozenset[str]:
    """Those that are computed from numbers alone, wherever they are assigned to. What nothing was assigned to is no
    number: a branch that depends on it is an error."""
    impure: set[Resource] = set(function.parameters)
    for instruction in function.body:
        if not isinstance(instruction, Assign) or has_unset(instruction.value):
            impure |= defined(instruction)
    assigned = [instruction for instruction in function.body if isinstance(instruction, Assign)]
    while found := {step.dst for step in assigned if not impure.isdisjoint(registers(step.value))} - impure:
        impure |= found
    return frozenset(step.dst for step in assigned) - impure


def _meetings(function: Function) -> dict[int, int]:
    """By branch, where its ways meet again whatever happens."""
    ends = _postdominators(function)
    found: dict[int, int] = {}
    for index, instruction in enumerate(function.body):
        if isinstance(instruction, Branch):
            others = ends[index] - {index}
            found.update((index, one) for one in others if ends[one] == others)
    return found


def _postdominators(function: Function) -> list[frozenset[int]]:
    """For every instruction and the end, all that control passes on every way to the end, itself included. Where there
    is no way to the end, everything."""
    last = len(function.body)
    everything = frozenset(range(last + 1))
    found = [everything] * last + [frozenset((last,))]
    before = predecessors(function)
    pending = [last, *(index for index in range(last) if not successors(function, index))]
    for index in pending[1:]:
        found[index] = frozenset((index, last))
    while pending:
        for index in before[pending.pop()]:
            after = [found[step] for step in successors(function, index)]
            common = frozenset.intersection(*after) | {index}
            if common != found[index]:
                found[index] = common
                pending.append(index)
    return found


def _idle_branches(function: Function, pure: frozenset[str], meetings: dict[int, int], observed: Set[str]) -> list[int]:
    candidates = {
        index: _reached(function, successors(function, index), meeting)
        for index, meeting in meetings.items()
        if _depends_only_on(pure, function.body[index])
    }
    ending = _reaching_end(function)
    candidates = {
        index: region
        for index, region in candidates.items()
        if region <= ending and (index not in region or _counts_to_end(function, index, region))
    }
    while True:
        mattering = _mattering(function, candidates.keys(), observed)
        lost = [index for index, region in candidates.items() if not region.isdisjoint(mattering - candidates.keys())]
        if not lost:
            return sorted(candidates)
        for index in lost:
            del candidates[index]


def _depends_only_on(pure: frozenset[str], branch: Instruction) -> bool:
    assert isinstance(branch, Branch)
    return registers(branch.condition) <= pure and not has_unset(branch.condition)


def _reached(function: Function, starts: tuple[int, ...], barrier: int) -> frozenset[int]:
    found: set[int] = set()
    pending = [start for start in starts if start != barrier]
    while pending:
        index = pending.pop()
        if index not in found and index < len(function.body):
            found.add(index)
            pending += [step for step in successors(function, index) if step != barrier]
    return frozenset(found)


def _reaching_end(function: Function) -> frozenset[int]:
    """The instructions from which there is a way to the end."""
    before = predecessors(function)
    found: set[int] = set()
    pending = [len(function.body), *(i for i in range(len(function.body)) if not successors(function, i))]
    while pending:
        index = pending.pop()
        if index not in found:
            found.add(index)
            pending += before[index]
    return frozenset(found)


def _mattering(function: Function, idle: Set[int], observed: Set[str]) -> frozenset[int]:
    """The instructions that matter if these branches do not."""
    acting = {
        index
        for index, instruction in enumerate(function.body)
        if not isinstance(instruction, Assign | Jump) and index not in idle
    }
    live = live_where(function, observed, lambda index, after: index in acting or _assigns(function.body[index], after))
    return frozenset(acting) | {
        index
        for index, instruction in enumerate(function.body)
        if any(_assigns(instruction, live[step]) for step in successors(function, index))
    }


def _assigns(instruction: Instruction, live: frozenset[Resource]) -> bool:
    return isinstance(instruction, Assign) and instruction.dst in live


def _counts_to_end(function: Function, index: int, region: frozenset[int]) -> bool:
    """There is no other branch in there, so that each round is alike."""
    branch = function.body[index]
    assert isinstance(branch, Branch)
    condition = branch.condition
    if not isinstance(condition, Binary) or condition.op not in _LESS | _NOT_LESS:
        return False
    others = [function.body[i] for i in region - {index}]
    assignments = [step for step in others if isinstance(step, Assign)]
    if not all(isinstance(step, Assign | Jump) for step in others):
        return False
    counted = [step for step in assignments if step.dst in registers(condition.left)]
    return (
        registers(condition.right).isdisjoint(step.dst for step in assignments)
        and isinstance(condition.left, Reg)
        and [step.value for step in counted] == [Binary("add", condition.width, condition.left, Const(1))]
        and (function.labels[branch.target] in region) == (condition.op in _LESS)
    )
