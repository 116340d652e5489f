"""What functions do that are called in a loop, as far as it matters for whether the loop only waits.

A function *only reads* if it consists of loads, fences, assignments, jumps, branches, awaits, assertions, returns,
strong compare-exchanges, and calls of functions that only read. Its registers begin anew in each call, so it carries
nothing from one to the next. A load-linked would: it stays open when the function returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from dekker.ir.expressions import Address
from dekker.ir.instructions import (
    Assert,
    Assign,
    Await,
    Branch,
    Call,
    CompareExchange,
    Fence,
    Instruction,
    Jump,
    Load,
    Return,
    StoreConditional,
)
from dekker.ir.passes.following import Knowledge, after_conditional_write, follow, value
from dekker.ir.passes.symbolic import Known
from dekker.ir.program import Function, Program
from dekker.records import dataclass

_READING = (Assert, Assign, Await, Branch, Fence, Jump, Return)


@dataclass(frozen=True)
class Callee:
    """`after_success` are the results that a function may have if a compare-exchange in it succeeded; None is any."""

    only_reads: bool
    after_success: frozenset[int | None] = frozenset()


UNKNOWN = Callee(only_reads=False)


@dataclass
class Callees:
    """The functions of a program, each looked at once."""

    program: Program
    _found: dict[str, Callee] = field(default_factory=dict)

    def of(self, call: Call) -> Callee:
        target = call.function
        if not isinstance(target, Address) or target.offset or target.symbol not in self.program.function_by_name:
            return UNKNOWN
        return self._named(target.symbol)

    def _named(self, name: str) -> Callee:
        if name not in self._found:
            self._found[name] = UNKNOWN  # for a function that calls itself
            self._found[name] = self._look(self.program.function_by_name[name])
        return self._found[name]

    def _look(self, function: Function) -> Callee:
        if not all(map(self._reads, function.body)):
            return UNKNOWN
        return Callee(True, frozenset(self._after_success(function)))

    def _reads(self, instruction: Instruction) -> bool:
        match instruction:
            case Load(exclusive=exclusive):
                return not exclusive
            case CompareExchange(weak=weak):
                return not weak
            case Call():
                return self.of(instruction).only_reads
        return isinstance(instruction, _READING)

    def _after_success(self, function: Function) -> Iterator[int | None]:
        for index, instruction in enumerate(function.body):
            for known in self.successes(instruction, {}):
                yield from _results(function, index + 1, known)

    def successes(self, instruction: Instruction, known: Knowledge) -> Iterator[Knowledge]:
        """What is known behind an instruction in which a conditional write succeeded, for each way this can be."""
        if isinstance(instruction, Call):
            for result in self.of(instruction).after_success:
                yield known if instruction.dst is None else {**known, instruction.dst: result}
        elif isinstance(instruction, CompareExchange | StoreConditional):
            yield after_conditional_write(instruction, known, succeeded=True)


def _results(function: Function, start: int, known: Knowledge) -> Iterator[int | None]:
    steps = follow(function, start, known, lambda index: index < len(function.body))
    if steps is None:
        yield None
        return
    for step in steps:
        instruction = function.body[step.position]
        if isinstance(instruction, Return):
            yield _number(value(instruction.value, step.known)) if instruction.value is not None else None
        elif step.following == len(function.body):
            yield None
    if start == len(function.body):
        yield None


def _number(known: Known) -> int | None:
    return known if isinstance(known, int) else None
