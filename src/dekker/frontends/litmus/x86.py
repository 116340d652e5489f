"""x86, in Intel's order of operands (`X86`: `MOV EAX,[x]`) and in AT&T's (`X86_64`: `movl (x),%eax`).

All names of a register are parts of one 64-bit register: writing 32 bits clears the upper half, writing 8 or 16 bits
keeps the rest. The flags are `FLAGS.ZF`, `FLAGS.SF`, `FLAGS.CF` and `FLAGS.OF`. XCHG with memory, and LOCK, make one
atomic instruction; other instructions that change memory are a load and a store. Non-temporal stores are weaker than
the models and therefore rejected.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from dekker.frontends.litmus.architecture import Architecture, InstructionError, Register
from dekker.frontends.litmus.assembly import NEXT
from dekker.frontends.litmus.operands import Form, Operand, compute, form, label, translate
from dekker.ir.expressions import ONE, ZERO, Address, Binary, Const, Expr, Reg, Select, Unary
from dekker.ir.instructions import (
    Assign,
    Branch,
    CompareExchange,
    Exit,
    Fence,
    Instruction,
    Jump,
    Load,
    Rmw,
    Store,
)

Code = tuple[Instruction, ...]


class Style(NamedTuple):
    """`source_first`: AT&T's order. `locked`: LOCK stands before the instruction."""

    source_first: bool
    locked: bool


# Registers


class Part(NamedTuple):
    """Bits `shift` to `shift + width - 1` of a register."""

    register: str
    width: int
    shift: int = 0


def _parts() -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for letter in "ABCD":
        register = f"R{letter}X"
        names = {register: 64, f"E{letter}X": 32, f"{letter}X": 16, f"{letter}L": 8}
        parts |= {name: Part(register, width) for name, width in names.items()}
        parts[f"{letter}H"] = Part(register, 8, 8)
    for name in ("SI", "DI", "BP", "SP"):
        names = {f"R{name}": 64, f"E{name}": 32, name: 16, f"{name}L": 8}
        parts |= {part: Part(f"R{name}", width) for part, width in names.items()}
    for number in range(8, 16):
        suffixes = {"": 64, "D": 32, "W": 16, "B": 8, "L": 8}
        parts |= {f"R{number}{suffix}": Part(f"R{number}", width) for suffix, width in suffixes.items()}
    # Nothing moves these; tests compiled from C may mention them.
    return parts | {"RIP": Part("RIP", 64), "CS": Part("CS", 16)}


_PARTS = _parts()
_SYMBOLIC = re.compile(r"%[A-Za-z_]\w*")


@lru_cache(maxsize=4096)
def _part(text: str) -> Part | None:
    found = _PARTS.get(text.removeprefix("%").upper())
    if found is None and _SYMBOLIC.fullmatch(text):
        return Part(text, 64)
    return found


@lru_cache(maxsize=4096)
def _register_name(text: str) -> Register | None:
    part = _part(text)
    return None if part is None or part.shift else Register(part.register, part.width)


def _read(part: Part) -> Expr:
    """A part as an operand of an operation of its width, which ignores whatever is above it."""
    whole = Reg(part.register)
    return Binary("lshr", 64, whole, Const(part.shift)) if part.shift else whole


def _write(part: Part, width: int, value: Expr) -> Assign:
    """`value` is zero above `width` bits."""
    if width >= 32:
        return Assign(part.register, value)
    kept = ((1 << 64) - 1) ^ ((1 << width) - 1) << part.shift
    placed = compute("shl", 64, value, Const(part.shift)) if part.shift else value
    return Assign(part.register, Binary("or", 64, Binary("and", 64, Reg(part.register), Const(kept)), placed))


def _cut(width: int, value: Expr) -> Expr:
    if isinstance(value, Const):
        return Const(value.value & (1 << width) - 1)
    needed = width < 64 and not (isinstance(value, Binary | Unary) and value.width <= width and value.op != "sext")
    return Unary("zext", width, value) if needed else value


