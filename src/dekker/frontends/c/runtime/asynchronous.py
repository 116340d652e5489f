"""Threads that begin at a label (`__CPROVER_ASYNC_1:`): the functions that `frontends.c.cprover` writes there."""

from __future__ import annotations

from collections.abc import Mapping

from dekker.frontends.c.lowering.asynchronous import MARK
from dekker.frontends.c.lowering.problem import Problem
from dekker.frontends.c.runtime.basic import ends
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.frontends.c.runtime.whole_program import is_used
from dekker.ir.expressions import Expr, Reg
from dekker.ir.instructions import Call, Exit

_NEEDS_A_CREATOR = ("pthread_self", "thrd_current", "pthread_key_create", "tss_create")


def _begin(call: ExternalCall) -> Expr:
    for name in _NEEDS_A_CREATOR:
        if is_used(call, name):
            raise Problem(f"a thread that begins at a label has no place in a program that uses `{name}`")
    call.emitter.emit(Call(call.register, MARK, ()))
    return Reg(call.register)


def _end(call: ExternalCall) -> None:
    call.emitter.emit(Exit())


ASYNCHRONOUS: Mapping[str, External] = {
    **dict.fromkeys(("__dekker_async", "_Z14__dekker_asyncv"), External(_begin)),
    **dict.fromkeys(("__dekker_async_end", "_Z18__dekker_async_endv"), ends(_end)),
}
