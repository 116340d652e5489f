"""Jumps, and the values that depend on where control comes from."""

from __future__ import annotations

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.lowering.expressions import binary, negate, offset
from dekker.frontends.c.lowering.function import RESULT, FunctionLowering, register_name
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.expressions import Const, Expr, Reg
from dekker.ir.instructions import AtomicEnd, Return, Store


def lower_jump(f: FunctionLowering, instruction: syntax.Jump) -> None:
    go_to(f, instruction.target)


def go_to(f: FunctionLowering, target: str) -> None:
    """Leaves the block for another one, whose phis get their values on the way."""
    f.assign_together(_moves(f, target))
    if target != f.next_block:
        f.emitter.jump(register_name(target))


def lower_branch(f: FunctionLowering, instruction: syntax.Branch) -> None:
    condition = f.scalar(instruction.condition)
    then, other = instruction.then, instruction.other
    if isinstance(condition, Const):
        go_to(f, then if condition.value else other)
    elif then == other and not _has_phis(f, then):
        go_to(f, then)
    elif then == f.next_block and not _has_phis(f, other):
        f.emitter.branch(negate(condition), register_name(other))
        go_to(f, then)
    elif not _has_phis(f, then):
        f.emitter.branch(condition, register_name(then))
        go_to(f, other)
    elif not _has_phis(f, other):
        f.emitter.branch(negate(condition), register_name(other))
        go_to(f, then)
    else:
        label = f.emitter.new_label()
        f.emitter.branch(condition, label)
        f.assign_together(_moves(f, other))
        f.emitter.jump(register_name(other))
        f.emitter.place(label)
        go_to(f, then)


def lower_switch(f: FunctionLowering, instruction: syntax.Switch) -> None:
    bits: int = getattr(instruction.value.type, "bits", 64)
    value = f.scalar(instruction.value)
    if isinstance(value, Const):
        go_to(f, dict(instruction.cases).get(value.value, instruction.default))
        return
    value = f.emitter.keep(value)
    edges: list[tuple[str, str]] = []
    for number, target in instruction.cases:
        label = register_name(target)
        if _has_phis(f, target):
            label = f.emitter.new_label()
            edges.append((label, target))
        f.emitter.branch(binary("eq", bits, value, Const(number)), label)
    _leave(f, instruction.default)
    for label, target in edges:
        f.emitter.place(label)
        _leave(f, target)


def _leave(f: FunctionLowering, target: str) -> None:
    f.assign_together(_moves(f, target))
    f.emitter.jump(register_name(target))


def _phis(f: FunctionLowering, target: str) -> list[syntax.Phi]:
    return [i for i in f.by_name[target].instructions if isinstance(i, syntax.Phi)]


def _has_phis(f: FunctionLowering, target: str) -> bool:
    return bool(_phis(f, target))


def _moves(f: FunctionLowering, target: str) -> list[tuple[str, Expr]]:
    moves: list[tuple[str, Expr]] = []
    for phi in _phis(f, target):
        assert phi.result is not None
        operand = next((operand for operand, block in phi.incoming if block == f.block.name), None)
        if operand is None:
            raise Problem(f"the phi `%{phi.result}` has no value for the block `%{f.block.name}`")
        if f.uses[phi.result] == 0:
            continue
        moves += zip(f.part_names(phi.result, phi.type), f.parts(operand), strict=True)
    return moves


def lower_return(f: FunctionLowering, instruction: syntax.Return) -> None:
    parts = () if instruction.value is None else f.parts(instruction.value)
    for index, part in enumerate(parts[1:]):
        f.emitter.emit(Store(offset(Reg(RESULT), 8 * index), part, 8))
    if f.atomic:
        parts = tuple(map(f.emitter.keep, parts[:1]))
        f.emitter.emit(AtomicEnd())
    f.emitter.emit(Return(parts[0] if parts else None))


def lower_unreachable(f: FunctionLowering, instruction: syntax.Unreachable) -> None:
    f.emitter.fail("control reaches a place that the program promises it never reaches")


def lower_unsupported(f: FunctionLowering, instruction: syntax.Unsupported) -> None:
    raise Problem(f"the instruction `{instruction.op}` is not supported")
