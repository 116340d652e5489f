"""Operations on scalars.

What C leaves undefined is decided so: overflow of signed numbers wraps around (`nsw`, `nuw`, `exact` and the like are
ignored, as a compiler that does not use them would); a division by zero, the division of the smallest number by -1 and
a shift by too much are violations. There is no code for these checks: nothing depends on them.
"""

from __future__ import annotations

from dekker.frontends.c.llvm.types import Float, Integer, Pointer, Type, Vector, type_text
from dekker.frontends.c.lowering import wide
from dekker.frontends.c.lowering.emitter import Emitter
from dekker.frontends.c.lowering.expressions import binary, negate, select, sign_extend, truncate, unary
from dekker.frontends.c.lowering.problem import Problem
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ZERO, Const, Expr

Parts = tuple[Expr, ...]
"""A value: one expression for each scalar in it."""

_DIVISIONS = frozenset(("udiv", "sdiv", "urem", "srem"))
_SHIFTS = frozenset(("shl", "lshr", "ashr"))
_FLOAT_OPERATIONS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem"))


def width_of(kind: Type) -> int:
    """Bits of a scalar."""
    match kind:
        case Integer(bits) if bits <= 128:
            return bits
        case Float(_, bits) if bits in (32, 64):
            return bits
        case Pointer():
            return 64
    hint = "use `double`" if isinstance(kind, Float) else None
    raise Problem(f"arithmetic on values of type `{type_text(kind)}` is not supported", hint)


def lower_binary(emitter: Emitter, op: str, kind: Type, left: Parts, right: Parts) -> Parts:
    if isinstance(kind, Vector):
        pairs = zip(left, right, strict=True)
        return tuple(lower_binary(emitter, op, kind.element, (a,), (b,))[0] for a, b in pairs)
    width = width_of(kind)
    if width > 64:
        return wide.lower_binary(emitter, op, width, (left[0], left[1]), (right[0], right[1]))
    divisor = right[0]
    if op in _DIVISIONS:
        divisor = require_quotient(emitter, op, width, left[0], divisor)
    if op in _SHIFTS:
        divisor = _checked_count(emitter, width, divisor)
    return (binary(op, width, left[0], divisor),)


def _checked_count(emitter: Emitter, width: int, count: Expr) -> Expr:
    if not isinstance(count, Const):
        count = emitter.keep(count)
    message = f"a shift of {width} bits by as many or more, or by a negative number"
    emitter.require(binary("ult", width, count, Const(width)), message, loose=True)
    return count


def require_quotient(emitter: Emitter, op: str, width: int, left: Expr, right: Expr) -> Expr:
    if not isinstance(right, Const):
        right = emitter.keep(right)
        emitter.require(right if width == 64 else truncate(width, right), "division by zero", loose=True)
    elif right.value == 0:
        emitter.fail("division by zero")
    minus_one = mask(width)
    if op in ("sdiv", "srem") and not (isinstance(right, Const) and right.value != minus_one):
        overflow = binary(
            "and", 1, binary("eq", width, left, Const(1 << (width - 1))), binary("eq", width, right, Const(minus_one))
        )
        emitter.require(negate(overflow), "the result of a division does not fit its type", loose=True)
    return right


OVERFLOW = "signed overflow"
OVERFLOWING = {"add": "sum", "sub": "difference", "mul": "product"}


def require_absolute(emitter: Emitter, width: int, value: Expr) -> None:
    fits = binary("ne", width, value, Const(1 << (width - 1)))
    emitter.require(fits, f"{OVERFLOW}: the absolute value does not fit {width} bits", loose=True)


def signed_overflow(emitter: Emitter, op: str, width: int, left: Expr, right: Expr, result: Expr) -> Expr:
    """Whether the result does not fit."""
    if op == "mul":
        return _signed_product_overflow(emitter, width, left, right, result)
    same_signs = binary("xor", width, left, right)
    if op == "add":
        same_signs = unary("not", width, same_signs)
    changed = binary("and", width, same_signs, binary("xor", width, left, result))
    return binary("slt", width, changed, ZERO)