# Operands


class Memory(NamedTuple):
    address: Expr
    width: int | None


class Immediate(NamedTuple):
    value: Expr


Place = Part | Memory | Immediate

_NUMBER = re.compile(r"([-+]?)\s*(0[xX][0-9a-fA-F]{1,32}|[0-9]{1,32})")
_NAME = re.compile(r"[A-Za-z_.][\w.]*")
_SIZED = re.compile(r"(byte|word|dword|qword)\s+ptr\b\s*", re.IGNORECASE)
_WIDTHS = {"byte": 8, "word": 16, "dword": 32, "qword": 64}
_OUTER = re.compile(r"([^\[(]*)([\[(])(.*)[\])]", re.DOTALL)
_TERM = re.compile(r"\s*([+-]?)\s*([^+\-\s][^+-]*)")
_OPERAND_HINT = "operands are registers, numbers such as `$1`, and memory such as `[x]`, `(%rax)`, `8(%rax)`"


def _place(operand: Operand) -> Place:
    text = operand.text
    part = _part(text)
    if part is not None:
        return part
    number = _number(text.removeprefix("$"))
    if number is not None:
        return Immediate(Const(number))
    if text.startswith("$") and _NAME.fullmatch(text, 1):
        return Immediate(Address(text[1:]))
    sized = _SIZED.match(text)
    width = _WIDTHS[sized[1].lower()] if sized else None
    found = _OUTER.fullmatch(text, sized.end() if sized else 0)
    if found is None:
        raise operand.expected("an operand", _OPERAND_HINT)
    return Memory(_address(operand, found), width)


def _number(text: str) -> int | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    value = int(found[2], 16) if found[2][:2].lower() == "0x" else int(found[2])
    return -value if found[1] == "-" else value


def _address(operand: Operand, found: re.Match[str]) -> Expr:
    """`[base+index*scale+displacement]`, or `displacement(base,index,scale)`; either bracket will do."""
    outer, inner = found[1].strip(), found[3].strip()
    terms = _sum(operand, outer) if outer else []
    if "," in inner:
        base, index, *scale = (piece.strip() for piece in inner.split(","))
        if base:
            terms += _sum(operand, base)
        terms += _sum(operand, f"{index}*{scale[0]}" if scale and scale[0] else index)
    elif inner.lower().lstrip("%") != "rip":
        terms += _sum(operand, inner)
    if not terms:
        raise operand.expected("an address", _OPERAND_HINT)
    return _added(terms)


def _sum(operand: Operand, text: str) -> list[Expr]:
    terms: list[Expr] = []
    position = 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None:
            raise operand.expected("an address", _OPERAND_HINT)
        term = _term(operand, found[2].strip())
        if found[1] == "-":
            if not isinstance(term, Const):
                raise operand.expected("an address", "only numbers can be subtracted in it")
            term = Const(-term.value)
        terms.append(term)
        position = found.end()
    return terms


def _term(operand: Operand, text: str) -> Expr:
    number = _number(text.removeprefix("$"))
    if number is not None:
        return Const(number)
    first, _, second = (piece.strip() for piece in text.partition("*"))
    if second:
        if first.isdecimal():
            first, second = second, first
        part = _part(first)
        if part is None or second not in ("1", "2", "4", "8"):
            raise operand.expected("an address", "a scaled index looks like `%rax*4`; scales are 1, 2, 4 and 8")
        return Binary("mul", 64, _cut(part.width, _read(part)), Const(int(second)))
    part = _part(text)
    if part is not None:
        return _cut(part.width, _read(part))
    if _NAME.fullmatch(text):
        return Address(text)
    raise operand.expected("an address", _OPERAND_HINT)


