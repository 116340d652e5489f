"""Which variables of the stack nobody can notice the end of: no pointer to them outlives them.

A pointer stays in its call if it is only accessed through, compared, or passed to functions that do the same with it.
Inside of the function, a variable of a block has to be forgotten when the block is left: no other register that may
point to it is read afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from dekker.frontends.c.lowering.function import SELF
from dekker.ir.expressions import Address, Binary, Expr, Reg, registers
from dekker.ir.flow import live_at_starts
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Call,
    CompareExchange,
    EndScope,
    Exit,
    Instruction,
    Jump,
    Return,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Function

Parameter = tuple[str, int]
_KEPT_BY_SOME: Parameter = ("", 0)
"""Whether a function that is called through a pointer may keep its thread's own object."""

Holders = frozenset[str]


def confine(functions: Mapping[str, Function], first: Collection[str]) -> dict[str, Function]:
    """With the marks of what is confined. What `first`, the functions that the first thread begins with, have on their
    stacks ends with the program."""
    keeping = _keeping(functions)
    found = {name: _confined(function, keeping) for name, function in functions.items()}
    return {name: _ending_with_program(function) if name in first else function for name, function in found.items()}


def _keeping(functions: Mapping[str, Function]) -> frozenset[Parameter]:
    """The parameters, by function and position, that are passed on to where they may outlive the call."""
    kept: frozenset[Parameter] = frozenset()
    while True:
        found = frozenset(
            (name, position)
            for name, function in functions.items()
            for position, parameter in enumerate(function.parameters)
            if (name, position) in kept or _escapes(function, _holders(function, parameter), kept)
        )
        if any(name and functions[name].parameters[position] == SELF for name, position in found):
            found |= {_KEPT_BY_SOME}
        if found == kept:
            return kept
        kept = found


def _confined(function: Function, keeping: frozenset[Parameter]) -> Function:
    variables = {step.dst for step in function.body if isinstance(step, Allocate) and step.stack}
    if not variables:
        return function
    held = {variable: _holders(function, variable) for variable in variables}
    confined = {
        variable
        for variable, holders in held.items()
        if not _escapes(function, holders, keeping) and not _is_remembered(function, variable, holders)
    }
    return replace(function, body=tuple(_marked(step, confined) for step in function.body))


def _marked(step: Instruction, confined: set[str]) -> Instruction:
    match step:
        case Allocate(dst, stack=True) | EndScope(dst) if dst in confined:
            return replace(step, confined=True)
    return step


def _holders(function: Function, variable: str) -> Holders:
    """The registers that may hold what was computed from the variable's address."""
    found = {variable}
    assignments = [step for step in function.body if isinstance(step, Assign)]
    size = 0
    while size != len(found):
        size = len(found)
        found |= {step.dst for step in assignments if not found.isdisjoint(registers(step.value))}
    return frozenset(found)


def _escapes(function: Function, holders: Holders, keeping: frozenset[Parameter]) -> bool:
    given = (part for step in function.body for part in _given_away(step, keeping))
    return any(not holders.isdisjoint(registers(part)) for part in given)


def _is_identity(part: Expr) -> bool:
    """What locks hold tells threads apart; nothing of a thread's own object lies where it points."""
    match part:
        case Binary("or", 64, Reg(name)) | Reg(name):
            return name == SELF
    return False


def _given_away(step: Instruction, keeping: frozenset[Parameter]) -> Iterator[Expr]:
    match step:
        case Store(value=value) | StoreConditional(value=value) | Rmw(operand=value) | CompareExchange(desired=value):
            if not _is_identity(value):
                yield value
        case Spawn(arguments=arguments):
            yield from arguments
        case Call(function=Address(symbol, 0), arguments=arguments):
            yield from (part for position, part in enumerate(arguments) if (symbol, position) in keeping)
        case Call(arguments=arguments):
            yield from (part for part in arguments if part != Reg(SELF) or _KEPT_BY_SOME in keeping)
        case Return(value=value) if value is not None:
            yield value


def _is_remembered(function: Function, variable: str, holders: Holders) -> bool:
    """Whether a register that may point to the variable is read when its block has been left."""
    others = holders - {variable}
    if not others:
        return False
    ends = [i for i, step in enumerate(function.body) if isinstance(step, EndScope) and step.dst == variable]
    live = live_at_starts(function, frozenset()) if ends else []
    return any(not others.isdisjoint(live[index + 1]) for index in ends)


# --- main


def _ending_with_program(function: Function) -> Function:
    body: list[Instruction] = []
    for index, step in enumerate(function.body):
        match step:
            case Allocate(stack=True, confined=False):
                body.append(replace(step, permanent=True))
            case EndScope(dst, confined=False) if _leads_to_return(function, index + 1):
                body.append(Assign(dst, Reg(dst)))
            case _:
                body.append(step)
    return replace(function, body=tuple(body))


def _leads_to_return(function: Function, index: int) -> bool:
    for _ in function.body:
        step = function.body[index] if index < len(function.body) else None
        if isinstance(step, Jump):
            index = function.labels[step.target]
        elif isinstance(step, Assign | EndScope):
            index += 1
        else:
            return step is None or isinstance(step, Return | Exit)
    return False
