"""Sets of events that control may reach, as bit sets, for all nodes of a flow graph at once.

`reach(...)` is computed over the components of the graph, from the last to the first: what a node reaches is what its
successors are and reach. A *blocking* node is reached, but nothing behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dekker.records import dataclass


@dataclass(frozen=True)
class Reached:
    """For every component, the events that its nodes reach in one step or more; `beyond` are those that they reach
    by a way through a blocking node."""

    component: Sequence[int]
    events: Sequence[int]
    beyond: Sequence[int]

    def after(self, node: int) -> int:
        return self.events[self.component[node]]

    def beyond_blocking(self, node: int) -> int:
        return self.beyond[self.component[node]]


def reach(
    following: Sequence[Sequence[int]],
    bits: Sequence[int],
    blocking: Callable[[int], bool] | None = None,
    plain: Reached | None = None,
) -> Reached:
    """`bits[n]` are the events at node n. `plain` is the result without blocking nodes."""
    blocked = [blocking(node) for node in range(len(bits))] if blocking is not None else [False] * len(bits)
    order = components([() if blocked[node] else steps for node, steps in enumerate(following)])
    component = [0] * len(bits)
    for number, members in enumerate(order):
        for node in members:
            component[node] = number
    events: list[int] = []
    beyond: list[int] = []
    for number, members in enumerate(order):
        found = far = 0
        for node in members:
            if len(members) > 1:
                found |= bits[node]
            if blocked[node]:
                continue
            for step in following[node]:
                found |= bits[step]
                if blocked[step]:
                    far |= plain.after(step) if plain is not None else 0
                elif component[step] != number:
                    found |= events[component[step]]
                    far |= beyond[component[step]]
        events.append(found)
        beyond.append(far)
    return Reached(component, events, beyond)


def components(following: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected components, each after all that it leads to (Tarjan 1972)."""
    count = len(following)
    index, low = [-1] * count, [0] * count
    on_stack = bytearray(count)
    stack: list[int] = []
    found: list[list[int]] = []
    counter = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = counter
                counter += 1
                stack.append(node)
                on_stack[node] = 1
            steps = following[node]
            while at < len(steps):
                step = steps[at]
                at += 1
                if index[step] < 0:
                    work.append((node, at))
                    work.append((step, 0))
                    break
                if on_stack[step]:
                    low[node] = min(low[node], index[step])
            else:
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = 0
                        members.append(member)
                        if member == node:
                            break
                    found.append(members)
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return found
