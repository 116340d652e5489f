"""Assertions and the functions of verification tasks.

They belong to the specification, not to the program: nothing depends on what they ask (`ir.passes.specification`). Only
`assert` may be compiled, and is a branch if the user says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.llvm.types import Float, Pointer
from dekker.frontends.c.lowering.arithmetic import OVERFLOW, Parts
from dekker.frontends.c.lowering.expressions import binary, truncate, unary
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.sanitizing import CONVERSION, SHIFT, SUMS
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import (
    Assume,
    AtomicBegin,
    AtomicEnd,
    Choose,
)
from dekker.source import is_library

# --- endings and assertions


def _assert_fail(call: ExternalCall) -> None:
    text = call.text(0)
    message = "an assertion fails" if text is None else f"the assertion `{text}` fails"
    call.emitter.fail(message, loose=not call.lowering.unit.dialect.assert_branches)


def _reach_error(call: ExternalCall) -> None:
    call.emitter.fail(f"`{call.name}` is called")


# --- verification tasks

NONDET = "__VERIFIER_nondet_"
NOWHERE = 0x7EE0_0000_0000
"""An address beyond all objects."""


def _assume(call: ExternalCall) -> None:
    call.emitter.emit(Assume(call.argument(0), loose=True))


def _check(call: ExternalCall) -> None:
    message = (call.text(1) if len(call.arguments) > 1 else None) or f"the condition of `{call.name}` is false"
    call.emitter.require(call.argument(0), message, loose=True)


def given(handler: Handler, name: str | None = None) -> External:
    """What the environment decides, where one value stands for all. The library itself takes any."""

    def lower(call: ExternalCall) -> Expr | Parts | None:
        span = call.emitter.span
        if span is None or not is_library(span.source.name):
            call.lowering.unit.given.add(name or call.name)
        return handler(call)

    return External(lower)


def nondet(call: ExternalCall) -> Expr | Parts:
    """Any value of a stated range: it would be too many to try all of a type. What type it is, the name and the result
    of the function say. Where none of the range is of the type, it is the closest that is; a `bool` is both. A pointer
    is null, or not null and to no object."""
    name = call.name.removeprefix(NONDET).lstrip("_")
    low, high = call.lowering.unit.nondet
    if isinstance(call.result, Pointer):
        call.emitter.emit(Choose(call.register, 0, 1, partial=True, pointer=True))
        return binary("mul", 64, Reg(call.register), Const(NOWHERE))
    if isinstance(call.result, Float):
        call.emitter.emit(Choose(call.register, low, max(low, high), partial=True))
        return unary(f"sitofp{call.result.bits}", 64, Reg(call.register))
    signed = not name.lower().startswith(("u", "size_t", "bool"))
    bits = 1 if name.lower() == "bool" else min(call.width, 64)
    least, most = (-(1 << (bits - 1)), mask(bits - 1)) if signed else (0, mask(bits))
    wanted = (least, most) if bits == 1 else (low, high)
    first, last = (min(max(end, least), most) for end in wanted)
    call.emitter.emit(Choose(call.register, first, last, partial=(first, last) != (least, most)))
    if call.width > 64:
        return Reg(call.register), binary("ashr", 64, Reg(call.register), Const(63)) if signed else ZERO
    return truncate(call.width, Reg(call.register)) if call.width < 64 else Reg(call.register)


def _begin(call: ExternalCall) -> None:
    call.emitter.emit(AtomicBegin())


def _end(call: ExternalCall) -> None:
    call.emitter.emit(AtomicEnd())


def nothing(call: ExternalCall) -> Expr:
    return ZERO


def ends(handler: Handler, *, overrides: bool = False) -> External:
    return External(handler, overrides=overrides, returns=False)


def _requirement(message: str) -> External:
    return External(lambda call: call.emitter.require(call.argument(0), message, loose=True))


BASIC: Mapping[str, External] = {
    SHIFT: _requirement(f"{OVERFLOW}: a left shift of a negative number, or one whose result does not fit its type"),
    **dict.fromkeys(SUMS, _requirement("signed overflow: the result does not fit its type")),
    CONVERSION: _requirement("overflow of a conversion: the floating value does not fit the integer type"),
    **dict.fromkeys(("__assert_fail", "__assert_rtn", "__assert"), ends(_assert_fail)),
    **dict.fromkeys(("reach_error", "__VERIFIER_error"), ends(_reach_error, overrides=True)),
    **dict.fromkeys(
        ("__VERIFIER_assume", "__CPROVER_assume", "assume_abort_if_not"), External(_assume, overrides=True)
    ),
    **dict.fromkeys(("__VERIFIER_assert", "__CPROVER_assert"), External(_check, overrides=True)),
    **dict.fromkeys(("__VERIFIER_atomic_begin", "__CPROVER_atomic_begin"), External(_begin, overrides=True)),
    **dict.fromkeys(("__VERIFIER_atomic_end", "__CPROVER_atomic_end"), External(_end, overrides=True)),
}
