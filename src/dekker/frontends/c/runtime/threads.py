"""Threads of `pthread.h`: begin, end, identity, and values of their own.

An identifier is the number that `Join` takes. If the program asks a thread for its own identifier, or ends one
with a value by `pthread_exit`, it is instead the address of an object with that number and that value, which the new
thread is told.

The first thread has no number. Who joins it waits for a mark that it leaves when it ends by `pthread_exit`.

Keys: 1 to 7, so that destructors need no loop; 0 is that of the C++ library. Destructors run once when a thread ends,
in the order of their keys; a value that a destructor sets is not destroyed again. The end of `main` runs no destructor.
A key that was deleted has `_DELETED` for its destructor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, offset, scaled, truncate
from dekker.frontends.c.lowering.function import SELF
from dekker.frontends.c.runtime.basic import nothing
from dekker.frontends.c.runtime.endings import run_at_thread_end
from dekker.frontends.c.runtime.guarded_calls import may_be_guarded
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.locks import EBUSY, ETIMEDOUT
from dekker.frontends.c.runtime.templates import expand
from dekker.frontends.c.runtime.waiting import EAGAIN
from dekker.frontends.c.runtime.whole_program import has_match, is_used
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Await,
    Call,
    Choose,
    Detach,
    Exit,
    Join,
    Load,
    Order,
    Refuse,
    Return,
    Rmw,
    Store,
)

END_OF_KEYS = 8
START = "%pthread"
DESTROY = "%destructors"
MAIN = "main thread"
_KEYS = "number of keys"
_DESTRUCTORS = "destructors of keys"
_VALUES = "values of keys"
_IDENTITY = "identifier"
_VALUE_OFFSET = 8
_DELETED = ONE
_DATA_OF_LIBCXX = "_ZNSt3__119__thread_local_dataEv"
"""What uses key 0."""
SET_DETACHED = "pthread_attr_setdetachstate"

_ENDS_WITH_VALUE = re.compile(r"(?:call|invoke) [^\n]*@(?:pthread_exit\((?!ptr (?:noundef )?null\))|thrd_exit\()")


# --- begin


def create(call: ExternalCall, place: Expr, function: Expr, argument: Expr) -> Expr:
    """Starts a thread and leaves its identifier at `place`."""
    e = call.emitter
    if not (_has_identity(call) or _has_destructors(call)):
        e.emit(Store(place, call.spawn(function, (argument,)), 8))
        return ZERO
    start = _start_function(call)
    if not _has_identity(call):
        e.emit(Store(place, call.spawn(start, (function, argument, ZERO)), 8))
        return ZERO
    identity = e.temporary()
    e.emit(Allocate(identity, Const(16), zeroed=True, permanent=True))
    number = call.spawn(start, (function, argument, Reg(identity)))
    e.emit(Store(Reg(identity), number, 8, Order.RELAXED))
    e.emit(Store(place, Reg(identity), 8))
    return ZERO


def _create(call: ExternalCall) -> Expr:
    created = create(call, call.argument(0), call.argument(2), call.argument(3))
    if call.argument(1) != ZERO and is_used(call, SET_DETACHED):
        _detach_if_asked(call)
    return created


def _detach_if_asked(call: ExternalCall) -> None:
    """The attributes begin with the state of the thread: 1 if it is detached."""
    e, state, number, end = call.emitter, call.emitter.temporary(), call.emitter.temporary(), call.emitter.new_label()
    e.branch(binary("eq", 64, call.argument(1), ZERO), end)
    e.emit(Load(state, call.argument(1), 4))
    e.branch(binary("ne", 32, Reg(state), ONE), end)
    e.emit(Load(number, call.argument(0), 8))
    if _has_identity(call):
        e.emit(Load(number, Reg(number), 8, Order.RELAXED))
    e.emit(Detach(Reg(number)))
    e.place(end)


def _has_identity(call: ExternalCall) -> bool:
    return is_used(call, "pthread_self", "thrd_current") or has_match(call, _ENDS_WITH_VALUE)


def _has_destructors(call: ExternalCall) -> bool:
    return _has_keys(call) or is_used(call, "__cxa_thread_atexit", "__cxa_thread_atexit_impl")


def _has_keys(call: ExternalCall) -> bool:
    return is_used(call, "pthread_key_create", "tss_create")


def _start_function(call: ExternalCall) -> Address:
    """A function around the one that the thread runs."""
    unit = call.lowering.unit
    if START not in unit.functions:
        e = Emitter(span=call.emitter.span)
        if _has_identity(call):
            e.emit(Store(call.thread_local(_IDENTITY, 8), Reg("identity"), 8))
        e.emit(Call("result", *call.call(Reg("function"), (Reg("argument"),))))
        run_at_thread_end(call, e)
        if _has_keys(call):
            e.emit(Call(None, *call.call(_destroy_function(call), ())))
        e.emit(Return(Reg("result")))
        own = (SELF,) if unit.has_context else ()
        unit.functions[START] = e.finish(START, (*own, "function", "argument", "identity"))
    return Address(START)


# --- end and identity


def join(call: ExternalCall, thread: Expr, place: Expr, size: int) -> Expr:
    e, joined = call.emitter, call.emitter.new_label()
    number = thread
    result = None if place == ZERO else e.temporary()
    if _has_identity(call):
        if _may_join_first(call):
            _join_first(call, thread, result, joined)
        number = _number_of(call, thread)
    e.emit(Join(result, number))
    e.place(joined)
    if result is None:
        return ZERO
    value: Expr = Reg(result)
    if has_match(call, _ENDS_WITH_VALUE):
        exit_value = e.temporary()
        e.emit(Load(exit_value, offset(thread, _VALUE_OFFSET), 8))
        value = Binary("or", 64, value, Reg(exit_value))
    _store_unless_null(call, place, value, size)
    return ZERO


def _number_of(call: ExternalCall, thread: Expr) -> Expr:
    """A thread may tell others its identifier before the one that started it has left the number there."""
    e, number, again = call.emitter, call.emitter.temporary(), call.emitter.new_label()
    e.place(again)
    e.emit(Load(number, thread, 8, Order.RELAXED))
    e.emit(Await(Reg(number), again))
    return Reg(number)


def _may_join_first(call: ExternalCall) -> bool:
    asks = is_used(call, "pthread_self", "thrd_current")
    return asks and is_used(call, "pthread_join", "pthread_tryjoin_np", "pthread_timedjoin_np", "thrd_join")


def _join_first(call: ExternalCall, thread: Expr, result: str | None, joined: str) -> None:
    e, other = call.emitter, call.emitter.new_label()
    e.branch(binary("ne", 64, thread, call.shared(MAIN, 16)), other)
    expand(call, "join_first", call.shared(MAIN, 16))
    if result is not None:
        e.emit(Assign(result, ZERO))
    e.jump(joined)
    e.place(other)


def _store_unless_null(call: ExternalCall, place: Expr, value: Expr, size: int) -> None:
    e, end = call.emitter, call.emitter.new_label()
    if not isinstance(place, Address):
        e.branch(binary("eq", 64, place, ZERO), end)
    e.emit(Store(place, value, size))
    e.place(end)


def _join(call: ExternalCall) -> Expr:
    return join(call, call.argument(0), call.argument(1), 8)


def _impatient_join(error: int) -> Handler:
    """Either the thread has ended, or it has not yet: that is any moment before it is joined."""

    def lower(call: ExternalCall) -> Expr:
        e, late, end = call.emitter, call.emitter.temporary(), call.emitter.new_label()
        result = e.temporary()
        e.emit(Assign(result, Const(error)))
        e.emit(Choose(late, 0, 1))
        e.branch(Reg(late), end)
        join(call, call.argument(0), call.argument(1), 8)
        e.emit(Assign(result, ZERO))
        e.place(end)
        return Reg(result)

    return lower


def detach(call: ExternalCall) -> Expr:
    """A thread may detach itself before the one that started it knows its number."""
    e, thread = call.emitter, call.argument(0)
    if not _has_identity(call):
        e.emit(Detach(thread))
        return ZERO
    other, end = e.new_label(), e.new_label()
    if _may_join_first(call):
        not_first = e.new_label()
        e.branch(binary("ne", 64, thread, call.shared(MAIN, 16)), not_first)
        expand(call, "detach_first", call.shared(MAIN, 16))
        e.jump(end)
        e.place(not_first)
    e.branch(binary("ne", 64, thread, identity_of_thread(call)), other)
    e.emit(Detach(ZERO))
    e.jump(end)
    e.place(other)
    e.emit(Detach(_number_of(call, thread)))
    e.place(end)
    return ZERO


def leave(call: ExternalCall) -> None:
    """Ends the thread with a value; what joins it takes that."""
    value = call.argument(0)
    e = call.emitter
    if call.guarded or may_be_guarded(call):
        where = "where local objects have destructors, or exceptions are caught"
        e.emit(Refuse(f"`{call.name}` {where}, is not supported"))
        return
    if has_match(call, _ENDS_WITH_VALUE) and value != ZERO:
        identity = identity_of_thread(call)
        e.emit(Store(offset(identity, _VALUE_OFFSET), value, 8, copy=True))
    run_at_thread_end(call, e)
    if _has_keys(call):
        e.emit(Call(None, *call.call(_destroy_function(call), ())))
    if _may_join_first(call):
        end = e.new_label()
        e.branch(binary("ne", 64, identity_of_thread(call), call.shared(MAIN, 16)), end)
        expand(call, "end_first", call.shared(MAIN, 16))
        e.place(end)
    e.emit(Exit())


def identity_of_thread(call: ExternalCall) -> Expr:
    """The first thread has no creator that tells it."""
    e = call.emitter
    identity, end = e.temporary(), e.new_label()
    e.emit(Load(identity, call.thread_local(_IDENTITY, 8), 8))
    e.branch(Reg(identity), end)
    e.emit(Assign(identity, call.shared(MAIN, 16)))
    e.place(end)
    return Reg(identity)


def _equal(call: ExternalCall) -> Expr:
    return binary("eq", 64, call.argument(0), call.argument(1))


# --- keys


def create_key(call: ExternalCall, place: Expr, destructor: Expr, error: int) -> Expr:
    e = call.emitter
    number, result, end = e.temporary(), e.temporary(), e.new_label()
    e.emit(Rmw(number, "add", call.shared(_KEYS, 8), ONE, 8, Order.ACQ_REL))
    e.emit(Assign(number, binary("add", 64, Reg(number), ONE)))
    e.emit(Assign(result, Const(error)))
    e.branch(binary("uge", 64, Reg(number), Const(END_OF_KEYS)), end)
    e.emit(Assign(result, ZERO))
    table = call.shared(_DESTRUCTORS, 8 * END_OF_KEYS)
    e.emit(Store(binary("add", 64, table, scaled(Reg(number), 8)), destructor, 8))
    e.emit(Store(place, Reg(number), 4))
    e.place(end)
    return Reg(result)


def _create_key(call: ExternalCall) -> Expr:
    return create_key(call, call.argument(0), call.argument(1), EAGAIN)


def _value_place(call: ExternalCall) -> Expr:
    key, first = call.argument(0), ZERO if is_used(call, _DATA_OF_LIBCXX) else ONE
    call.emitter.require(
        binary("ult", 32, binary("sub", 32, key, first), Const(END_OF_KEYS - first.value)),
        f"`{call.name}`: the key was not made by `pthread_key_create`",
    )
    if is_used(call, "pthread_key_delete", "tss_delete"):
        _require_key(call, key)
    values = call.thread_local(_VALUES, 8 * END_OF_KEYS)
    return binary("add", 64, values, scaled(key, 8))


def _require_key(call: ExternalCall, key: Expr) -> None:
    e, destructor = call.emitter, call.emitter.temporary()
    table = call.shared(_DESTRUCTORS, 8 * END_OF_KEYS)
    e.emit(Load(destructor, binary("add", 64, table, scaled(truncate(32, key), 8)), 8, Order.RELAXED))
    e.require(binary("ne", 64, Reg(destructor), _DELETED), f"`{call.name}`: the key was deleted")


def get_value(call: ExternalCall) -> Expr:
    call.emitter.emit(Load(call.register, _value_place(call), 8))
    return Reg(call.register)


def set_value(call: ExternalCall) -> Expr:
    call.emitter.emit(Store(_value_place(call), call.argument(1), 8))
    return ZERO


def delete_key(call: ExternalCall) -> Expr:
    """Its destructor does not run any more."""
    key, table = call.argument(0), call.shared(_DESTRUCTORS, 8 * END_OF_KEYS)
    _require_key(call, key)
    place = binary("add", 64, table, scaled(truncate(32, key), 8))
    call.emitter.emit(Store(place, _DELETED, 8, Order.RELAXED))
    return ZERO


def _destroy_function(call: ExternalCall) -> Address:
    unit = call.lowering.unit
    if DESTROY not in unit.functions:
        e = Emitter(span=call.emitter.span)
        e.emit(Load("keys", call.shared(_KEYS, 8), 8, Order.ACQUIRE))
        for key in range(1, END_OF_KEYS):
            _destroy(call, e, key)
        e.place("end")
        e.emit(Return())
        own = (SELF,) if unit.has_context else ()
        unit.functions[DESTROY] = e.finish(DESTROY, own)
    return Address(DESTROY)


def _destroy(call: ExternalCall, e: Emitter, key: int) -> None:
    place = offset(call.thread_local(_VALUES, 8 * END_OF_KEYS), 8 * key)
    following = e.new_label()
    e.branch(binary("ult", 64, Reg("keys"), Const(key)), "end")
    e.emit(Load("value", place, 8))
    e.branch(binary("eq", 64, Reg("value"), ZERO), following)
    table = call.shared(_DESTRUCTORS, 8 * END_OF_KEYS)
    e.emit(Load("destructor", offset(table, 8 * key), 8, Order.RELAXED))
    e.branch(binary("ule", 64, Reg("destructor"), _DELETED), following)
    e.emit(Store(place, ZERO, 8))
    e.emit(Call(None, *call.call(Reg("destructor"), (Reg("value"),))))
    e.place(following)


THREADS: Mapping[str, External] = {
    "pthread_create": External(_create),
    "pthread_join": External(_join),
    "pthread_tryjoin_np": External(_impatient_join(EBUSY)),
    **dict.fromkeys(("pthread_timedjoin_np", "pthread_clockjoin_np"), External(_impatient_join(ETIMEDOUT))),
    "pthread_exit": External(leave, returns=False, needs_context=True),
    "pthread_detach": External(detach),
    "pthread_self": External(identity_of_thread, needs_context=True),
    "pthread_equal": External(_equal),
    "pthread_key_create": External(_create_key, needs_context=True),
    "pthread_key_delete": External(delete_key),
    "pthread_getspecific": External(get_value, needs_context=True),
    "pthread_setspecific": External(set_value, needs_context=True),
    **dict.fromkeys(
        (
            "sched_yield",
            "pthread_yield",
            "usleep",
            "sleep",
            "nanosleep",
            "clock_nanosleep",
        ),
        External(nothing),
    ),
}