def _added(terms: list[Expr]) -> Expr:
    constant = sum(term.value for term in terms if isinstance(term, Const))
    rest = [term for term in terms if not isinstance(term, Const)]
    if rest and isinstance(rest[0], Address) and len(rest) == 1:
        offset = constant & (1 << 64) - 1
        return Address(rest[0].symbol, offset - (1 << 64) if offset >> 63 else offset)
    total: Expr | None = None
    for term in rest:
        total = term if total is None else Binary("add", 64, total, term)
    if total is None:
        return Const(constant)
    return Binary("add", 64, total, Const(constant)) if constant & (1 << 64) - 1 else total


def _width(written: int, *places: Place) -> int:
    """The width of an instruction: as written, else that of its registers, else that of its memory, else 32 bits."""
    if written:
        return written
    for place in places:
        if isinstance(place, Part) and not place.register.startswith("%"):
            return place.width
    for place in places:
        if isinstance(place, Memory) and place.width is not None:
            return place.width
    return 32


_LOADED = "T.value"


def _value(place: Place, width: int) -> tuple[Code, Expr]:
    """How to get the value of an operand: a load, if it is in memory, and an expression."""
    match place:
        case Part():
            return (), _read(place)
        case Memory(address):
            return (Load(_LOADED, address, width // 8),), Reg(_LOADED)
        case Immediate(value):
            return (), value


def _store(place: Place, width: int, value: Expr, operand: Operand) -> Instruction:
    match place:
        case Part():
            return _write(place, width, _cut(width, value))
        case Memory(address):
            return Store(address, value, width // 8)
    raise operand.expected("a register or memory")


def _check_both(first: Place, second: Place, operand: Operand) -> None:
    if isinstance(first, Memory) and isinstance(second, Memory):
        raise operand.error("only one operand can be in memory")


def _check_fit(place: Place, width: int, operand: Operand) -> None:
    """Numbers are as wide as the instruction, signed or not."""
    if isinstance(place, Immediate) and isinstance(place.value, Const):
        number = _number(operand.text.removeprefix("$"))
        assert number is not None
        if not -(1 << width - 1) <= number < 1 << width:
            raise operand.error(f"{number} does not fit into the {width} bits of this instruction")


# Flags

_FLAGS = {name: Reg(f"FLAGS.{name}") for name in ("ZF", "SF", "CF", "OF")}


def _set(**flags: Expr) -> Code:
    return tuple(Assign(_FLAGS[name].name, value) for name, value in flags.items())


def _top(width: int, value: Expr) -> Expr:
    return Binary("lshr", width, value, Const(width - 1))


def _zero_and_sign(width: int, result: Expr) -> Code:
    return _set(ZF=Binary("eq", width, result, ZERO), SF=_top(width, result))


def _overflow(op: str, width: int, left: Expr, right: Expr, result: Expr) -> Expr:
    second = Binary("xor", width, left, right) if op == "sub" else Binary("xor", width, right, result)
    return _top(width, Binary("and", width, Binary("xor", width, left, result), second))


def _flags(op: str, width: int, left: Expr, right: Expr, *, carry: bool = True) -> Code:
    result = Binary(op, width, left, right)
    flags = _zero_and_sign(width, result)
    if op not in ("add", "sub"):
        return (*flags, *_set(CF=ZERO, OF=ZERO))
    flags += _set(OF=_overflow(op, width, left, right, result))
    if carry:
        borrowed = Binary("ult", width, left, right) if op == "sub" else Binary("ult", width, result, left)
        flags += _set(CF=borrowed)
    return flags


def _not(flag: Expr) -> Expr:
    return Binary("eq", 1, flag, ZERO)


def _conditions() -> dict[str, Expr]:
    zero, sign, carry, overflow = _FLAGS.values()
    less = Binary("ne", 1, sign, overflow)
    less_or_equal = Binary("or", 1, zero, less)
    below_or_equal = Binary("or", 1, zero, carry)
    meanings: list[tuple[Expr, str, str]] = [
        (zero, "e z", "ne nz"),
        (sign, "s", "ns"),
        (carry, "c b nae", "nc nb ae"),
        (overflow, "o", "no"),
        (less, "l lt nge", "nl ge"),
        (less_or_equal, "le ng", "nle g gt"),
        (below_or_equal, "be na", "nbe a"),
    ]
    conditions: dict[str, Expr] = {}
    for condition, names, opposites in meanings:
        conditions |= dict.fromkeys(names.split(), condition)
        conditions |= dict.fromkeys(opposites.split(), _not(condition))
    return conditions


_CONDITIONS = _conditions()


# Instructions


def _ordered(style: Style, first: Operand, second: Operand) -> tuple[Operand, Operand]:
    """Destination and source. A number cannot be the destination, whatever the order."""
    if style.source_first and not isinstance(_place(second), Immediate):
        return second, first
    return first, second


def _move(style: Style, written: int, first: Operand, second: Operand) -> Code:
    destination, source = _ordered(style, first, second)
    target, origin = _place(destination), _place(source)
    _check_both(target, origin, source)
    width = _width(written, target, origin)
    _check_fit(origin, width, source)
    if isinstance(target, Part) and isinstance(origin, Memory) and width >= 32:
        return (Load(target.register, origin.address, width // 8),)
    code, value = _value(origin, width)
    return (*code, _store(target, width, value, destination))


def _extend(style: Style, signed: bool, narrow: int, written: int, first: Operand, second: Operand) -> Code:
    """MOVZX and MOVSX under all their names; `narrow` is the width of the source, 0 if its operand says it."""
    destination, source = _ordered(style, first, second)
    target, origin = _place(destination), _place(source)
    if not isinstance(target, Part):
        raise destination.expected("a register")
    if isinstance(origin, Immediate) or not (narrow or origin.width):
        raise source.expected("a register, or memory with its size, such as `byte ptr [x]`")
    width = _width(written, target)
    narrow = narrow or origin.width or 0
    code, value = _value(origin, narrow)
    extended = _cut(width, Unary("sext", narrow, value)) if signed else _cut(narrow, value)
    return (*code, _write(target, width, extended))


def _binary(style: Style, op: str, keep: bool, written: int, first: Operand, second: Operand) -> Code:
    destination, source = _ordered(style, first, second)
    target, origin = _place(destination), _place(source)
    _check_both(target, origin, source)
    width = _width(written, target, origin)
    _check_fit(origin, width, source)
    code, right = _value(origin, width)
    if style.locked:
        return _locked(op, target, width, right, destination)
    more, left = _value(target, width)
    flags = _flags(op, width, left, right)
    if not keep:
        return (*code, *more, *flags)
    return (*code, *more, *flags, _store(target, width, Binary(op, width, left, right), destination))


def _locked(op: str, target: Place, width: int, right: Expr, operand: Operand, *, carry: bool = True) -> Code:
    if not isinstance(target, Memory):
        raise operand.expected("memory", "LOCK needs a destination in memory")
    update = Rmw(_LOADED, op, target.address, right, width // 8)
    return (update, *_flags(op, width, Reg(_LOADED), right, carry=carry))


def _step(style: Style, op: str, written: int, operand: Operand) -> Code:
    """INC and DEC, which leave the carry flag alone."""
    target = _place(operand)
    width = _width(written, target)
    if style.locked:
        return _locked(op, target, width, ONE, operand, carry=False)
    code, value = _value(target, width)
    result = Binary(op, width, value, ONE)
    return (*code, *_flags(op, width, value, ONE, carry=False), _store(target, width, result, operand))


def _negate(style: Style, written: int, operand: Operand) -> Code:
    target = _place(operand)
    width = _width(written, target)
    code, value = _value(target, width)
    flags = _flags("sub", width, ZERO, value)
    return (*code, *flags, _store(target, width, Unary("neg", width, value), operand))


def _complement(style: Style, written: int, operand: Operand) -> Code:
    target = _place(operand)
    width = _width(written, target)
    if style.locked:
        if not isinstance(target, Memory):
            raise operand.expected("memory", "LOCK needs a destination in memory")
        return (Rmw(_LOADED, "xor", target.address, Const((1 << width) - 1), width // 8),)
    code, value = _value(target, width)
    return (*code, _store(target, width, Unary("not", width, value), operand))


def _shift(style: Style, op: str, written: int, first: Operand, second: Operand | None = None) -> Code:
    destination, amount = (first, None) if second is None else _ordered(style, first, second)
    target = _place(destination)
    width = _width(written, target)
    by = Immediate(ONE) if amount is None else _place(amount)
    if not isinstance(by, Immediate) or not isinstance(by.value, Const):
        assert amount is not None
        raise amount.expected("a number", "shifts by a register are not supported")
    count = by.value.value & (63 if width == 64 else 31)
    code, value = _value(target, width)
    if count == 0:
        return (*code, _store(target, width, _cut(width, value), destination))
    result = Binary(op, width, value, Const(count))
    out = Const(width - count if op == "shl" else count - 1)
    carry = Binary("and", width, Binary("lshr" if op == "shl" else "ashr", width, value, out), ONE)
    top = _top(width, value)
    overflow = {"shl": Binary("xor", width, _top(width, result), carry), "lshr": top, "ashr": ZERO}[op]
    flags = (*_zero_and_sign(width, result), *_set(CF=carry, OF=overflow))
    return (*code, *flags, _store(target, width, result, destination))


def _memory_and_register(first: Operand, second: Operand) -> tuple[Memory, Part]:
    """Exactly one of two operands is in memory; the order does not matter."""
    one, other = _place(first), _place(second)
    if isinstance(other, Memory):
        one, other = other, one
    if not isinstance(one, Memory):
        raise first.expected("memory")
    if not isinstance(other, Part):
        raise second.expected("a register")
    return one, other


def _exchange(style: Style, atomic: bool, written: int, first: Operand, second: Operand) -> Code:
    one, other = _place(first), _place(second)
    if isinstance(one, Part) and isinstance(other, Part):
        width = _width(written, one, other)
        kept = Assign(_LOADED, _cut(width, _read(one)))
        return (
            kept,
            _write(one, width, _cut(width, _read(other))),
            _write(other, width, Reg(_LOADED)),
        )
    memory, part = _memory_and_register(first, second)
    width = _width(written, part, memory)
    value = _read(part)
    if not atomic:
        load, store = Load(_LOADED, memory.address, width // 8), Store(memory.address, value, width // 8)
        return load, store, _write(part, width, Reg(_LOADED))
    if width >= 32:
        return (Rmw(part.register, "xchg", memory.address, value, width // 8),)
    return Rmw(_LOADED, "xchg", memory.address, value, width // 8), _write(part, width, Reg(_LOADED))


def _exchange_add(style: Style, written: int, first: Operand, second: Operand) -> Code:
    memory, part = _memory_and_register(first, second)
    width = _width(written, part, memory)
    value, old = _read(part), Reg(_LOADED)
    if style.locked:
        update: Code = (Rmw(_LOADED, "add", memory.address, value, width // 8),)
    else:
        total = Binary("add", width, old, value)
        update = (Load(_LOADED, memory.address, width // 8), Store(memory.address, total, width // 8))
    return (*update, *_flags("add", width, old, value), _write(part, width, old))


def _compare_exchange(style: Style, written: int, first: Operand, second: Operand) -> Code:
    memory, part = _memory_and_register(first, second)
    width = _width(written, part, memory)
    accumulator, old, desired = Part("RAX", width), Reg(_LOADED), _read(part)
    expected = _read(accumulator)
    flags = _flags("sub", width, expected, old)
    if style.locked:
        exchange = CompareExchange(_LOADED, None, memory.address, expected, desired, width // 8)
        return (exchange, *flags, _write(accumulator, width, old))
    return (
        Load(_LOADED, memory.address, width // 8),
        *flags,
        _write(accumulator, width, old),
        Branch(_CONDITIONS["ne"], NEXT),
        Store(memory.address, desired, width // 8),
    )


def _load_address(style: Style, written: int, first: Operand, second: Operand) -> Code:
    destination, source = _ordered(style, first, second)
    target, origin = _place(destination), _place(source)
    if not isinstance(target, Part):
        raise destination.expected("a register")
    if not isinstance(origin, Memory):
        raise source.expected("an address", _OPERAND_HINT)
    width = _width(written, target)
    return (_write(target, width, _cut(width, origin.address)),)


def _conditional_move(style: Style, condition: str, written: int, first: Operand, second: Operand) -> Code:
    """Memory can only be the source: herd's `cmovc %eax,(x)`, with the register first in AT&T's order too, is
    understood."""
    destination, source = _ordered(style, first, second)
    if isinstance(_place(destination), Memory):
        destination, source = source, destination
    target, origin = _place(destination), _place(source)
    if not isinstance(target, Part):
        raise destination.expected("a register")
    width = _width(written, target, origin)
    code, value = _value(origin, width)
    kept, moved = _cut(width, _read(target)), _cut(width, value)
    return (*code, _write(target, width, Select(_CONDITIONS[condition], moved, kept)))


def _set_on(_style: Style, condition: str, operand: Operand) -> Code:
    target = _place(operand)
    width = target.width if isinstance(target, Part) else 8
    return (_store(target, width, _cut(width, _CONDITIONS[condition]), operand),)


def _branch(_style: Style, condition: str, target: Operand) -> Code:
    return (Branch(_CONDITIONS[condition], label(target)),)


def _jump(_style: Style, target: Operand) -> Code:
    return (Jump(label(target)),)


def _nothing() -> Code:
    return ()


def _padding(operand: Operand | None = None) -> Code:
    """The operand that makes a longer `nop` is not accessed."""
    if operand is not None and _part(operand.text) is None and _OUTER.fullmatch(operand.text) is None:
        raise operand.expected("a register or memory")
    return ()


def _simple(_style: Style, *instructions: Instruction) -> Code:
    return instructions


_SUFFIXES = {"": 0, "b": 8, "w": 16, "l": 32, "q": 64}
_BINARY = {
    "add": ("add", True),
    "sub": ("sub", True),
    "and": ("and", True),
    "or": ("or", True),
    "xor": ("xor", True),
    "cmp": ("sub", False),
    "test": ("and", False),
}
_SHIFTS = {"shl": "shl", "sal": "shl", "shr": "lshr", "sar": "ashr"}
_LOCKABLE = frozenset(("add", "sub", "and", "or", "xor", "inc", "dec", "not", "xchg", "xadd", "cmpxchg"))


@cache
def _forms(style: Style) -> dict[str, Form]:
    forms: dict[str, Form] = {}
    for condition in _CONDITIONS:
        forms[f"j{condition}"] = form(_branch, 1, 1, style, condition)
        forms[f"set{condition}"] = form(_set_on, 1, 1, style, condition)
        forms[f"cmov{condition}"] = form(_conditional_move, 2, 2, style, condition, 0)
    for suffix, width in _SUFFIXES.items():
        for name, arguments in _sized_forms(style, width).items():
            forms.setdefault(name + suffix, arguments)
    for letter, signed in (("z", False), ("s", True)):
        forms[f"mov{letter}x"] = form(_extend, 2, 2, style, signed, 0, 0)
        for narrow, wide in ("bw", "bl", "bq", "wl", "wq", "lq"):
            forms[f"mov{letter}{narrow}{wide}"] = form(_extend, 2, 2, style, signed, _SUFFIXES[narrow], _SUFFIXES[wide])
    forms["movsxd"] = form(_extend, 2, 2, style, True, 32, 0)
    for name in ("mfence", "lfence", "sfence"):
        forms[name] = form(_simple, 0, 0, style, Fence(name))
    for name in ("nop", "nopw", "nopl", "nopq"):
        forms[name] = form(_padding, 0, 1)
    for name in ("pause", "endbr32", "endbr64"):
        forms[name] = form(_nothing, 0)
    forms["ret"] = form(_simple, 0, 0, style, Exit())
    forms["jmp"] = form(_jump, 1, 1, style)
    return forms


def _sized_forms(style: Style, width: int) -> dict[str, Form]:
    return {
        "mov": form(_move, 2, 2, style, width),
        **{name: form(_binary, 2, 2, style, *what, width) for name, what in _BINARY.items()},
        "inc": form(_step, 1, 1, style, "add", width),
        "dec": form(_step, 1, 1, style, "sub", width),
        "neg": form(_negate, 1, 1, style, width),
        "not": form(_complement, 1, 1, style, width),
        **{name: form(_shift, 1, 2, style, op, width) for name, op in _SHIFTS.items()},
        "xchg": form(_exchange, 2, 2, style, True, width),
        "uxch": form(_exchange, 2, 2, style, False, width),
        "xadd": form(_exchange_add, 2, 2, style, width),
        "cmpxchg": form(_compare_exchange, 2, 2, style, width),
        "lea": form(_load_address, 2, 2, style, width),
        **{f"cmov{name}": form(_conditional_move, 2, 2, style, name, width) for name in _CONDITIONS},
    }


_REASONS = (
    (re.compile(r"movnt\w*|maskmov\w*"), "non-temporal accesses are weaker than the models of x86 here"),
    (re.compile(r"clflush\w*|clwb|wbinvd|invd|invlpg|prefetch\w*"), "caches have no place in the models"),
    (re.compile(r"push\w*|pop\w*|call\w*|leave|enter|int|syscall"), "there is no stack and there are no calls"),
    (re.compile(r"cmpxchg(8|16)b|movd|movs[sd]|mov[ad]q\w*|v\w+"), "there are no registers wider than 64 bits"),
    (re.compile(r"x(begin|end|abort|test)"), "transactions have no place in the models"),
    (re.compile(r"adc\w*|sbb\w*|mul\w*|imul\w*|div\w*|idiv\w*|j[n]?p|jp[eo]|bt[src]?\w*"), "it is not translated"),
)


def _reject(mnemonic: str) -> str | None:
    return next((reason for pattern, reason in _REASONS if pattern.fullmatch(mnemonic)), None)


_LOCK = re.compile(r"lock\b\s*", re.IGNORECASE)
_MNEMONIC = re.compile(r"\S*")


def _translate(text: str, *, source_first: bool) -> Code:
    lock = _LOCK.match(text)
    if lock is None:
        return translate(text, _forms(Style(source_first, locked=False)), "x86", _reject)
    rest = text[lock.end() :]
    mnemonic = _MNEMONIC.match(rest.lower())
    name = mnemonic[0] if mnemonic else ""
    if name not in _LOCKABLE and not (name[:-1] in _LOCKABLE and name[-1] in _SUFFIXES):
        message = f"LOCK cannot stand before `{rest}`" if rest else "LOCK stands alone"
        hint = "LOCK stands before one of " + ", ".join(sorted(item.upper() for item in _LOCKABLE))
        raise InstructionError(message, 0, len(text), hint)
    try:
        return translate(rest, _forms(Style(source_first, locked=True)), "x86", _reject)
    except InstructionError as error:
        error.offset += lock.end()
        raise


def _intel(text: str) -> Code:
    return _translate(text, source_first=False)


def _att(text: str) -> Code:
    return _translate(text, source_first=True)


ARCHITECTURE = Architecture("X86", (), "tso", _register_name, _intel)
ARCHITECTURE_64 = Architecture("X86_64", ("X86-64",), "tso", _register_name, _att)
