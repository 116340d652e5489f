"""What expressions mean, except calls: operands are evaluated from left to right, and memory is accessed where the
program names it. `*x` is a plain access whatever `x` points at. `&&`, `||` and `?:` branch, except `?:` between two
values that are already there."""

from __future__ import annotations

from difflib import get_close_matches

from dekker.frontends.litmus.c import syntax
from dekker.frontends.litmus.c.builder import (
    NOWHERE,
    Builder,
    Fixed,
    Handler,
    Local,
    Memory,
    Place,
    Shared,
    Value,
    address_of,
    compare,
    convert,
    error,
    falsity,
    fold,
    truth,
    write_local,
)
from dekker.frontends.litmus.c.errors import CError
from dekker.frontends.litmus.c.intrinsics import ORDERS
from dekker.frontends.litmus.c.types import INT, LONG, ULONG, CType, Integer, Pointer, Void, common_type, promoted
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import Assign, Branch, Jump, Load, Store


def lower_all(builder: Builder, nodes: list[syntax.Expression]) -> list[Value]:
    """The values of operands, from left to right; one that a later operand would change is put aside."""
    values: list[Value] = []
    for position, node in enumerate(nodes):
        value = builder.lower(node)
        if any(modifies(later) for later in nodes[position + 1 :]):
            value = put_aside(builder, value, node)
        values.append(value)
    return values


def put_aside(builder: Builder, value: Value, node: syntax.Expression) -> Value:
    if not registers(value.expr):
        return value
    register = builder.temporary()
    builder.emit(Assign(register, value.expr), node)
    return Value(Reg(register), value.type)


def modifies(node: syntax.Expression) -> bool:
    """Can evaluating the expression change a local variable?"""
    match node:
        case syntax.Assignment() | syntax.Step():
            return True
        case syntax.Call():
            return any(
                modifies(argument) or (isinstance(argument, syntax.Unary) and argument.op == "&")
                for argument in node.arguments
            )
        case syntax.Unary() | syntax.Cast():
            return modifies(node.operand)
        case syntax.Binary():
            return modifies(node.left) or modifies(node.right)
        case syntax.Conditional():
            return modifies(node.condition) or modifies(node.then) or modifies(node.other)
    return False


def is_immediate(builder: Builder, node: syntax.Expression) -> bool:
    """Does evaluating the expression emit nothing?"""
    match node:
        case syntax.Number():
            return True
        case syntax.Name():
            return not isinstance(builder.find(node.name), Shared)
        case syntax.Unary():
            return node.op not in "*&" and is_immediate(builder, node.operand)
        case syntax.Cast():
            return is_immediate(builder, node.operand)
        case syntax.Binary():
            return (
                node.op not in ("&&", "||") and is_immediate(builder, node.left) and is_immediate(builder, node.right)
            )
    return False


# Names and places


def _number(builder: Builder, node: syntax.Number, target: Local | None) -> Value:
    return Value(Const(node.value), node.type)


def _text(builder: Builder, node: syntax.Text, target: Local | None) -> Value:
    raise CError("strings are not supported", node.start, node.end - node.start)


def _name(builder: Builder, node: syntax.Name, target: Local | None) -> Value:
    entity = builder.find(node.name)
    match entity:
        case Local(register, kind):
            return Value(Reg(register), kind)
        case Fixed(symbol, kind):
            return Value(Address(symbol), kind)
        case Shared(symbol, kind):
            return read(builder, Memory(Address(symbol), kind), node, target)
    raise _unknown(builder, node)


def _unknown(builder: Builder, node: syntax.Name) -> CError:
    if node.name in ORDERS:
        return error(f"`{node.name}` does not belong here", node, "memory orders are arguments of atomic operations")
    known = list(dict.fromkeys(name for scope in builder.scopes for name in scope))
    close = get_close_matches(node.name, known, 1)
    hint = f"a shared variable is a parameter of the thread: `int* {node.name}`"
    return error(f"unknown name `{node.name}`", node, f"did you mean `{close[0]}`?" if close else hint)


