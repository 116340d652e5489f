"""The events of an instruction, as far as the program text says what they are."""

from __future__ import annotations

from functools import cache

from dekker.execution import Event
from dekker.ir.fences import FENCES
from dekker.ir.instructions import (
    Allocate,
    CompareExchange,
    Fence,
    Free,
    Instruction,
    Join,
    Load,
    Order,
    Rmw,
    Spawn,
    Store,
    StoreConditional,
)
from dekker.ir.program import Program

MAY_FAIL = "may-fail"
"""A tag, for commit orders only, of the events of updates that need not succeed."""

FAILS_ALIKE = "fails-alike"
"""And of those reads among them whose order is the same if they fail."""


def instruction_events(instruction: Instruction) -> dict[str, Event]:
    """By role: `read_class`, `write_class`, and `failed_class` for the read of an update that fails. Fences are in
    `read_class`."""
    match instruction:
        case Load(order=order, exclusive=exclusive):
            return {"read_class": _access("R", order, *(("X",) if exclusive else ()))}
        case Store(order=order):
            return {"write_class": _access("W", order)}
        case StoreConditional(order=order):
            return {"write_class": _access("W", order, "X", "RMW", MAY_FAIL)}
        case Rmw(order=order, quiet=True):
            return {
                "read_class": _access("R", order, "AMO", "RMW", MAY_FAIL, FAILS_ALIKE),
                "write_class": _access("W", order, "AMO", "RMW", MAY_FAIL),
                "failed_class": _access("R", order, "AMO", "QUIET"),
            }
        case Rmw(dst=dst, order=order):
            tags = (*_update_tags(dst), "RMW")
            read = _access("R", order, *tags)
            return {"read_class": read, "write_class": _access("W", order, *tags), "failed_class": read}
        case CompareExchange(dst=dst, order=order, failure_order=failure_order):
            tags = _update_tags(dst)
            alike = (FAILS_ALIKE,) if order is failure_order else ()
            return {
                "read_class": _access("R", order, *tags, "RMW", MAY_FAIL, *alike),
                "write_class": _access("W", order, *tags, "RMW", MAY_FAIL),
                "failed_class": _access("R", failure_order, *tags),
            }
        case Fence(kind):
            return {"read_class": _fence(FENCES[kind].name)}
    return {}


def _update_tags(dst: str | None) -> tuple[str, ...]:
    return ("AMO", "NORET") if dst is None else ("AMO",)


def program_events(program: Program) -> frozenset[Event]:
    """Of all functions: threads may call them, or be started with them."""
    steps = [instruction for function in program.functions for instruction in function.body]
    found = {event for instruction in steps for event in instruction_events(instruction).values()}
    if any(isinstance(instruction, Spawn | Join) or releases(instruction) for instruction in steps):
        found.update(runtime_events())
    return frozenset(found)


def releases(instruction: Instruction) -> bool:
    """Whether it releases memory, or allocates what is released when its function ends."""
    match instruction:
        case Allocate(stack=stack, confined=confined):
            return stack and not confined
    return isinstance(instruction, Free)


@cache
def _access(kind: str, order: Order, *tags: str) -> Event:
    return Event(kind, 0, 0, order=order, tags=frozenset(tags))


@cache
def _fence(name: str) -> Event:
    return Event("F", 0, 0, fence=name)


def runtime_events() -> tuple[Event, Event, Event, Event]:
    """The write, the read and the fence with which threads begin, end and are joined; the write that frees memory."""
    return _access("W", Order.SEQ_CST), _access("R", Order.SEQ_CST), _fence("mfence"), _access("W", Order.PLAIN)
