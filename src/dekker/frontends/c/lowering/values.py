"""Instructions that compute a value from values."""

from __future__ import annotations

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Number
from dekker.frontends.c.llvm.types import Array, DataLayout, Struct, Type, Vector
from dekker.frontends.c.lowering.arithmetic import (
    OVERFLOW,
    OVERFLOWING,
    lower_binary,
    lower_cast,
    lower_compare,
    signed_overflow,
    width_of,
)
from dekker.frontends.c.lowering.expressions import binary, negate, select
from dekker.frontends.c.lowering.function import FunctionLowering
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.expressions import Const, Expr


def lower_operation(f: FunctionLowering, i: syntax.Binary) -> None:
    left, right = f.parts(i.left), f.parts(i.right)
    if f.unit.dialect.overflow and i.is_signed and i.op in OVERFLOWING and len(left) == 1:
        f.define(i.result, (_checked(f, i, left[0], right[0]),))
        return
    f.define(i.result, lower_binary(f.emitter, i.op, i.left.type, left, right))


def _checked(f: FunctionLowering, i: syntax.Binary, left: Expr, right: Expr) -> Expr:
    """There is no code for the check: nothing depends on it."""
    width = width_of(i.left.type)
    left, right = f.emitter.keep(left), f.emitter.keep(right)
    result = f.emitter.keep(lower_binary(f.emitter, i.op, i.left.type, (left,), (right,))[0])
    overflow = signed_overflow(f.emitter, i.op, width, left, right, result)
    f.emitter.require(negate(overflow), f"{OVERFLOW}: the {OVERFLOWING[i.op]} does not fit {width} bits", loose=True)
    return result


def lower_unary(f: FunctionLowering, i: syntax.Unary) -> None:
    parts = f.parts(i.operand)
    if i.op == "fneg":
        kind = i.operand.type.element if isinstance(i.operand.type, Vector) else i.operand.type
        width = width_of(kind)
        parts = tuple(binary("xor", width, part, Const(1 << (width - 1))) for part in parts)
    f.define(i.result, parts)


def lower_comparison(f: FunctionLowering, i: syntax.Compare) -> None:
    left, right = f.parts(i.left), f.parts(i.right)
    f.define(i.result, lower_compare(f.emitter, i.op, i.predicate, i.left.type, left, right))


def lower_conversion(f: FunctionLowering, i: syntax.Cast) -> None:
    if f.promotion.find(i.operand) is not None:
        return
    parts = f.parts(i.operand)
    source, target = f.layout.resolve(i.operand.type), f.layout.resolve(i.type)
    f.define(i.result, lower_cast(f.emitter, i.op, source, target, parts))


def lower_select(f: FunctionLowering, i: syntax.Select) -> None:
    conditions, then, other = f.parts(i.condition), f.parts(i.then), f.parts(i.other)
    if len(conditions) == 1:
        condition = f.emitter.keep(conditions[0]) if len(then) > 1 else conditions[0]
        conditions = (condition,) * len(then)
    f.define(i.result, tuple(map(select, conditions, then, other)))


def lower_extract(f: FunctionLowering, i: syntax.Extract) -> None:
    start, count = _range(f.layout, i.aggregate.type, i.path)
    f.define(i.result, f.parts(i.aggregate)[start : start + count])


def lower_insert(f: FunctionLowering, i: syntax.Insert) -> None:
    start, count = _range(f.layout, i.aggregate.type, i.path)
    whole = f.parts(i.aggregate)
    f.define(i.result, (*whole[:start], *f.parts(i.element), *whole[start + count :]))


def _range(layout: DataLayout, kind: Type, path: tuple[int, ...]) -> tuple[int, int]:
    """Which scalars of an aggregate a path of indices means."""
    start = 0
    for index in path:
        kind = layout.resolve(kind)
        match kind:
            case Struct(fields):
                start += sum(len(layout.leaves(field)) for field in fields[:index])
                kind = fields[index]
            case Array(_, element):
                start += index * len(layout.leaves(element))
                kind = element
            case _:
                raise Problem("this index goes into something that is no struct or array")
    return start, len(layout.leaves(kind))


def lower_extract_element(f: FunctionLowering, i: syntax.ExtractElement) -> None:
    parts, index = f.parts(i.vector), _index(i.index)
    f.define(i.result, (parts[index],))


def lower_insert_element(f: FunctionLowering, i: syntax.InsertElement) -> None:
    parts: list[Expr] = list(f.parts(i.vector))
    parts[_index(i.index)] = f.scalar(i.element)
    f.define(i.result, tuple(parts))


def _index(operand: syntax.Operand) -> int:
    if not isinstance(operand.value, Number):
        raise Problem("an element of a vector is chosen by a number that is not constant")
    return operand.value.value
