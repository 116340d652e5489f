"""What `std::thread`, `std::mutex`, `std::shared_ptr` and their like call: the part of libc++ that is no header.

What the library keeps for each thread is released when the thread begins: only functions that act at its end, which are
not known here, would use it.

`std::thread` itself, `lock_guard` and `unique_lock` are headers, compiled with the program. A mutex is laid out as that
of `pthread.h`, a condition variable too; a `shared_mutex` is used as a read-write lock. Time stands still.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dekker.frontends.c.linking import Linkage
from dekker.frontends.c.lowering.expressions import binary
from dekker.frontends.c.runtime.basic import ends, given, nothing
from dekker.frontends.c.runtime.cplusplus import throw
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.locks import (
    CPLUSPLUS,
    chosen_templates,
    construct_mutex,
    holding,
    lock_mutex,
    on_mutex,
    template,
    try_lock_mutex,
    unlock_mutex,
)
from dekker.frontends.c.runtime.templates import expand
from dekker.frontends.c.runtime.threads import join
from dekker.frontends.c.runtime.waiting import timed_wait, wait
from dekker.frontends.c.runtime.whole_program import matches
from dekker.ir.expressions import ONE, ZERO, Const, Expr, Reg
from dekker.ir.instructions import Free, Load, Store

_LOCAL_DATA = "thread data of libc++"


def _lock(call: ExternalCall) -> None:
    lock_mutex(call, call.argument(0), CPLUSPLUS)


def _try_lock(call: ExternalCall) -> Expr:
    return binary("eq", 32, try_lock_mutex(call, call.argument(0), CPLUSPLUS, 1, weak=True), ZERO)


def _try_lock_for(call: ExternalCall) -> Expr:
    return binary("eq", 32, try_lock_mutex(call, call.argument(0), CPLUSPLUS, 1), ZERO)


def _lock_both(call: ExternalCall) -> None:
    first, *others = holding(call, call.argument(0), CPLUSPLUS)
    expand(call, "lock_both", first, call.argument(1), *others, instead=chosen_templates(call))


def _nobody_tries(linkage: Linkage) -> bool:
    return not matches(linkage, _TRIES_TO_LOCK)


def _unlock(call: ExternalCall) -> None:
    unlock_mutex(call, call.argument(0), CPLUSPLUS)


def _ending(name: str) -> Handler:
    """A destructor: what it ends must not be in use."""

    def lower(call: ExternalCall) -> None:
        expand(call, name, call.argument(0))

    return lower


def _mutex_init(kind: int) -> Handler:
    return lambda call: construct_mutex(call, call.argument(0), Const(kind))


def _mutex_of_lock(call: ExternalCall) -> Expr:
    """The first field of a `unique_lock`."""
    register = call.emitter.temporary()
    call.emitter.emit(Load(register, call.argument(1), 8))
    return Reg(register)


def _wait(call: ExternalCall) -> None:
    wait(call, call.argument(0), _mutex_of_lock(call), CPLUSPLUS)


def _timed_wait(call: ExternalCall) -> None:
    timed_wait(call, call.argument(0), _mutex_of_lock(call), CPLUSPLUS, 0)


def _status_of_wait(call: ExternalCall) -> Expr:
    """`std::cv_status::timeout` is 1."""
    return timed_wait(call, call.argument(0), _mutex_of_lock(call), CPLUSPLUS, 1)


def _join(call: ExternalCall) -> None:
    """The only field of a `thread` is its identifier; 0 means that it stands for none."""
    e, thread = call.emitter, call.emitter.temporary()
    e.emit(Load(thread, call.argument(0), 8))
    e.require(binary("ne", 64, Reg(thread), ZERO), "`std::thread::join` of a thread that is not joinable")
    join(call, Reg(thread), ZERO, 8)
    e.emit(Store(call.argument(0), ZERO, 8))


def _detach(call: ExternalCall) -> None:
    call.emitter.emit(Store(call.argument(0), ZERO, 8))


def _end_of_thread(call: ExternalCall) -> None:
    e, thread = call.emitter, call.emitter.temporary()
    e.emit(Load(thread, call.argument(0), 8))
    e.require(binary("eq", 64, Reg(thread), ZERO), "a `std::thread` ends that is neither joined nor detached")


def _release_data(call: ExternalCall) -> None:
    call.emitter.emit(Free(call.argument(1)))


def _thread_data(call: ExternalCall) -> Expr:
    """Where the key of what the library keeps for each thread stands: 0."""
    return call.shared(_LOCAL_DATA, 8)


def _tried(name: str, *, own: bool = False) -> External:
    def lower(call: ExternalCall) -> Expr:
        operands = (call.argument(0), *((Reg("%self"),) if own else ()), ONE)
        return binary("eq", 32, expand(call, name, *operands), ZERO)

    return External(lower, needs_context=own)


def _throws(what: str) -> External:
    def lower(call: ExternalCall) -> None:
        throw(call, f": {what}")

    return ends(lower)


def _method(kind: str, name: str, action: Handler, *, arguments: str = "v") -> dict[str, External]:
    return {f"_ZNSt3__1{len(kind)}{kind}{len(name)}{name}E{arguments}": on_mutex(action)}


def _structors(kind: str, letters: str, action: Handler) -> dict[str, External]:
    return {f"_ZNSt3__1{len(kind)}{kind}{letter}{n}Ev": External(action) for letter in letters for n in range(3)}


def _mutex(kind: str) -> dict[str, External]:
    methods = _method(kind, "lock", _lock) | _method(kind, "try_lock", _try_lock) | _method(kind, "unlock", _unlock)
    return methods | _structors(kind, "D", _ending("mutex_end"))


_SHARED = "_ZNSt3__119__shared_mutex_base"
_SLEEP = "_ZNSt3__111this_thread9sleep_forERKNS_6chrono8durationIxNS_5ratioILl1ELl1000000000EEEEE"
_TIME_POINT = "RNS_11unique_lockINS_5mutexEEENS_6chrono10time_pointINS5_12system_clockENS5_8durationIxNS_5ratioILl1E"

CPLUSPLUS_THREADS: Mapping[str, External] = {
    **_mutex("mutex"),
    **_mutex("timed_mutex"),
    **_structors("timed_mutex", "C", _mutex_init(0)),
    **_mutex("recursive_mutex"),
    **_structors("recursive_mutex", "C", _mutex_init(1)),
    **_mutex("recursive_timed_mutex"),
    **_structors("recursive_timed_mutex", "C", _mutex_init(1)),
    **_method("condition_variable", "wait", _wait, arguments="RNS_11unique_lockINS_5mutexEEE"),
    **_method("condition_variable", "__do_timed_wait", _timed_wait, arguments=f"{_TIME_POINT}Ll1000000000EEEEEE"),
    "_ZNSt3__118condition_variable10notify_oneEv": template("condition_signal", more=(0,)),
    "_ZNSt3__118condition_variable10notify_allEv": template("condition_broadcast", more=(0,)),
    **_structors("condition_variable", "D", _ending("condition_unlocked")),
    "_ZNSt3__16thread4joinEv": External(_join),
    "_ZNSt3__16thread6detachEv": External(_detach),
    **_structors("thread", "D", _end_of_thread),
    "_ZNSt3__16thread20hardware_concurrencyEv": given(lambda call: Const(2), "hardware_concurrency"),
    "_ZNSt3__119__thread_local_dataEv": External(_thread_data),
    **_structors("__thread_struct", "CD", nothing),
    "_ZNSt3__111__call_onceERVmPvPFvS2_E": External(
        lambda call: expand(call, "once_with", call.argument(0), call.argument(2), call.argument(1))
    ),
    **{f"{_SHARED}C{n}Ev": template("rwlock_construct") for n in (1, 2)},
    f"{_SHARED}4lockEv": template("write_lock", own=True),
    f"{_SHARED}8try_lockEv": _tried("write_trylock", own=True),
    f"{_SHARED}6unlockEv": template("rwlock_unlock", own=True),
    f"{_SHARED}11lock_sharedEv": template("read_lock"),
    f"{_SHARED}15try_lock_sharedEv": _tried("read_trylock"),
    f"{_SHARED}13unlock_sharedEv": template("rwlock_unlock", own=True),
    "_ZNSt3__119__shared_weak_count14__release_weakEv": template("release_weak"),
    "_ZNSt3__119__shared_weak_count4lockEv": template("lock_weak"),
    "_ZNKSt3__119__shared_weak_count13__get_deleterERKSt9type_info": External(nothing),
    **_structors("__shared_weak_count", "D", nothing),
    **_structors("__shared_count", "D", nothing),
    _SLEEP: External(nothing),
    "_ZNSt3__16chrono12steady_clock3nowEv": given(nothing, "steady_clock::now"),
    "_ZNSt3__16chrono12system_clock3nowEv": given(nothing, "system_clock::now"),
    "_ZNSt3__120__throw_system_errorEiPKc": _throws("std::system_error"),
    "_ZNSt3__122__libcpp_verbose_abortEPKcz": _throws("libc++ gives up"),
}

_MUTEXES = "5mutex|11timed_mutex|15recursive_mutex|21recursive_timed_mutex"
_TRIES_TO_LOCK = re.compile(
    rf"^define (?![^\n]*@_ZNSt3__14lock)[^\n]*\{{\n(?:[^\n}}][^\n]*\n|\n)*?[^\n]*@_ZNSt3__1(?:{_MUTEXES})8try_lock",
    re.MULTILINE,
)
_SET_DATA = r"_ZNSt3__121__thread_specific_ptrINS_15__thread_structEE11set_pointerE\w+"

CPLUSPLUS_PATTERNS: Mapping[str, External] = {
    rf"{_SHARED}D[012]B?\w*Ev": External(_ending("rwlock_unlocked"), overrides=True),
    rf"_ZNSt3__14lock(B\w+?)?INS_({_MUTEXES})ES1_EEvRT_RT0_": External(
        _lock_both, overrides=True, needs_context=True, applies=_nobody_tries
    ),
    _SET_DATA: External(_release_data, overrides=True),
    r"_ZNSt3__111this_thread(9sleep_for|11sleep_until)[BI].*": External(nothing, overrides=True),
    r"_ZNSt3__1(11|21recursive_)timed_mutex(12try_lock_for|14try_lock_until)[BI].*": External(
        _try_lock_for, overrides=True, needs_context=True
    ),
    r"_ZNSt3__118condition_variable(8wait_for|10wait_until)[BI].*ENS_9cv_statusE.*": External(
        _status_of_wait, overrides=True, needs_context=True
    ),
}
"""Templates of headers whose arithmetic on time is of no use where time stands still. Those that take a predicate call
these."""
