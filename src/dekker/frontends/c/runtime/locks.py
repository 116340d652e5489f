"""Mutexes, spin locks and read-write locks.

Locking is a compare-exchange with acquire order that is awaited, unlocking a store with release order. A normal mutex
costs one read and one write to lock. To unlock it costs one write if the function that unlocks it has locked it, and
calls nothing that unlocks mutexes; otherwise one read more, which finds out whether the thread holds it. Unlocking what
the thread does not hold, destroying what is locked and locking what is destroyed are violations; kinds that promise an
error code return it instead. A thread that locks a normal mutex twice waits for ever: a deadlock.

Waiting with a time limit succeeds, or fails at some moment when the lock is taken: time itself is not modelled. Where
the standard lets a try fail although the mutex is free (`std::mutex::try_lock`, `mtx_trylock`, not
`pthread_mutex_trylock`), it is a weak compare-exchange.

A thread that locks for reading may have to wait behind a writer that waits. That makes a difference only if threads
wait while they hold a lock for reading, or try to get one: only programs in which some may pay for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dekker.frontends.c.lowering.expressions import binary, offset, select, truncate
from dekker.frontends.c.lowering.function import SELF
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.templates import expand
from dekker.frontends.c.runtime.whole_program import (
    has_static_kinds,
    is_used,
    readers_may_block,
    unlocks_only_here,
)
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import CompareExchange, Load, Store

EBUSY = 16
ETIMEDOUT = 110
KIND_OFFSET = 16
THREAD = Reg(SELF)
"""What tells threads apart."""

_KINDS = (
    "pthread_mutexattr_settype",
    "mtx_init",
    *(f"_ZNSt3__1{kind}C{n}Ev" for kind in ("15recursive_mutex", "21recursive_timed_mutex") for n in (1, 2)),
)
"""What makes mutexes of other kinds than the normal one."""


def chosen_templates(call: ExternalCall) -> Mapping[str, str]:
    """How this function locks and unlocks."""
    prefix = "mutex" if has_static_kinds(call) or is_used(call, *_KINDS) else "normal"
    names = {name: f"{prefix}_{name}" for name in ("init", "lock", "trylock")}
    names["checked_unlock"] = f"{prefix}_unlock"
    if readers_may_block(call):
        names |= {"read_lock": "patient_read_lock", "read_trylock": "patient_read_trylock"}
        names |= {"write_lock": "telling_write_lock"}
    if unlocks_only_here(call):
        return names | {"unlock": "held_unlock", "spin_unlock": "held_spin_unlock"}
    return names | {"unlock": names["checked_unlock"], "spin_unlock": "checked_spin_unlock"}


def static_kind(call: ExternalCall, mutex: Expr) -> Expr:
    """The kind that a mutex has by its initial value."""
    if not has_static_kinds(call):
        return ZERO
    register = call.emitter.temporary()
    call.emitter.emit(Load(register, offset(mutex, KIND_OFFSET), 4))
    return _kind(Reg(register))


def _kind(number: Expr) -> Expr:
    """`PTHREAD_MUTEX_ADAPTIVE_NP`, 3, is a normal one."""
    kind = binary("and", 32, number, Const(3))
    return select(binary("eq", 32, kind, Const(3)), ZERO, kind)


def init_mutex(call: ExternalCall, mutex: Expr, kind: Expr) -> Expr:
    return expand(call, "init", mutex, kind, instead=chosen_templates(call))


def lock_mutex(call: ExternalCall, mutex: Expr) -> Expr:
    operands = (mutex, THREAD, static_kind(call, mutex))
    return expand(call, "lock", *operands, instead=chosen_templates(call))


def try_lock_mutex(call: ExternalCall, mutex: Expr, busy: int, *, weak: bool = False) -> Expr:
    """`weak`: it may fail although the mutex is free, where a weak compare-exchange may."""
    operands = (mutex, THREAD, static_kind(call, mutex), Const(busy))
    body = call.emitter.body
    start = len(body)
    result = expand(call, "trylock", *operands, instead=chosen_templates(call))
    if weak:
        body[start:] = [
            replace(step, weak=True) if isinstance(step, CompareExchange) else step for step in body[start:]
        ]
    return result


def unlock_mutex(call: ExternalCall, mutex: Expr) -> Expr:
    operands = (mutex, THREAD, static_kind(call, mutex))
    return expand(call, "unlock", *operands, instead=chosen_templates(call))


def _mutex_init(call: ExternalCall) -> Expr:
    attributes = call.argument(1)
    kind: Expr = ZERO
    if attributes != ZERO:
        kind = _attribute_kind(call, attributes)
    if has_static_kinds(call):
        call.emitter.emit(Store(offset(call.argument(0), KIND_OFFSET), ZERO, 4))
    return init_mutex(call, call.argument(0), kind)


def _attribute_kind(call: ExternalCall, attributes: Expr) -> Expr:
    register = call.emitter.temporary()
    call.emitter.emit(Load(register, attributes, 4))
    return call.emitter.keep(_kind(Reg(register)))


def _attributes_init(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(0), ZERO, 4))
    return ZERO


def _set_type(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(0), call.argument(1), 4))
    return ZERO


def _get_type(call: ExternalCall) -> Expr:
    register = call.emitter.temporary()
    call.emitter.emit(Load(register, call.argument(0), 4))
    call.emitter.emit(Store(call.argument(1), Reg(register), 4))
    return ZERO


def template(name: str, *, own: bool = False, more: tuple[int, ...] = (), arguments: int = 1) -> External:
    """A function that a template of the library says all about. The template gets the first arguments of the call, then
    the thread (if `own`), then constants."""

    def handler(call: ExternalCall) -> Expr:
        first = [call.argument(index) for index in range(arguments)]
        identity = [THREAD] if own else []
        operands = (*first, *identity, *map(Const, more))
        return truncate(call.width, expand(call, name, *operands, instead=chosen_templates(call)))

    return External(handler, needs_context=own)


def on_mutex(action: Handler) -> External:
    return External(action, needs_context=True)


def mutex_try(busy: int, *, weak: bool = False) -> External:
    return on_mutex(lambda call: try_lock_mutex(call, call.argument(0), busy, weak=weak))


LOCKS: Mapping[str, External] = {
    "pthread_mutex_init": External(_mutex_init),
    "pthread_mutex_destroy": template("mutex_destroy"),
    "pthread_mutex_lock": on_mutex(lambda call: lock_mutex(call, call.argument(0))),
    "pthread_mutex_trylock": mutex_try(EBUSY),
    **dict.fromkeys(("pthread_mutex_timedlock", "pthread_mutex_clocklock"), mutex_try(ETIMEDOUT)),
    "pthread_mutex_unlock": on_mutex(lambda call: unlock_mutex(call, call.argument(0))),
    "pthread_mutexattr_init": External(_attributes_init),
    "pthread_mutexattr_settype": External(_set_type),
    "pthread_mutexattr_gettype": External(_get_type),
    "pthread_spin_init": template("spin_init"),
    "pthread_spin_destroy": template("spin_destroy"),
    "pthread_spin_lock": template("spin_lock"),
    "pthread_spin_trylock": template("spin_trylock", more=(EBUSY,)),
    "pthread_spin_unlock": template("spin_unlock"),
    "pthread_rwlock_init": template("rwlock_init"),
    "pthread_rwlock_destroy": template("rwlock_destroy"),
    "pthread_rwlock_rdlock": template("read_lock"),
    "pthread_rwlock_tryrdlock": template("read_trylock", more=(EBUSY,)),
    **dict.fromkeys(
        ("pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock"), template("read_trylock", more=(ETIMEDOUT,))
    ),
    "pthread_rwlock_wrlock": template("write_lock", own=True),
    "pthread_rwlock_trywrlock": template("write_trylock", own=True, more=(EBUSY,)),
    **dict.fromkeys(
        ("pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock"),
        template("write_trylock", own=True, more=(ETIMEDOUT,)),
    ),
    "pthread_rwlock_unlock": template("rwlock_unlock", own=True),
}
