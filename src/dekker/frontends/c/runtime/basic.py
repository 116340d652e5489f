"""Memory, endings, assertions, the functions of verification tasks, and copying of bytes."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.expressions import truncate
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Expr, Reg
from dekker.ir.instructions import (
    Assume,
    AtomicBegin,
    AtomicEnd,
    Choose,
)

# --- endings and assertions


def _assert_fail(call: ExternalCall) -> None:
    text = call.text(0)
    call.emitter.fail("an assertion fails" if text is None else f"the assertion `{text}` fails")


def _reach_error(call: ExternalCall) -> None:
    call.emitter.fail(f"`{call.name}` is called")


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


def nothing(call: ExternalCall) -> Expr:
    return ZERO


def ends(handler: Handler, *, overrides: bool = False) -> External:
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
    **dict.fromkeys(("__assert_fail", "__assert_rtn", "__assert"), ends(_assert_fail)),
    **dict.fromkeys(("reach_error", "__VERIFIER_error"), ends(_reach_error, overrides=True)),
    **dict.fromkeys(("__VERIFIER_assume", "__CPROVER_assume"), External(_assume)),
    "assume_abort_if_not": External(_assume, overrides=True),
    "__CPROVER_assert": External(_check),
    **{f"__VERIFIER_nondet_{name}": External(_nondet(True, _BITS.get(name))) for name in _SIGNED},
    **{f"__VERIFIER_nondet_{name}": External(_nondet(False, _BITS.get(name))) for name in _UNSIGNED},
    **dict.fromkeys(("__VERIFIER_nondet_bool", "__VERIFIER_nondet__Bool"), External(_nondet(False, 1))),
    "__VERIFIER_nondet_pointer": External(nothing),
    **dict.fromkeys(("__VERIFIER_atomic_begin", "__CPROVER_atomic_begin"), External(_begin, overrides=True)),
    **dict.fromkeys(("__VERIFIER_atomic_end", "__CPROVER_atomic_end"), External(_end, overrides=True)),
}