def find_place(builder: Builder, node: syntax.Expression) -> Place:
    """Where an assignment to the expression goes."""
    match node:
        case syntax.Unary(op="*"):
            return address_of(builder, node.operand)
        case syntax.Name():
            entity = builder.find(node.name)
            if isinstance(entity, Local):
                return entity
            if isinstance(entity, Shared):
                return Memory(Address(entity.symbol), entity.type)
            if entity is None:
                raise _unknown(builder, node)
        case syntax.Cast():
            place = find_place(builder, node.operand)
            if isinstance(place, Memory):
                return place
    raise error("this cannot be assigned to", node, "only variables and `*pointer` can")


def read(builder: Builder, place: Place, node: syntax.Expression, target: Local | None = None) -> Value:
    if isinstance(place, Local):
        return Value(Reg(place.register), place.type)
    register = builder.destination(target, place.type)
    builder.emit(Load(register, place.address, place.type.size), node)
    return Value(Reg(register), place.type)


def write(builder: Builder, place: Place, value: Expr, node: syntax.Expression) -> None:
    if isinstance(place, Local):
        builder.emit(Assign(place.register, value), node)
    else:
        builder.emit(Store(place.address, value, place.type.size), node)


# Assignment


def _assignment(builder: Builder, node: syntax.Assignment, target: Local | None) -> Value:
    declared_here = _declared_by(builder, node)
    if declared_here is not None:
        return declared_here
    place = find_place(builder, node.target)
    if node.op:
        return _update(builder, node, place)
    if isinstance(place, Local):
        write_local(builder, place, node.value, node)
        return Value(Reg(place.register), place.type)
    if modifies(node.value):
        place = _kept(builder, place, node.target)
    expr = convert(builder.lower(node.value), place.type, node.value)
    write(builder, place, expr, node)
    return Value(expr, place.type)


def _declared_by(builder: Builder, node: syntax.Assignment) -> Value | None:
    """An assignment to an unknown name declares it for the whole thread, with the type of the value, as in herd."""
    if node.op or not isinstance(node.target, syntax.Name) or builder.find(node.target.name) is not None:
        return None
    name = node.target.name
    value = builder.lower(node.value, Local(name, INT))
    if isinstance(value.type, Void):
        raise error("this has no value", node.value)
    kind = promoted(value.type) if isinstance(value.type, Integer) else value.type
    expr = convert(value, kind, node.value)
    local = builder.scopes[0][name] = builder.declared[name] = Local(name, kind)
    if expr != Reg(name):
        builder.emit(Assign(name, expr), node)
    return Value(Reg(name), local.type)


def _kept(builder: Builder, place: Memory, node: syntax.Expression) -> Memory:
    return Memory(put_aside(builder, Value(place.address, ULONG), node).expr, place.type)


def _update(builder: Builder, node: syntax.Assignment, place: Place) -> Value:
    old = read(builder, place, node.target)
    if modifies(node.value):
        old = put_aside(builder, old, node.target)
        place = _kept(builder, place, node.target) if isinstance(place, Memory) else place
    new = arithmetic(node.op, old, builder.lower(node.value), node)
    expr = convert(new, place.type, node)
    write(builder, place, expr, node)
    return Value(Reg(place.register) if isinstance(place, Local) else expr, place.type)


def _step(builder: Builder, node: syntax.Step, target: Local | None) -> Value:
    place = find_place(builder, node.target)
    old = read(builder, place, node.target)
    if node.postfix and target is not NOWHERE and isinstance(place, Local):
        old = put_aside(builder, old, node)
    expr = convert(arithmetic(node.op, old, Value(ONE, INT), node), place.type, node)
    write(builder, place, expr, node)
    if node.postfix:
        return old
    return Value(Reg(place.register) if isinstance(place, Local) else expr, place.type)


# Operators


