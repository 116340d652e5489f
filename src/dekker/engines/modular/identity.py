"""Threads that know who they are.

Threads of a class start alike, so they all have the same identity, the address of one object. Locks store it in memory,
which is harmless: they look whether the word is free. What would tell threads apart is refused where a run comes to it:
a comparison with the own identity that comes out equal (it could be that of another thread), and any use of it but to
copy, mark and store it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from dekker.engines.modular.inlining import Body
from dekker.ir.expressions import Binary, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import Assign, Branch, CompareExchange, Instruction, Refuse, Store
from dekker.ir.program import Object, Program
from dekker.source import Span

SELF = "%self"
"""The parameter in which a function of a C program gets the identity of its thread."""
OBJECT = "%identity"

_MESSAGE = "here a thread asks which thread it is, and threads of a class are all alike"
_MARKING = frozenset(("or", "and", "add"))


def with_identity(program: Program) -> Program:
    if OBJECT in program.object_by_name:
        return program
    return replace(program, objects=(*program.objects, Object(OBJECT, 8, align=64)))


def guarded(body: Body) -> Body:
    """The same code that refuses to tell threads apart."""
    known = _carriers(body)
    result = Body()
    places = []
    for step, span in zip(body.steps, body.spans, strict=True):
        places.append(len(result.steps))
        for guard in _guards(step, known):
            if guard is not None:
                label = f"{OBJECT} {len(result.steps)}"
                _emit(result, Branch(guard, label), span)
                result.targets[label] = len(result.steps) + 1
            _emit(result, Refuse(_MESSAGE), span)
        _emit(result, step, span)
    places.append(len(result.steps))
    result.labels = {name: places[place] for name, place in body.labels.items()}
    # In the old order: labels of one place are told apart by it.
    result.targets = {name: places[place] for name, place in body.targets.items()} | result.targets
    return result


def _emit(body: Body, step: Instruction, span: Span | None) -> None:
    body.steps.append(step)
    body.spans.append(span)


def _carriers(body: Body) -> frozenset[str]:
    """Registers that may hold the identity."""
    found = {SELF}
    size = 0
    while size != len(found):
        size = len(found)
        for step in body.steps:
            if isinstance(step, Assign) and _carries(step.value, found):
                found.add(step.dst)
    return frozenset(found)


def _carries(value: Expr, known: frozenset[str] | set[str]) -> bool:
    match value:
        case Reg(name):
            return name in known
        case Binary(op, _, left, right) if op in _MARKING:
            return _carries(left, known) or _carries(right, known)
        case Select(_, then, other):
            return _carries(then, known) or _carries(other, known)
    return False


def _guards(step: Instruction, known: frozenset[str]) -> Iterator[Expr | None]:
    """Conditions under which a step tells nothing about the identity; None if there is none."""
    for name, value in _expressions(step):
        stored = isinstance(step, Assign | Store) and name == "value"
        stored |= isinstance(step, CompareExchange) and name == "desired"
        if not (stored and _carries(value, known)):
            yield from _conditions(value, known)


def _conditions(value: Expr, known: frozenset[str]) -> Iterator[Expr | None]:
    if not registers(value) & known:
        return
    match value:
        case Binary("eq" | "ne", width, left, right):
            if _carries(left, known) and _carries(right, known):
                yield None
            else:
                yield Binary("ne", width, left, right)
        case Binary(_, _, left, right) if not _carries(value, known):
            yield from _conditions(left, known)
            yield from _conditions(right, known)
        case Unary(_, _, operand):
            yield from _conditions(operand, known)
        case _:
            yield None


def _expressions(step: Instruction) -> Iterator[tuple[str, Expr]]:
    for item in fields(step):
        value = getattr(step, item.name)
        if isinstance(value, Expr):
            yield item.name, value
