"""The end of the program: `exit`, the return from `main`, and what runs then.

Functions that were registered with `atexit`, and destructors of static variables, run when `main` returns or a thread
calls `exit`, the last first; then those with the attribute `destructor`; then the program ends, with all its threads.
Destructors of a thread's own variables run when the thread ends. At most `MOST` of each can be registered.

`abort` is a violation, but in verification tasks, which end runs without interest that way.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, offset, scaled
from dekker.frontends.c.lowering.function import DESTRUCTORS, SELF
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.frontends.c.runtime.whole_program import is_used
from dekker.ir.expressions import ONE, ZERO, Address, Const, Expr, Reg
from dekker.ir.instructions import Call, Exit, Load, Order, Return, Rmw, Store

MOST = 32
MOST_OF_THREAD = 8
AT_EXIT = "%at exit"
AT_THREAD_END = "%at thread end"
CALL = "%call"
_REGISTERED = "functions for the end"
_SIZE = 16
"""A function and its argument; the number of them stands before the first."""


def run_at_thread_end(call: ExternalCall, emitter: Emitter) -> None:
    """Destructors of the variables of a thread."""
    if is_used(call, "__cxa_thread_atexit", "__cxa_thread_atexit_impl"):
        place = call.thread_local(_REGISTERED, _SIZE * (MOST_OF_THREAD + 1))
        function = _running(call, AT_THREAD_END, place, MOST_OF_THREAD)
        emitter.emit(Call(None, *call.call(function, ())))


def _run_at_exit(call: ExternalCall) -> None:
    run_at_thread_end(call, call.emitter)
    if is_used(call, "atexit", "__cxa_atexit"):
        call.emitter.emit(Call(None, *call.call(_function_at_exit(call), ())))
    if DESTRUCTORS in call.lowering.unit.functions:
        call.emitter.emit(Call(None, *call.call(Address(DESTRUCTORS), ())))


def _function_at_exit(call: ExternalCall) -> Address:
    return _running(call, AT_EXIT, call.shared(_REGISTERED, _SIZE * (MOST + 1)), MOST)


def _running(call: ExternalCall, name: str, place: Expr, most: int) -> Address:
    """A function that calls what is registered there. It is no loop, because loops have bounds."""
    unit = call.lowering.unit
    if name not in unit.functions:
        e = Emitter(span=call.emitter.span)
        e.emit(Load("count", place, 8))
        for index in reversed(range(most)):
            e.branch(binary("ule", 64, Reg("count"), Const(index)), f"skip{index}")
            entry = offset(place, _SIZE * (index + 1))
            e.emit(Load("function", entry, 8))
            e.emit(Load("argument", offset(entry, 8), 8))
            e.emit(Call(None, *call.call(Reg("function"), (Reg("argument"),))))
            e.place(f"skip{index}")
        e.emit(Return())
        unit.functions[name] = e.finish(name, (SELF,) if unit.has_context else ())
        unit.at_return.insert(0 if name == AT_THREAD_END or AT_THREAD_END not in unit.at_return else 1, name)
    return Address(name)


def _register(call: ExternalCall, place: Expr, most: int, function: Expr, argument: Expr) -> Expr:
    e, number = call.emitter, call.emitter.temporary()
    e.emit(Rmw(number, "add", place, ONE, 8, Order.ACQ_REL))
    e.require(binary("ult", 64, Reg(number), Const(most)), f"`{call.name}`: more than {most} functions for the end")
    entry = e.keep(binary("add", 64, offset(place, _SIZE), scaled(Reg(number), _SIZE)))
    e.emit(Store(entry, function, 8))
    e.emit(Store(offset(entry, 8), argument, 8))
    return ZERO


def _at_exit(call: ExternalCall, function: Expr, argument: Expr) -> Expr:
    _function_at_exit(call)
    return _register(call, call.shared(_REGISTERED, _SIZE * (MOST + 1)), MOST, function, argument)


def _destroy_at_exit(call: ExternalCall) -> Expr:
    return _at_exit(call, call.argument(0), call.argument(1))


def _call_at_exit(call: ExternalCall) -> Expr:
    return _at_exit(call, _caller(call), call.argument(0))


def _caller(call: ExternalCall) -> Address:
    """A function that calls its argument."""
    unit = call.lowering.unit
    if CALL not in unit.functions:
        e = Emitter(span=call.emitter.span)
        e.emit(Call(None, *call.call(Reg("function"), ())))
        e.emit(Return())
        unit.functions[CALL] = e.finish(CALL, (*((SELF,) if unit.has_context else ()), "function"))
    return Address(CALL)


def _at_thread_end(call: ExternalCall) -> Expr:
    place = call.thread_local(_REGISTERED, _SIZE * (MOST_OF_THREAD + 1))
    _running(call, AT_THREAD_END, place, MOST_OF_THREAD)
    return _register(call, place, MOST_OF_THREAD, call.argument(0), call.argument(1))


def _abort(call: ExternalCall) -> None:
    if call.lowering.unit.quiet_abort:
        call.emitter.emit(Exit(everything=True))
    else:
        call.emitter.fail("`abort` is called")


def _exit(call: ExternalCall) -> None:
    _run_at_exit(call)
    call.emitter.emit(Exit(True, call.argument(0)))


def _exit_at_once(call: ExternalCall) -> None:
    call.emitter.emit(Exit(True, call.argument(0)))


ENDINGS: Mapping[str, External] = {
    "abort": External(_abort, returns=False),
    "exit": External(_exit, returns=False),
    **dict.fromkeys(("_exit", "_Exit", "quick_exit"), External(_exit_at_once, returns=False)),
    "atexit": External(_call_at_exit),
    "__cxa_atexit": External(_destroy_at_exit),
    **dict.fromkeys(("__cxa_thread_atexit", "__cxa_thread_atexit_impl"), External(_at_thread_end, needs_context=True)),
}
