"""AArch64 (Armv8-A, A64): data processing, loads and stores of every order, exclusives, atomics, barriers, branches.

`Wn` is the low half of `Xn`; a write to it clears the high half. `XZR` and `WZR` read as 0 and discard writes, but a
load to them still happens. The condition flags are the registers `NZCV.N`, `NZCV.Z`, `NZCV.C` and `NZCV.V`. A pair is
two accesses, the lower address first.
Left out: vectors, system registers and instructions, tagged memory, pointer authentication, code as data, and
exclusives or compare-and-swap on pairs of registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from dekker.frontends.litmus.aarch64_operands import (
    EXTENSIONS,
    SHIFTS,
    Code,
    Place,
    assign,
    bare_place,
    bounded,
    cut,
    modifier,
    named,
    place,
    register,
    second,
    shift,
    target,
    value,
)
from dekker.frontends.litmus.architecture import Architecture, Register
from dekker.frontends.litmus.operands import (
    Form,
    Operand,
    compute,
    displaced,
    form,
    immediate,
    label,
    number,
    outside,
    translate,
)
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ONE, ZERO, Binary, Const, Expr, Reg, Select, Unary, registers
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Jump,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)


def instruction(text: str) -> Code:
    return translate(text, _FORMS, "AArch64", _REASON)


# Data processing


class _Operation(NamedTuple):
    """`inverted` for those that use the complement of their last operand."""

    op: str
    inverted: bool = False
    flags: bool = False


def _operate(
    operation: _Operation, destination: Operand, first: Operand, last: Operand, change: Operand | None = None
) -> Code:
    result = named(destination)
    return _operation(operation, result, value(named(first, result.width)), last, change)


def _operation(operation: _Operation, result: Register, left: Expr, last: Operand, change: Operand | None) -> Code:
    width = result.width
    right = second(width, last, change)
    if operation.inverted:
        right = Unary("not", width, right)
    computed = assign(result, compute(operation.op, width, left, right))
    if not operation.flags:
        return (computed,)
    # The flags come first: the destination may be one of the sources.
    flags = tuple(_set_flags(_flags(operation.op, width, left, right)))
    return flags if result.name == "XZR" else (*flags, computed)


def _compare(operation: _Operation, first: Operand, last: Operand, change: Operand | None = None) -> Code:
    source = named(first)
    return _operation(operation, Register("XZR", source.width), value(source), last, change)


def _from_zero(operation: _Operation, destination: Operand, last: Operand, change: Operand | None = None) -> Code:
    if number(last) is not None:
        raise last.expected("a register")
    return _operation(operation, named(destination), ZERO, last, change)


def _combine(op: str, destination: Operand, first: Operand, last: Operand) -> Code:
    result = named(destination)
    left, right = (value(named(source, result.width)) for source in (first, last))
    return (assign(result, compute(op, result.width, left, right)),)


def _shift(op: str, destination: Operand, first: Operand, last: Operand) -> Code:
    result = named(destination)
    width = result.width
    shifted = value(named(first, width))
    if number(last) is not None:
        return (assign(result, cut(width, shift(op, width, shifted, Const(immediate(last, 0, width - 1))))),)
    amount = compute("and", width, value(named(last, width)), Const(width - 1))
    return (assign(result, shift(op, width, shifted, amount)),)


def _move(destination: Operand, source: Operand) -> Code:
    result = named(destination)
    if number(source) is not None:
        return (assign(result, Const(bounded(source, result.width))),)
    # Litmus tests also write MOV X0,W1.
    moved = named(source, None if result.width == 64 else 32)
    return (assign(result, cut(moved.width, value(moved))),)


def _move_wide(kind: str, destination: Operand, number_: Operand, change: Operand | None = None) -> Code:
    result = named(destination)
    width = result.width
    position = 0
    if change is not None:
        name, position = modifier(change)
        if name != "lsl" or position not in range(0, width, 16):
            raise change.expected(f"`LSL` by {'0, 16, 32 or 48' if width == 64 else '0 or 16'}")
    part = immediate(number_, 0, mask(16)) << position
    if kind == "movk":
        kept = compute("and", width, value(result), Const(~(mask(16) << position)))
        return (assign(result, compute("or", width, kept, Const(part))),)
    return (assign(result, Const((~part if kind == "movn" else part) & mask(width))),)


def _extend(op: str, bits: int, destination: Operand, source: Operand) -> Code:
    result = named(destination)
    extended = Unary(op, bits, value(named(source)))
    return (assign(result, cut(result.width, extended) if op == "sext" else extended),)


def _multiply_add(op: str, destination: Operand, first: Operand, last: Operand, added: Operand | None = None) -> Code:
    """`op` joins `added`, or 0, with the product."""
    result = named(destination)
    width = result.width
    multiplied = compute("mul", width, value(named(first, width)), value(named(last, width)))
    return (assign(result, compute(op, width, ZERO if added is None else value(named(added, width)), multiplied)),)


def _multiply_long(
    op: str, extension: str, destination: Operand, first: Operand, last: Operand, added: Operand | None = None
) -> Code:
    """From factors of 32 bits to a product of 64."""
    left, right = (Unary(extension, 32, value(named(factor, 32))) for factor in (first, last))
    start = ZERO if added is None else value(named(added, 64))
    return (assign(named(destination, 64), compute(op, 64, start, compute("mul", 64, left, right))),)


def _absolute(destination: Operand, source: Operand) -> Code:
    result = named(destination)
    width = result.width
    number_ = value(named(source, width))
    sign = compute("ashr", width, number_, Const(width - 1))
    return (assign(result, compute("sub", width, compute("xor", width, number_, sign), sign)),)


def _extract(destination: Operand, high: Operand, low: Operand, bit: Operand) -> Code:
    result = named(destination)
    width = result.width
    upper, lower = (value(named(source, width)) for source in (high, low))
    position = immediate(bit, 0, width - 1)
    if position == 0:
        return (assign(result, cut(width, lower)),)
    raised = compute("shl", width, upper, Const(width - position))
    return (assign(result, compute("or", width, compute("lshr", width, lower, Const(position)), raised)),)


def _reverse(bits: int, group: int, destination: Operand, source: Operand) -> Code:
    """Reverses pieces of `bits` bits within groups of `group` bits (0: the register): swaps neighbours, then pairs of
    neighbours, and so on."""
    result = named(destination)
    width = result.width
    current = value(named(source, width))
    steps = []
    while bits < (group or width):
        low = Const(sum(mask(bits) << position for position in range(0, width, 2 * bits)))
        raised = compute("shl", width, compute("and", width, current, low), Const(bits))
        lowered = compute("and", width, compute("lshr", width, current, Const(bits)), low)
        steps.append(assign(result, compute("or", width, raised, lowered)))
        current = value(result)
        bits *= 2
    return tuple(steps)


def _bit_field(kind: str, destination: Operand, source: Operand, first: Operand, last: Operand) -> Code:
    """UBFM, SBFM, BFM: moves bits `first` to `last` to the bottom or, if `first` is greater, bits 0 to `last` up."""
    result = named(destination)
    low, high = (immediate(bit, 0, result.width - 1) for bit in (first, last))
    return (assign(result, _field(kind, result, value(named(source, result.width)), low, high)),)


def _bit_range(kind: str, insert: bool, destination: Operand, source: Operand, first: Operand, size: Operand) -> Code:
    """UBFX, SBFX, BFXIL take `size` bits from bit `first`; UBFIZ, SBFIZ, BFI put them there."""
    result = named(destination)
    width = result.width
    start = immediate(first, 0, width - 1)
    count = immediate(size, 1, width - start)
    low, high = (-start % width, count - 1) if insert else (start, start + count - 1)
    return (assign(result, _field(kind, result, value(named(source, width)), low, high)),)


def _field(kind: str, result: Register, source: Expr, low: int, high: int) -> Expr:
    width = result.width
    count, position = (high - low + 1, 0) if high >= low else (high + 1, width - low)
    bits = compute("lshr", width, source, Const(low)) if high >= low else source
    if kind == "sbfm":
        return cut(width, shift("shl", width, Unary("sext", count, bits), Const(position)))
    placed = shift("shl", width, compute("and", width, bits, Const(mask(count))), Const(position))
    if kind == "ubfm":
        return placed
    kept = compute("and", width, value(result), Const(~(mask(count) << position)))
    return compute("or", width, kept, placed)


# Flags and what depends on them

_FLAGS = tuple(Reg(f"NZCV.{flag}") for flag in "NZCV")


def _flags(op: str, width: int, left: Expr, right: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    result = Binary(op, width, left, right)
    negative = Binary("slt", width, result, ZERO)
    zero = Binary("eq", width, result, ZERO)
    if op == "sub":
        # N ≠ V means less than, so V tells whether N is wrong about that.
        overflow = Binary("ne", 1, negative, Binary("slt", width, left, right))
        return negative, zero, Binary("uge", width, left, right), overflow
    if op == "add":
        changed = Binary("and", width, Binary("xor", width, result, left), Binary("xor", width, result, right))
        return negative, zero, Binary("ult", width, result, left), Binary("slt", width, changed, ZERO)
    return negative, zero, ZERO, ZERO


def _set_flags(values: tuple[Expr, ...]) -> Iterator[Assign]:
    return (Assign(flag.name, result) for flag, result in zip(_FLAGS, values, strict=True))


def _clear(flag: Expr) -> Expr:
    return Binary("eq", 1, flag, ZERO)


def _conditions() -> dict[str, Expr]:
    n, z, c, v = _FLAGS
    same = Binary("eq", 1, n, v)
    higher = Binary("and", 1, c, _clear(z))
    greater = Binary("and", 1, _clear(z), same)
    carry = {"hs": c, "cs": c, "lo": _clear(c), "cc": _clear(c)}
    single = {"eq": z, "ne": _clear(z), **carry, "mi": n, "pl": _clear(n), "vs": v, "vc": _clear(v)}
    order = {"hi": higher, "ls": _clear(higher), "ge": same, "lt": _clear(same), "gt": greater, "le": _clear(greater)}
    return {**single, **order, "al": ONE, "nv": ONE}


_CONDITIONS = _conditions()


def _condition(operand: Operand) -> Expr:
    found = _CONDITIONS.get(operand.text.lower())
    if found is None:
        raise operand.expected("a condition", f"conditions are {', '.join(_CONDITIONS).upper()}")
    return found


def _changed(change: str, source: Register) -> Expr:
    """The second choice of CSEL (`keep`), CSINC (`add`), CSINV (`not`) and CSNEG (`neg`)."""
    if change == "keep":
        return cut(source.width, value(source))
    if change == "add":
        return compute("add", source.width, value(source), ONE)
    return Unary(change, source.width, value(source))


def _select(change: str, destination: Operand, first: Operand, last: Operand, condition: Operand) -> Code:
    result = named(destination)
    kept, other = named(first, result.width), named(last, result.width)
    return (assign(result, Select(_condition(condition), _changed("keep", kept), _changed(change, other))),)


def _change_if(change: str, destination: Operand, source: Operand, condition: Operand) -> Code:
    result = named(destination)
    kept = named(source, result.width)
    return (assign(result, Select(_condition(condition), _changed(change, kept), _changed("keep", kept))),)


def _set_if(number_: int, destination: Operand, condition: Operand) -> Code:
    result = named(destination)
    return (assign(result, Select(_condition(condition), Const(number_ & mask(result.width)), ZERO)),)


def _compare_if(op: str, first: Operand, last: Operand, otherwise: Operand, condition: Operand) -> Code:
    source = named(first)
    compared = _flags(op, source.width, value(source), second(source.width, last))
    bits = immediate(otherwise, 0, 15)
    chosen = Reg("NZCV.chosen")
    flags = (Select(chosen, flag, Const(bits >> 3 - i & 1)) for i, flag in enumerate(compared))
    return Assign(chosen.name, _condition(condition)), *_set_flags(tuple(flags))


# Control and barriers


def _jump(destination: Operand) -> Code:
    return (Jump(label(destination)),)


def _branch(condition: Expr, destination: Operand) -> Code:
    return (Branch(condition, label(destination)),)


def _branch_zero(op: str, source: Operand, destination: Operand) -> Code:
    tested = named(source)
    return (Branch(Binary(op, tested.width, value(tested), ZERO), label(destination)),)


def _branch_bit(op: str, source: Operand, bit: Operand, destination: Operand) -> Code:
    tested = named(source)
    chosen = Const(1 << immediate(bit, 0, tested.width - 1))
    return (Branch(Binary(op, 64, Binary("and", 64, value(tested), chosen), ZERO), label(destination)),)


def _return(address: Operand | None = None) -> Code:
    if address is not None and named(address).name != "X30":
        raise address.error("a return ends the thread; returning to another address is not supported")
    return (Exit(),)


def _nothing() -> Code:
    return ()


def _hint(what: Operand) -> Code:
    immediate(what, 0, 127)
    return ()


def _alignment(exponent: Operand) -> Code:
    immediate(exponent, 0, 31)
    return ()


_DOMAINS = tuple(domain + accesses for domain in ("ish", "osh", "nsh") for accesses in ("", "ld", "st"))
_BARRIERS = ("sy", "ld", "st", *_DOMAINS)


def _barrier(kind: str, option: Operand) -> Code:
    name = option.text.lower()
    if name not in _BARRIERS:
        raise option.expected("a barrier option", f"options are {', '.join(_BARRIERS).upper()}")
    return (Fence(f"{kind}.{name}"),)


def _instruction_barrier(option: Operand | None = None) -> Code:
    if option is not None and option.text.lower() != "sy":
        raise option.expected("`SY` or nothing")
    return (Fence("isb"),)


# Memory accesses


class _Access(NamedTuple):
    """`size` 0 means that of the register, `width` 0 a register of either width."""

    size: int = 0
    order: Order = Order.PLAIN
    signed: bool = False
    width: int = 0
    exclusive: bool = False


def _transferred(access: _Access, operand: Operand) -> tuple[Register, int]:
    """The register that an access loads or stores, and its size in bytes."""
    moved = named(operand, access.width or None)
    return moved, access.size or moved.width // 8


def _loads(access: _Access, loaded: Register, address: Expr, size: int) -> Code:
    load = Load(target(loaded), address, size, access.order, access.signed, access.exclusive)
    if access.signed and loaded.width == 32 and loaded.name != "XZR":
        return load, Assign(loaded.name, Unary("zext", 32, Reg(loaded.name)))
    return (load,)


def _check_update(operand: Operand, loaded: Register, where: Place) -> None:
    if where.update and loaded.name == where.base:
        raise operand.error(f"`{operand.text}` is both loaded and updated, which the architecture leaves unpredictable")


def _load(access: _Access, destination: Operand, address: Operand, after: Operand | None = None) -> Code:
    loaded, size = _transferred(access, destination)
    where = place(address, after)
    _check_update(destination, loaded, where)
    return *_loads(access, loaded, where.address, size), *where.update


def _load_exclusive(access: _Access, destination: Operand, address: Operand) -> Code:
    loaded, size = _transferred(access, destination)
    return _loads(access, loaded, bare_place(address), size)


def _store(access: _Access, source: Operand, address: Operand, after: Operand | None = None) -> Code:
    stored, size = _transferred(access, source)
    where = place(address, after)
    return Store(where.address, value(stored), size, access.order), *where.update


def _store_exclusive(access: _Access, status: Operand, source: Operand, address: Operand) -> Code:
    stored, size = _transferred(access, source)
    result = target(named(status, 32))
    return (StoreConditional(result, bare_place(address), value(stored), size, access.order),)


def _load_pair(access: _Access, first: Operand, last: Operand, address: Operand, after: Operand | None = None) -> Code:
    low, size = _transferred(access, first)
    high = named(last, low.width)
    where = place(address, after)
    _check_update(first, low, where)
    _check_update(last, high, where)
    start = where.address
    held: Code = ()
    if low.name in registers(start):
        # The first load overwrites the register that the second address needs.
        held, start = (Assign("pair", start),), Reg("pair")
    loads = *_loads(access, low, start, size), *_loads(access, high, displaced(start, size), size)
    return *held, *loads, *where.update


def _store_pair(access: _Access, first: Operand, last: Operand, address: Operand, after: Operand | None = None) -> Code:
    low, size = _transferred(access, first)
    high = named(last, low.width)
    where = place(address, after)
    lower = Store(where.address, value(low), size, access.order)
    return lower, Store(displaced(where.address, size), value(high), size, access.order), *where.update


class _Atomic(NamedTuple):
    """`inverted` for LDCLR, which clears the bits that are set in its operand."""

    op: str
    access: _Access
    inverted: bool = False


_WITHOUT_ACQUIRE = {Order.ACQUIRE: Order.PLAIN, Order.ACQ_REL: Order.RELEASE}


def _atomic(atomic: _Atomic, source: Operand, destination: Operand, address: Operand) -> Code:
    """SWP and LD‹op›. With the zero register as destination they lose their acquire semantics, as the architecture
    says, and become the same as ST‹op›: their read has no result (`dst` is None) and is not ordered by DMB LD."""
    operand, size = _transferred(atomic.access, source)
    old = named(destination, operand.width)
    if old.name == "XZR":
        return _modify(atomic, None, operand, size, address)
    return _modify(atomic, old.name, operand, size, address)


def _atomic_store(atomic: _Atomic, source: Operand, address: Operand) -> Code:
    operand, size = _transferred(atomic.access, source)
    return _modify(atomic, None, operand, size, address)


def _modify(atomic: _Atomic, dst: str | None, operand: Register, size: int, address: Operand) -> Code:
    order = atomic.access.order
    if dst is None:
        order = _WITHOUT_ACQUIRE.get(order, order)
    operand_value = value(operand)
    if atomic.inverted:
        operand_value = Unary("not", size * 8, operand_value)
    return (Rmw(dst, atomic.op, bare_place(address), operand_value, size, order),)


def _compare_and_swap(access: _Access, compared: Operand, source: Operand, address: Operand) -> Code:
    """A failed one keeps the acquire semantics. With the zero register there is no result, as for SWP, whether the
    comparison succeeds or fails."""
    old, size = _transferred(access, compared)
    order = access.order
    dst = None if old.name == "XZR" else old.name
    if dst is None:
        order = _WITHOUT_ACQUIRE.get(order, order)
    failure = Order.ACQUIRE if order in _WITHOUT_ACQUIRE else Order.PLAIN
    expected, desired = cut(size * 8, value(old)), value(named(source, old.width))
    return (CompareExchange(dst, None, bare_place(address), expected, desired, size, order, failure),)


# The instruction set


def _data_processing() -> Iterator[tuple[str, Form]]:
    operations = {
        "add": _Operation("add"),
        "sub": _Operation("sub"),
        "and": _Operation("and"),
        "orr": _Operation("or"),
        "eor": _Operation("xor"),
        "bic": _Operation("and", inverted=True),
        "orn": _Operation("or", inverted=True),
        "eon": _Operation("xor", inverted=True),
    }
    operations |= {f"{name}s": operations[name]._replace(flags=True) for name in ("add", "sub", "and", "bic")}
    for name, operation in operations.items():
        yield name, form(_operate, 3, 4, operation)
    for name, like in (("cmp", "subs"), ("cmn", "adds"), ("tst", "ands")):
        yield name, form(_compare, 2, 3, operations[like])
    for name, like in (("neg", "sub"), ("negs", "subs"), ("mvn", "orn")):
        yield name, form(_from_zero, 2, 3, operations[like])
    for name in ("mul", "udiv", "sdiv"):
        yield name, form(_combine, 3, 3, name)
    yield "mneg", form(_multiply_add, 3, 3, "sub")
    for op in ("add", "sub"):
        yield f"m{op}", form(_multiply_add, 4, 4, op)
        for letter, extension in (("s", "sext"), ("u", "zext")):
            yield f"{letter}m{op}l", form(_multiply_long, 4, 4, op, extension)
            yield f"{letter}{'mull' if op == 'add' else 'mnegl'}", form(_multiply_long, 3, 3, op, extension)
    yield "abs", form(_absolute, 2)
    yield "extr", form(_extract, 4)
    for name, bits, group in (("rbit", 1, 0), ("rev", 8, 0), ("rev64", 8, 64), ("rev32", 8, 32), ("rev16", 8, 16)):
        yield name, form(_reverse, 2, 2, bits, group)


def _moves_and_shifts() -> Iterator[tuple[str, Form]]:
    yield "mov", form(_move, 2)
    for name in ("movz", "movn", "movk"):
        yield name, form(_move_wide, 2, 3, name)
    for name, op in SHIFTS.items():
        yield name, form(_shift, 3, 3, op)
        yield f"{name}v", form(_shift, 3, 3, op)
    for name, (op, bits) in EXTENSIONS.items():
        if bits < 64:
            yield name, form(_extend, 2, 2, op, bits)
    fields = (("ubfm", "ubfx", "ubfiz"), ("sbfm", "sbfx", "sbfiz"), ("bfm", "bfxil", "bfi"))
    for kind, extract, insert in fields:
        yield kind, form(_bit_field, 4, 4, kind)
        yield extract, form(_bit_range, 4, 4, kind, False)
        yield insert, form(_bit_range, 4, 4, kind, True)


def _conditionals() -> Iterator[tuple[str, Form]]:
    yield "csel", form(_select, 4, 4, "keep")
    for name, alias, change in (("csinc", "cinc", "add"), ("csinv", "cinv", "not"), ("csneg", "cneg", "neg")):
        yield name, form(_select, 4, 4, change)
        yield alias, form(_change_if, 3, 3, change)
    yield "cset", form(_set_if, 2, 2, 1)
    yield "csetm", form(_set_if, 2, 2, -1)
    yield "ccmp", form(_compare_if, 4, 4, "sub")
    yield "ccmn", form(_compare_if, 4, 4, "add")


def _control() -> Iterator[tuple[str, Form]]:
    for name in ("b", "b.al", "bal", "b.nv", "bnv"):
        yield name, form(_jump, 1)
    for name, condition in _CONDITIONS.items():
        if condition is not ONE:
            yield f"b.{name}", form(_branch, 1, 1, condition)
            yield f"b{name}", form(_branch, 1, 1, condition)
    for name, op in (("z", "eq"), ("nz", "ne")):
        yield f"cb{name}", form(_branch_zero, 2, 2, op)
        yield f"tb{name}", form(_branch_bit, 3, 3, op)
    yield "ret", form(_return, 0, 1)
    for name in ("nop", "yield", "wfe", "sev", "sevl"):
        yield name, form(_nothing, 0)
    yield "hint", form(_hint, 1)
    yield ".p2align", form(_alignment, 1)
    for name in ("dmb", "dsb"):
        yield name, form(_barrier, 1, 1, name)
    yield "isb", form(_instruction_barrier, 0, 1)


_SIZES = (("", 0), ("b", 1), ("h", 2))
_LOADS = {
    "ldr": Order.PLAIN,
    "ldur": Order.PLAIN,
    "ldtr": Order.PLAIN,
    "ldar": Order.ACQUIRE,
    "ldapr": Order.ACQUIRE_PC,
    "ldapur": Order.ACQUIRE_PC,
}
_STORES = {
    "str": Order.PLAIN,
    "stur": Order.PLAIN,
    "sttr": Order.PLAIN,
    "stlr": Order.RELEASE,
    "stlur": Order.RELEASE,
}


def _loads_and_stores() -> Iterator[tuple[str, Form]]:
    for suffix, size in _SIZES:
        for name, order in _LOADS.items():
            yield name + suffix, form(_load, 2, 3, _Access(size, order, width=32 if size else 0))
        for name, order in _STORES.items():
            yield name + suffix, form(_store, 2, 3, _Access(size, order, width=32 if size else 0))
    for name, (suffix, size) in product(("ldr", "ldur", "ldtr", "ldapur"), (("sb", 1), ("sh", 2), ("sw", 4))):
        yield name + suffix, form(_load, 2, 3, _Access(size, _LOADS[name], signed=True, width=64 if size == 4 else 0))
    for name, order in (("ldp", Order.PLAIN), ("ldnp", Order.PLAIN), ("ldiapp", Order.ACQUIRE_PC)):
        yield name, form(_load_pair, 3, 4, _Access(0, order))
    yield "ldpsw", form(_load_pair, 3, 4, _Access(4, signed=True, width=64))
    for name, order in (("stp", Order.PLAIN), ("stnp", Order.PLAIN), ("stilp", Order.RELEASE)):
        yield name, form(_store_pair, 3, 4, _Access(0, order))


_ATOMIC_ORDERS = (("", Order.PLAIN), ("a", Order.ACQUIRE), ("l", Order.RELEASE), ("al", Order.ACQ_REL))
_ATOMIC_OPERATIONS = {
    "add": "add",
    "clr": "and",
    "eor": "xor",
    "set": "or",
    "smax": "max",
    "smin": "min",
    "umax": "umax",
    "umin": "umin",
}


def _exclusives() -> Iterator[tuple[str, Form]]:
    for suffix, size in _SIZES:
        width = 32 if size else 0
        for name, order in (("ldxr", Order.PLAIN), ("ldaxr", Order.ACQUIRE)):
            yield name + suffix, form(_load_exclusive, 2, 2, _Access(size, order, width=width, exclusive=True))
        for name, order in (("stxr", Order.PLAIN), ("stlxr", Order.RELEASE)):
            yield name + suffix, form(_store_exclusive, 3, 3, _Access(size, order, width=width))


def _atomics() -> Iterator[tuple[str, Form]]:
    for (mark, order), (suffix, size) in product(_ATOMIC_ORDERS, _SIZES):
        access = _Access(size, order, width=32 if size else 0)
        yield f"cas{mark}{suffix}", form(_compare_and_swap, 3, 3, access)
        yield f"swp{mark}{suffix}", form(_atomic, 3, 3, _Atomic("xchg", access))
        for name, op in _ATOMIC_OPERATIONS.items():
            atomic = _Atomic(op, access, inverted=name == "clr")
            yield f"ld{name}{mark}{suffix}", form(_atomic, 3, 3, atomic)
            if mark in ("", "l"):
                yield f"st{name}{mark}{suffix}", form(_atomic_store, 2, 2, atomic)


_FORMS: dict[str, Form] = {
    **dict(_data_processing()),
    **dict(_moves_and_shifts()),
    **dict(_conditionals()),
    **dict(_control()),
    **dict(_loads_and_stores()),
    **dict(_exclusives()),
    **dict(_atomics()),
}

_REASON = outside(
    {
        "exclusive accesses to a pair of registers are": r"lda?xp stl?xp",
        "atomic accesses to a pair of registers are": r"r?casp\w* swpp\w* ldclrp\w* ldsetp\w*",
        "system registers and instructions are": (
            r"msr mrs svc hvc smc eret sysl? at tlbip? udf brk hlt wfi dcps\d drps"
        ),
        "caches and instruction memory are": r"dc ic prfu?m adrp? blr? br",
        "memory tags are": r"ldgm? stz?2?gm? stgp irg gmi addg subg subps?",
        "pointer authentication is": r"pac\w+ aut\w+ xpac\w* retaa retab bl?ra[ab]z? ldra[ab]",
        "speculation and what clears exclusive monitors are": r"clrex sb csdb esb p?ssbb tsb psb bti dgh",
        "vectors and floating point are": (
            r"ld[1-4]\w* st[1-4]\w* ldap1 stl1 ld[fn][ft]1\w* stnt1\w* movi mvni dup [us]mov movprfx ptrue pfalse"
            r" f(add|sub|mul|div|m|abs|neg|sqrt|cmp|csel|cvt)\w* [su]cvtf while\w+ index u?addv addvl rdvl"
            r" (cnt|inc|dec)[bhdwp] ctermeq ctermne addva addha mova smstart smstop zip\d uzp\d trn\d ext ins tbl"
            r" b\.(none|any|n?last|plast|n?first|tcont|tstop)"
        ),
        "capabilities are": r"alignd alignu build chk\w+ clrtag cpy\w* cseal cthi gc\w+ ldct stct sc\w+ seal unseal",
    }
)

ARCHITECTURE = Architecture("AArch64", ("AARCH64", "ARMv8"), "aarch64", register, instruction)
