"""Loops over bytes: copies and fills whose size is large, or known only when the program runs."""

from __future__ import annotations

from collections.abc import Callable

from dekker.frontends.c.lowering.expressions import binary
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg
from dekker.ir.instructions import Assign, Load, Store


def copy_loop(f: FunctionLowering, target: Expr, source: Expr, size: Expr, unit: int, *, overlap: bool = True) -> None:
    """Copies upwards, or downwards where the target begins inside the source."""
    e = f.emitter
    target, source, size = e.keep(target), e.keep(source), e.keep(size)
    downwards, done = e.new_label(), e.new_label()
    if overlap:
        e.branch(binary("ult", 64, binary("sub", 64, target, source), size), downwards)
    _loop(f, target, source, size, unit, 1)
    e.jump(done)
    if overlap:
        e.place(downwards)
        _loop(f, target, source, size, unit, -1)
    e.place(done)


def _loop(f: FunctionLowering, target: Expr, source: Expr, size: Expr, unit: int, step: int) -> None:
    """Moves `unit` bytes at a time; sizes are multiples of it."""
    e = f.emitter
    index, moved, head, end = e.temporary(), e.temporary(), e.new_label(), e.new_label()
    position = Reg(index) if step > 0 else binary("sub", 64, Reg(index), Const(unit))
    e.emit(Assign(index, ZERO if step > 0 else size))
    e.place(head)
    e.branch(binary("uge", 64, Reg(index), size) if step > 0 else binary("eq", 64, Reg(index), ZERO), end)
    e.emit(Load(moved, Binary("add", 64, source, position), unit))
    e.emit(Store(Binary("add", 64, target, position), Reg(moved), unit, copy=True))
    e.emit(Assign(index, Binary("add", 64, Reg(index), Const(unit * step))))
    e.jump(head)
    e.place(end)


def fill_loop(f: FunctionLowering, target: Expr, value: Expr, size: Expr, unit: int) -> None:
    e = f.emitter
    target, size = e.keep(target), e.keep(size)
    pattern = e.keep(repeated(value, unit))
    index, head, end = e.temporary(), e.new_label(), e.new_label()
    e.emit(Assign(index, ZERO))
    e.place(head)
    e.branch(binary("uge", 64, Reg(index), size), end)
    e.emit(Store(Binary("add", 64, target, Reg(index)), pattern, unit))
    e.emit(Assign(index, Binary("add", 64, Reg(index), Const(unit))))
    e.jump(head)
    e.place(end)


def copy_any(f: FunctionLowering, target: Expr, source: Expr, size: Expr, align: int = 1) -> None:
    """A copy whose size is known only when the program runs: in steps of the alignment if the size is a multiple."""
    e = f.emitter
    target, source, size = e.keep(target), e.keep(source), e.keep(size)
    _by_step(f, size, align, lambda unit: copy_loop(f, target, source, size, unit))


def fill_any(f: FunctionLowering, target: Expr, value: Expr, size: Expr, align: int = 1) -> None:
    e = f.emitter
    target, value, size = e.keep(target), e.keep(value), e.keep(size)
    _by_step(f, size, align, lambda unit: fill_loop(f, target, value, size, unit))


def _by_step(f: FunctionLowering, size: Expr, align: int, loop: Callable[[int], None]) -> None:
    unit = min(8, align)
    if unit == 1:
        loop(1)
        return
    odd, done = f.emitter.new_label(), f.emitter.new_label()
    f.emitter.branch(binary("ne", 64, binary("urem", 64, size, Const(unit)), ZERO), odd)
    loop(unit)
    f.emitter.jump(done)
    f.emitter.place(odd)
    loop(1)
    f.emitter.place(done)


def repeated(value: Expr, width: int) -> Expr:
    """A byte, so many times."""
    pattern = int.from_bytes(b"\1" * width, "little")
    return value if width == 1 else binary("mul", 8 * width, value, Const(pattern))
