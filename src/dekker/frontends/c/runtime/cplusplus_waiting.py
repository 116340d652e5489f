"""Waiting in C++20: `std::atomic::wait`, latches, barriers and semaphores.

libc++ waits in a loop that asks again and again and sleeps in between. Here a thread waits until the answer would be
yes. Notifications have no effect: a thread wakes when what it waits for is there, also if nobody tells it. Where there
is a limit to the time, it may be over at any moment when that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.lowering.expressions import select, truncate
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.basic import nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.frontends.c.runtime.locks import template
from dekker.frontends.c.runtime.templates import expand
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import Await, Call

_SUCCESS, _TIMEOUT = Const(2), Const(3)
"""Values of `__poll_with_backoff_results`."""


def _poll(call: ExternalCall) -> Expr:
    """`poll(question, pause, longest time)`. Whether there is a limit is known by the template around."""
    f, answer = call.lowering, call.emitter.temporary()
    again = call.emitter.new_label()
    question = f.unit.global_address(f.symbol, _question(call))
    call.emitter.place(again)
    call.emitter.emit(Call(answer, *call.call(question, (call.argument(0),))))
    yes = truncate(1, Reg(answer))
    if "timeout" in f.header.name:
        return select(yes, _SUCCESS, _TIMEOUT)
    call.emitter.emit(Await(yes, again))
    return _SUCCESS


def _question(call: ExternalCall) -> str:
    """The call operator of the first argument: the first that the template itself calls."""
    linked = call.lowering.unit.resolve(call.lowering.symbol, call.name)
    steps = [] if linked is None else [s for b in linked.module.blocks(call.name) for s in b.instructions]
    for step in steps:
        callee = step.callee.value if isinstance(step, syntax.Call) else None
        if isinstance(callee, syntax.Global) and _CALL_OPERATOR.search(callee.name):
            return callee.name
    raise Problem("what this waits for is not known")


_CALL_OPERATOR = re.compile(r"cl(B\w+?)?Ev$")


def _acquire(call: ExternalCall) -> None:
    expand(call, "semaphore_wait", call.argument(0), ZERO)


def _try(call: ExternalCall) -> Expr:
    return truncate(call.width, expand(call, "semaphore_trywait", call.argument(0), ZERO))


_SEMAPHORE = r"_ZNSt3__123__atomic_semaphore_base"

WAITING_PATTERNS: Mapping[str, External] = {
    r"_ZNSt3__133__libcpp_thread_poll_with_backoff[BI].*": External(_poll, overrides=True),
    rf"{_SEMAPHORE}7acquireB?\w*Ev": External(_acquire, overrides=True),
    rf"{_SEMAPHORE}(11try_acquire|15try_acquire_for|17try_acquire_until)[BIE].*": External(_try, overrides=True),
    r"_ZNSt3__1\d+__atomic_notify_(one|all)_(native|global_table).*": External(nothing),
    r"_ZNSt3__134__construct_barrier_algorithm_base.*": template("phase_construct"),
    r"_ZNSt3__131__arrive_barrier_algorithm_base.*": template("phase_arrive"),
    r"_ZNSt3__132__destroy_barrier_algorithm_base.*": template("phase_destroy"),
}
