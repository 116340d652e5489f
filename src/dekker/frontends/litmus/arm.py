"""ARMv7 (AArch32).

Registers hold 32-bit values. The flags are `NZCV.N`, `NZCV.Z`, `NZCV.C` and `NZCV.V`. A condition at the end of a name
(`MOVNE`, `STREQ`) makes computations a choice between the new and the old value of their registers; around accesses to
memory it is a branch, so that everything after it depends on the flags as if a branch instruction stood there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from dekker.frontends.litmus.architecture import Architecture, Register
from dekker.frontends.litmus.assembly import NEXT
from dekker.frontends.litmus.operands import (
    Form,
    Operand,
    compute,
    form,
    immediate,
    label,
    number,
    split_operands,
    translate,
)
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.expressions import registers as read_registers
from dekker.ir.instructions import (
    Assign,
    Branch,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Store,
    StoreConditional,
)

Code = tuple[Instruction, ...]

_REGISTER = re.compile(r"[rR](1[0-4]|[0-9])")
_OTHER_NAMES = {"SB": "R9", "SL": "R10", "FP": "R11", "IP": "R12", "SP": "R13", "LR": "R14"}
_SYMBOLIC = re.compile(r"%[A-Za-z_]\w*")


@lru_cache(maxsize=4096)
def _register_name(text: str) -> Register | None:
    found = _REGISTER.fullmatch(text)
    if found is not None:
        return Register(f"R{found[1]}", 32)
    other = _OTHER_NAMES.get(text.upper())
    if other is not None:
        return Register(other, 32)
    return Register(text, 32) if _SYMBOLIC.fullmatch(text) else None


def _register(operand: Operand) -> str:
    found = _register_name(operand.text)
    if found is None:
        raise operand.expected("a register", "registers are `R0` … `R14`, or symbolic ones such as `%x`")
    return found.name


def _value(operand: Operand) -> Reg:
    return Reg(_register(operand))


# Flags

_FLAGS = {flag: Reg(f"NZCV.{flag}") for flag in "NZCV"}


def _set(**flags: Expr) -> Code:
    return tuple(Assign(_FLAGS[flag].name, value) for flag, value in flags.items())


def _top(value: Expr) -> Expr:
    return Binary("lshr", 32, value, Const(31))


def _sign_and_zero(result: Expr) -> Code:
    return _set(N=_top(result), Z=Binary("eq", 32, result, ZERO))


def _sum_flags(op: str, left: Expr, right: Expr) -> Code:
    """Of an addition or subtraction; after a subtraction C means that nothing was borrowed."""
    result = Binary(op, 32, left, right)
    other = Binary("xor", 32, left, right) if op == "sub" else Binary("xor", 32, right, result)
    overflow = _top(Binary("and", 32, Binary("xor", 32, left, result), other))
    carry = Binary("uge", 32, left, right) if op == "sub" else Binary("ult", 32, result, left)
    return (*_sign_and_zero(result), *_set(C=carry, V=overflow))


def _not(flag: Expr) -> Expr:
    return Binary("eq", 1, flag, ZERO)


def _conditions() -> dict[str, Expr]:
    negative, zero, carry, overflow = (_FLAGS[flag] for flag in "NZCV")
    less = Binary("ne", 1, negative, overflow)
    less_or_equal = Binary("or", 1, zero, less)
    lower_or_same = Binary("or", 1, zero, _not(carry))
    return {
        "eq": zero,
        "ne": _not(zero),
        "cs": carry,
        "hs": carry,
        "cc": _not(carry),
        "lo": _not(carry),
        "mi": negative,
        "pl": _not(negative),
        "vs": overflow,
        "vc": _not(overflow),
        "hi": _not(lower_or_same),
        "ls": lower_or_same,
        "ge": _not(less),
        "lt": less,
        "gt": _not(less_or_equal),
        "le": less_or_equal,
    }


_CONDITIONS = _conditions()
_HOLDS = "T.holds"


def _conditional(condition: str, base: Form, *operands: Operand) -> Code:
    code: Code = base.translate(*base.arguments, *operands)
    assigns = [item for item in code if isinstance(item, Assign)]
    if len(assigns) < len(code):
        return (Branch(_not(_CONDITIONS[condition]), NEXT), *code)
    if len(assigns) == 1:
        return (_chosen(assigns[0], _CONDITIONS[condition]),)
    return (Assign(_HOLDS, _CONDITIONS[condition]), *(_chosen(item, Reg(_HOLDS)) for item in assigns))


def _chosen(item: Assign, condition: Expr) -> Assign:
    return Assign(item.dst, Select(condition, item.value, Reg(item.dst)))


# The flexible last operand


_SHIFT = re.compile(r"(lsl|lsr|asr|ror)\s*(?=[#\s])\s*(.+)", re.IGNORECASE | re.DOTALL)
_SHIFTS = {"lsl": "shl", "lsr": "lshr", "asr": "ashr"}


def _shifted(kind: str, value: Expr, count: Expr) -> Expr:
    if kind != "ror":
        by_register = not isinstance(count, Const)
        return Binary(_SHIFTS[kind], 32, value, Binary("and", 32, count, Const(255)) if by_register else count)
    right = compute("and", 32, count, Const(31))
    left = compute("sub", 32, Const(32), right)
    return Binary("or", 32, Binary("lshr", 32, value, right), Binary("shl", 32, value, left))


def _number_or_register(operand: Operand) -> Expr:
    return Const(_word(operand)) if number(operand) is not None else _value(operand)


def _word(operand: Operand) -> int:
    return immediate(operand, -(1 << 31), 0xFFFF_FFFF) & 0xFFFF_FFFF


def _flexible(operand: Operand, shift: Operand | None) -> Expr:
    """A number, a register, or a register and a shift such as `LSL #2`."""
    if shift is None:
        return _number_or_register(operand)
    found = _SHIFT.fullmatch(shift.text)
    if found is None:
        raise shift.expected("a shift such as `LSL #2`")
    count = Operand(found[2].strip(), shift.offset + found.start(2))
    return _shifted(found[1].lower(), _value(operand), _number_or_register(count))


# Computations


class Operation(NamedTuple):
    """`adds` is `add` or `sub` for operations that set all flags."""

    result: Callable[[Expr, Expr], Expr]
    adds: str = ""
    swapped: bool = False


def _plain(op: str) -> Operation:
    return Operation(lambda left, right: Binary(op, 32, left, right), op if op in ("add", "sub") else "")


def _complemented(op: str) -> Operation:
    return Operation(lambda left, right: Binary(op, 32, left, Unary("not", 32, right)))


_OPERATIONS = {
    "add": _plain("add"),
    "sub": _plain("sub"),
    "rsb": Operation(lambda left, right: Binary("sub", 32, right, left), "sub", swapped=True),
    "and": _plain("and"),
    "orr": _plain("or"),
    "eor": _plain("xor"),
    "xor": _plain("xor"),
    "bic": _complemented("and"),
    "orn": _complemented("or"),
}


def _compute(operation: Operation, flags: bool, destination: Operand, *operands: Operand) -> Code:
    first, second, shift = _three(destination, operands)
    left, right = _value(first), _flexible(second, shift)
    assign = Assign(_register(destination), operation.result(left, right))
    if not flags:
        return (assign,)
    if operation.adds:
        return (*_sum_flags(operation.adds, *((right, left) if operation.swapped else (left, right))), assign)
    _no_shift(shift)
    return (*_sign_and_zero(assign.value), assign)


def _three(destination: Operand, operands: tuple[Operand, ...]) -> tuple[Operand, Operand, Operand | None]:
    """`ADD R0,R1` is short for `ADD R0,R0,R1`."""
    if len(operands) == 1 or (len(operands) == 2 and _SHIFT.fullmatch(operands[1].text)):
        operands = (destination, *operands)
    first, second, *rest = operands
    return first, second, rest[0] if rest else None


def _no_shift(shift: Operand | None) -> None:
    if shift is not None:
        raise shift.error("the flags that this shift sets are not supported")


def _move(inverted: bool, flags: bool, destination: Operand, source: Operand, shift: Operand | None = None) -> Code:
    value = _flexible(source, shift)
    result = Unary("not", 32, value) if inverted else value
    assign = Assign(_register(destination), result)
    if not flags:
        return (assign,)
    _no_shift(shift)
    return (*_sign_and_zero(result), assign)


def _move_top(destination: Operand, source: Operand) -> Code:
    kept = Binary("and", 32, _value(destination), Const(0xFFFF))
    return (Assign(_register(destination), Binary("or", 32, kept, Const(immediate(source, 0, 0xFFFF) << 16))),)


def _compare(op: str, left: Operand, right: Operand, shift: Operand | None = None) -> Code:
    return _sum_flags(op, _value(left), _flexible(right, shift))


def _test(op: str, left: Operand, right: Operand, shift: Operand | None = None) -> Code:
    _no_shift(shift)
    return _sign_and_zero(Binary(op, 32, _value(left), _flexible(right, None)))


def _shift_by(kind: str, flags: bool, destination: Operand, *operands: Operand) -> Code:
    source, count = operands if len(operands) == 2 else (destination, operands[0])
    value, by = _value(source), _number_or_register(count)
    assign = Assign(_register(destination), _shifted(kind, value, by))
    if not flags:
        return (assign,)
    if not isinstance(by, Const) or not 1 <= by.value <= 32 or kind == "ror":
        raise count.error("the flags that this shift sets are not supported")
    out = Const(32 - by.value if kind == "lsl" else by.value - 1)
    carry = Binary("and", 32, Binary("lshr", 32, value, out), ONE)
    return (*_sign_and_zero(assign.value), *_set(C=carry), assign)


def _multiply(flags: bool, destination: Operand, *operands: Operand) -> Code:
    left, right = operands if len(operands) == 2 else (destination, operands[0])
    assign = Assign(_register(destination), Binary("mul", 32, _value(left), _value(right)))
    return (*_sign_and_zero(assign.value), assign) if flags else (assign,)


def _multiply_add(op: str, destination: Operand, left: Operand, right: Operand, third: Operand) -> Code:
    product = Binary("mul", 32, _value(left), _value(right))
    return (Assign(_register(destination), Binary(op, 32, _value(third), product)),)


def _divide(op: str, destination: Operand, left: Operand, right: Operand) -> Code:
    return (Assign(_register(destination), Binary(op, 32, _value(left), _value(right))),)


def _extend(op: str, width: int, destination: Operand, source: Operand) -> Code:
    extended: Expr = Unary(op, width, _value(source))
    return (Assign(_register(destination), Unary("zext", 32, extended) if op == "sext" else extended),)


# Memory


class Place(NamedTuple):
    """`update` is the new value of the base register, for addresses with write-back."""

    address: Expr
    base: str
    update: Expr | None = None


_BRACKETS = re.compile(r"\[(.*)\]\s*(!?)", re.DOTALL)
_PLACE_HINT = "addresses are `[R1]`, `[R1,R2]`, `[R1,#4]`, `[R1,R2,LSL #2]`, `[R1,#4]!` or `[R1],#4`"


def _place(operand: Operand, after: Operand | None = None) -> Place:
    found = _BRACKETS.fullmatch(operand.text)
    if found is None:
        # An old form names the register without brackets.
        if after is None and _register_name(operand.text) is not None:
            return Place(_value(operand), _register(operand))
        raise operand.expected("an address", _PLACE_HINT)
    parts = split_operands(operand.text, found.start(1), found.end(1), operand.offset)
    if not 1 <= len(parts) <= 3 or (after is not None and (len(parts) > 1 or found[2])):
        raise operand.expected("an address", _PLACE_HINT)
    base = _value(parts[0])
    if after is not None:
        return Place(base, base.name, _moved(base, after, None))
    if len(parts) == 1:
        return Place(base, base.name)
    address = _moved(base, parts[1], parts[2] if len(parts) == 3 else None)
    return Place(address, base.name, address if found[2] else None)


def _moved(base: Expr, offset: Operand, shift: Operand | None) -> Expr:
    if offset.text.startswith("-") and not offset.text[1:].lstrip().isdecimal():
        positive = Operand(offset.text[1:].lstrip(), offset.offset + 1)
        return Binary("sub", 32, base, _flexible(positive, shift))
    value = _flexible(offset, shift)
    return base if value == ZERO else Binary("add", 32, base, value)


_ADDRESS, _UPDATED = "T.address", "T.updated"


def _loaded(place: Place, registers: list[str], loads: Code) -> Code:
    """Loads with the update of the base. What is computed from registers that they overwrite is computed first."""
    if place.update is None:
        return loads
    if not read_registers(place.update).isdisjoint(registers):
        return (Assign(_UPDATED, place.update), *loads, Assign(place.base, Reg(_UPDATED)))
    return (*loads, Assign(place.base, place.update))


def _stored(place: Place, stores: Code) -> Code:
    return stores if place.update is None else (*stores, Assign(place.base, place.update))


def _load(size: int, signed: bool, destination: Operand, source: Operand, after: Operand | None = None) -> Code:
    target = _register(destination)
    if source.text.startswith("=") and size == 4:
        return (Assign(target, _literal(source)),)
    place = _place(source, after)
    if place.update is not None and target == place.base:
        raise destination.error("the register that is loaded and the base that is updated must differ")
    return _loaded(place, [target], (Load(target, place.address, size, signed=signed),))


def _literal(operand: Operand) -> Expr:
    inner = Operand(operand.text[1:].strip(), operand.offset + 1)
    return Const(_word(inner)) if number(inner) is not None else Address(label(inner))


def _store(size: int, source: Operand, destination: Operand, after: Operand | None = None) -> Code:
    place = _place(destination, after)
    return _stored(place, (Store(place.address, _value(source), size),))


def _load_exclusive(size: int, destination: Operand, source: Operand) -> Code:
    return (Load(_register(destination), _place(source).address, size, exclusive=True),)


def _store_exclusive(size: int, status: Operand, source: Operand, destination: Operand) -> Code:
    target = _register(status)
    place = _place(destination)
    if target in (_register(source), place.base):
        raise status.error("the register for the status must differ from the other registers")
    return (StoreConditional(target, place.address, _value(source), size),)


def _load_several(registers: list[str], place: Place, first: int) -> Code:
    """Word by word, upwards from `first` bytes after the address."""
    start: Expr = place.address
    held: Code = ()
    if not read_registers(start).isdisjoint(registers[:-1]):
        held, start = (Assign(_ADDRESS, start),), Reg(_ADDRESS)
    loads = (Load(register, _after(start, first, index), 4) for index, register in enumerate(registers))
    return _loaded(place, registers, (*held, *loads))


def _store_several(registers: list[str], place: Place, first: int) -> Code:
    stores = (Store(_after(place.address, first, index), Reg(register), 4) for index, register in enumerate(registers))
    return _stored(place, tuple(stores))


def _after(start: Expr, first: int, index: int) -> Expr:
    offset = first + 4 * index
    return compute("add", 32, start, Const(offset)) if offset else start


def _several(load: bool, registers: list[str], place: Place, first: int, operand: Operand) -> Code:
    if load and place.update is not None and place.base in registers:
        raise operand.error("the registers that are loaded and the base that is updated must differ")
    return (_load_several if load else _store_several)(registers, place, first)


def _pair(load: bool, first: Operand, *operands: Operand) -> Code:
    """The second register may be left out: it is the one after the first."""
    if operands[0].text.startswith("["):
        digits = _register(first).removeprefix("R")
        if not digits.isdecimal():
            raise first.expected("two registers")
        operands = (Operand(f"R{int(digits) + 1}", first.offset), *operands)
    if len(operands) < 2:
        raise operands[0].expected("an address", _PLACE_HINT)
    second, *place = operands
    return _several(load, [_register(first), _register(second)], _place(*place), 0, first)


_RANGE = re.compile(r"[rR](\d{1,2})\s*-\s*[rR](\d{1,2})")


def _multiple(load: bool, first: int, base: Operand, registers: Operand) -> Code:
    name = base.text.rstrip("! ")
    start = _register(Operand(name, base.offset))
    names = _register_list(registers)
    update = Binary("add", 32, Reg(start), Const(4 * len(names))) if base.text.endswith("!") else None
    return _several(load, names, Place(Reg(start), start, update), first, base)


def _register_list(operand: Operand) -> list[str]:
    if not (operand.text.startswith("{") and operand.text.endswith("}")):
        raise operand.expected("a list of registers such as `{R1,R2}`")
    names: list[str] = []
    for piece in split_operands(operand.text, 1, len(operand.text) - 1, operand.offset):
        found = _RANGE.fullmatch(piece.text)
        if found is None:
            names.append(_register(piece))
        else:
            names += [_register(Operand(f"R{n}", piece.offset)) for n in range(int(found[1]), int(found[2]) + 1)]
    return sorted(names, key=lambda name: (len(name), name))


# Control and fences


def _branch(condition: str, target: Operand) -> Code:
    return (Branch(_CONDITIONS[condition], label(target)),)


def _jump(target: Operand) -> Code:
    return (Jump(label(target)),)


def _branch_on_zero(if_zero: bool, source: Operand, target: Operand) -> Code:
    return (Branch(Binary("eq" if if_zero else "ne", 32, _value(source), ZERO), label(target)),)


def _return(target: Operand) -> Code:
    if _register(target) != "R14":
        raise target.error("only `BX LR`, the end of the thread, is supported")
    return (Exit(),)


_DOMAINS = {"": "sy", "sy": "sy", "st": "st", "un": "nsh", "unst": "nshst"} | {
    name: name for domain in ("ish", "osh", "nsh") for name in (domain, f"{domain}st")
}


def _barrier(instruction: str, domain: Operand | None = None) -> Code:
    kind = _DOMAINS.get(domain.text.lower() if domain else "")
    if kind is None:
        assert domain is not None
        known = ", ".join(name.upper() for name in _DOMAINS if name)
        raise domain.expected(f"a domain of {instruction.upper()}", f"known: {known}")
    return (Fence(f"{instruction}.{kind}"),)


def _instruction_barrier(domain: Operand | None = None) -> Code:
    if domain is not None and domain.text.lower() != "sy":
        raise domain.expected("`SY` or nothing")
    return (Fence("isb"),)


def _nothing() -> Code:
    return ()


def _prefetch(address: Operand) -> Code:
    _place(address)
    return ()


# The table


def _unconditional_forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for flags, suffix in ((False, ""), (True, "s")):
        for name, operation in _OPERATIONS.items():
            forms[name + suffix] = form(_compute, 2, 4, operation, flags)
        for kind in ("lsl", "lsr", "asr", "ror"):
            forms[kind + suffix] = form(_shift_by, 2, 3, kind, flags)
        forms["mov" + suffix] = form(_move, 2, 3, False, flags)
        forms["mvn" + suffix] = form(_move, 2, 3, True, flags)
        forms["mul" + suffix] = form(_multiply, 2, 3, flags)
    return forms | _other_forms() | _memory_forms()


def _other_forms() -> dict[str, Form]:
    return {
        "movw": form(_move, 2, 2, False, False),
        "movt": form(_move_top, 2),
        "mla": form(_multiply_add, 4, 4, "add"),
        "mls": form(_multiply_add, 4, 4, "sub"),
        "sdiv": form(_divide, 3, 3, "sdiv"),
        "udiv": form(_divide, 3, 3, "udiv"),
        "cmp": form(_compare, 2, 3, "sub"),
        "cmn": form(_compare, 2, 3, "add"),
        "tst": form(_test, 2, 3, "and"),
        "teq": form(_test, 2, 3, "xor"),
        "uxtb": form(_extend, 2, 2, "zext", 8),
        "uxth": form(_extend, 2, 2, "zext", 16),
        "sxtb": form(_extend, 2, 2, "sext", 8),
        "sxth": form(_extend, 2, 2, "sext", 16),
        "bx": form(_return, 1),
    }


def _memory_forms() -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for suffix, size in {"": 4, "b": 1, "h": 2}.items():
        forms[f"ldr{suffix}"] = form(_load, 2, 3, size, False)
        forms[f"str{suffix}"] = form(_store, 2, 3, size)
        forms[f"ldrex{suffix}"] = form(_load_exclusive, 2, 2, size)
        forms[f"strex{suffix}"] = form(_store_exclusive, 3, 3, size)
    forms["ldrsb"] = form(_load, 2, 3, 1, True)
    forms["ldrsh"] = form(_load, 2, 3, 2, True)
    forms["ldrd"] = form(_pair, 2, 4, True)
    forms["strd"] = form(_pair, 2, 4, False)
    for suffix, first in {"": 0, "ia": 0, "ib": 4}.items():
        forms[f"ldm{suffix}"] = form(_multiple, 2, 2, True, first)
        forms[f"stm{suffix}"] = form(_multiple, 2, 2, False, first)
    return forms


def _forms() -> dict[str, Form]:
    plain = _unconditional_forms()
    forms = dict(plain)
    for condition in _CONDITIONS:
        forms[f"b{condition}"] = form(_branch, 1, 1, condition)
        for name, base in plain.items():
            conditional = form(_conditional, base.minimum, base.maximum, condition, base)
            forms.setdefault(name + condition, conditional)
            if name.endswith("s") and name[:-1] in plain:
                forms.setdefault(name[:-1] + condition + "s", conditional)
    for name, base in plain.items():
        forms.setdefault(f"{name}al", base)
    for instruction in ("dmb", "dsb"):
        forms[instruction] = form(_barrier, 0, 1, instruction)
    return forms | {
        "b": form(_jump, 1),
        "bal": form(_jump, 1),
        "cbz": form(_branch_on_zero, 2, 2, True),
        "cbnz": form(_branch_on_zero, 2, 2, False),
        "isb": form(_instruction_barrier, 0, 1),
        **{name: form(_nothing, 0) for name in ("nop", "yield", "wfe", "wfi", "sev")},
        **{name: form(_prefetch, 1) for name in ("pld", "pldw", "pli")},
    }


_FORMS = _forms()
_DOTTED_BARRIER = re.compile(r"(dmb|dsb)\.(?=\w)", re.IGNORECASE)
_REASONS = (
    (
        re.compile(r"lda(ex)?[bhd]?|stl(ex)?[bhd]?"),
        "acquire and release accesses came with ARMv8; use AArch64 for them",
    ),
    (re.compile(r"push|pop|bl|blx|svc|swi"), "there is no stack and there are no calls"),
    (re.compile(r"(ldr|str)exd|swpb?|clrex"), "this exclusive or atomic access is not translated"),
    (re.compile(r"(ldm|stm)(da|db|fd|ed|ea|fa)"), "only LDM and STM that go upwards are translated"),
    (re.compile(r"v\w+"), "vectors and floating point are not translated"),
    (re.compile(r"m[cr]r\d?|mrs|msr|cps\w*"), "system registers are not translated"),
    (re.compile(r"it[te]{0,3}"), "write the condition at the end of each name instead"),
    (re.compile(r"(adc|sbc|rsc)s?"), "arithmetic with a carry is not translated"),
)


def _reject(mnemonic: str) -> str | None:
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(mnemonic)), None)


def _instruction(text: str) -> Code:
    return translate(_DOTTED_BARRIER.sub(r"\1 ", text), _FORMS, "ARM", _reject)


ARCHITECTURE = Architecture("ARM", ("ARMv7", "AArch32"), "armv7", _register_name, _instruction)
