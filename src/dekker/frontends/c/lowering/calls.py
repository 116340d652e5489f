"""Calls: of functions of the program, through pointers, of the runtime library, of intrinsics."""

from __future__ import annotations

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Argument, Header
from dekker.frontends.c.lowering.arithmetic import Parts
from dekker.frontends.c.lowering.assembly import lower_assembly
from dekker.frontends.c.lowering.control import go_to
from dekker.frontends.c.lowering.expressions import offset
from dekker.frontends.c.lowering.function import SELF, FunctionLowering
from dekker.frontends.c.lowering.intrinsics import lower_intrinsic
from dekker.frontends.c.lowering.memory import Shape, Side, copy_bytes
from dekker.frontends.c.lowering.problem import Problem, left_out_message, unknown_message
from dekker.frontends.c.runtime.interface import External, ExternalCall
from dekker.ir.expressions import ZERO, Const, Expr, Reg
from dekker.ir.instructions import Allocate, Call, Load, Refuse, Store
from dekker.source import whole_call


def lower_call(f: FunctionLowering, call: syntax.Call) -> None:
    callee = call.callee.value
    if isinstance(callee, syntax.Assembly):
        lower_assembly(f, call, callee)
    elif isinstance(callee, syntax.Global) and callee.name.startswith("llvm."):
        lower_intrinsic(f, call, callee.name)
    elif isinstance(callee, syntax.Global):
        _call_by_name(f, call, callee.name)
    else:
        _emit_call(f, call, f.scalar(call.callee), call.arguments, call.fixed)
    if call.normal is not None and not f.ended:
        go_to(f, call.normal)


def _call_by_name(f: FunctionLowering, call: syntax.Call, name: str) -> None:
    external = f.unit.external(f.symbol, name)
    if external is not None:
        _call_external(f, call, name, external)
        return
    linked = f.unit.resolve(f.symbol, name)
    if linked is None or not linked.defined:
        f.emitter.emit(Refuse(left_out_message(name) if f.unit.is_left_out(name) else unknown_message(name)))
        f.ended = True
        return
    header = linked.entity
    if not isinstance(header, Header):
        raise Problem(f"`{name}` is no function")
    arguments = call.arguments
    count = len(header.parameters)
    fixed = count if header.variadic else None
    if len(arguments) > count and not header.variadic:
        arguments = arguments[:count]
    missing = count - len(arguments)
    if missing > 0:
        zeros = (Argument(syntax.Operand(p.type, syntax.Zero())) for p in header.parameters[-missing:])
        arguments = (*arguments, *zeros)
    _emit_call(f, call, f.global_address(name), arguments, fixed)


def _call_external(f: FunctionLowering, call: syntax.Call, name: str, external: External) -> None:
    operands = [argument.operand for argument in call.arguments]
    arguments = tuple(tuple(map(f.emitter.keep, f.parts(operand))) for operand in operands)
    types = tuple(operand.type for operand in operands)
    place = f.emitter.span
    f.emitter.span = None if place is None else whole_call(place)
    guarded = call.unwind is not None
    value = external.handler(ExternalCall(name, f, arguments, types, call.type, f.result_register(call), guarded))
    f.emitter.span = place
    if not external.returns:
        f.ended = True
        return
    parts: Parts = value if isinstance(value, tuple) else () if value is None else (value,)
    wanted = len(f.layout.leaves(call.type))
    f.define(call.result, parts if len(parts) == wanted else (ZERO,) * wanted)


def _emit_call(
    f: FunctionLowering, call: syntax.Call, function: Expr, arguments: tuple[Argument, ...], fixed: int | None
) -> None:
    values = [Reg(SELF)] if f.unit.has_context else []
    expressions: list[Expr] = list(values)
    ordinary = arguments if fixed is None else arguments[:fixed]
    for argument in ordinary:
        expressions += _argument(f, argument)
    if fixed is not None:
        expressions.append(_variable_arguments(f, arguments[fixed:]))
    count = len(f.layout.leaves(call.type))
    used = call.result is not None and f.uses[call.result] > 0
    register = f.result_register(call) if used and count else None
    if count <= 1:
        f.emitter.emit(Call(register, function, tuple(expressions)))
        return
    rest = f.emitter.temporary()
    f.emitter.emit(Allocate(rest, Const(8 * (count - 1)), stack=True))
    names = f.part_names(call.result or "", call.type)
    f.emitter.emit(Call(names[0] if used else None, function, (*expressions, Reg(rest))))
    if used:
        for index, name in enumerate(names[1:]):
            f.emitter.emit(Load(name, offset(Reg(rest), 8 * index), 8))


def _argument(f: FunctionLowering, argument: Argument) -> Parts:
    parts = f.parts(argument.operand)
    if argument.by_value is None:
        return parts
    size = f.layout.size(argument.by_value)
    copy = f.emitter.temporary()
    align = max(8, f.layout.align(argument.by_value))
    f.emitter.emit(Allocate(copy, Const(size), align, stack=True))
    _copy_struct(f, Reg(copy), argument, parts[0])
    return (Reg(copy),)


def _copy_struct(f: FunctionLowering, target: Expr, argument: Argument, source: Expr) -> None:
    assert argument.by_value is not None
    kind, operand = argument.by_value, argument.operand
    target_side = Side(syntax.Operand(operand.type, syntax.Zero()), None, 0, target)
    source_side = Side(operand, None, 0, f.emitter.keep(source))
    copy_bytes(f, target_side, source_side, f.layout.size(kind), Shape(f.layout.align(kind), kind))


def _variable_arguments(f: FunctionLowering, arguments: tuple[Argument, ...]) -> Expr:
    """All of them in one block of memory, as the x86-64 calling convention puts those that fit no register."""
    if not arguments:
        return ZERO
    places: list[tuple[int, Argument]] = []
    end = 0
    for argument in arguments:
        kind = argument.by_value or argument.operand.type
        align = 16 if f.layout.align(kind) >= 16 else 8
        start = -(-end // align) * align
        places.append((start, argument))
        end = start + -(-f.layout.size(kind) // 8) * 8
    block = f.emitter.temporary()
    f.emitter.emit(Allocate(block, Const(end), 16, stack=True))
    for start, argument in places:
        parts = f.parts(argument.operand)
        address = offset(Reg(block), start)
        if argument.by_value is not None:
            _copy_struct(f, address, argument, parts[0])
            continue
        for leaf, part in zip(f.layout.leaves(argument.operand.type), parts, strict=True):
            size = f.layout.store_size(leaf.type)
            f.emitter.emit(Store(offset(address, leaf.offset), part, size))
    return Reg(block)


def lower_variadic_argument(f: FunctionLowering, instruction: syntax.VariadicArgument) -> None:
    """`va_arg`, which clang writes for few types: the next 8 bytes of the block."""
    place = f.emitter.keep(offset(f.scalar(instruction.list), 8))
    here, kind = f.emitter.temporary(), instruction.type
    f.emitter.emit(Load(here, place, 8))
    register = f.result_register(instruction)
    size = f.layout.store_size(kind)
    if size not in (1, 2, 4, 8):
        raise Problem("`va_arg` of this type is not supported")
    f.emitter.emit(Load(register, Reg(here), size))
    f.emitter.emit(Store(place, offset(Reg(here), 8), 8))
