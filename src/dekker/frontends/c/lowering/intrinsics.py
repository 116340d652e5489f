"""LLVM's own functions, `llvm.…`."""

from __future__ import annotations

from collections.abc import Callable

from dekker.frontends.c.llvm import syntax
from dekker.frontends.c.llvm.syntax import Number
from dekker.frontends.c.llvm.types import Type
from dekker.frontends.c.lowering import wide
from dekker.frontends.c.lowering.arithmetic import lower_binary, require_absolute, signed_overflow
from dekker.frontends.c.lowering.arithmetic import width_of as any_width
from dekker.frontends.c.lowering.byte_loops import copy_any, fill_any
from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, offset, select, truncate, unary
from dekker.frontends.c.lowering.function import VARIADIC, FunctionLowering
from dekker.frontends.c.lowering.memory import Shape, begin_scope, copy_bytes, end_scope, fill_bytes, side_of
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg
from dekker.ir.floating import to_pattern
from dekker.ir.instructions import Fence, Load, Store

Handler = Callable[[FunctionLowering, syntax.Call], None]


def lower_intrinsic(f: FunctionLowering, call: syntax.Call, name: str) -> None:
    words = name.removeprefix("llvm.").split(".")
    for count in range(len(words), 0, -1):
        handler = _INTRINSICS.get(".".join(words[:count]))
        if handler is not None:
            handler(f, call)
            return
    raise Problem(f"the intrinsic `{name}` is not supported")


def width_of(kind: Type) -> int:
    width = any_width(kind)
    if width > 64:
        raise Problem("this function is not supported for integers of more than 64 bits")
    return width


def _operands(call: syntax.Call) -> list[syntax.Operand]:
    return [argument.operand for argument in call.arguments]


def _ignore(f: FunctionLowering, call: syntax.Call) -> None:
    pass


def _begin_scope(f: FunctionLowering, call: syntax.Call) -> None:
    variable = _operands(call)[-1].value
    if isinstance(variable, syntax.Local):
        begin_scope(f, variable.name)


def _end_scope(f: FunctionLowering, call: syntax.Call) -> None:
    variable = _operands(call)[-1].value
    if isinstance(variable, syntax.Local):
        end_scope(f, variable.name)


def _zero(f: FunctionLowering, call: syntax.Call) -> None:
    f.define(call.result, (ZERO,) * len(f.layout.leaves(call.type)))


def _first(f: FunctionLowering, call: syntax.Call) -> None:
    f.define(call.result, f.parts(_operands(call)[0]))


def _trap(f: FunctionLowering, call: syntax.Call) -> None:
    f.emitter.fail("the program stops itself with a trap")
    f.ended = True


def _object_size(f: FunctionLowering, call: syntax.Call) -> None:
    """Unknown: 0 if the smallest is asked for, else all ones."""
    smallest = getattr(_operands(call)[1].value, "value", 0)
    f.define(call.result, (ZERO if smallest else Const(mask(width_of(call.type))),))


# --- copies


def _copy(f: FunctionLowering, call: syntax.Call) -> None:
    target, source, size = _operands(call)[:3]
    align = min(call.arguments[0].align, call.arguments[1].align)
    if isinstance(size.value, Number):
        shape = Shape(align, None, f.symbol.debug.fields(call.layout))
        copy_bytes(f, side_of(f, target), side_of(f, source), size.value.value, shape)
        return
    copy_any(f, f.scalar(target), f.scalar(source), f.scalar(size), align)


def _fill(f: FunctionLowering, call: syntax.Call) -> None:
    target, value, size = _operands(call)[:3]
    if isinstance(size.value, Number):
        fill_bytes(f, side_of(f, target), f.scalar(value), size.value.value, call.arguments[0].align)
        return
    fill_any(f, f.scalar(target), f.scalar(value), f.scalar(size), call.arguments[0].align)


# --- arithmetic


def _kept(f: FunctionLowering, call: syntax.Call, count: int) -> list[Expr]:
    return [f.emitter.keep(f.scalar(operand)) for operand in _operands(call)[:count]]


def _extreme(comparison: str) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(call.type)
        left, right = _kept(f, call, 2)
        f.define(call.result, (select(binary(comparison, width, left, right), left, right),))

    return lower


def _absolute(f: FunctionLowering, call: syntax.Call) -> None:
    """C leaves open what that of the smallest number is."""
    width = width_of(call.type)
    (value,) = _kept(f, call, 1)
    if f.unit.dialect.overflow:
        require_absolute(f.emitter, width, value)
    negative = binary("slt", width, value, ZERO)
    f.define(call.result, (select(negative, unary("neg", width, value), value),))