def _unary(builder: Builder, node: syntax.Unary, target: Local | None) -> Value:
    op = node.op
    if op == "*":
        return read(builder, address_of(builder, node.operand), node, target)
    if op == "&":
        return _address(builder, node)
    value = builder.lower(node.operand)
    if op == "!":
        expr = falsity(value, node.operand)
        return Value(expr, INT)
    kind = value.type
    if not isinstance(kind, Integer):
        raise error(f"`{op}` needs a number", node)
    kind = promoted(kind)
    expr = convert(value, kind, node.operand)
    if op == "+":
        return Value(expr, kind)
    if isinstance(expr, Const):
        return Value(Const((-expr.value if op == "-" else ~expr.value) & mask(kind.width)), kind)
    return Value(Unary("neg" if op == "-" else "not", kind.width, expr), kind)


def _address(builder: Builder, node: syntax.Unary) -> Value:
    operand = node.operand
    if isinstance(operand, syntax.Name):
        entity = builder.find(operand.name)
        if isinstance(entity, Fixed):
            raise error(f"`{operand.name}` is already the address of the shared variable", node, "leave out the `&`")
        if isinstance(entity, Local):
            raise CError(
                f"the address of the local variable `{operand.name}` cannot be taken",
                node.start,
                node.end - node.start,
                "local variables are registers; make it a shared variable",
            )
    place = find_place(builder, operand)
    assert isinstance(place, Memory)
    return Value(place.address, Pointer(place.type))


_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_SIGNED = {"/": ("udiv", "sdiv"), "%": ("urem", "srem"), ">>": ("lshr", "ashr")}
_COMPARE = {"==": ("eq", "eq"), "!=": ("ne", "ne"), "<": ("ult", "slt"), "<=": ("ule", "sle")}
_COMPARE |= {">": ("ugt", "sgt"), ">=": ("uge", "sge")}


def _binary(builder: Builder, node: syntax.Binary, target: Local | None) -> Value:
    if node.op in ("&&", "||"):
        return _logical(builder, node)
    if node.op == ",":
        builder.lower(node.left, NOWHERE)
        return builder.lower(node.right, target)
    left = builder.lower(node.left)
    if modifies(node.right):
        left = put_aside(builder, left, node.left)
    return arithmetic(node.op, left, builder.lower(node.right), node)


def arithmetic(op: str, left: Value, right: Value, node: syntax.Expression) -> Value:
    if isinstance(left.type, Void) or isinstance(right.type, Void):
        raise error("this has no value", node)
    if isinstance(left.type, Integer) and isinstance(right.type, Integer):
        return _on_integers(op, left, left.type, right, right.type, node)
    return _on_pointers(op, left, right, node)


def _on_integers(
    op: str, left: Value, left_type: Integer, right: Value, right_type: Integer, node: syntax.Expression
) -> Value:
    kind = promoted(left_type) if op in ("<<", ">>") else common_type(left_type, right_type)
    first, second = convert(left, kind, node), convert(right, kind, node)
    if op in _COMPARE:
        return Value(compare(_COMPARE[op][kind.signed], kind.width, first, second), INT)
    name = _ARITHMETIC.get(op) or ("shl" if op == "<<" else _SIGNED[op][kind.signed])
    if isinstance(first, Const) and isinstance(second, Const):
        return Value(fold(name, kind.width, first, second), kind)
    return Value(Binary(name, kind.width, first, second), kind)


def _on_pointers(op: str, left: Value, right: Value, node: syntax.Expression) -> Value:
    if op in _COMPARE:
        first, second = convert(left, ULONG, node), convert(right, ULONG, node)
        return Value(compare(_COMPARE[op][0], 64, first, second), INT)
    if op == "-" and isinstance(left.type, Pointer) and isinstance(right.type, Pointer):
        distance = Binary("sub", 64, left.expr, right.expr)
        return Value(Binary("sdiv", 64, distance, Const(left.type.target.size)), LONG)
    if op == "+" and isinstance(right.type, Pointer):
        left, right = right, left
    if op not in ("+", "-") or isinstance(right.type, Pointer) or not isinstance(left.type, Pointer):
        raise error(f"`{op}` does not work on pointers", node)
    return Value(_moved(left.expr, op, _scaled(right, left.type.target, node)), left.type)


