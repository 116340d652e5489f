"""Where control goes in a function, and what flows through its registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import fields
from enum import Enum
from functools import lru_cache

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import (
    Await,
    Branch,
    Call,
    CompareExchange,
    Exit,
    Instruction,
    Jump,
    Load,
    Refuse,
    Return,
    Rmw,
    Spawn,
    StoreConditional,
)
from dekker.ir.program import Function, Program


class Hidden(Enum):
    """What a thread keeps besides its registers."""

    LINK = "the closest load-linked, as long as it is unpaired"


Resource = str | Hidden
"""A register, or what behaves like one."""

_DESTINATIONS = ("dst", "status", "success")


def successors(function: Function, index: int) -> tuple[int, ...]:
    """Where control may go after an instruction; the length of the body stands for the end of the function."""
    match function.body[index]:
        case Jump(target):
            return (function.labels[target],)
        case Branch(_, target) | Await(_, target):
            return (index + 1, function.labels[target])
        case Return() | Exit() | Refuse():
            return ()
    return (index + 1,)


def reads_between(program: Program, function: Function, first: int, last: int) -> bool:
    """Whether the code from the first instruction to the last reads memory, or may do so in a call."""
    seen = set[str]()
    pending = list(function.body[first:last])
    while pending:
        step = pending.pop()
        if isinstance(step, Load | Rmw | CompareExchange):
            return True
        if isinstance(step, Call):
            callee = step.function
            called = program.function_by_name.get(callee.symbol) if isinstance(callee, Address) else None
            if called is None:
                return True
            if called.name not in seen:
                seen.add(called.name)
                pending += called.body
    return False


def begins_alone(program: Program) -> bool:
    """Whether what the only thread does at first is no event: so it is in programs with calls, or that can end as a
    whole, such as those of C."""
    steps = (step for function in program.functions for step in function.body)
    return len(program.threads) == 1 and any(
        isinstance(step, Call | Spawn) or (isinstance(step, Exit) and step.everything) for step in steps
    )


def predecessors(function: Function) -> list[list[int]]:
    """For every instruction, and for the end of the function, the instructions that lead there."""
    found: list[list[int]] = [[] for _ in range(len(function.body) + 1)]
    for index in range(len(function.body)):
        for successor in successors(function, index):
            found[successor].append(index)
    return found


@lru_cache(maxsize=4096)
def used(instruction: Instruction) -> frozenset[Resource]:
    """What an instruction reads."""
    found: frozenset[Resource] = frozenset().union(*map(registers, _expressions(instruction)))
    return found | {Hidden.LINK} if isinstance(instruction, StoreConditional) else found


@lru_cache(maxsize=4096)
def defined(instruction: Instruction) -> frozenset[Resource]:
    """What an instruction overwrites, whatever happens."""
    names = (getattr(instruction, name, None) for name in _DESTINATIONS)
    found: frozenset[Resource] = frozenset(name for name in names if name is not None)
    links = isinstance(instruction, StoreConditional) or (isinstance(instruction, Load) and instruction.exclusive)
    return found | {Hidden.LINK} if links else found


def live_at_starts(function: Function, live_at_end: Set[str]) -> list[frozenset[Resource]]:
    """What may still be read, before it is overwritten, at each instruction and at the end of the function. What is
    live at the end is so at every return and exit."""
    return live_where(function, live_at_end, lambda index, after: True)


def live_where(
    function: Function, live_at_end: Set[str], counts: Callable[[int, frozenset[Resource]], bool]
) -> list[frozenset[Resource]]:
    """The same if only some instructions count as reading: `counts` is asked about one and what is live behind it."""
    body = function.body
    at_end: frozenset[Resource] = frozenset(live_at_end)
    live: list[frozenset[Resource]] = [frozenset()] * len(body) + [at_end]
    changed = True
    while changed:
        changed = False
        for index in range(len(body) - 1, -1, -1):
            after = [live[successor] for successor in successors(function, index)] or [at_end]
            behind = frozenset[Resource]().union(*after)
            found = behind - defined(body[index])
            if counts(index, behind):
                found |= used(body[index])
            changed = changed or found != live[index]
            live[index] = found
    return live


def _expressions(instruction: Instruction) -> Iterator[Expr]:
    for item in fields(instruction):
        value = getattr(instruction, item.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Const | Reg | Address | Unary | Binary | Select):
                yield part
