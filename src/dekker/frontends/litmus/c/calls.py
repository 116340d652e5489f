"""What calls mean: the actions of the intrinsics table.

An order that C11 forbids for an access, such as a release load, counts for the part of it that fits: the tests of the
public collections use them, and a release load synchronises no more than a relaxed one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from difflib import get_close_matches

from dekker.frontends.litmus.c import syntax
from dekker.frontends.litmus.c.builder import (
    NOWHERE,
    Builder,
    Local,
    Memory,
    Place,
    Value,
    address_of,
    convert,
    error,
    same_form,
    truth,
)
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.expressions import modifies, put_aside, read, write
from dekker.frontends.litmus.c.intrinsics import FENCES, INTRINSICS, LOCKS, ORDERS, ROLES, Intrinsic
from dekker.frontends.litmus.c.kernel import is_kernel_primitive, kernel_error
from dekker.frontends.litmus.c.types import INT, LONG, VOID, CType, Pointer
from dekker.ir.expressions import ONE, ZERO, Binary, Const, Expr, Reg, Unary
from dekker.ir.instructions import Assert, Assume, Branch, CompareExchange, Fence, Load, Order, Rmw, Store
from dekker.records import dataclass


@dataclass(slots=True)
class Arguments:
    """The evaluated arguments, by their roles. `value` is not yet converted to the type of the place."""

    place: Memory = field(default_factory=lambda: Memory(ZERO, INT))
    value: Value = field(default_factory=lambda: Value(ZERO, INT))
    expected: Place = NOWHERE
    result: Place = NOWHERE
    order: Order = Order.SEQ_CST
    failure: Order | None = None
    weak: bool = False


def lower_call(builder: Builder, node: syntax.Call, target: Local | None) -> Value:
    intrinsic = INTRINSICS.get(node.function.removeprefix("std::"))
    if intrinsic is None:
        raise _refused(node)
    most = len(intrinsic.arguments)
    if not most - intrinsic.optional <= len(node.arguments) <= most:
        raise _wrong_count(node, intrinsic)
    return _ACTIONS[intrinsic.action](builder, node, intrinsic, target)


def _refused(node: syntax.Call) -> CError:
    name = node.function
    if is_kernel_primitive(name):
        return kernel_error(name, node.start)
    if name in LOCKS:
        return CError(f"the lock function `{name}` is not supported", node.start, len(name), "write it with atomics")
    close = get_close_matches(name, INTRINSICS, 1)
    hint = f"did you mean `{close[0]}`?" if close else "known are the functions of <stdatomic.h>, __atomic_*, __sync_*"
    return CError(f"unknown function `{name}`", node.start, len(name), hint)


def _wrong_count(node: syntax.Call, intrinsic: Intrinsic) -> CError:
    most = len(intrinsic.arguments)
    takes = f"{most - intrinsic.optional} or {most}" if intrinsic.optional else str(most)
    plural = "" if takes == "1" else "s"
    arguments = ", ".join(ROLES[role] for role in intrinsic.arguments)
    message = f"`{node.function}` takes {takes} argument{plural}, found {len(node.arguments)}"
    return error(message, node, f"write `{node.function}({arguments})`")


# Arguments


def _evaluate(builder: Builder, node: syntax.Call, intrinsic: Intrinsic) -> Arguments:
    found = Arguments(order=intrinsic.order, weak=intrinsic.weak)
    for position, (role, argument) in enumerate(zip(intrinsic.arguments, node.arguments, strict=False)):
        _EVALUATE[role](builder, found, argument)
        if any(modifies(later) for later in node.arguments[position + 1 :]):
            found.place = Memory(put_aside(builder, Value(found.place.address, LONG), argument).expr, found.place.type)
            found.value = put_aside(builder, found.value, argument)
    return found


def _place(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.place = address_of(builder, node)


def _value(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.value = builder.lower(node)


def _source(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.value = read(builder, _local_or_memory(builder, node), node)


def _expected(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.expected = _local_or_memory(builder, node)


def _result(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.result = _local_or_memory(builder, node)


def _compared(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    """A value to compare with is a nameless variable that holds it."""
    register = builder.temporary()
    value = builder.lower(node)
    write(builder, Local(register, found.place.type), convert(value, found.place.type, node), node)
    found.expected = Local(register, found.place.type)


def _order(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.order = _memory_order(node)


def _failure(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    found.failure = _memory_order(node)


def _weak(builder: Builder, found: Arguments, node: syntax.Expression) -> None:
    if not isinstance(node, syntax.Number):
        raise error("expected a constant", node)
    found.weak = bool(node.value)


_EVALUATE: dict[str, Callable[[Builder, Arguments, syntax.Expression], None]] = {
    "place": _place,
    "value": _value,
    "source": _source,
    "result": _result,
    "expected": _expected,
    "compared": _compared,
    "order": _order,
    "failure": _failure,
    "weak": _weak,
}


def _local_or_memory(builder: Builder, node: syntax.Expression) -> Place:
    """What a pointer argument points at, which here may be the address of a local variable."""
    if isinstance(node, syntax.Unary) and node.op == "&" and isinstance(node.operand, syntax.Name):
        entity = builder.find(node.operand.name)
        if isinstance(entity, Local):
            return entity
    return address_of(builder, node)


def _memory_order(node: syntax.Expression) -> Order:
    name = node.name if isinstance(node, syntax.Name) else ""
    if name not in ORDERS:
        hint = "memory_order_relaxed, _consume, _acquire, _release, _acq_rel or _seq_cst"
        raise error("expected a memory order" + (f", found `{name}`" if name else ""), node, hint)
    return ORDERS[name]


_READ_PART = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}
_WRITE_PART = {Order.CONSUME: Order.RELAXED, Order.ACQUIRE: Order.RELAXED, Order.ACQ_REL: Order.RELEASE}


def _of_read(order: Order) -> Order:
    return _READ_PART.get(order, order)


def _of_write(order: Order) -> Order:
    return _WRITE_PART.get(order, order)


def _operand(found: Arguments, node: syntax.Expression) -> Expr:
    return convert(found.value, found.place.type, node)


# Actions


def _load(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    found = _evaluate(builder, node, intrinsic)
    address, kind = found.place
    register = builder.destination(_wanted(found, target), kind)
    builder.emit(Load(register, address, kind.size, _of_read(found.order)), node)
    return _delivered(builder, found, Value(Reg(register), kind), node)


def _wanted(found: Arguments, target: Local | None) -> Local | None:
    return found.result if isinstance(found.result, Local) and found.result is not NOWHERE else target


def _delivered(builder: Builder, found: Arguments, value: Value, node: syntax.Call) -> Value:
    """GCC's generic forms write the result through a pointer."""
    place = found.result
    if place is NOWHERE:
        return value
    expr = convert(value, place.type, node)
    if not (isinstance(place, Local) and expr == Reg(place.register)):
        write(builder, place, expr, node)
    return Value(ZERO, VOID)


