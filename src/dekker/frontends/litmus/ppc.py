"""POWER: the user-level integer instructions that litmus tests use.

`CR0.lt`, `CR0.gt` and `CR0.eq` are the bits of condition field 0; a dotted instruction sets them. A register that is
the base of an address is read even if it is `r0`, which litmus tests use like any other; the number 0 means no base.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

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
    translate,
)
from dekker.ir.expressions import ZERO, Binary, Const, Expr, Reg, Unary, registers
from dekker.ir.instructions import Assign, Branch, Exit, Fence, Instruction, Jump, Load, Store, StoreConditional

Code = tuple[Instruction, ...]
Operation = Callable[[Expr, Expr], Expr]

_REGISTER = re.compile(r"[rR](3[01]|[12][0-9]|[0-9])")
_SYMBOLIC = re.compile(r"%[A-Za-z_]\w*")
_FIELD = re.compile(r"cr([0-7])", re.IGNORECASE)
_STATUS = "CR0.status"


@lru_cache(maxsize=4096)
def _register_name(text: str) -> Register | None:
    found = _REGISTER.fullmatch(text)
    if found is not None:
        return Register(f"r{found[1]}", 32)
    return Register(text, 32) if _SYMBOLIC.fullmatch(text) else None


def _register(operand: Operand) -> str:
    found = _register_name(operand.text)
    if found is None:
        raise operand.expected("a register", "registers are `r0` … `r31`, or symbolic ones such as `%x`")
    return found.name


def _value(operand: Operand) -> Reg:
    return Reg(_register(operand))


# Condition fields


def _set_field(field: str, left: Expr, right: Expr, width: int, *, unsigned: bool = False) -> Code:
    prefix = "u" if unsigned else "s"
    return (
        Assign(f"{field}.lt", Binary(f"{prefix}lt", width, left, right)),
        Assign(f"{field}.gt", Binary(f"{prefix}gt", width, left, right)),
        Assign(f"{field}.eq", Binary("eq", width, left, right)),
    )


def _field(operand: Operand) -> str:
    found = _FIELD.fullmatch(operand.text) or re.fullmatch(r"([0-7])", operand.text)
    if found is None:
        raise operand.expected("a condition field", "fields are `cr0` … `cr7`")
    return f"CR{found[1]}"


def _compare(width: int, unsigned: bool, with_number: bool, *operands: Operand) -> Code:
    field = _field(operands[0]) if len(operands) == 3 else "CR0"
    left, right = operands[-2:]
    second = Const(immediate(right)) if with_number else _value(right)
    return _set_field(field, _value(left), second, width, unsigned=unsigned)


_CONDITIONS = {
    "eq": ("eq", True),
    "ne": ("eq", False),
    "lt": ("lt", True),
    "ge": ("lt", False),
    "nl": ("lt", False),
    "gt": ("gt", True),
    "le": ("gt", False),
    "ng": ("gt", False),
}


def _branch(bit: str, if_set: bool, *operands: Operand) -> Code:
    field = _field(operands[0]) if len(operands) == 2 else "CR0"
    flag = Reg(f"{field}.{bit}")
    return (Branch(flag if if_set else Binary("eq", 64, flag, ZERO), label(operands[-1])),)


def _jump(target: Operand) -> Code:
    return (Jump(label(target)),)


def _return() -> Code:
    return (Exit(),)


# Memory


def _base(operand: Operand) -> Expr:
    return ZERO if operand.text == "0" else _value(operand)


_DISPLACED = re.compile(r"(.*?)\((.*)\)", re.DOTALL)


def _displacement(first: Operand, *rest: Operand) -> tuple[Expr, Operand]:
    """The address that `8(r1)` or the older `8,r1` means, and the operand that names its base."""
    if rest:
        base = rest[0]
        offset = first
    else:
        found = _DISPLACED.fullmatch(first.text)
        if found is None:
            raise first.expected("an address such as `0(r1)`")
        offset = Operand(found[1].strip() or "0", first.offset)
        base = Operand(found[2].strip(), first.offset + found.start(2))
    return displaced(_base(base), immediate(offset)), base


def _indexed(base: Operand, index: Operand) -> Expr:
    if number(base) == 0:
        return _value(index)
    return Binary("add", 64, _value(base), _value(index))


def _load(size: int, signed: bool, destination: Operand, *address: Operand) -> Code:
    return (Load(_register(destination), _displacement(*address)[0], size, signed=signed),)


def _load_indexed(size: int, signed: bool, destination: Operand, base: Operand, index: Operand) -> Code:
    return (Load(_register(destination), _indexed(base, index), size, signed=signed),)


def _store(size: int, source: Operand, *address: Operand) -> Code:
    return (Store(_displacement(*address)[0], _value(source), size),)


def _store_indexed(size: int, source: Operand, base: Operand, index: Operand) -> Code:
    return (Store(_indexed(base, index), _value(source), size),)


def _load_update(size: int, signed: bool, destination: Operand, *place: Operand) -> Code:
    address, base = _displacement(*place)
    target, updated = _register(destination), _register(base)
    if target == updated:
        raise destination.error("the register that is loaded and the base that is updated must differ")
    return Load(target, address, size, signed=signed), Assign(updated, address)


def _store_update(size: int, source: Operand, *place: Operand) -> Code:
    address, base = _displacement(*place)
    return Store(address, _value(source), size), Assign(_register(base), address)


def _load_indexed_update(size: int, signed: bool, destination: Operand, base: Operand, index: Operand) -> Code:
    if _register(destination) == _register(base):
        raise destination.error("the register that is loaded and the base that is updated must differ")
    address, target, updated = _indexed(base, index), _register(destination), _register(base)
    if target in registers(address):
        held = Reg("T.address")
        return Assign(held.name, address), Load(target, held, size, signed=signed), Assign(updated, held)
    return Load(target, address, size, signed=signed), Assign(updated, address)


def _store_indexed_update(size: int, source: Operand, base: Operand, index: Operand) -> Code:
    address = _indexed(base, index)
    return Store(address, _value(source), size), Assign(_register(base), address)


def _load_reserve(size: int, destination: Operand, base: Operand, index: Operand, _hint: Operand | None = None) -> Code:
    return (Load(_register(destination), _indexed(base, index), size, exclusive=True),)


def _store_conditional(size: int, source: Operand, base: Operand, index: Operand) -> Code:
    return (
        StoreConditional(_STATUS, _indexed(base, index), _value(source), size),
        Assign("CR0.lt", ZERO),
        Assign("CR0.gt", ZERO),
        Assign("CR0.eq", Binary("eq", 64, Reg(_STATUS), ZERO)),
    )


# Arithmetic


def _result(dotted: bool, destination: Operand, value: Expr) -> Code:
    target = _register(destination)
    assign = Assign(target, value)
    return (assign, *_set_field("CR0", Reg(target), ZERO, 64)) if dotted else (assign,)


def _two_registers(operation: Operation, dotted: bool, destination: Operand, left: Operand, right: Operand) -> Code:
    return _result(dotted, destination, operation(_value(left), _value(right)))


def _with_number(operation: Operation, dotted: bool, destination: Operand, left: Operand, right: Operand) -> Code:
    return _result(dotted, destination, operation(_base(left), Const(immediate(right))))


def _one_register(operation: Callable[[Expr], Expr], dotted: bool, destination: Operand, source: Operand) -> Code:
    return _result(dotted, destination, operation(_value(source)))


def _load_number(shift: int, destination: Operand, value: Operand) -> Code:
    return (Assign(_register(destination), Const(immediate(value, -(1 << 31), (1 << 32) - 1) << shift)),)


def _rotate_and_mask(insert: bool, dotted: bool, destination: Operand, source: Operand, *numbers: Operand) -> Code:
    count, first, last = (immediate(operand, 0, 31) for operand in numbers)
    value, mask = _value(source), _mask(first, last)
    rotated = Binary("or", 32, Binary("shl", 32, value, Const(count)), Binary("lshr", 32, value, Const(32 - count)))
    taken = Binary("and", 64, rotated, Const(mask))
    kept = Binary("and", 64, _value(destination), Const(~mask))
    return _result(dotted, destination, Binary("or", 64, kept, taken) if insert else taken)


def _mask(first: int, last: int) -> int:
    """Bits `first` to `last`, counted from the most significant of 32, possibly around the end."""
    from_first, to_last = (1 << 32 - first) - 1, (1 << 32) - (1 << 31 - last)
    return from_first & to_last if first <= last else from_first | to_last


def _clear_left(width: int, dotted: bool, destination: Operand, source: Operand, count: Operand) -> Code:
    kept = (1 << width - immediate(count, 0, width - 1)) - 1
    return _result(dotted, destination, Binary("and", width, _value(source), Const(kept)))


def _plain(op: str, width: int = 64) -> Operation:
    return lambda left, right: Binary(op, width, left, right)


def _inverted(op: str) -> Operation:
    return lambda left, right: Unary("not", 64, Binary(op, 64, left, right))


def _with_complement(op: str) -> Operation:
    return lambda left, right: Binary(op, 64, left, Unary("not", 64, right))


def _signed_word(op: str) -> Operation:
    return lambda left, right: Unary("sext", 32, Binary(op, 32, left, right))


def _shift(op: str, width: int) -> Operation:
    """By a register: the count has one bit more than needed, and counts that are too great shift everything out."""
    shifted = _signed_word(op) if op == "ashr" and width == 32 else _plain(op, width)
    return lambda left, right: shifted(left, compute("and", 64, right, Const(2 * width - 1)))


def _multiply_words(left: Expr, right: Expr) -> Expr:
    return Binary("mul", 64, Unary("sext", 32, left), Unary("sext", 32, right))


def _extend(width: int) -> Callable[[Expr], Expr]:
    return lambda value: Unary("sext", width, value)


_REGISTER_OPERATIONS: dict[str, Operation] = {
    "add": _plain("add"),
    "sub": _plain("sub"),
    "subf": lambda left, right: Binary("sub", 64, right, left),
    "mullw": _multiply_words,
    "mulld": _plain("mul"),
    "divw": _signed_word("sdiv"),
    "divwu": _plain("udiv", 32),
    "divd": _plain("sdiv"),
    "divdu": _plain("udiv"),
    "and": _plain("and"),
    "or": _plain("or"),
    "xor": _plain("xor"),
    "nor": _inverted("or"),
    "nand": _inverted("and"),
    "eqv": _inverted("xor"),
    "andc": _with_complement("and"),
    "orc": _with_complement("or"),
    "slw": _shift("shl", 32),
    "srw": _shift("lshr", 32),
    "sraw": _shift("ashr", 32),
    "sld": _shift("shl", 64),
    "srd": _shift("lshr", 64),
    "srad": _shift("ashr", 64),
}
_NUMBER_OPERATIONS: dict[str, Operation] = {
    "slwi": _shift("shl", 32),
    "srwi": _shift("lshr", 32),
    "srawi": _shift("ashr", 32),
    "sldi": _shift("shl", 64),
    "srdi": _shift("lshr", 64),
    "sradi": _shift("ashr", 64),
}
_UNDOTTED_NUMBER_OPERATIONS: dict[str, Operation] = {
    "addi": _plain("add"),
    "addis": lambda left, right: Binary("add", 64, left, compute("shl", 64, right, Const(16))),
    "subi": _plain("sub"),
    "mulli": _plain("mul"),
    "ori": _plain("or"),
    "oris": lambda left, right: Binary("or", 64, left, compute("shl", 64, right, Const(16))),
    "xori": _plain("xor"),
    "xoris": lambda left, right: Binary("xor", 64, left, compute("shl", 64, right, Const(16))),
    "andi": _plain("and"),
}
_UNARY_OPERATIONS: dict[str, Callable[[Expr], Expr]] = {
    "mr": lambda value: value,
    "neg": lambda value: Unary("neg", 64, value),
    "not": lambda value: Unary("not", 64, value),
    "extsb": _extend(8),
    "extsh": _extend(16),
    "extsw": _extend(32),
}
_FENCES = {"sync": "sync", "hwsync": "sync", "msync": "sync", "lwsync": "lwsync", "eieio": "eieio", "isync": "isync"}
_CACHE_HINTS = ("dcbf", "dcbst", "dcbt", "dcbtst")


def _fence(kind: str, variant: Operand | None = None) -> Code:
    """`sync 1` is `lwsync`."""
    return (Fence(kind if variant is None else ("sync", "lwsync")[immediate(variant, 0, 1)]),)


def _nothing() -> Code:
    return ()


def _cache_hint(base: Operand, index: Operand) -> Code:
    _indexed(base, index)
    return ()


def _comment(*_words: Operand) -> Code:
    return ()


def _arithmetic_forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for dotted, suffix in ((False, ""), (True, ".")):
        for name, operation in _REGISTER_OPERATIONS.items():
            forms[name + suffix] = form(_two_registers, 3, 3, operation, dotted)
        for name, operation in _NUMBER_OPERATIONS.items():
            forms[name + suffix] = form(_with_number, 3, 3, operation, dotted)
        for name, unary in _UNARY_OPERATIONS.items():
            forms[name + suffix] = form(_one_register, 2, 2, unary, dotted)
        forms["rlwinm" + suffix] = form(_rotate_and_mask, 5, 5, False, dotted)
        forms["rlwimi" + suffix] = form(_rotate_and_mask, 5, 5, True, dotted)
        forms["clrlwi" + suffix] = form(_clear_left, 3, 3, 32, dotted)
        forms["clrldi" + suffix] = form(_clear_left, 3, 3, 64, dotted)
    for name, operation in _UNDOTTED_NUMBER_OPERATIONS.items():
        forms[name] = form(_with_number, 3, 3, operation, False)
    forms["andi."] = form(_with_number, 3, 3, _plain("and"), True)
    forms["li"] = form(_load_number, 2, 2, 0)
    forms["lis"] = form(_load_number, 2, 2, 16)
    return forms


def _compare_forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for letter, width in (("w", 32), ("d", 64)):
        for logical in (False, True):
            name = f"cmp{'l' if logical else ''}{letter}"
            forms[name] = form(_compare, 2, 3, width, logical, False)
            forms[f"{name}i"] = form(_compare, 2, 3, width, logical, True)
    for condition, (bit, if_set) in _CONDITIONS.items():
        for hint in ("", "+", "-"):
            forms[f"b{condition}{hint}"] = form(_branch, 1, 2, bit, if_set)
    forms["b"] = form(_jump, 1)
    forms["blr"] = form(_return, 0)
    return forms


def _memory_forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    loads = {"lbz": 1, "lhz": 2, "lha": 2, "lwz": 4, "lwa": 4, "ld": 8}
    for name, size in loads.items():
        signed = name.endswith("a")
        forms[name] = form(_load, 2, 3, size, signed)
        forms[f"{name}x"] = form(_load_indexed, 3, 3, size, signed)
        forms[f"{name}u"] = form(_load_update, 2, 3, size, signed)
        forms[f"{name}ux"] = form(_load_indexed_update, 3, 3, size, signed)
    for letter, size in {"b": 1, "h": 2, "w": 4, "d": 8}.items():
        forms[f"st{letter}"] = form(_store, 2, 3, size)
        forms[f"st{letter}x"] = form(_store_indexed, 3, 3, size)
        forms[f"st{letter}u"] = form(_store_update, 2, 3, size)
        forms[f"st{letter}ux"] = form(_store_indexed_update, 3, 3, size)
        forms[f"l{letter}arx"] = form(_load_reserve, 3, 4, size)
        forms[f"st{letter}cx."] = form(_store_conditional, 3, 3, size)
    return forms


_FORMS: dict[str, Form] = {
    **_arithmetic_forms(),
    **_compare_forms(),
    **_memory_forms(),
    **{name: form(_fence, 0, int(name == "sync"), kind) for name, kind in _FENCES.items()},
    **{name: form(_cache_hint, 2) for name in _CACHE_HINTS},
    "nop": form(_nothing, 0),
    "com": form(_comment, 0, 99),
}
_REASONS = {
    "there are no calls": ("bl", "bctr", "bctrl", "blrl", "mtlr", "mflr", "sc"),
    "the count register is not translated": ("mtctr", "mfctr", "bdnz", "bdz"),
    "accesses to several registers are not translated": ("lmw", "stmw", "lq", "stq", "lqarx", "stqcx."),
    "system instructions have no place in the models": ("ptesync", "tlbie", "tlbsync", "slbie", "mtmsr", "icbi"),
    "caches have no place in the models": ("dcbz",),
}


def _reject(mnemonic: str) -> str | None:
    return next((reason for reason, names in _REASONS.items() if mnemonic in names), None)


def _instruction(text: str) -> Code:
    return translate(text, _FORMS, "PPC", _reject)


ARCHITECTURE = Architecture(
    "PPC", ("PPC64", "POWER", "PowerPC"), "power", _register_name, _instruction, int_registers=True
)
