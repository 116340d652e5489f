"""Waits for condition variables in loops that do nothing but check their condition again.

Such a wait has a number in its function. When it ends without a signal, the register `%early` takes that number, and
every step that has an effect sets it to 0: if control comes back to the wait and the number is still there, nothing
has happened in between.
"""

from __future__ import annotations

import re

from dekker.frontends.c.linking import Linked
from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Block, Header, Instruction
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.frontends.c.runtime.interface import ExternalCall
from dekker.frontends.c.runtime.whole_program import has_match
from dekker.ir.expressions import ZERO
from dekker.ir.instructions import Assign

EARLY = "%early"
_WAITS = re.compile(
    r"pthread_cond_(wait|timedwait|clockwait)|cnd_(wait|timedwait)"
    r"|_ZNSt3__118condition_variable(4wait|8wait_for|10wait_until|15__do_timed_wait).*"
)
_IMPATIENT = re.compile(r"(call|invoke) [^\n]*@(pthread_mutex_(trylock|timedlock|clocklock)|mtx_timedlock)\b")
"""Calls that tell whether someone holds a mutex at the moment. Those that may fail anyway do not, and the mutexes of
C++ that wait for a time do not go with `std::condition_variable`."""

_HARMLESS = (
    *(syntax.Binary, syntax.Unary, syntax.Compare, syntax.Cast, syntax.Select, syntax.ElementPointer),
    *(syntax.Extract, syntax.Insert, syntax.Phi, syntax.Jump, syntax.Branch, syntax.Switch, syntax.DebugValue),
)
_HARMLESS_INTRINSICS = ("llvm.dbg.", "llvm.lifetime.", "llvm.assume", "llvm.expect", "llvm.experimental.noalias")
_DEEPEST_CALL = 8


def site_of(call: ExternalCall) -> int:
    """The number of a wait that checks its condition again; 0 if it does not, or if it can be told that it did."""
    if not _checks_again(call) or has_match(call, _IMPATIENT):
        return 0
    return 1 + len(call.emitter.body)


def note_effect(f: FunctionLowering, item: Instruction) -> None:
    """Before each step of a function."""
    if f.has_waits is None:
        f.has_waits = any(_is_wait(step) for block in f.blocks for step in block.instructions)
    if f.has_waits and not _is_wait(item) and not _is_harmless(f, f.symbol, item, _DEEPEST_CALL):
        f.emitter.emit(Assign(EARLY, ZERO))


def _is_wait(item: Instruction) -> bool:
    name = _callee(item)
    return name is not None and _WAITS.fullmatch(name) is not None


def _checks_again(call: ExternalCall) -> bool:
    """Can control go from behind the call to the call again with nothing but reads and computations on the way?"""
    lowering = call.lowering
    waits = [i for i, item in enumerate(lowering.block.instructions) if _callee(item) == call.name]
    return bool(waits) and all(_leads_back(lowering, lowering.block, index) for index in waits)


def _leads_back(f: FunctionLowering, block: Block, index: int) -> bool:
    wait = block.instructions[index]
    pending = [(block, index + 1)] if not _successors(wait) else [(f.by_name[name], 0) for name in _successors(wait)]
    seen: set[str] = set()
    while pending:
        here, start = pending.pop()
        for item in here.instructions[start:]:
            if item is wait:
                return True
            if not _is_harmless(f, f.symbol, item, _DEEPEST_CALL):
                break
            following = [name for name in _successors(item) if name not in seen]
            seen.update(following)
            pending += [(f.by_name[name], 0) for name in following]
    return False


def _successors(item: Instruction) -> tuple[str, ...]:
    match item:
        case syntax.Jump():
            return (item.target,)
        case syntax.Branch():
            return (item.then, item.other)
        case syntax.Switch():
            return (item.default, *(target for _, target in item.cases))
        case syntax.Call() if item.normal is not None:
            return (item.normal,)
    return ()


def _callee(item: Instruction) -> str | None:
    named = isinstance(item, syntax.Call) and isinstance(item.callee.value, syntax.Global)
    return item.callee.value.name if named else None  # type: ignore[attr-defined]


def _is_harmless(f: FunctionLowering, symbol: Linked, item: Instruction, depth: int) -> bool:
    """Does it only compute, or read what does not change while the mutex is held?"""
    if isinstance(item, syntax.Load):
        return not item.order and not item.volatile
    if isinstance(item, _HARMLESS):
        return True
    name = _callee(item)
    if name is None:
        return False
    return name.startswith(_HARMLESS_INTRINSICS) or (depth > 0 and _only_reads(f, symbol, name, depth - 1))


def _only_reads(f: FunctionLowering, symbol: Linked, name: str, depth: int) -> bool:
    """A function that writes at most to its own variables, and then returns."""
    linked = f.unit.resolve(symbol, name)
    if linked is None or not linked.defined or not isinstance(linked.entity, Header):
        return False
    instructions = [item for block in linked.module.blocks(linked.entity.name) for item in block.instructions]
    own = {item.result for item in instructions if isinstance(item, syntax.Alloca)}
    return all(
        isinstance(item, syntax.Alloca | syntax.Return)
        or (isinstance(item, syntax.Store) and getattr(item.address.value, "name", None) in own)
        or _is_harmless(f, linked, item, depth)
        for item in instructions
    )
