"""Whether a model that forbids an execution still forbids it when events are added.

Operations keep or reverse what is added to their arguments. A reversed argument does no harm if it is *stable*: whether
a pair of events is in it never changes once both are there. In program order more is stable: a new event is the last of
its thread and nothing leads from it to earlier ones but coherence and from-read.
"""

from __future__ import annotations

from dekker.cat.relational import Op
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
    growth = _Growth(guarantees, in_order)
    for check in guarantees.program.checks:
        if check.flag:
            continue
        if check.negated:
            return f"the check '{check.name}' is negated, so it may fail at first and hold later"
        if not growth.rises(check.slot):
            return f"the check '{check.name}' subtracts something that grows with the execution"
    return None


class _Growth:
    """Which slots are stable, and which lead forward: one pass, however often a definition is used. Variables of
    fixpoints are neither."""

    def __init__(self, guarantees: Guarantees, in_order: bool) -> None:
        self.guarantees = guarantees
        self.in_order = in_order
        names = {item.slot: item.name for item in guarantees.program.inputs}
        self.stable = {slot for slot, name in names.items() if in_order or name not in COMMUNICATION}
        self.forward = {slot for slot, name in names.items() if name in FORWARD}
        for operation in guarantees.operations():
            if self._leads_forward(operation):
                self.forward.add(operation.dst)
            if self._keeps_stable(operation):
                self.stable.add(operation.dst)

    def rises(self, slot: int) -> bool:
        seen: set[int] = set()
        waiting = [slot]
        while waiting:
            slot = waiting.pop()
            if slot in seen or self.guarantees.input_name(slot) is not None:
                continue
            seen.add(slot)
            operation = self.guarantees.operation(slot)
            if operation is None:
                result = self.guarantees.unfolded(slot)
                if result is None:
                    return False
                waiting.append(result)
                continue
            reversed_argument = REVERSED.get(operation.code)
            for position, arg in enumerate(operation.args):
                if position != reversed_argument:
                    waiting.append(arg)
                elif arg not in self.stable:
                    return False
        return True

    def _keeps_stable(self, operation: Op) -> bool:
        if not self.stable.issuperset(operation.args):
            return False
        # A new pair of old events needs a way back from the new event.
        composes = operation.code in ("seq", "plus", "star", "range")
        return operation.code in POINTWISE or (self.in_order and composes and operation.args[-1] in self.forward)

    def _leads_forward(self, operation: Op) -> bool:
        """Does nothing lead from a new event to one that was there before?"""
        match operation.code:
            case "inter":
                return not self.forward.isdisjoint(operation.args)
            case "union" | "seq" | "plus" | "star" | "opt":
                return self.forward.issuperset(operation.args)
            case "diff":
                return operation.args[0] in self.forward
        return operation.code in ("identity", "id", "empty-rel")
