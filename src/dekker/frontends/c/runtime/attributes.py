"""Attributes of threads and locks. But for the kind of a mutex, and whether a
thread is detached, they make no difference here; what is set can be got
again. An attribute object is written only in programs that get something from one."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import offset
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.basic import nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.whole_program import is_used
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import Load, Store

_PLACES: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "pthread_attr": {
        "detachstate": (0, 4),
        "scope": (4, 4),
        "schedpolicy": (8, 4),
        "inheritsched": (12, 4),
        "stacksize": (16, 8),
        "guardsize": (24, 8),
        "stackaddr": (32, 8),
    },
    "pthread_condattr": {"clock": (0, 4)},
    "pthread_rwlockattr": {"kind_np": (0, 4)},
}
"""Offset and size of what is kept, where there is room for it."""

_HEEDED = ("detachstate",)
"""What makes a difference."""

_ALWAYS_ZERO: Mapping[str, tuple[str, ...]] = {
    "pthread_attr": ("schedparam", "affinity_np", "sigmask_np", "stack"),
    "pthread_mutexattr": ("pshared", "protocol", "prioceiling", "robust"),
    "pthread_condattr": ("pshared",),
    "pthread_rwlockattr": ("pshared",),
    "pthread_barrierattr": ("pshared",),
}
"""What has only one value here: 0."""


def _set(family: str, name: str, place: tuple[int, int]) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        if name in _HEEDED or is_used(call, f"{family}_get{name}"):
            call.emitter.emit(Store(offset(call.argument(0), place[0]), call.argument(1), place[1]))
        return ZERO

    return lower


def _get(place: tuple[int, int]) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        value = call.emitter.temporary()
        call.emitter.emit(Load(value, offset(call.argument(0), place[0]), place[1]))
        call.emitter.emit(Store(call.argument(1), Reg(value), place[1]))
        return ZERO

    return lower


def _init(family: str) -> Handler:
    def lower(call: ExternalCall) -> Expr:
        for name, (start, size) in _PLACES.get(family, {}).items():
            is_heeded = name in _HEEDED and is_used(call, f"{family}_set{name}")
            if is_heeded or is_used(call, f"{family}_get{name}"):
                call.emitter.emit(Store(offset(call.argument(0), start), ZERO, size))
        return ZERO

    return lower


def _get_zero(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(1), ZERO, 4))
    return ZERO


def _set_robust(call: ExternalCall) -> Expr:
    if call.argument(1) != ZERO:
        raise Problem("robust mutexes are not supported", "what happens to a mutex whose holder ends is not modelled")
    return ZERO


def _scheduling(call: ExternalCall) -> Expr:
    """`pthread_getschedparam(thread, policy, parameters)`"""
    call.emitter.emit(Store(call.argument(1), ZERO, 4))
    call.emitter.emit(Store(call.argument(2), ZERO, 4))
    return ZERO


def _no_name(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(call.argument(1), Const(0), 1))
    return ZERO


def _kept() -> dict[str, External]:
    table: dict[str, External] = {}
    for family, names in _PLACES.items():
        for name, place in names.items():
            table[f"{family}_set{name}"] = External(_set(family, name, place))
            table[f"{family}_get{name}"] = External(_get(place))
    return table


def _families() -> dict[str, External]:
    table: dict[str, External] = {}
    for family, names in _ALWAYS_ZERO.items():
        table[f"{family}_init"] = External(_init(family))
        table[f"{family}_destroy"] = External(nothing)
        table |= {f"{family}_set{name}": External(nothing) for name in names}
        table |= {f"{family}_get{name}": External(_get_zero) for name in names}
    return table


_WITHOUT_EFFECT = (
    "pthread_setconcurrency pthread_getconcurrency pthread_setname_np pthread_setschedparam pthread_setschedprio "
    "pthread_setaffinity_np pthread_getaffinity_np sched_setaffinity sched_getaffinity sched_setscheduler "
    "pthread_getattr_np pthread_setattr_default_np sched_get_priority_max sched_get_priority_min"
).split()

ATTRIBUTES: Mapping[str, External] = {
    **_families(),
    **_kept(),
    "pthread_mutexattr_setrobust": External(_set_robust),
    "pthread_getschedparam": External(_scheduling),
    "pthread_getname_np": External(_no_name),
    **dict.fromkeys(_WITHOUT_EFFECT, External(nothing)),
}
