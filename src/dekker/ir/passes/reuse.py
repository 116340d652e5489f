"""Lets allocations return objects that were freed: what allocators do, and what the ABA problem needs.

In front of every object stands a word that is 0 while the object is in use. Freeing it stores 1 there, with release
order. An allocation chooses: new memory, or one of the objects of its size; the latter it may have if it finds 1 in the
word and puts 0 there, with one compare-exchange of acquire order. So a freed object is handed out once at most, and
what freed it comes before what allocates it, as C and C++ say; but nothing else is ordered, as it would be by a lock of
the allocator.

    free p                              branch p = 0 -> skip
                                        free p
                                        store [p - 24] = 1 release
                                      skip:

    p = allocate n                      p = recycle n
                                        branch p = 0 -> new
                                        old, taken = cmpxchg [p - 24] 1 -> 0 acquire
                                        assume taken
                                        renew p, n
                                        jump done
                                      new:
                                        p = allocate n
                                      done:

Which alignment an object was allocated with does not matter: the address that one allocation gets may fit another.
The pass moves instructions, so it goes before all others, and a witness is one of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace

from dekker.ir.expressions import ONE, ZERO, Binary, Const, Expr, Reg
from dekker.ir.flow import defined, used
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Assume,
    Branch,
    CompareExchange,
    Free,
    Instruction,
    Jump,
    Order,
    Recycle,
    Renew,
    Store,
)
from dekker.ir.layout import FREED_WORD, FREED_WORD_SIZE
from dekker.ir.program import Function, Program
from dekker.records import dataclass
from dekker.source import Span


def is_reusable(step: Instruction) -> bool:
    """Whether what it allocates can be freed."""
    return isinstance(step, Allocate) and not step.stack and not step.permanent


def frees_and_allocates(program: Program, counts: Callable[[Span | None], bool] = lambda span: True) -> bool:
    """Whether it makes a difference if freed memory is allocated again; `counts` says which places do."""
    steps = [(step, function.span(index)) for function in program.functions for index, step in enumerate(function.body)]
    return any(isinstance(step, Free) for step, _ in steps) and any(
        is_reusable(step) and counts(span) for step, span in steps
    )


def reuses_freed_memory(program: Program) -> bool:
    return any(isinstance(step, Recycle) for function in program.functions for step in function.body)


def reuse_freed_memory(program: Program) -> Program:
    if not frees_and_allocates(program) or reuses_freed_memory(program):
        return program
    return replace(program, functions=tuple(map(_rewritten, program.functions)))


@dataclass
class _Output:
    """The function as far as it is rewritten. `taken` holds the names of registers and labels that are in use."""

    taken: set[str]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        number = 0
        while f"{stem}{number}" in self.taken:
            number += 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def place(self, label: str) -> None:
        self.labels[label] = len(self.body)


def _rewritten(function: Function) -> Function:
    output = _Output(set(_names(function)))
    starts: list[int] = []
    spans = []
    for index, step in enumerate(function.body):
        starts.append(len(output.body))
        if isinstance(step, Free):
            _free(step, output)
        elif isinstance(step, Allocate) and is_reusable(step):
            _allocate(step, output)
        else:
            output.body.append(step)
        spans += [function.span(index)] * (len(output.body) - starts[-1])
    starts.append(len(output.body))
    labels = {label: starts[index] for label, index in function.labels.items()} | output.labels
    return replace(function, body=tuple(output.body), labels=labels, spans=tuple(spans) if function.spans else ())


def _names(function: Function) -> Iterator[str]:
    yield from function.parameters
    yield from function.labels
    for step in function.body:
        yield from (name for name in used(step) | defined(step) if isinstance(name, str))


def _word(start: Expr) -> Expr:
    return Binary("sub", 64, start, Const(-FREED_WORD))


def _free(step: Free, output: _Output) -> None:
    skip = output.fresh("unfreed")
    output.body += [
        Branch(Binary("eq", 64, step.address, ZERO), skip),
        step,
        Store(_word(step.address), ONE, FREED_WORD_SIZE, Order.RELEASE),
    ]
    output.place(skip)


def _allocate(step: Allocate, output: _Output) -> None:
    found, old, taken = output.fresh("recycled"), output.fresh("freed"), output.fresh("taken")
    new, done = output.fresh("new"), output.fresh("allocated")
    output.body += [
        Recycle(found, step.size),
        Branch(Binary("eq", 64, Reg(found), ZERO), new),
        CompareExchange(old, taken, _word(Reg(found)), ONE, ZERO, FREED_WORD_SIZE, Order.ACQUIRE, Order.RELAXED),
        Assume(Reg(taken)),
        Renew(Reg(found), step.size, step.zeroed),
        Assign(step.dst, Reg(found)),
        Jump(done),
    ]
    output.place(new)
    output.body.append(step)
    output.place(done)