def _scaled(index: Value, target: CType, node: syntax.Expression) -> Expr:
    expr = convert(index, LONG, node)
    if target.size == 1:
        return expr
    if isinstance(expr, Const):
        return Const(expr.value * target.size)
    return Binary("mul", 64, expr, Const(target.size))


def _moved(pointer: Expr, op: str, distance: Expr) -> Expr:
    if isinstance(pointer, Address) and isinstance(distance, Const):
        value = distance.value - (1 << 64) if distance.value >> 63 else distance.value
        return Address(pointer.symbol, pointer.offset + (value if op == "+" else -value))
    return Binary("add" if op == "+" else "sub", 64, pointer, distance)


def _cast(builder: Builder, node: syntax.Cast, target: Local | None) -> Value:
    if isinstance(node.type, Void):
        builder.lower(node.operand, NOWHERE)
        return Value(ZERO, node.type)
    return Value(convert(builder.lower(node.operand), node.type, node), node.type)


# Control


def jump_if(builder: Builder, node: syntax.Expression, label: str, *, holds: bool) -> None:
    """Goes to the label if the condition is true (or, unless `holds`, if it is false), else falls through."""
    match node:
        case syntax.Number():
            if bool(node.value) == holds:
                builder.emit(Jump(label), node)
        case syntax.Unary(op="!"):
            jump_if(builder, node.operand, label, holds=not holds)
        case syntax.Binary(op="&&" | "||") if (node.op == "||") == holds:
            jump_if(builder, node.left, label, holds=holds)
            jump_if(builder, node.right, label, holds=holds)
        case syntax.Binary(op="&&" | "||"):
            skip = f"skip.{builder.number()}"
            jump_if(builder, node.left, skip, holds=not holds)
            jump_if(builder, node.right, label, holds=holds)
            builder.place_label(skip)
        case _:
            value = builder.lower(node)
            builder.emit(Branch((truth if holds else falsity)(value, node), label), node)


def _logical(builder: Builder, node: syntax.Binary) -> Value:
    number = builder.number()
    register = f"tmp.{number}"
    builder.emit(Assign(register, ZERO), node)
    jump_if(builder, node, f"false.{number}", holds=False)
    builder.emit(Assign(register, ONE), node)
    builder.place_label(f"false.{number}")
    return Value(Reg(register), INT)


def _conditional(builder: Builder, node: syntax.Conditional, target: Local | None) -> Value:
    if is_immediate(builder, node.condition) and is_immediate(builder, node.then) and is_immediate(builder, node.other):
        condition = truth(builder.lower(node.condition), node.condition)
        then, other = builder.lower(node.then), builder.lower(node.other)
        kind = _common(then, other, node)
        return Value(Select(condition, convert(then, kind, node.then), convert(other, kind, node.other)), kind)
    number = builder.number()
    register = f"tmp.{number}"
    jump_if(builder, node.condition, f"else.{number}", holds=False)
    then = builder.lower(node.then)
    position = len(builder.body)
    builder.emit(Assign(register, then.expr), node.then)
    builder.emit(Jump(f"end.{number}"), node)
    builder.place_label(f"else.{number}")
    other = builder.lower(node.other)
    kind = _common(then, other, node)
    # The type of the whole is known only now.
    builder.body[position] = Assign(register, convert(then, kind, node.then))
    builder.emit(Assign(register, convert(other, kind, node.other)), node.other)
    builder.place_label(f"end.{number}")
    return Value(Reg(register), kind)


def _common(then: Value, other: Value, node: syntax.Expression) -> CType:
    left, right = then.type, other.type
    if isinstance(left, Void) or isinstance(right, Void):
        raise error("both sides of `:` need a value", node, "write `if`")
    if isinstance(left, Integer) and isinstance(right, Integer):
        return common_type(left, right)
    return left if isinstance(left, Pointer) else right


EXPRESSIONS: dict[type, Handler] = {
    syntax.Number: _number,
    syntax.Text: _text,
    syntax.Name: _name,
    syntax.Unary: _unary,
    syntax.Step: _step,
    syntax.Binary: _binary,
    syntax.Assignment: _assignment,
    syntax.Conditional: _conditional,
    syntax.Cast: _cast,
}
