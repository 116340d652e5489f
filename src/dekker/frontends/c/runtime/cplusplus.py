"""What the C++ compiler itself calls: new and delete, exceptions, first use of local static variables.

Nothing is thrown: the start of an exception is a violation if the program catches none, and an error otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary, offset
from dekker.frontends.c.runtime.allocation import allocate, free
from dekker.frontends.c.runtime.basic import ends, nothing
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.frontends.c.runtime.whole_program import is_used
from dekker.ir.expressions import ONE, ZERO, Expr, Reg
from dekker.ir.instructions import Assign, CompareExchange, Load, Order, Refuse, Store

LOCK_OFFSET = 4
"""A guard variable has 8 bytes: the first says that the initialisation is done, these that a thread is at it."""


def _new(call: ExternalCall) -> Expr:
    return allocate(call, call.argument(0))


def _aligned_new(call: ExternalCall) -> Expr:
    align = call.constant(1)
    return allocate(call, call.argument(0), align=align if align and align & align - 1 == 0 else 4096)


def throw(call: ExternalCall, what: str = "") -> None:
    """Nobody catches it: a violation. Where something could, what happens next is not known."""
    text = f"an exception is thrown{what}"
    if is_used(call, "__cxa_end_catch"):
        call.emitter.emit(Refuse(f"{text}, and what happens then is not followed"))
    else:
        call.emitter.fail(text)


def _terminate(call: ExternalCall) -> None:
    call.emitter.fail("`std::terminate` is called")


def _pure(call: ExternalCall) -> None:
    call.emitter.fail("a pure virtual function is called")


def _guard_acquire(call: ExternalCall) -> Expr:
    """1 if this thread has to initialise; waits while another one does."""
    e, guard = call.emitter, call.argument(0)
    old, won, done, head = e.temporary(), e.temporary(), e.temporary(), e.new_label()
    e.place(head)
    orders = Order.ACQUIRE, Order.ACQUIRE
    e.emit(CompareExchange(old, won, offset(guard, LOCK_OFFSET), ZERO, ONE, 4, *orders))
    e.branch(binary("eq", 64, Reg(won), ZERO), head)
    e.emit(Load(done, guard, 1, Order.ACQUIRE))
    result, end = e.temporary(), e.new_label()
    e.emit(Assign(result, binary("eq", 8, Reg(done), ZERO)))
    e.branch(Reg(result), end)
    e.emit(Store(offset(guard, LOCK_OFFSET), ZERO, 4, Order.RELEASE))
    e.place(end)
    return Reg(result)


def _guard_release(call: ExternalCall) -> None:
    guard = call.argument(0)
    call.emitter.emit(Store(guard, ONE, 1, Order.RELEASE))
    call.emitter.emit(Store(offset(guard, LOCK_OFFSET), ZERO, 4, Order.RELEASE))


def _copy_exception(call: ExternalCall) -> Expr:
    """There is none: pointers to exceptions are all null."""
    call.emitter.emit(Store(call.argument(0), ZERO, 8))
    return call.argument(0)


_DELETE = (
    "_ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvSt11align_val_t "
    "_ZdaPvmSt11align_val_t _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_tRKSt9nothrow_t "
    "_ZdaPvSt11align_val_tRKSt9nothrow_t"
).split()
_THROW = "__cxa_allocate_exception __cxa_throw __cxa_rethrow __cxa_bad_cast __cxa_throw_bad_array_new_length".split()

CPLUSPLUS: Mapping[str, External] = {
    **dict.fromkeys(("_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"), External(_new)),
    **dict.fromkeys(("_ZnwmSt11align_val_t", "_ZnamSt11align_val_t"), External(_aligned_new)),
    **dict.fromkeys(
        ("_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t"), External(_aligned_new)
    ),
    **dict.fromkeys(_DELETE, External(free)),
    **dict.fromkeys(_THROW, ends(throw, overrides=True)),
    **dict.fromkeys(("_ZSt9terminatev", "__clang_call_terminate"), ends(_terminate, overrides=True)),
    "__cxa_pure_virtual": ends(_pure),
    **dict.fromkeys(("_ZNSt13exception_ptrD1Ev", "_ZNSt13exception_ptrD2Ev"), External(nothing)),
    **dict.fromkeys(
        (
            "_ZNSt13exception_ptrC1ERKS_",
            "_ZNSt13exception_ptrC2ERKS_",
            "_ZNSt13exception_ptraSERKS_",
            "_ZSt17current_exceptionv",
        ),
        External(_copy_exception),
    ),
    "_ZSt17rethrow_exceptionSt13exception_ptr": ends(throw),
    "__cxa_guard_acquire": External(_guard_acquire),
    "__cxa_guard_release": External(_guard_release),
}