def _signed_product_overflow(emitter: Emitter, width: int, left: Expr, right: Expr, result: Expr) -> Expr:
    if width <= 32:
        product = binary("mul", 64, unary("sext", width, left), unary("sext", width, right))
        return binary("ne", 64, product, unary("sext", width, result))
    if width != 64:
        raise Problem(f"overflow checks of {width}-bit products are not supported")
    low, high = wide.full_product(emitter, left, right)
    high = binary("sub", 64, high, select(binary("slt", 64, left, ZERO), right, ZERO))
    high = binary("sub", 64, high, select(binary("slt", 64, right, ZERO), left, ZERO))
    return binary("ne", 64, high, binary("ashr", 64, low, Const(63)))


# --- comparisons


def lower_compare(emitter: Emitter, op: str, predicate: str, kind: Type, left: Parts, right: Parts) -> Parts:
    if isinstance(kind, Vector):
        pairs = zip(left, right, strict=True)
        return tuple(lower_compare(emitter, op, predicate, kind.element, (a,), (b,))[0] for a, b in pairs)
    width = width_of(kind)
    if op == "fcmp":
        return (_compare_floats(emitter, predicate, width, left[0], right[0]),)
    if width > 64:
        return (wide.compare(emitter, predicate, width, (left[0], left[1]), (right[0], right[1])),)
    return (binary(predicate, width, left[0], right[0]),)


def _compare_floats(emitter: Emitter, predicate: str, width: int, left: Expr, right: Expr) -> Expr:
    if predicate in ("true", "false"):
        return Const(int(predicate == "true"))
    simple = {
        "oeq": ("feq", left, right),
        "olt": ("flt", left, right),
        "ole": ("fle", left, right),
        "ogt": ("flt", right, left),
        "oge": ("fle", right, left),
        "uno": ("funo", left, right),
    }
    if predicate in simple:
        op, first, second = simple[predicate]
        return binary(op, width, first, second)
    opposite = {"une": "oeq", "uge": "olt", "ugt": "ole", "ule": "ogt", "ult": "oge", "ord": "uno", "ueq": "one"}
    if predicate in opposite:
        return negate(_compare_floats(emitter, opposite[predicate], width, left, right))
    left, right = emitter.keep(left), emitter.keep(right)
    return binary("or", 1, binary("flt", width, left, right), binary("flt", width, right, left))


# --- casts


def lower_cast(emitter: Emitter, op: str, source: Type, target: Type, parts: Parts) -> Parts:
    if isinstance(source, Vector) and isinstance(target, Vector) and len(parts) == target.count and op != "bitcast":
        return tuple(lower_cast(emitter, op, source.element, target.element, (part,))[0] for part in parts)
    if op in ("bitcast", "addrspacecast"):
        return _bitcast(source, target, parts)
    before, after = width_of(source), width_of(target)
    if max(before, after) > 64:
        return wide.lower_cast(op, before, after, parts)
    value = parts[0]
    match op:
        case "trunc" | "ptrtoint" | "ptrtoaddr" | "zext" | "inttoptr":
            return (value if after >= before else truncate(after, value),)
        case "sext":
            return (sign_extend(before, after, value),)
        case "fptrunc" | "fpext":
            return (value if before == after else unary(op, before, value),)
        case "fptosi" | "fptoui":
            return (truncate(after, unary(op, before, value)),)
        case "sitofp" | "uitofp":
            return (unary(f"{op}{after}", before, value),)
    raise Problem(f"the conversion `{op}` is not supported")


def _bitcast(source: Type, target: Type, parts: Parts) -> Parts:
    widths = [width_of(kind) for kind in _scalars(source)]
    wanted = [width_of(kind) for kind in _scalars(target)]
    if widths == wanted:
        return parts
    if sum(widths) <= 64 and len(wanted) == 1:
        total: Expr = ZERO
        position = 0
        for part, width in zip(parts, widths, strict=True):
            total = binary("or", 64, binary("shl", 64, part, Const(position)), total)
            position += width
        return (total,)
    if len(widths) == 1:
        starts = [sum(wanted[:index]) for index in range(len(wanted))]
        return tuple(
            truncate(width, binary("lshr", 64, parts[0], Const(start)))
            for start, width in zip(starts, wanted, strict=True)
        )
    raise Problem(f"the conversion from `{type_text(source)}` to `{type_text(target)}` is not supported")


def _scalars(kind: Type) -> list[Type]:
    if isinstance(kind, Vector):
        return [kind.element] * kind.count
    return [Integer(64), Integer(64)] if kind == Integer(128) else [kind]
