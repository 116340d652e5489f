"""`threads.h`: the functions of `pthread.h` with other results, `thrd_busy` 1, `thrd_error` 2, `thrd_timedout` 4."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary, select
from dekker.frontends.c.runtime.basic import nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.frontends.c.runtime.locks import (
    C11,
    initialise,
    lock_mutex,
    mutex_try,
    on_mutex,
    template,
    unlock_mutex,
)
from dekker.frontends.c.runtime.threads import (
    THREADS,
    create,
    create_key,
    delete_key,
    get_value,
    join,
    leave,
    set_value,
)
from dekker.frontends.c.runtime.waiting import conditions, timed_wait, wait
from dekker.ir.expressions import ONE, ZERO, Const, Expr

_BUSY, _ERROR, _TIMED_OUT = 1, 2, 4


def _create(call: ExternalCall) -> Expr:
    return create(call, *(call.argument(index) for index in range(3)))


def _join(call: ExternalCall) -> Expr:
    return join(call, call.argument(0), call.argument(1), 4)


def _lock(call: ExternalCall) -> Expr:
    return _or_error(lock_mutex(call, call.argument(0), C11))


def _unlock(call: ExternalCall) -> Expr:
    return _or_error(unlock_mutex(call, call.argument(0), C11))


def _or_error(status: Expr) -> Expr:
    return select(binary("eq", 32, status, ZERO), ZERO, Const(_ERROR))


def _init(call: ExternalCall) -> Expr:
    """`mtx_recursive` is 1."""
    is_recursive = binary("and", 32, call.argument(1), ONE)
    return initialise(call, "mutex", call.emitter.keep(select(is_recursive, ONE, Const(C11.idle))))


def _wait(call: ExternalCall) -> Expr:
    return wait(call, call.argument(0), call.argument(1), C11)


def _timed_wait(call: ExternalCall) -> Expr:
    return timed_wait(call, call.argument(0), call.argument(1), C11, _TIMED_OUT)


def _create_key(call: ExternalCall) -> Expr:
    return create_key(call, call.argument(0), call.argument(1), _ERROR)


C11_THREADS: Mapping[str, External] = {
    "thrd_create": External(_create),
    "thrd_join": External(_join),
    "thrd_exit": External(leave, returns=False, needs_context=True),
    "thrd_current": THREADS["pthread_self"],
    "thrd_equal": THREADS["pthread_equal"],
    "mtx_init": External(_init),
    "mtx_lock": on_mutex(_lock),
    "mtx_trylock": mutex_try(C11, _BUSY, weak=True),
    "mtx_timedlock": mutex_try(C11, _TIMED_OUT),
    "mtx_unlock": on_mutex(_unlock),
    "mtx_destroy": template("mutex_destroy", more=(C11.idle,)),
    **{f"cnd_{what}": external for what, external in conditions(C11).items()},
    "cnd_wait": External(_wait, needs_context=True),
    "cnd_timedwait": External(_timed_wait, needs_context=True),
    "call_once": template("once", arguments=2),
    "tss_create": External(_create_key, needs_context=True),
    "tss_delete": External(delete_key),
    "tss_get": External(get_value, needs_context=True),
    "tss_set": External(set_value, needs_context=True),
    "thrd_detach": THREADS["pthread_detach"],
    **dict.fromkeys(("thrd_yield", "thrd_sleep"), External(nothing)),
}
