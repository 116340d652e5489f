"""Loops that try a compare-exchange again with what the last one has read.

    e = load x; while (!compare_exchange(&x, &e, f(e))) ;

The rounds of such a loop are not alike: each expects what the one before it has read, so something is carried
(`waiting`, condition 4). Still no execution needs a failed round. Take one with failed rounds, and let r be the read of
the last of them: the successful round, or whatever else leaves the loop, goes on with what r has read. Take out the
load in front of the loop and all failed rounds but r, and call r the load. What is left is an execution of the program,
because there is no event between the load and the loop, and r is at least as strong as the load: its order on failure
is, and a failed compare-exchange has no less fences around it and dependencies to it than a load. So the model allows
it, if it allows to leave out reads, and to weaken one.

The back edge becomes an assumption: a thread that fails does not wait, it will try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dekker.ir.expressions import Expr, Reg, registers
from dekker.ir.flow import Resource, defined, successors
from dekker.ir.instructions import Assign, CompareExchange, Jump, Load, Order
from dekker.ir.passes.following import Knowledge, Step, follow, value
from dekker.ir.passes.symbolic import Copy
from dekker.ir.program import Function

OLD = "what the compare-exchange has read"

_AS_STRONG = {
    Order.PLAIN: frozenset((Order.PLAIN,)),
    Order.RELAXED: frozenset((Order.RELAXED, Order.CONSUME, Order.ACQUIRE, Order.SEQ_CST)),
    Order.ACQUIRE: frozenset((Order.ACQUIRE, Order.SEQ_CST)),
    Order.SEQ_CST: frozenset((Order.SEQ_CST,)),
}


class Retry(NamedTuple):
    """A loop of a function: the position of its head, that of its back edge, and its body. `carried` is what a round
    leaves to the next, `steps` are those of rounds in which nothing succeeds."""

    function: Function
    head: int
    edge: int
    body: frozenset[int]
    predecessors: Sequence[Sequence[int]]
    carried: frozenset[Resource]
    steps: Sequence[Step]
    constants: Knowledge


def expects_what_was_read(loop: Retry) -> bool:
    """Whether each round expects what the load in front of the loop, or the last round, has read."""
    exchanges = {step.position for step in loop.steps if isinstance(loop.function.body[step.position], CompareExchange)}
    if len(loop.carried) != 1 or len(exchanges) != 1:
        return False
    (carried,), (index,) = loop.carried, exchanges
    exchange = loop.function.body[index]
    assert isinstance(exchange, CompareExchange)
    if not isinstance(carried, str) or _passes_by(loop, index):
        return False
    expected = {value(exchange.expected, step.known) for step in loop.steps if step.position == index}
    return (
        expected == {Copy(carried, 64)}
        and _hands_on(loop, index, exchange, carried)
        and _is_loaded_before(loop, exchange, carried)
    )


def _passes_by(loop: Retry, index: int) -> bool:
    """Whether a round may come to the back edge without the exchange."""

    def inside(position: int) -> bool:
        return position in loop.body and position != index

    steps = follow(loop.function, loop.head, loop.constants, inside, nothing_succeeds=True, once=True)
    return steps is None or any((step.position, step.following) == (loop.edge, loop.head) for step in steps)


def _hands_on(loop: Retry, index: int, exchange: CompareExchange, carried: str) -> bool:
    """Whether what is carried is what a failed exchange has read."""
    known: Knowledge = dict(loop.constants)
    if exchange.dst is not None:
        known[exchange.dst] = Copy(OLD, 64)
    if exchange.success is not None:
        known[exchange.success] = 0

    def inside(position: int) -> bool:
        return position in loop.body and position != loop.head

    steps = follow(loop.function, index + 1, known, inside)
    if steps is None:
        return False
    last = [step.known for step in steps if (step.position, step.following) == (loop.edge, loop.head)]
    return bool(last) and all(_register(carried, known) == Copy(OLD, 64) for known in last)


def _is_loaded_before(loop: Retry, exchange: CompareExchange, carried: str) -> bool:
    """Whether nothing but assignments stands between the load and the loop."""
    body = loop.function.body
    way = list(_way_before(loop))
    load = body[way[-1]] if way else None
    if not isinstance(load, Load) or load.exclusive or load.signed or load.size != exchange.size:
        return False
    if exchange.failure_order not in _AS_STRONG.get(load.order, ()):
        return False
    known: Knowledge = {}
    changed = set[Resource](defined(load))
    for index in reversed(way[:-1]):
        step = body[index]
        if isinstance(step, Assign):
            known[step.dst] = value(step.value, known)
        changed |= defined(step)
    for index in loop.body:
        changed |= defined(body[index])
    same = load.address == exchange.address and registers(load.address).isdisjoint(changed)
    return same and _register(carried, known) == Copy(load.dst, 64)


def _way_before(loop: Retry) -> Iterator[int]:
    """The only way to the head from outside, backwards, up to the first step that is no assignment or jump."""
    index = loop.head
    outside: Callable[[int], bool] = lambda position: position not in loop.body  # noqa: E731
    while True:
        before = [position for position in loop.predecessors[index] if outside(position)]
        if len(before) != 1:
            return
        (index,) = before
        if len(successors(loop.function, index)) != 1:
            return
        yield index
        if not isinstance(loop.function.body[index], Assign | Jump):
            return


def _register(name: str, known: Knowledge) -> object:
    expression: Expr = Reg(name)
    return value(expression, known)