def _store(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    found = _evaluate(builder, node, intrinsic)
    builder.emit(Store(found.place.address, _operand(found, node), found.place.type.size, _of_write(found.order)), node)
    return Value(ZERO, VOID)


def _rmw(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    found = _evaluate(builder, node, intrinsic)
    address, kind = found.place
    operand = _rmw_operand(found, intrinsic, node)
    if found.result is NOWHERE and target is NOWHERE:
        builder.emit(Rmw(None, _rmw_op(intrinsic, kind), address, operand, kind.size, found.order), node)
        return Value(ZERO, kind)
    register = builder.temporary() if intrinsic.new else builder.destination(_wanted(found, target), kind)
    builder.emit(Rmw(register, _rmw_op(intrinsic, kind), address, operand, kind.size, found.order), node)
    if intrinsic.new:
        return Value(_new_value(intrinsic.op, kind, Reg(register), operand), kind)
    return _delivered(builder, found, Value(Reg(register), kind), node)


def _rmw_operand(found: Arguments, intrinsic: Intrinsic, node: syntax.Call) -> Expr:
    """C11's arithmetic on atomic pointers counts in elements, GCC's in bytes."""
    kind = found.place.type
    by_element = intrinsic.op in ("add", "sub") and node.function.startswith("atomic_")
    if by_element and isinstance(kind, Pointer) and kind.target.size > 1:
        return Binary("mul", 64, convert(found.value, LONG, node), Const(kind.target.size))
    return _operand(found, node)


def _rmw_op(intrinsic: Intrinsic, kind: CType) -> str:
    return f"u{intrinsic.op}" if intrinsic.op in ("max", "min") and not kind.signed else intrinsic.op


def _new_value(op: str, kind: CType, old: Expr, operand: Expr) -> Expr:
    if op == "nand":
        return Unary("not", kind.width, Binary("and", kind.width, old, operand))
    return Binary(op, kind.width, old, operand)


def _compare_exchange(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    """A plain read of `*expected`, the compare-exchange, and, if it fails, a plain write of the old value to
    `*expected`. A local variable as `expected` simply takes the old value: after success it holds that already."""
    found = _evaluate(builder, node, intrinsic)
    address, kind = found.place
    place = found.expected
    expected = convert(read(builder, place, node), kind, node)
    in_register = isinstance(place, Local) and same_form(place.type, kind)
    old = place.register if isinstance(place, Local) and in_register else builder.temporary()
    returns_old = intrinsic.op == "old"
    success = None
    if not (returns_old or (in_register and target is NOWHERE)):
        success = builder.temporary() if target in (NOWHERE, place) else builder.destination(target, INT)
    failure = _of_read(found.failure or found.order)
    desired, size = _operand(found, node), kind.size
    builder.emit(
        CompareExchange(old, success, address, expected, desired, size, found.order, failure, found.weak), node
    )
    if success is not None and not in_register:
        end = f"end.{builder.number()}"
        builder.emit(Branch(Reg(success), end), node)
        write(builder, place, convert(Value(Reg(old), kind), place.type, node), node)
        builder.place_label(end)
    if returns_old:
        return Value(Reg(old), kind)
    return Value(ZERO if success is None else Reg(success), INT)


def _test_and_set(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    found = _evaluate(builder, node, intrinsic)
    address, kind = found.place
    register = None if target is NOWHERE else builder.destination(target, kind)
    builder.emit(Rmw(register, "xchg", address, ONE, kind.size, found.order), node)
    return Value(ZERO if register is None else Reg(register), kind)


def _clear(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    found = _evaluate(builder, node, intrinsic)
    builder.emit(Store(found.place.address, ZERO, found.place.type.size, _of_write(found.order)), node)
    return Value(ZERO, VOID)


def _fence(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    builder.emit(Fence(FENCES[_evaluate(builder, node, intrinsic).order]), node)
    return Value(ZERO, VOID)


def _nothing(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    _evaluate(builder, node, intrinsic)
    return Value(ZERO, VOID)


def _assume(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    value = builder.lower(node.arguments[0])
    builder.emit(Assume(truth(value, node)), node)
    return Value(ZERO, VOID)


def _assert(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    argument = node.arguments[0]
    value = builder.lower(argument)
    builder.emit(Assert(truth(value, node), builder.text[argument.start : argument.end]), node)
    return Value(ZERO, VOID)


def _pass(builder: Builder, node: syntax.Call, intrinsic: Intrinsic, target: Local | None) -> Value:
    return builder.lower(node.arguments[0], target)


_ACTIONS: dict[str, Callable[[Builder, syntax.Call, Intrinsic, Local | None], Value]] = {
    "load": _load,
    "store": _store,
    "rmw": _rmw,
    "compare_exchange": _compare_exchange,
    "test_and_set": _test_and_set,
    "clear": _clear,
    "fence": _fence,
    "nothing": _nothing,
    "assume": _assume,
    "assert": _assert,
    "pass": _pass,
}
