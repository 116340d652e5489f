"""Whether a model that forbids an execution still forbids it when events are added.

Operations keep or reverse what is added to their arguments. A reversed argument does no harm if it is *stable*: whether
a pair of events is in it never changes once both are there. In program order more is stable: a new event is the last of
its thread and nothing leads from it to earlier ones but coherence and from-read.
"""

from __future__ import annotations

from dekker.engines.rsmc.guarantees import Guarantees

FORWARD = frozenset(
    "po rf addr data ctrl pick-addr pick-data pick-ctrl status-addr status-data status-ctrl rmw amo lxsx id".split()
)
COMMUNICATION = frozenset(("rf", "co", "fr"))
POINTWISE = frozenset(
    "union inter diff compl inverse opt cross identity set-union set-inter set-diff set-compl "
    "id full-rel empty-rel full-set empty-set".split()
)
REVERSED = {"diff": 1, "set-diff": 1, "compl": 0, "set-compl": 0}


def falling_part(guarantees: Guarantees, in_order: bool) -> str | None:
    """The first check that could come to hold because an event is added, in words; None if there is none."""
    for check in guarantees.program.checks:
        if check.flag:
            continue
        if check.negated:
            return f"the check '{check.name}' is negated, so it may fail at first and hold later"
        if not _rises(guarantees, check.slot, in_order, frozenset()):
            return f"the check '{check.name}' subtracts something that grows with the execution"
    return None


def _rises(guarantees: Guarantees, slot: int, in_order: bool, seen: frozenset[int]) -> bool:
    if slot in seen or guarantees.input_name(slot) is not None:
        return True
    operation = guarantees.operation(slot)
    if operation is None:
        result = guarantees.unfolded(slot)
        return result is not None and _rises(guarantees, result, in_order, seen | {slot})
    reversed_argument = REVERSED.get(operation.code)
    return all(
        _is_stable(guarantees, arg, in_order)
        if position == reversed_argument
        else _rises(guarantees, arg, in_order, seen | {slot})
        for position, arg in enumerate(operation.args)
    )


def _is_stable(guarantees: Guarantees, slot: int, in_order: bool) -> bool:
    name = guarantees.input_name(slot)
    if name is not None:
        return in_order or name not in COMMUNICATION
    operation = guarantees.operation(slot)
    if operation is None:
        return False
    args_stable = all(_is_stable(guarantees, arg, in_order) for arg in operation.args)
    if operation.code in POINTWISE:
        return args_stable
    # A new pair of old events needs a way back from the new event.
    return (
        in_order
        and operation.code in ("seq", "plus", "star", "range")
        and args_stable
        and _is_forward(guarantees, operation.args[-1])
    )


def _is_forward(guarantees: Guarantees, slot: int) -> bool:
    """Does nothing lead from a new event to one that was there before?"""
    name = guarantees.input_name(slot)
    if name is not None:
        return name in FORWARD
    operation = guarantees.operation(slot)
    if operation is None:
        return False
    match operation.code:
        case "inter":
            return any(_is_forward(guarantees, arg) for arg in operation.args)
        case "union" | "seq" | "plus" | "star" | "opt":
            return all(_is_forward(guarantees, arg) for arg in operation.args)
        case "diff":
            return _is_forward(guarantees, operation.args[0])
    return operation.code in ("identity", "id", "empty-rel")
