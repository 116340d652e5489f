"""Memory, endings, assertions, the functions of verification tasks, and copying of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import binary, sign_extend, truncate
from dekker.frontends.c.lowering.memory import copy_any, fill_any
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Allocate,
    Assign,
    Assume,
    AtomicBegin,
    AtomicEnd,
    Choose,
    Exit,
    Free,
    Load,
    Store,
)

# --- memory


def _allocate(call: ExternalCall, size: Expr, *, align: int = 16, zeroed: bool = False) -> Expr:
    call.emitter.emit(Allocate(call.register, size, align, zeroed=zeroed))
    return Reg(call.register)


def _malloc(call: ExternalCall) -> Expr:
    return _allocate(call, call.argument(0))


def _calloc(call: ExternalCall) -> Expr:
    return _allocate(call, binary("mul", 64, call.argument(0), call.argument(1)), zeroed=True)


def _aligned_alloc(call: ExternalCall) -> Expr:
    align = call.constant(0)
    return _allocate(call, call.argument(1), align=align if align and align & align - 1 == 0 else 4096)


def _posix_memalign(call: ExternalCall) -> Expr:
    align = call.constant(1)
    address = _allocate(call, call.argument(2), align=align if align and align & align - 1 == 0 else 4096)
    call.emitter.emit(Store(call.argument(0), address, 8))
    return ZERO


def _free(call: ExternalCall) -> None:
    """Releasing the null pointer does nothing."""
    address = call.argument(0)
    if isinstance(address, Const):
        return
    done = call.emitter.new_label()
    call.emitter.branch(binary("eq", 64, address, ZERO), done)
    call.emitter.emit(Free(address))
    call.emitter.place(done)


# --- endings and assertions


def _assert_fail(call: ExternalCall) -> None:
    text = call.text(0)
    call.emitter.fail("an assertion fails" if text is None else f"the assertion `{text}` fails")


def _reach_error(call: ExternalCall) -> None:
    call.emitter.fail(f"`{call.name}` is called")


def _abort(call: ExternalCall) -> None:
    if call.lowering.unit.quiet_abort:
        call.emitter.emit(Exit(everything=True))
    else:
        call.emitter.fail("`abort` is called")


def _exit(call: ExternalCall) -> None:
    call.emitter.emit(Exit(everything=True))


def _throw(call: ExternalCall) -> None:
    call.emitter.fail("an exception is thrown")


# --- verification tasks


def _assume(call: ExternalCall) -> None:
    call.emitter.emit(Assume(call.argument(0)))


def _check(call: ExternalCall) -> None:
    message = (call.text(1) if len(call.arguments) > 1 else None) or f"the condition of `{call.name}` is false"
    call.emitter.require(call.argument(0), message)


def _nondet(signed: bool, width: int | None = None) -> Handler:
    """Any value of a stated range: it would be too many to try all of a type."""

    def lower(call: ExternalCall) -> Expr:
        low, high = call.lowering.unit.nondet
        bits = width or call.width
        least, most = (-(1 << (bits - 1)), mask(bits - 1)) if signed else (0, mask(bits))
        call.emitter.emit(Choose(call.register, max(low, least), min(max(high, 0), most)))
        return truncate(call.width, Reg(call.register)) if call.width < 64 else Reg(call.register)

    return lower


def _begin(call: ExternalCall) -> None:
    call.emitter.emit(AtomicBegin())


def _end(call: ExternalCall) -> None:
    call.emitter.emit(AtomicEnd())


# --- bytes


def _memcpy(call: ExternalCall) -> Expr:
    copy_any(call.lowering, call.argument(0), call.argument(1), call.argument(2))
    return call.argument(0)


def _memset(call: ExternalCall) -> Expr:
    fill_any(call.lowering, call.argument(0), truncate(8, call.argument(1)), call.argument(2))
    return call.argument(0)


def _strlen(call: ExternalCall) -> Expr:
    e = call.emitter
    count, byte, head, end = e.temporary(), e.temporary(), e.new_label(), e.new_label()
    e.emit(Assign(count, ZERO))
    e.place(head)
    e.emit(Load(byte, binary("add", 64, call.argument(0), Reg(count)), 1))
    e.branch(binary("eq", 8, Reg(byte), ZERO), end)
    e.emit(Assign(count, Binary("add", 64, Reg(count), Const(1))))
    e.jump(head)
    e.place(end)
    return Reg(count)


def _compare(limited: bool, to_zero: bool) -> Handler:
    """`memcmp`, `strcmp` and `strncmp`: the difference of the first bytes that differ."""

    def lower(call: ExternalCall) -> Expr:
        e = call.emitter
        index, left, right, result = (e.temporary() for _ in range(4))
        head, end = e.new_label(), e.new_label()
        e.emit(Assign(index, ZERO))
        e.emit(Assign(result, ZERO))
        e.place(head)
        if limited:
            e.branch(binary("uge", 64, Reg(index), call.argument(2)), end)
        e.emit(Load(left, Binary("add", 64, call.argument(0), Reg(index)), 1))
        e.emit(Load(right, Binary("add", 64, call.argument(1), Reg(index)), 1))
        e.emit(Assign(result, Binary("sub", 32, Reg(left), Reg(right))))
        e.branch(binary("ne", 8, Reg(left), Reg(right)), end)
        if to_zero:
            e.branch(binary("eq", 8, Reg(left), ZERO), end)
        e.emit(Assign(index, Binary("add", 64, Reg(index), Const(1))))
        e.jump(head)
        e.place(end)
        return Reg(result)

    return lower


def _strcpy(call: ExternalCall) -> Expr:
    e = call.emitter
    index, byte, head = e.temporary(), e.temporary(), e.new_label()
    e.emit(Assign(index, ZERO))
    e.place(head)
    e.emit(Load(byte, Binary("add", 64, call.argument(1), Reg(index)), 1))
    e.emit(Store(Binary("add", 64, call.argument(0), Reg(index)), Reg(byte), 1))
    e.emit(Assign(index, Binary("add", 64, Reg(index), Const(1))))
    e.branch(binary("ne", 8, Reg(byte), ZERO), head)
    return call.argument(0)


def _absolute(call: ExternalCall) -> Expr:
    value = sign_extend(call.width, 64, call.argument(0))
    flipped = binary("ashr", 64, value, Const(63))
    return truncate(call.width, binary("sub", 64, binary("xor", 64, value, flipped), flipped))


def _nothing(call: ExternalCall) -> Expr:
    return ZERO


def _ends(handler: Handler, *, overrides: bool = False) -> External:
    return External(handler, overrides=overrides, returns=False)


_SIGNED = "char short int long longlong int8 int16 int32 int64 ptrdiff_t".split()
_UNSIGNED = (
    "uchar ushort uint ulong ulonglong unsigned unsigned_int unsigned_char size_t uint8 uint16 uint32 uint64 "
    "u32".split()
)
_BITS = dict(
    zip("char short int int8 int16 int32 uchar ushort uint uint8 uint16 uint32".split(), (8, 16, 32) * 4, strict=True)
)

BASIC: Mapping[str, External] = {
    **dict.fromkeys(("malloc", "_Znwm", "_Znam"), External(_malloc)),
    "calloc": External(_calloc),
    "aligned_alloc": External(_aligned_alloc),
    "memalign": External(_aligned_alloc),
    "posix_memalign": External(_posix_memalign),
    **dict.fromkeys(("free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"), External(_free)),
    **dict.fromkeys(("__assert_fail", "__assert_rtn", "__assert"), _ends(_assert_fail)),
    **dict.fromkeys(("reach_error", "__VERIFIER_error"), _ends(_reach_error, overrides=True)),
    "abort": _ends(_abort),
    **dict.fromkeys(("exit", "_exit", "_Exit", "quick_exit"), _ends(_exit)),
    **dict.fromkeys(("__cxa_throw", "__cxa_rethrow", "_ZSt9terminatev", "__cxa_bad_cast"), _ends(_throw)),
    **dict.fromkeys(("__VERIFIER_assume", "__CPROVER_assume"), External(_assume)),
    "assume_abort_if_not": External(_assume, overrides=True),
    "__CPROVER_assert": External(_check),
    **{f"__VERIFIER_nondet_{name}": External(_nondet(True, _BITS.get(name))) for name in _SIGNED},
    **{f"__VERIFIER_nondet_{name}": External(_nondet(False, _BITS.get(name))) for name in _UNSIGNED},
    **dict.fromkeys(("__VERIFIER_nondet_bool", "__VERIFIER_nondet__Bool"), External(_nondet(False, 1))),
    "__VERIFIER_nondet_pointer": External(_nothing),
    **dict.fromkeys(("__VERIFIER_atomic_begin", "__CPROVER_atomic_begin"), External(_begin, overrides=True)),
    **dict.fromkeys(("__VERIFIER_atomic_end", "__CPROVER_atomic_end"), External(_end, overrides=True)),
    **dict.fromkeys(("memcpy", "memmove", "__memcpy_chk", "__memmove_chk"), External(_memcpy)),
    **dict.fromkeys(("memset", "__memset_chk"), External(_memset)),
    "strlen": External(_strlen),
    "memcmp": External(_compare(True, False)),
    "strcmp": External(_compare(False, True)),
    "strncmp": External(_compare(True, True)),
    **dict.fromkeys(("strcpy", "__strcpy_chk"), External(_strcpy)),
    **dict.fromkeys(("abs", "labs", "llabs"), External(_absolute)),
    **dict.fromkeys(("atexit", "__cxa_atexit", "__cxa_thread_atexit"), External(_nothing)),
}