def _overflow(op: str, signed: bool) -> Handler:
    """The result, and whether it does not fit."""

    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(_operands(call)[0].type)
        left, right = _kept(f, call, 2)
        result = f.emitter.keep(binary(op, width, left, right))
        check = signed_overflow if signed else _unsigned_overflow
        f.define(call.result, (result, f.emitter.keep(check(f.emitter, op, width, left, right, result))))

    return lower


def _unsigned_overflow(emitter: Emitter, op: str, width: int, left: Expr, right: Expr, result: Expr) -> Expr:
    if op == "add":
        return binary("ult", width, result, left)
    if op == "sub":
        return binary("ult", width, left, right)
    if width <= 32:
        return binary("ne", 64, binary("lshr", 64, binary("mul", 64, left, right), Const(width)), ZERO)
    _, high = wide.full_product(emitter, left, right)
    if width == 64:
        return binary("ne", 64, high, ZERO)
    raise Problem(f"overflow checks of {width}-bit products are not supported")


def _saturating(op: str, signed: bool) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(call.type)
        left, right = _kept(f, call, 2)
        result = f.emitter.keep(binary(op, width, left, right))
        check = signed_overflow if signed else _unsigned_overflow
        over = check(f.emitter, op, width, left, right, result)
        if signed:
            largest, smallest = Const(mask(width - 1)), Const(1 << (width - 1))
            limit: Expr = select(binary("slt", width, left, ZERO), smallest, largest)
        else:
            limit = ZERO if op == "sub" else Const(mask(width))
        f.define(call.result, (select(over, limit, result),))

    return lower


