"""Which registers still matter: those whose values reach a memory access, a condition, a call or the end.

Stricter than `ir.flow.live_at_starts`: what only serves to compute values that do not matter does not matter either, so
that a counter nobody looks at makes no states.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from dekker.ir.flow import Resource, defined, successors, used
from dekker.ir.instructions import Assign
from dekker.ir.program import Function


def needed_at_starts(function: Function, needed_at_end: Set[str]) -> list[frozenset[Resource]]:
    """At each instruction and at the end of the function. What is needed at the end is so at every return and exit."""
    bits: dict[Resource, int] = {}

    def mask(items: Iterable[Resource]) -> int:
        found = 0
        for item in items:
            found |= bits.setdefault(item, 1 << len(bits))
        return found

    body = function.body
    at_end = mask(needed_at_end)
    uses, sets = [mask(used(step)) for step in body], [mask(defined(step)) for step in body]
    follow = [successors(function, index) for index in range(len(body))]
    needed = [0] * len(body) + [at_end]
    changed = True
    while changed:
        changed = False
        for index in range(len(body) - 1, -1, -1):
            after = 0 if follow[index] else at_end
            for place in follow[index]:
                after |= needed[place]
            is_idle = isinstance(body[index], Assign) and not sets[index] & after
            found = after if is_idle else uses[index] | (after & ~sets[index])
            changed = changed or found != needed[index]
            needed[index] = found
    named: dict[int, frozenset[Resource]] = {}
    for found in needed:
        if found not in named:
            named[found] = frozenset(item for item, bit in bits.items() if bit & found)
    return [named[found] for found in needed]
