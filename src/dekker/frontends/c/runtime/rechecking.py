"""Whether a wait for a condition variable stands in a loop that does nothing but check its condition again."""

from __future__ import annotations

from dekker.frontends.c.linking import Linked
from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Block, Header, Instruction
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.frontends.c.runtime.interface import ExternalCall

_HARMLESS = (
    *(syntax.Load, syntax.Binary, syntax.Unary, syntax.Compare, syntax.Cast, syntax.Select, syntax.ElementPointer),
    *(syntax.Extract, syntax.Insert, syntax.Phi, syntax.Jump, syntax.Branch, syntax.Switch, syntax.DebugValue),
)
_HARMLESS_INTRINSICS = ("llvm.dbg.", "llvm.lifetime.", "llvm.assume", "llvm.expect", "llvm.experimental.noalias")
_DEEPEST_CALL = 8


def checks_again(call: ExternalCall) -> bool:
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
