"""Mutexes, spin locks and read-write locks.

Locking is a compare-exchange with acquire order that is awaited, unlocking a store with release order. A normal mutex
costs one read and one write to lock. To unlock it costs one write if the function that unlocks it has locked it, and
calls nothing that unlocks mutexes; otherwise one read more, which finds out whether the thread holds it. Unlocking what
the thread does not hold, destroying what is locked, using what is destroyed and initialising twice are violations;
kinds that promise an error code return it instead. A thread that locks a normal mutex twice waits for ever: a deadlock.

Memory that is to become a lock may hold anything, even a copy of another lock: only a mark that names its own place
tells that there is one already. A global variable holds its initial value or a lock, so that there a lock without a
mark is found as well, if it is locked.

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
    waits_with_several,
)
from dekker.ir.expressions import ZERO, Address, Const, Expr, Reg
from dekker.ir.instructions import Assign, CompareExchange, Load, Store
from dekker.records import dataclass

EBUSY = 16
ETIMEDOUT = 110
KIND_OFFSET = 16
_ATTRIBUTES_MADE = 1 << 16
THREAD = Reg(SELF)
"""What tells threads apart."""

_KINDS = (
    "pthread_mutexattr_settype",
    *("mtx_init", "mtx_lock", "mtx_trylock", "mtx_timedlock", "mtx_unlock"),
    *(f"_ZNSt3__1{kind}C{n}Ev" for kind in ("15recursive_mutex", "21recursive_timed_mutex") for n in (1, 2)),
)
"""What makes mutexes of other kinds than the normal one, or uses some."""


@dataclass(frozen=True, slots=True)
class Family:
    """What the mutexes and condition variables of one library have in common, as `library/mutex.ir` and
    `library/condition.ir` explain it. `waiting_errors` are the `errors` of an unlocking that a wait does."""

    idle: int = 0
    errors: int = 0
    waiting_errors: int = 0
    made: int = 0


PTHREAD = Family(errors=3, waiting_errors=2)
C11 = Family(idle=3, made=1 << 62)
CPLUSPLUS = Family()


def chosen_templates(call: ExternalCall) -> Mapping[str, str]:
    """How this function locks and unlocks."""
    prefix = "mutex" if has_static_kinds(call) or is_used(call, *_KINDS) else "normal"
    names = {name: f"{prefix}_{name}" for name in ("construct", "lock", "trylock")}
    names["checked_unlock"] = f"{prefix}_unlock"
    told = waits_with_several(call)
    names["begin_wait"] = "begin_bound_wait" if told else "begin_any_wait"
    names["clear_mutexes"] = "clear_told_mutexes" if told else "clear_nothing"
    if readers_may_block(call):
        names |= {"read_lock": "patient_read_lock", "read_trylock": "patient_read_trylock"}
        names |= {"write_lock": "telling_write_lock"}
    if unlocks_only_here(call):
        return names | {"unlock": "held_unlock", "spin_unlock": "held_spin_unlock"}
    return names | {"unlock": names["checked_unlock"], "spin_unlock": "checked_spin_unlock"}


def holding(call: ExternalCall, mutex: Expr, family: Family) -> tuple[Expr, ...]:
    """What all templates for mutexes take: the mutex, the thread, the kind that the mutex has by its initial value, and
    what it is when it is free."""
    return mutex, THREAD, _static_kind(call, mutex) if family is PTHREAD else ZERO, Const(family.idle)


def _static_kind(call: ExternalCall, mutex: Expr) -> Expr:
    if not has_static_kinds(call):
        return ZERO
    register = call.emitter.temporary()
    call.emitter.emit(Load(register, offset(mutex, KIND_OFFSET), 4))
    return _kind(Reg(register))


def _kind(number: Expr) -> Expr:
    """`PTHREAD_MUTEX_ADAPTIVE_NP`, 3, is a normal one."""
    kind = binary("and", 32, number, Const(3))
    return select(binary("eq", 32, kind, Const(3)), ZERO, kind)


def initialise(call: ExternalCall, what: str, *more: Expr) -> Expr:
    place = call.argument(0)
    if isinstance(place, Address):
        expand(call, f"{what}_unlocked", place)
    return expand(call, f"{what}_init", place, *more, instead=chosen_templates(call))


def initialises(what: str, *more: int) -> External:
    return External(lambda call: initialise(call, what, *map(Const, more)))


def construct_mutex(call: ExternalCall, mutex: Expr, kind: Expr) -> Expr:
    """What a constructor does, which nobody calls twice."""
    return expand(call, "construct", mutex, kind, instead=chosen_templates(call))


def lock_mutex(call: ExternalCall, mutex: Expr, family: Family) -> Expr:
    return expand(call, "lock", *holding(call, mutex, family), instead=chosen_templates(call))


def try_lock_mutex(call: ExternalCall, mutex: Expr, family: Family, busy: int, *, weak: bool = False) -> Expr:
    """`weak`: it may fail although the mutex is free, where a weak compare-exchange may."""
    operands = (*holding(call, mutex, family), Const(busy))
    body = call.emitter.body
    start = len(body)
    result = expand(call, "trylock", *operands, instead=chosen_templates(call))
    if weak:
        body[start:] = [
            replace(step, weak=True) if isinstance(step, CompareExchange) else step for step in body[start:]
        ]
    return result


def unlock_mutex(call: ExternalCall, mutex: Expr, family: Family) -> Expr:
    operands = (*holding(call, mutex, family), Const(family.errors))
    return expand(call, "unlock", *operands, instead=chosen_templates(call))


def _mutex_init(call: ExternalCall) -> Expr:
    attributes = call.argument(1)
    kind = ZERO if attributes == ZERO else _attribute_kind(call, attributes)
    if has_static_kinds(call):
        call.emitter.emit(Store(offset(call.argument(0), KIND_OFFSET), ZERO, 4))
    return initialise(call, "mutex", kind)


def _attribute_kind(call: ExternalCall, attributes: Expr) -> Expr:
    """`attributes` may be null."""
    e, kind, end = call.emitter, call.emitter.temporary(), call.emitter.new_label()
    e.emit(Assign(kind, ZERO))
    e.branch(binary("eq", 64, attributes, ZERO), end)
    e.emit(Assign(kind, _kind(_type(call, attributes))))
    e.place(end)
    return Reg(kind)


def _type(call: ExternalCall, attributes: Expr) -> Expr:
    """The attributes of a mutex are 4 bytes: its type, and a bit that is set while they are initialised."""
    e, register = call.emitter, call.emitter.temporary()
    e.emit(Load(register, attributes, 4))
    made = binary("and", 32, Reg(register), Const(_ATTRIBUTES_MADE))
    e.require(binary("ne", 32, made, ZERO), f"`{call.name}`: the attributes are not initialised")
    return binary("and", 32, Reg(register), Const(_ATTRIBUTES_MADE - 1))


def _attributes_init(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(0), Const(_ATTRIBUTES_MADE), 4))
    return ZERO


def _attributes_destroy(call: ExternalCall) -> Expr:
    _type(call, call.argument(0))
    call.emitter.emit(Store(call.argument(0), ZERO, 4))
    return ZERO


def _set_type(call: ExternalCall) -> Expr:
    _type(call, call.argument(0))
    call.emitter.emit(Store(call.argument(0), binary("or", 32, call.argument(1), Const(_ATTRIBUTES_MADE)), 4))
    return ZERO


def _get_type(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(1), _type(call, call.argument(0)), 4))
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


def mutex_try(family: Family, busy: int, *, weak: bool = False) -> External:
    return on_mutex(lambda call: try_lock_mutex(call, call.argument(0), family, busy, weak=weak))


LOCKS: Mapping[str, External] = {
    "pthread_mutex_init": External(_mutex_init),
    "pthread_mutex_destroy": template("mutex_destroy", more=(PTHREAD.idle,)),
    "pthread_mutex_lock": on_mutex(lambda call: lock_mutex(call, call.argument(0), PTHREAD)),
    "pthread_mutex_trylock": mutex_try(PTHREAD, EBUSY),
    **dict.fromkeys(("pthread_mutex_timedlock", "pthread_mutex_clocklock"), mutex_try(PTHREAD, ETIMEDOUT)),
    "pthread_mutex_unlock": on_mutex(lambda call: unlock_mutex(call, call.argument(0), PTHREAD)),
    "pthread_mutexattr_init": External(_attributes_init),
    "pthread_mutexattr_destroy": External(_attributes_destroy),
    "pthread_mutexattr_settype": External(_set_type),
    "pthread_mutexattr_gettype": External(_get_type),
    "pthread_spin_init": initialises("spin"),
    "pthread_spin_destroy": template("spin_destroy"),
    "pthread_spin_lock": template("spin_lock"),
    "pthread_spin_trylock": template("spin_trylock", more=(EBUSY,)),
    "pthread_spin_unlock": template("spin_unlock"),
    "pthread_rwlock_init": initialises("rwlock"),
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
