"""Condition variables, semaphores, barriers, and what happens once.

A wait for a condition variable gives the mutex back, waits for a signal, and locks the mutex again. A signal ends one
of the waits that go on, any of them; one that comes before the wait is lost.

Each wait may also end without a signal. In a loop that does nothing but check its condition again, as in
`while (!ready) pthread_cond_wait(&c, &m);`, that is followed only if the condition holds then: otherwise the thread
waits again, and all it did was to hold the mutex for a moment. Nobody can tell, unless someone tries to lock a mutex
without waiting, or the condition may change while the mutex is held (it reads atomic or volatile variables): there the
rounds of the loop count like those of any other. A data race in such a round is found: the thread stops behind it.

A wait with a time limit may end with it at any time, also while another thread holds the mutex. A signal that comes
between that and the return may be lost: POSIX lets such a wait consume it, and C11 and C++ do not exclude it.

All of them synchronise with acquire and release order.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.basic import nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.locks import (
    ETIMEDOUT,
    PTHREAD,
    Family,
    chosen_templates,
    holding,
    initialises,
    template,
)
from dekker.frontends.c.runtime.rechecking import site_of
from dekker.frontends.c.runtime.templates import expand
from dekker.frontends.c.runtime.whole_program import is_used
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import Assign, Store

EAGAIN = 11
EMPTY = 1 << 32
"""A semaphore whose value is 0."""
ERRNO = "errno"
_MINUS_ONE = Const(0xFFFF_FFFF)
_O_CREAT, _O_EXCL = 0o100, 0o200


def wait(call: ExternalCall, condition: Expr, mutex: Expr, family: Family) -> Expr:
    return _waiting(call, "condition_wait", condition, mutex, family)


def timed_wait(call: ExternalCall, condition: Expr, mutex: Expr, family: Family, timeout: int) -> Expr:
    """`timeout` is its value when the time is up."""
    if timeout == 0:
        return _waiting(call, "condition_untold_wait", condition, mutex, family)
    return _waiting(call, "condition_timedwait", condition, mutex, family, Const(timeout))


def _waiting(call: ExternalCall, name: str, condition: Expr, mutex: Expr, family: Family, *more: Expr) -> Expr:
    held = (*holding(call, mutex, family), Const(family.waiting_errors))
    operands = (condition, Const(family.made), *held, Const(site_of(call)), *more)
    return expand(call, name, *operands, instead=chosen_templates(call))


def _wait(call: ExternalCall) -> Expr:
    return wait(call, call.argument(0), call.argument(1), PTHREAD)


def _timed_wait(call: ExternalCall) -> Expr:
    return timed_wait(call, call.argument(0), call.argument(1), PTHREAD, ETIMEDOUT)


def conditions(family: Family) -> dict[str, External]:
    """What is done with condition variables, but for waiting."""
    return {
        "init": initialises("condition", family.made),
        **{what: template(f"condition_{what}", more=(family.made,)) for what in ("destroy", "signal", "broadcast")},
    }


def _try_semaphore(error: int) -> Handler:
    """-1 and an error number if the semaphore is 0."""

    def lower(call: ExternalCall) -> Expr:
        e = call.emitter
        got = expand(call, "semaphore_trywait", call.argument(0), Const(EMPTY))
        end, result = e.new_label(), e.temporary()
        e.emit(Assign(result, ZERO))
        e.branch(got, end)
        e.emit(Assign(result, _MINUS_ONE))
        if is_used(call, "__errno_location"):
            e.emit(Store(call.thread_local(ERRNO, 8), Const(error), 4))
        e.place(end)
        return Reg(result)

    return lower


def _semaphore_init(call: ExternalCall) -> Expr:
    return expand(call, "semaphore_init", call.argument(0), call.argument(2))


def _named_semaphore(call: ExternalCall) -> Expr:
    name = call.text(0)
    if name is None:
        raise Problem(f"`{call.name}`: the name of the semaphore is not constant", "use `sem_init`")
    return call.shared(f"semaphore {name}", 32)


def _semaphore_open(call: ExternalCall) -> Expr:
    """`sem_open(name, flags, mode, value)`"""
    flags = call.argument(1)
    value = call.argument(3) if len(call.arguments) > 3 else ZERO
    creates, only_new = (binary("ne", 32, binary("and", 32, flags, Const(flag)), ZERO) for flag in (_O_CREAT, _O_EXCL))
    return expand(call, "semaphore_open", _named_semaphore(call), creates, only_new, value)


def _barrier_init(call: ExternalCall) -> Expr:
    return expand(call, "barrier_init", call.argument(0), call.argument(2))


def errno(call: ExternalCall) -> Expr:
    return call.thread_local(ERRNO, 8)


WAITING: Mapping[str, External] = {
    **{f"pthread_cond_{what}": external for what, external in conditions(PTHREAD).items()},
    "pthread_barrier_destroy": template("barrier_destroy"),
    "pthread_cond_wait": External(_wait, needs_context=True),
    **dict.fromkeys(
        ("pthread_cond_timedwait", "pthread_cond_clockwait"),
        External(_timed_wait, needs_context=True),
    ),
    "sem_init": External(_semaphore_init),
    "sem_open": External(_semaphore_open),
    "sem_unlink": External(lambda call: expand(call, "semaphore_unlink", _named_semaphore(call))),
    "sem_wait": template("semaphore_wait", more=(EMPTY,)),
    "sem_trywait": External(_try_semaphore(EAGAIN)),
    **dict.fromkeys(("sem_timedwait", "sem_clockwait"), External(_try_semaphore(ETIMEDOUT))),
    "sem_post": template("semaphore_post"),
    "sem_getvalue": template("semaphore_getvalue", arguments=2),
    "pthread_barrier_init": External(_barrier_init),
    "pthread_barrier_wait": template("barrier_wait"),
    "pthread_once": template("once", arguments=2),
    "__errno_location": External(errno, needs_context=True),
    "sem_destroy": template("semaphore_destroy"),
    "sem_close": External(nothing),
}
