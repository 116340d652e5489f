"""`string.h`, `ctype.h`, and of `stdlib.h` numbers in texts, sorting and searching; all in the C locale.

What reads and writes memory is written as program text, in `library/`: strings byte by byte, so that every byte is
checked, and seen by other threads, as it would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dekker.frontends.c.lowering.arithmetic import require_absolute, require_quotient
from dekker.frontends.c.lowering.byte_loops import copy_any, fill_any
from dekker.frontends.c.lowering.expressions import binary, select, sign_extend, truncate
from dekker.frontends.c.runtime.interface import External, ExternalCall, Handler
from dekker.frontends.c.runtime.templates import expand
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import ONE, ZERO, Address, Const, Expr, Reg
from dekker.ir.instructions import Load
from dekker.ir.program import Cell, Object

_EVERYTHING = Const(mask(64))
_STRTOK = "what strtok goes on with"


def _library(name: str, count: int, *more: Expr, byte: int | None = None) -> External:
    """A template with the first arguments of the call and constants. `byte` is an argument of which only 8 bits
    count."""

    def lower(call: ExternalCall) -> Expr:
        operands = [call.argument(index) for index in range(count)]
        if byte is not None:
            operands[byte] = call.emitter.keep(truncate(8, operands[byte]))
        return truncate(call.width, expand(call, name, *operands, *more))

    return External(lower)


def _first_argument(name: str, count: int, *more: Expr) -> External:
    """The same, where the value of the call is its first argument."""

    def lower(call: ExternalCall) -> Expr:
        expand(call, name, *(call.argument(index) for index in range(count)), *more)
        return call.argument(0)

    return External(lower)


def _compare_memory(call: ExternalCall) -> Expr:
    """Of the size of a number, as numbers: the first byte is the most significant one."""
    size = call.constant(2)
    if size not in (2, 4, 8):
        return expand(call, "compare_bytes", *_two(call), call.argument(2))
    e, registers = call.emitter, [call.emitter.temporary() for _ in range(2)]
    for register, address in zip(registers, _two(call), strict=True):
        e.emit(Load(register, address, size))
    left, right = (e.keep(_reversed(size, Reg(register))) for register in registers)
    width = 8 * size
    smaller = select(binary("ult", width, left, right), Const(mask(32)), ONE)
    return select(binary("eq", width, left, right), ZERO, smaller)


def _reversed(size: int, value: Expr) -> Expr:
    total: Expr = ZERO
    for index in range(size):
        byte = truncate(8, binary("lshr", 64, value, Const(8 * index)))
        total = binary("or", 64, binary("shl", 64, byte, Const(8 * (size - 1 - index))), total)
    return total


def _copy(call: ExternalCall) -> Expr:
    copy_any(call.lowering, call.argument(0), call.argument(1), call.argument(2))
    return call.argument(0)


def _copy_to_end(call: ExternalCall) -> Expr:
    return binary("add", 64, _copy(call), call.argument(2))


def _copy_backwards(call: ExternalCall) -> None:
    """`bcopy(source, target, size)`"""
    copy_any(call.lowering, call.argument(1), call.argument(0), call.argument(2))


def _fill(call: ExternalCall) -> Expr:
    fill_any(call.lowering, call.argument(0), truncate(8, call.argument(1)), call.argument(2))
    return call.argument(0)


def _clear(call: ExternalCall) -> None:
    fill_any(call.lowering, call.argument(0), ZERO, call.argument(1))


def _find_member(call: ExternalCall) -> Expr:
    """`strpbrk`: the first byte that is in the set, or null."""
    place = call.emitter.keep(binary("add", 64, call.argument(0), expand(call, "span_of", *_two(call), ZERO)))
    found = expand(call, "string_length", place)
    return select(binary("eq", 64, found, ZERO), ZERO, place)


def _two(call: ExternalCall) -> tuple[Expr, Expr]:
    return call.argument(0), call.argument(1)


def _next_word(call: ExternalCall) -> Expr:
    place = call.shared(_STRTOK, 8) if len(call.arguments) < 3 else call.argument(2)
    return expand(call, "next_word", *_two(call), place)


def _error_text(call: ExternalCall) -> Expr:
    return _text_object(call, "error")


def _text_object(call: ExternalCall, text: str) -> Address:
    name, data = f"text {text}", text.encode()
    cells = tuple(Cell(index, 1, byte) for index, byte in enumerate(data))
    call.lowering.unit.objects.setdefault(name, Object(name, len(data) + 1, cells, 1))
    return Address(name)


# --- numbers


def _number(*, signed: bool) -> Handler:
    """`strtol` and its like: `text, end, base`."""

    def lower(call: ExternalCall) -> Expr:
        operands = (*_two(call), call.argument(2), ONE if signed else ZERO)
        return truncate(call.width, expand(call, "text_to_number", *operands))

    return lower


def _decimal(call: ExternalCall) -> Expr:
    return truncate(call.width, expand(call, "text_to_number", call.argument(0), ZERO, Const(10), ONE))


def _divide(width: int) -> Handler:
    """`div`: quotient and remainder, in one register if both fit."""

    def lower(call: ExternalCall) -> Expr | tuple[Expr, ...]:
        require_quotient(call.emitter, "sdiv", width, *_two(call))
        quotient, remainder = (binary(op, width, *_two(call)) for op in ("sdiv", "srem"))
        if width == 64:
            return quotient, remainder
        return binary("or", 64, quotient, binary("shl", 64, remainder, Const(32)))

    return lower


def _absolute(call: ExternalCall) -> Expr:
    if call.lowering.unit.dialect.overflow:
        require_absolute(call.emitter, call.width, call.argument(0))
    value = sign_extend(call.width, 64, call.argument(0))
    flipped = binary("ashr", 64, value, Const(63))
    return truncate(call.width, binary("sub", 64, binary("xor", 64, value, flipped), flipped))


# --- sorting and searching


def _sort(call: ExternalCall) -> None:
    size = call.constant(2)
    unit = next((width for width in (8, 4, 2) if size is not None and size % width == 0), 1)
    expand(call, "sort", *(call.argument(index) for index in range(4)), Const(unit))


# --- classes of characters


def _between(value: Expr, first: str, last: str) -> Expr:
    return binary("ule", 32, binary("sub", 32, value, Const(ord(first))), Const(ord(last) - ord(first)))


def _any_of(*ranges: str) -> Callable[[Expr], Expr]:
    def test(value: Expr) -> Expr:
        result: Expr = ZERO
        for pair in ranges:
            inside = _between(value, pair[0], pair[1])
            result = inside if result == ZERO else binary("or", 64, result, inside)
        return result

    return test


_CLASSES: dict[str, tuple[int, tuple[str, ...]]] = {
    "upper": (0, ("AZ",)),
    "lower": (1, ("az",)),
    "alpha": (2, ("AZ", "az")),
    "digit": (3, ("09",)),
    "xdigit": (4, ("09", "AF", "af")),
    "space": (5, ("\t\r", "  ")),
    "print": (6, (" ~",)),
    "graph": (7, ("!~",)),
    "blank": (8, ("\t\t", "  ")),
    "cntrl": (9, ("\0\x1f", "\x7f\x7f")),
    "punct": (10, ("!/", ":@", "[`", "{~")),
    "alnum": (11, ("09", "AZ", "az")),
}
"""Their bits in the tables of glibc, counted as its macro `_ISbit` does."""


def _class_test(ranges: tuple[str, ...]) -> External:
    return External(lambda call: _any_of(*ranges)(call.argument(0)))


def _to_case(first: str, last: str, change: int) -> External:
    def lower(call: ExternalCall) -> Expr:
        value = call.argument(0)
        return select(_between(value, first, last), binary("xor", 32, value, Const(change)), value)

    return External(lower)


def _class_bits(byte: int) -> int:
    bits = 0
    for number, ranges in _CLASSES.values():
        if any(pair[0] <= chr(byte) <= pair[1] for pair in ranges):
            bits |= 1 << number + 8 if number < 8 else 1 << number - 8
    return bits


_FIRST, _LAST = -128, 255


def _table(name: str, width: int, entry: Callable[[int], int]) -> External:
    """The address of a pointer to the entry for 0 in a table from -128 to 255."""

    def lower(call: ExternalCall) -> Expr:
        objects = call.lowering.unit.objects
        if name not in objects:
            numbers = range(_FIRST, _LAST + 1)
            cells = (Cell(width * (n - _FIRST), width, entry(n) & mask(8 * width)) for n in numbers)
            objects[f"{name} table"] = Object(f"{name} table", width * len(numbers), tuple(cells), width)
            objects[name] = Object(name, 8, (Cell(0, 8, Address(f"{name} table", -_FIRST * width)),))
        return Address(name)

    return External(lower)


def _lowered(byte: int) -> int:
    return byte + 32 if ord("A") <= byte <= ord("Z") else byte


def _raised(byte: int) -> int:
    return byte - 32 if ord("a") <= byte <= ord("z") else byte


# --- the table


def _both(name: str, external: External) -> dict[str, External]:
    """With the name that a checking header gives it; the size that it adds is not needed."""
    return {name: external, f"__{name}_chk": external}


STRINGS: Mapping[str, External] = {
    **_both("memcpy", External(_copy)),
    **_both("memmove", External(_copy)),
    **_both("mempcpy", External(_copy_to_end)),
    "bcopy": External(_copy_backwards),
    **_both("memset", External(_fill)),
    **dict.fromkeys(("bzero", "explicit_bzero"), External(_clear)),
    **dict.fromkeys(("memcmp", "bcmp"), External(_compare_memory)),
    "memchr": _library("find_byte", 3, byte=1),
    "memrchr": _library("find_last_byte", 3, byte=1),
    "strlen": _library("string_length", 1),
    "strnlen": _library("bounded_length", 2),
    **dict.fromkeys(("strcmp", "strcoll"), _library("compare_strings", 2)),
    "strncmp": _library("compare_prefixes", 3),
    "strcasecmp": _library("compare_ignoring_case", 2, _EVERYTHING),
    "strncasecmp": _library("compare_ignoring_case", 3),
    **_both("strcpy", _first_argument("copy_string", 2)),
    **_both("stpcpy", _library("copy_string", 2)),
    **_both("strncpy", _first_argument("copy_prefix", 3)),
    **_both("stpncpy", _library("copy_prefix", 3)),
    **_both("strcat", _library("append_string", 2, _EVERYTHING)),
    **_both("strncat", _library("append_string", 3)),
    "strlcpy": _library("copy_limited", 3),
    **dict.fromkeys(("strchr", "index"), _library("find_character", 2, byte=1)),
    "strchrnul": _library("find_character_or_end", 2, byte=1),
    **dict.fromkeys(("strrchr", "rindex"), _library("find_last_character", 2, byte=1)),
    "strstr": _library("find_string", 2),
    "strspn": _library("span_of", 2, ONE),
    "strcspn": _library("span_of", 2, ZERO),
    "strpbrk": External(_find_member),
    **dict.fromkeys(("strtok", "strtok_r", "__strtok_r"), External(_next_word)),
    **dict.fromkeys(("strdup", "__strdup"), _library("duplicate", 1, _EVERYTHING)),
    **dict.fromkeys(("strndup", "__strndup"), _library("duplicate", 2)),
    "strerror": External(_error_text),
    **dict.fromkeys(("atoi", "atol", "atoll"), External(_decimal)),
    **{
        f"{prefix}{name}": External(_number(signed="u" not in name))
        for name in ("strtol", "strtoll", "strtoul", "strtoull", "strtoimax", "strtoumax")
        for prefix in ("", "__isoc23_")
    },
    **dict.fromkeys(("abs", "labs", "llabs", "imaxabs"), External(_absolute)),
    "div": External(_divide(32)),
    **dict.fromkeys(("ldiv", "lldiv", "imaxdiv"), External(_divide(64))),
    "qsort": External(_sort),
    "bsearch": _library("search", 5),
    **{f"is{name}": _class_test(ranges) for name, (_, ranges) in _CLASSES.items()},
    "isascii": External(lambda call: binary("ult", 32, call.argument(0), Const(128))),
    "tolower": _to_case("A", "Z", 32),
    "toupper": _to_case("a", "z", 32),
    "__ctype_b_loc": _table("classes of characters", 2, lambda n: _class_bits(n) if 0 <= n < 128 else 0),
    "__ctype_tolower_loc": _table("small letters", 4, _lowered),
    "__ctype_toupper_loc": _table("capital letters", 4, _raised),
}
