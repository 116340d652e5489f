"""Inline assembly: fences of all architectures, and assembly that does nothing."""

from __future__ import annotations

import re

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.expressions import ZERO, Expr
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Fence

_NOTHING = frozenset(
    (
        "",
        "nop",
        "pause",
        "yield",
        "rep nop",
        "rep; nop",
        "rep;nop",
        "or 27,27,27",
        "or 31,31,31",
        "or 1,1,1",
        "or 2,2,2",
        *("wfe", "wfi", "sev", "sevl", "hint #0", "hint #1", "xchg %ax,%ax", "xchgw %ax,%ax"),
    )
)
_NAMES = {
    **dict.fromkeys(("hwsync", "msync", "ptesync", "sync 0"), "sync"),
    "sync 1": "lwsync",
    "isb sy": "isb",
    "dmb": "dmb.sy",
    "dsb": "dsb.sy",
    "fence": "fence.rw.rw",
    "membar": "membar",
}
_LOCKED = re.compile(r"lock\b[;\s]*(?:add|or|and|xor)[lqbw]?\s+\$(?:0x)?0\s*,\s*-?\d*\(%+[re]sp\)$")
_DEVICES = str.maketrans("", "", "io")
_SPACES = re.compile(r"\s+")


def lower_assembly(f: FunctionLowering, call: syntax.Call, assembly: syntax.Assembly) -> None:
    for statement in _statements(assembly.template):
        kind = fence_kind(statement)
        if kind is None:
            shown = assembly.template.strip().replace("\n", "; ").replace("\t", " ")
            hint = "fences are understood (mfence, lwsync, dmb ish, fence rw,rw, …); write the rest in C"
            raise Problem(f"the inline assembly `{shown}` is not supported", hint)
        if kind:
            f.emitter.emit(Fence(kind))
    if not assembly.template.strip() and "~{memory}" in assembly.constraints:
        f.emitter.emit(Fence("compiler"))
    f.define(call.result, _outputs(f, call, assembly.constraints))


def fence_kind(statement: str) -> str | None:
    """The fence that an instruction is; empty if it does nothing, None if it is something else."""
    text = _SPACES.sub(" ", statement.strip().lower())
    if text in _NOTHING:
        return ""
    if _LOCKED.match(text):
        return "mfence"
    name = _NAMES.get(text, text)
    if name in FENCES:
        return name
    word, _, operands = name.partition(" ")
    if word == "fence":
        before, _, after = operands.replace(" ", "").translate(_DEVICES).partition(",")
        if "," in operands and not (before and after):
            return ""
        return _known(f"fence.{before}.{after}") or _known(f"fence.{operands}")
    if word == "membar":
        return _known(f"membar.{operands.removeprefix('#')}")
    return _known(f"{word}.{operands.removeprefix('#')}")


def _known(name: str) -> str | None:
    return name if name in FENCES else None


def _statements(template: str) -> list[str]:
    """Instructions between semicolons and line ends, comments cut off; a `lock` prefix stays with its instruction."""
    text = re.sub(r"/\*.*?\*/", " ", template.replace("$$", "$"), flags=re.DOTALL)
    text = re.sub(r"(?m)(?:^|(?<=[\s;]))(?://|#\s).*$", " ", text)
    text = re.sub(r"\b(lock|rep)\s*;\s*", r"\1 ", text)
    return [part for part in re.split(r"[;\n]", text) if part.strip()]


def _outputs(f: FunctionLowering, call: syntax.Call, constraints: str) -> tuple[Expr, ...]:
    """An output that is tied to an input has its value; others cannot be known."""
    items = [item for item in constraints.split(",") if not item.startswith("~")]
    outputs = [item for item in items if item.startswith("=") and "*" not in item]
    inputs = [item for item in items if not item.startswith("=") or "*" in item]
    values = [f.parts(argument.operand) for argument in call.arguments]
    found: list[Expr] = []
    for index in range(len(outputs)):
        tied = inputs.index(str(index)) if str(index) in inputs else None
        if tied is None or tied >= len(values):
            raise Problem("inline assembly with a result of its own is not supported")
        found += values[tied]
    return tuple(found) or (ZERO,)