def _swap_bytes(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    (value,) = _kept(f, call, 1)
    total: Expr = ZERO
    for low in range(0, width, 8):
        byte = truncate(8, binary("lshr", 64, value, Const(low)))
        total = binary("or", 64, binary("shl", 64, byte, Const(width - 8 - low)), total)
    f.define(call.result, (total,))


def count_ones(f: FunctionLowering, value: Expr) -> Expr:
    """By adding neighbours: bits, pairs, groups of four, bytes."""
    keep = f.emitter.keep
    value = keep(value)
    pairs = keep(binary("sub", 64, value, _masked(value, 1, 0x5555_5555_5555_5555)))
    fours_mask = Const(0x3333_3333_3333_3333)
    fours = keep(binary("add", 64, binary("and", 64, pairs, fours_mask), _masked(pairs, 2, fours_mask.value)))
    sums = binary("add", 64, fours, binary("lshr", 64, fours, Const(4)))
    in_bytes = binary("and", 64, sums, Const(0x0F0F_0F0F_0F0F_0F0F))
    return binary("lshr", 64, binary("mul", 64, in_bytes, Const(0x0101_0101_0101_0101)), Const(56))


def _masked(value: Expr, shift: int, pattern: int) -> Expr:
    return binary("and", 64, binary("lshr", 64, value, Const(shift)), Const(pattern))


def _ones(f: FunctionLowering, call: syntax.Call) -> None:
    width_of(call.type)
    f.define(call.result, (count_ones(f, f.scalar(_operands(call)[0])),))


def _counted(f: FunctionLowering, call: syntax.Call) -> Expr:
    """A number whose zeros are counted. That of 0 may be undefined; where the compiler does not mean it, it selects
    something else then."""
    (value,) = _kept(f, call, 1)
    if _operands(call)[1].value == Number(1) and not _is_selected(f, call.result):
        width = width_of(call.type)
        is_set = value if width == 64 else truncate(width, value)
        f.emitter.require(is_set, "how many zeros 0 begins or ends with is undefined", loose=True)
    return value


def _is_selected(f: FunctionLowering, result: str | None) -> bool:
    """By a selection in its block, perhaps as a part of a sum or converted."""
    found = {syntax.Local(result)} if result is not None else set[syntax.Value]()
    for step in f.block.instructions:
        mentioned = not found.isdisjoint(operand.value for operand in step.operands())
        if mentioned and isinstance(step, syntax.Select):
            return True
        if mentioned and isinstance(step, syntax.Binary | syntax.Cast) and step.result is not None:
            found.add(syntax.Local(step.result))
    return False


def _trailing_zeros(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    value = _counted(f, call)
    below = binary("and", width, unary("not", width, value), binary("sub", width, value, Const(1)))
    f.define(call.result, (count_ones(f, below),))


def _leading_zeros(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    value = _counted(f, call)
    shift = 1
    while shift < width:
        value = f.emitter.keep(binary("or", width, value, binary("lshr", width, value, Const(shift))))
        shift *= 2
    f.define(call.result, (binary("sub", width, Const(width), count_ones(f, value)),))


def _funnel(left: bool) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(call.type)
        high, low, count = _kept(f, call, 3)
        count = f.emitter.keep(binary("urem", width, count, Const(width)))
        rest = binary("sub", width, Const(width), count)
        if left:
            parts = binary("shl", width, high, count), binary("lshr", width, low, rest)
        else:
            parts = binary("shl", width, high, rest), binary("lshr", width, low, count)
        f.define(call.result, (Binary("or", width, *parts),))

    return lower


def _reverse_bits(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    (value,) = _kept(f, call, 1)
    total: Expr = ZERO
    for bit in range(width):
        one = truncate(1, binary("lshr", 64, value, Const(bit)))
        total = f.emitter.keep(binary("or", 64, binary("shl", 64, one, Const(width - 1 - bit)), total))
    f.define(call.result, (total,))


def _float_absolute(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    (value,) = _kept(f, call, 1)
    f.define(call.result, (binary("and", width, value, Const(mask(width - 1))),))


def _copy_sign(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    value, sign = _kept(f, call, 2)
    number = binary("and", width, value, Const(mask(width - 1)))
    f.define(call.result, (binary("or", width, number, binary("and", width, sign, Const(1 << (width - 1)))),))


def _multiply_add(f: FunctionLowering, call: syntax.Call) -> None:
    a, b, c = (f.parts(operand) for operand in _operands(call)[:3])
    product = lower_binary(f.emitter, "fmul", call.type, a, b)
    f.define(call.result, lower_binary(f.emitter, "fadd", call.type, product, c))


def _root(f: FunctionLowering, call: syntax.Call) -> None:
    width = width_of(call.type)
    f.define(call.result, (unary("fsqrt", width, f.scalar(_operands(call)[0])),))


def _rounded(adjusted: Callable[[int, Expr, Expr], Expr]) -> Handler:
    """To a whole number. Numbers with as many digits as the type has, infinities and NaN stay; the sign is kept, also
    of zero."""

    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(call.type)
        (value,) = _kept(f, call, 1)
        sign = binary("and", width, value, Const(1 << (width - 1)))
        size = f.emitter.keep(binary("and", width, value, Const(mask(width - 1))))
        whole = f.emitter.keep(unary(f"sitofp{width}", 64, unary("fptosi", width, value)))
        result = binary("and", width, adjusted(width, value, whole), Const(mask(width - 1)))
        limit = Const(to_pattern(width, 2.0 ** (52 if width == 64 else 23)))
        f.define(call.result, (select(binary("flt", width, size, limit), binary("or", width, result, sign), value),))

    return lower


def _truncated(width: int, value: Expr, whole: Expr) -> Expr:
    return whole


def _floor(width: int, value: Expr, whole: Expr) -> Expr:
    return select(binary("flt", width, value, whole), _plus(width, whole, -1.0), whole)


def _ceiling(width: int, value: Expr, whole: Expr) -> Expr:
    return select(binary("flt", width, whole, value), _plus(width, whole, 1.0), whole)


def _plus(width: int, value: Expr, number: float) -> Expr:
    return binary("fadd", width, value, Const(to_pattern(width, number)))


def _away_from_zero(width: int, value: Expr, whole: Expr) -> Expr:
    """The nearest, and of two the one that is further from zero."""
    rest = binary("fsub", width, value, whole)
    up = binary("fle", width, Const(to_pattern(width, 0.5)), rest)
    down = binary("fle", width, rest, Const(to_pattern(width, -0.5)))
    return select(up, _plus(width, whole, 1.0), select(down, _plus(width, whole, -1.0), whole))


def _to_even(width: int, value: Expr, whole: Expr) -> Expr:
    """The nearest, and of two the even one: what is lost when a number without room for a fraction is added."""
    large = 2.0 ** (52 if width == 64 else 23)
    size = binary("and", width, value, Const(mask(width - 1)))
    return _plus(width, _plus(width, size, large), -large)


def _float_extreme(smallest: bool) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(call.type)
        left, right = _kept(f, call, 2)
        first = binary("flt", width, left, right) if smallest else binary("flt", width, right, left)
        take_left = binary("or", 1, first, binary("funo", width, right, right))
        f.define(call.result, (select(take_left, left, right),))

    return lower


# --- variable arguments, thread-local variables


def _variadic_start(f: FunctionLowering, call: syntax.Call) -> None:
    """All arguments are in memory: the counters say that no register holds any."""
    if not f.header.variadic:
        raise Problem("`va_start` in a function without variable arguments")
    place = f.emitter.keep(f.scalar(_operands(call)[0]))
    f.emitter.emit(Store(place, Const(48), 4))
    f.emitter.emit(Store(offset(place, 4), Const(176), 4))
    f.emitter.emit(Store(offset(place, 8), Reg(VARIADIC), 8))
    f.emitter.emit(Store(offset(place, 16), ZERO, 8))


def _variadic_copy(f: FunctionLowering, call: syntax.Call) -> None:
    target, source = _kept(f, call, 2)
    for start, size in ((0, 4), (4, 4), (8, 8), (16, 8)):
        register = f.emitter.temporary()
        f.emitter.emit(Load(register, offset(source, start), size))
        f.emitter.emit(Store(offset(target, start), Reg(register), size))


def _assume(f: FunctionLowering, call: syntax.Call) -> None:
    """What the optimiser may assume; what breaks it is undefined, not cut off. What it may assume of pointers stands in
    brackets behind a condition that is true."""
    condition = f.scalar(_operands(call)[0])
    f.emitter.require(condition, "what the program tells the compiler to assume does not hold", loose=True)


def _fence(kind: str) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        f.emitter.emit(Fence(kind))

    return lower


def _three_way(signed: bool) -> Handler:
    def lower(f: FunctionLowering, call: syntax.Call) -> None:
        width = width_of(_operands(call)[0].type)
        left, right = _kept(f, call, 2)
        less, more = ("slt", "sgt") if signed else ("ult", "ugt")
        result = binary("sub", 64, binary(more, width, left, right), binary(less, width, left, right))
        f.define(call.result, (truncate(width_of(call.type), result),))

    return lower


_IGNORED = (
    "dbg assume.unused invariant.start invariant.end experimental.noalias.scope.decl donothing prefetch "
    "sideeffect va_end stackrestore var.annotation codeview pseudoprobe fake.use x86.sse2.pause".split()
)
_FIRST = (
    "expect expect.with.probability launder.invariant.group strip.invariant.group ptr.annotation annotation "
    "threadlocal.address ssa.copy arithmetic.fence preserve.array.access.index".split()
)
_ZERO = "is.constant returnaddress frameaddress stacksave readcyclecounter get.rounding eh.typeid.for".split()

_INTRINSICS: dict[str, Handler] = {
    "lifetime.start": _begin_scope,
    "lifetime.end": _end_scope,
    **dict.fromkeys(_IGNORED, _ignore),
    **dict.fromkeys(_FIRST, _first),
    **dict.fromkeys(_ZERO, _zero),
    **dict.fromkeys(("trap", "debugtrap", "ubsantrap"), _trap),
    **dict.fromkeys(("memcpy", "memmove", "memcpy.inline"), _copy),
    **dict.fromkeys(("memset", "memset.inline"), _fill),
    "assume": _assume,
    "objectsize": _object_size,
    "allow.ubsan.check": _ignore,
    "smax": _extreme("sgt"),
    "smin": _extreme("slt"),
    "umax": _extreme("ugt"),
    "umin": _extreme("ult"),
    "scmp": _three_way(True),
    "ucmp": _three_way(False),
    "abs": _absolute,
    "sadd.with.overflow": _overflow("add", True),
    "ssub.with.overflow": _overflow("sub", True),
    "smul.with.overflow": _overflow("mul", True),
    "uadd.with.overflow": _overflow("add", False),
    "usub.with.overflow": _overflow("sub", False),
    "umul.with.overflow": _overflow("mul", False),
    "sadd.sat": _saturating("add", True),
    "ssub.sat": _saturating("sub", True),
    "uadd.sat": _saturating("add", False),
    "usub.sat": _saturating("sub", False),
    "bswap": _swap_bytes,
    "bitreverse": _reverse_bits,
    "ctpop": _ones,
    "ctlz": _leading_zeros,
    "cttz": _trailing_zeros,
    "fshl": _funnel(True),
    "fshr": _funnel(False),
    "fabs": _float_absolute,
    "copysign": _copy_sign,
    "fmuladd": _multiply_add,
    "sqrt": _root,
    "trunc": _rounded(_truncated),
    "floor": _rounded(_floor),
    "ceil": _rounded(_ceiling),
    "round": _rounded(_away_from_zero),
    **dict.fromkeys(("rint", "nearbyint", "roundeven"), _rounded(_to_even)),
    "minnum": _float_extreme(True),
    "maxnum": _float_extreme(False),
    "x86.sse2.mfence": _fence("mfence"),
    "x86.sse2.lfence": _fence("lfence"),
    "x86.sse.sfence": _fence("sfence"),
    "va_start": _variadic_start,
    "va_copy": _variadic_copy,
}
