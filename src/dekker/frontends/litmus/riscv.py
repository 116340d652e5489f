"""RISC-V (RV64I with M, A and Zacas): arithmetic, loads and stores, LR/SC, AMOs, fences, branches.

Registers have 64 bits and are called `x0` … `x31`; other names are aliases. `x0` reads as 0 and discards writes.
Results of 32 bits are sign-extended. Loads and stores may carry `.aq` and `.rl`, as litmus tests write them.
Left out: floating point, vectors, control registers, code addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from dekker.frontends.litmus.architecture import Architecture, Register
from dekker.frontends.litmus.operands import (
    DISCARDED,
    Form,
    Operand,
    compute,
    displaced,
    form,
    immediate,
    label,
    outside,
    translate,
)
from dekker.ir.expressions import ZERO, Address, Binary, Const, Expr, Reg, Unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Rmw,
    Store,
    StoreConditional,
)

Code = tuple[Instruction, ...]


def instruction(text: str) -> Code:
    return translate(text, _FORMS, "RISC-V", _REASON)


# Registers

_SAVED, _TEMPORARY = ([f"{letter}{i}" for i in range(12)] for letter in "st")
_ARGUMENTS = [f"a{i}" for i in range(8)]
_ALIASES = ["zero", "ra", "sp", "gp", "tp", *_TEMPORARY[:3], *_SAVED[:2], *_ARGUMENTS, *_SAVED[2:], *_TEMPORARY[3:7]]
_REGISTERS = {name: Register(f"x{i}", 64) for i, alias in enumerate(_ALIASES) for name in (f"x{i}", alias)}
_REGISTERS["fp"] = _REGISTERS["x8"]
_SYMBOLIC = re.compile(r"%\w+")


def register(name: str) -> Register | None:
    """Numbered registers, their aliases, and the symbolic `%a` that stand for one yet to be chosen."""
    found = _REGISTERS.get(name)
    if found is None and _SYMBOLIC.fullmatch(name):
        return Register(name, 64)
    return found if found is not None else _REGISTERS.get(name.lower())


def _named(operand: Operand) -> str:
    found = register(operand.text)
    if found is None:
        raise operand.expected("a register")
    return found.name


def _value(operand: Operand) -> Expr:
    name = _named(operand)
    return ZERO if name == "x0" else Reg(name)


def _target(operand: Operand) -> str:
    name = _named(operand)
    return DISCARDED if name == "x0" else name


# Arithmetic

_SHIFTS = ("shl", "lshr", "ashr")


def _result(op: str, width: int, left: Expr, right: Expr) -> Expr:
    if op in _SHIFTS:
        right = compute("and", 64, right, Const(width - 1))
    result = _divided(op, width, left, right) if op[1:] in ("div", "rem") else compute(op, width, left, right)
    return Unary("sext", 32, result) if width == 32 else result


def _divided(op: str, width: int, left: Expr, right: Expr) -> Expr:
    """Division by 0 does not trap: the quotient is -1, the remainder the dividend."""
    by_zero = Unary("neg", width, Binary("eq", width, right, ZERO))
    otherwise = by_zero if op[1:] == "div" else Binary("and", width, by_zero, left)
    return Binary("or", width, Binary(op, width, left, right), otherwise)


def _operate(op: str, width: int, destination: Operand, first: Operand, last: Operand) -> Code:
    return (Assign(_target(destination), _result(op, width, _value(first), _value(last))),)


def _operate_immediate(op: str, width: int, destination: Operand, source: Operand, number: Operand) -> Code:
    bounds = (0, width - 1) if op in _SHIFTS else ()
    return (Assign(_target(destination), _result(op, width, _value(source), Const(immediate(number, *bounds)))),)


def _from_zero(op: str, width: int, destination: Operand, source: Operand) -> Code:
    return (Assign(_target(destination), _result(op, width, ZERO, _value(source))),)


def _with_constant(op: str, constant: int, destination: Operand, source: Operand) -> Code:
    return (Assign(_target(destination), _result(op, 64, _value(source), Const(constant))),)


def _extend(op: str, width: int, destination: Operand, source: Operand) -> Code:
    return (Assign(_target(destination), Unary(op, width, _value(source))),)


def _move(destination: Operand, source: Operand) -> Code:
    return (Assign(_target(destination), _value(source)),)


def _load_immediate(destination: Operand, number: Operand) -> Code:
    return (Assign(_target(destination), Const(immediate(number))),)


def _load_upper(destination: Operand, number: Operand) -> Code:
    upper = immediate(number, 0, (1 << 20) - 1)
    return (Assign(_target(destination), Const((upper << 12) - (upper >> 19 << 32))),)


def _load_address(destination: Operand, symbol: Operand) -> Code:
    if re.fullmatch(r"[A-Za-z_]\w*", symbol.text, re.ASCII) is None:
        raise symbol.expected("the name of a location")
    return (Assign(_target(destination), Address(symbol.text)),)


# Control and fences


def _jump(target: Operand) -> Code:
    return (Jump(label(target)),)


def _jump_and_link(link: Operand, target: Operand | None = None) -> Code:
    if target is None or _named(link) != "x0":
        raise link.error("calls are not supported: code addresses are outside what Dekker models", "`j` jumps only")
    return _jump(target)


def _branch(op: str, first: Operand, last: Operand, target: Operand) -> Code:
    return (Branch(Binary(op, 64, _value(first), _value(last)), label(target)),)


def _branch_zero(op: str, source: Operand, target: Operand) -> Code:
    return (Branch(Binary(op, 64, _value(source), ZERO), label(target)),)


def _return() -> Code:
    return (Exit(),)


def _nothing() -> Code:
    return ()


def _fence(before: Operand | None = None, after: Operand | None = None) -> Code:
    if before is None:
        return (Fence("fence.rw.rw"),)
    if after is None:
        raise before.error("a fence has no operands or two", "as in `fence rw,w`")
    first, second = _accesses(before), _accesses(after)
    # Fences of devices only, such as `fence i,o`, do not concern memory.
    return (Fence(f"fence.{first}.{second}"),) if first and second else ()


def _accesses(operand: Operand) -> str:
    letters = operand.text.lower()
    if not letters or not set(letters) <= set("iorw"):
        raise operand.expected("`r`, `w` or `rw`, possibly with `i` and `o`")
    return "".join(letter for letter in "rw" if letter in letters)


def _special_fence(kind: str) -> Code:
    return (Fence(kind),)


# Memory

_PLACE = re.compile(r"([-+]?[0-9a-fA-FxX]*)\s*\(\s*([^()\s]*)\s*\)")


def _place(operand: Operand) -> Expr:
    found = _PLACE.fullmatch(operand.text)
    if found is None:
        raise operand.expected("an address such as 0(x6) or (x6)")
    offset = immediate(Operand(found[1], operand.offset)) if found[1] else 0
    return displaced(_value(Operand(found[2], operand.offset + found.start(2))), offset)


def _bare_place(operand: Operand) -> Expr:
    address = _place(operand)
    if isinstance(address, Binary):
        raise operand.error("this access takes no offset: its address is a register alone, as in (x6)")
    return address


def _load(size: int, signed: bool, order: Order, destination: Operand, address: Operand) -> Code:
    return (Load(_target(destination), _place(address), size, order, signed),)


def _store(size: int, order: Order, source: Operand, address: Operand) -> Code:
    return (Store(_place(address), _value(source), size, order),)


def _load_reserved(size: int, order: Order, destination: Operand, address: Operand) -> Code:
    return (Load(_target(destination), _bare_place(address), size, order, signed=size < 8, exclusive=True),)


def _store_conditional(size: int, order: Order, status: Operand, source: Operand, address: Operand) -> Code:
    return (StoreConditional(_target(status), _bare_place(address), _value(source), size, order),)


def _atomic(op: str, size: int, order: Order, destination: Operand, source: Operand, address: Operand) -> Code:
    dst = _target(destination)
    operand, where = _value(source), _bare_place(address)
    if dst == DISCARDED:
        return (Rmw(None, op, where, operand, size, order),)
    return Rmw(dst, op, where, operand, size, order), *_sign_extended(dst, size)


def _compare_and_swap(size: int, order: Order, compared: Operand, source: Operand, address: Operand) -> Code:
    dst, old = _target(compared), _value(compared)
    expected = Unary("zext", 8 * size, old) if size < 8 and old != ZERO else old
    failure = Order.ACQUIRE if order in (Order.ACQUIRE, Order.ACQ_REL) else Order.PLAIN
    result = None if dst == DISCARDED else dst
    swap = CompareExchange(result, None, _bare_place(address), expected, _value(source), size, order, failure)
    return swap, *_sign_extended(dst, size)


def _sign_extended(name: str, size: int) -> Code:
    return (Assign(name, Unary("sext", 8 * size, Reg(name))),) if size < 8 and name != DISCARDED else ()


# The instruction set

_OPERATIONS = {
    "add": "add",
    "sub": "sub",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "sll": "shl",
    "srl": "lshr",
    "sra": "ashr",
    "slt": "slt",
    "sltu": "ult",
    "mul": "mul",
    "div": "sdiv",
    "divu": "udiv",
    "rem": "srem",
    "remu": "urem",
}
_WITH_WORDS = ("add", "sub", "sll", "srl", "sra", "mul", "div", "divu", "rem", "remu")
_IMMEDIATES = {
    "addi": "add",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
    "slti": "slt",
    "sltiu": "sltu",
    "slli": "sll",
    "srli": "srl",
    "srai": "sra",
}


def _arithmetic() -> Iterator[tuple[str, Form]]:
    for name, op in _OPERATIONS.items():
        yield name, form(_operate, 3, 3, op, 64)
        if name in _WITH_WORDS:
            yield f"{name}w", form(_operate, 3, 3, op, 32)
    for name, plain in _IMMEDIATES.items():
        yield name, form(_operate_immediate, 3, 3, _OPERATIONS[plain], 64)
        if plain in _WITH_WORDS:
            yield f"{name}w", form(_operate_immediate, 3, 3, _OPERATIONS[plain], 32)
    yield "neg", form(_from_zero, 2, 2, "sub", 64)
    yield "negw", form(_from_zero, 2, 2, "sub", 32)
    yield "snez", form(_from_zero, 2, 2, "ult", 64)
    yield "sgtz", form(_from_zero, 2, 2, "slt", 64)
    for name, op, constant in (("not", "xor", -1), ("seqz", "ult", 1), ("sltz", "slt", 0)):
        yield name, form(_with_constant, 2, 2, op, constant)
    for (op, letter), (suffix, width) in product((("sext", "s"), ("zext", "z")), (("b", 8), ("h", 16), ("w", 32))):
        yield f"{letter}ext.{suffix}", form(_extend, 2, 2, op, width)
    yield "mv", form(_move, 2)
    yield "li", form(_load_immediate, 2)
    yield "lui", form(_load_upper, 2)
    yield "la", form(_load_address, 2)


_COMPARISONS = {
    "eq": "eq",
    "ne": "ne",
    "lt": "slt",
    "ge": "sge",
    "gt": "sgt",
    "le": "sle",
    "ltu": "ult",
    "geu": "uge",
    "gtu": "ugt",
    "leu": "ule",
}


def _control() -> Iterator[tuple[str, Form]]:
    for name, op in _COMPARISONS.items():
        yield f"b{name}", form(_branch, 3, 3, op)
        if not name.endswith("u"):
            yield f"b{name}z", form(_branch_zero, 2, 2, op)
    yield "j", form(_jump, 1)
    yield "jal", form(_jump_and_link, 1, 2)
    yield "ret", form(_return, 0)
    for name in ("nop", "pause"):
        yield name, form(_nothing, 0)
    yield "fence", form(_fence, 0, 2)
    for name in ("fence.tso", "fence.i"):
        yield name, form(_special_fence, 0, 0, name)


_ORDERS = {
    "": Order.PLAIN,
    ".aq": Order.ACQUIRE,
    ".rl": Order.RELEASE,
    ".aqrl": Order.ACQ_REL,
    ".aq.rl": Order.ACQ_REL,
}
_SIZES = {"b": 1, "h": 2, "w": 4, "d": 8}
_ATOMICS = {
    "swap": "xchg",
    "add": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "max": "max",
    "min": "min",
    "maxu": "umax",
    "minu": "umin",
}


def _memory() -> Iterator[tuple[str, Form]]:
    for (mark, order), (letter, size) in product(_ORDERS.items(), _SIZES.items()):
        yield f"l{letter}{mark}", form(_load, 2, 2, size, size < 8, order)
        yield f"s{letter}{mark}", form(_store, 2, 2, size, order)
        if size < 8:
            yield f"l{letter}u{mark}", form(_load, 2, 2, size, False, order)
        if size >= 4:
            yield f"lr.{letter}{mark}", form(_load_reserved, 2, 2, size, order)
            yield f"sc.{letter}{mark}", form(_store_conditional, 3, 3, size, order)
        yield f"amocas.{letter}{mark}", form(_compare_and_swap, 3, 3, size, order)
        for name, op in _ATOMICS.items():
            yield f"amo{name}.{letter}{mark}", form(_atomic, 3, 3, op, size, order)


_FORMS: dict[str, Form] = {**dict(_arithmetic()), **dict(_control()), **dict(_memory())}

_REASON = outside(
    {
        "control registers and system instructions are": (
            r"csr\w+ ecall ebreak [msu]ret wfi sfence\.\w+ hfence\.\w+ sinval\.\w+ rd(cycle|time|instret)h?"
        ),
        "caches are": r"cbo\.\w+ prefetch\.\w+",
        "code addresses are": r"auipc jalr jr call tail",
        "floating point and vectors are": r"fl[hwdq] fs[hwdq] f\w+\.[hsdqwlx][\w.]* v\w+[\w.]*",
        "accesses of 128 bits are": r"amocas\.q[\w.]*",
    }
)

ARCHITECTURE = Architecture("RISCV", ("RISC-V", "RISCV64"), "riscv", register, instruction)
