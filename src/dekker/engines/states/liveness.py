"""Which registers still matter: those whose values reach a memory access, a condition, a call or the end.

Stricter than `ir.flow.live_at_starts`: what only serves to compute values that do not matter does not matter either, so
that a counter nobody looks at makes no states.
"""

from __future__ import annotations

from collections.abc import Set

from dekker.ir.flow import Resource, defined, successors, used
from dekker.ir.instructions import Assign
from dekker.ir.program import Function


def needed_at_starts(function: Function, needed_at_end: Set[str]) -> list[frozenset[Resource]]:
    """At each instruction and at the end of the function. What is needed at the end is so at every return and exit."""
    body = function.body
    at_end: frozenset[Resource] = frozenset(needed_at_end)
    needed: list[frozenset[Resource]] = [frozenset()] * len(body) + [at_end]
    changed = True
    while changed:
        changed = False
        for index in range(len(body) - 1, -1, -1):
            step = body[index]
            following = [needed[place] for place in successors(function, index)] or [at_end]
            after = frozenset[Resource]().union(*following)
            is_idle = isinstance(step, Assign) and step.dst not in after
            found = after if is_idle else used(step) | (after - defined(step))
            changed = changed or found != needed[index]
            needed[index] = found
    return needed
