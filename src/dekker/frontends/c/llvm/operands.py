"""Reads types, constants and other operands."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from dekker.errors import UnsupportedError
from dekker.frontends.c.llvm.lexer import END, Cursor, unescaped, unquoted
from dekker.frontends.c.llvm.syntax import (
    Aggregate,
    Assembly,
    Bytes,
    ConstantExpression,
    Global,
    Local,
    Metadata,
    Number,
    Operand,
    Value,
    Zero,
)
from dekker.frontends.c.llvm.types import (
    FLOATS,
    POINTER,
    Array,
    Float,
    FunctionType,
    Integer,
    Named,
    Opaque,
    Struct,
    Type,
    Vector,
)

_SIMPLE: dict[str, Type] = {
    **{f"i{bits}": Integer(bits) for bits in (1, 8, 16, 24, 32, 40, 48, 56, 64, 128)},
    **FLOATS,
    **{name: Opaque(name) for name in ("void", "label", "metadata", "token", "opaque", "x86_amx")},
    "ptr": POINTER,
}
_INTEGER = re.compile(r"i\d+$")
_TYPED_POINTERS = "compile with clang 15 or later, or with `-mllvm -opaque-pointers` on clang 14"
_DEEPEST = 60
WIDEST_INTEGER = 128


def read_type(cursor: Cursor) -> Type:
    token = cursor.token
    kind = _SIMPLE.get(token)
    if kind is not None:
        cursor.index += 1
    else:
        kind = _compound_type(cursor, token)
    return _suffixes(cursor, kind) if cursor.token in ("(", "*", "addrspace") else kind


def _compound_type(cursor: Cursor, token: str) -> Type:
    cursor.take()
    if token.startswith("%"):
        return Named(unquoted(token))
    if token == "[":
        return Array(*_elements(cursor, "]"))
    if token == "{":
        return Struct(_fields(cursor))
    if token == "<":
        if cursor.accept("{"):
            fields = _fields(cursor)
            cursor.expect(">")
            return Struct(fields, packed=True)
        return Vector(*_elements(cursor, ">"))
    if _INTEGER.match(token):
        if len(token) > 4 or not 0 < int(token[1:]) <= WIDEST_INTEGER:
            cursor.index -= 1
            cursor.fail(f"integers have 1 to {WIDEST_INTEGER} bits here", None, UnsupportedError)
        return Integer(int(token[1:]))
    if token == "target":
        cursor.skip_brackets()
        return Opaque("target type")
    cursor.index -= token != END
    return cursor.fail("a type is expected here")


def _elements(cursor: Cursor, end: str) -> tuple[int, Type]:
    count = cursor.number()
    cursor.expect("x")
    element = read_type(cursor)
    cursor.expect(end)
    return count, element


def _fields(cursor: Cursor) -> tuple[Type, ...]:
    fields: list[Type] = []
    while not cursor.accept("}"):
        if fields:
            cursor.expect(",")
        fields.append(read_type(cursor))
    return tuple(fields)


def _suffixes(cursor: Cursor, kind: Type) -> Type:
    while True:
        if cursor.token == "*":
            cursor.fail("pointers with a type are not supported", _TYPED_POINTERS, UnsupportedError)
        elif cursor.accept("addrspace"):
            cursor.skip_brackets()
        elif cursor.token == "(":
            kind = FunctionType(kind, *_parameters(cursor))
        else:
            return kind


def _parameters(cursor: Cursor) -> tuple[tuple[Type, ...], bool]:
    cursor.expect("(")
    types: list[Type] = []
    variadic = False
    while not cursor.accept(")"):
        if types or variadic:
            cursor.expect(",")
        if cursor.accept("..."):
            variadic = True
        else:
            types.append(read_type(cursor))
            skip_attributes(cursor)
    return tuple(types), variadic


# --- values

CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast "
    "addrspacecast".split()
)
BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
_CONSTANT_WORDS: dict[str, Value] = {
    "null": Zero(),
    "zeroinitializer": Zero(),
    "none": Zero(),
    "undef": Zero(undefined=True),
    "poison": Zero(undefined=True, poison=True),
    "true": Number(1),
    "false": Number(0),
}
_EXPRESSIONS = CASTS | BINARY | {"getelementptr", "icmp", "fcmp", "select", "extractelement", "insertelement"}
_VALUE_WORDS = (
    frozenset(_CONSTANT_WORDS)
    | _EXPRESSIONS
    | {"asm", "blockaddress", "dso_local_equivalent", "no_cfi", "splat", "ptrauth"}
)
_NUMBER = re.compile(r"[-+]?\d|[usf]?0x|[-+]?(?:inf|nan|qnan)$")
_WORD = re.compile(r"[a-zA-Z_]")
_FLAGS = frozenset(
    "nuw nsw exact disjoint nneg inbounds nusw samesign fast nnan ninf nsz arcp contract afn reassoc".split()
)


def skip_attributes(cursor: Cursor) -> tuple[Type | None, int]:
    """Attributes between the type and the value of a parameter or argument. Returns the type of `byval`, and the
    alignment."""
    by_value: Type | None = None
    align = 1
    while True:
        token = cursor.token
        if token == "" or token in _VALUE_WORDS or not (_WORD.match(token) or token[0] == '"'):
            return by_value, align
        if token[0] != '"' and token.endswith('"'):
            return by_value, align
        cursor.index += 1
        if token == "byval" and cursor.accept("("):
            by_value = read_type(cursor)
            cursor.expect(")")
        elif cursor.token == "(":
            cursor.skip_brackets()
        elif token == "align":
            align = cursor.number()
        elif cursor.accept("="):
            cursor.take()


def read_operand(cursor: Cursor) -> Operand:
    kind = read_type(cursor)
    return Operand(kind, read_value(cursor, kind))


def read_value(cursor: Cursor, kind: Type, nesting: int = 0) -> Value:
    token = cursor.token
    first = token[:1]
    if first == "%":
        cursor.index += 1
        return Local(unquoted(token))
    if first == "@":
        cursor.index += 1
        return Global(unquoted(token))
    if token in _CONSTANT_WORDS:
        cursor.index += 1
        return _CONSTANT_WORDS[token]
    if nesting > _DEEPEST:
        cursor.fail("this constant is nested too deeply", None, UnsupportedError)
    if first == "!" or kind == Opaque("metadata"):
        return _metadata(cursor)
    if _NUMBER.match(token):
        cursor.index += 1
        return Number(_number(cursor, token, kind))
    if token.startswith('c"'):
        cursor.index += 1
        return Bytes(unescaped(token[2:-1]))
    reader = _VALUES.get(token)
    if reader is None:
        reader = _constant_expression if token in _EXPRESSIONS else None
    if reader is None:
        return cursor.fail("a value is expected here")
    cursor.index += 1
    return reader(cursor, kind, nesting + 1)


def _metadata(cursor: Cursor) -> Value:
    """What stands for a value in calls of debug intrinsics: a name, a node, or a value with its type."""
    token = cursor.token
    if not token.startswith("!"):
        operand = read_operand(cursor)
        return operand.value if isinstance(operand.value, Local) else Metadata("")
    cursor.index += 1
    if cursor.token in ("(", "{"):
        cursor.skip_brackets()
    return Metadata(token[1:])


def _number(cursor: Cursor, token: str, kind: Type) -> int:
    if isinstance(kind, Float):
        return _float_pattern(cursor, token, kind)
    bits = kind.bits if isinstance(kind, Integer) else 64
    if token[:1] in "us" and token[1:3] == "0x":
        value = int(token[3:], 16)
        digits = 4 * len(token[3:])
        value -= (1 << digits) if token[0] == "s" and value >> (digits - 1) else 0
    else:
        value = int(token) if token.lstrip("+-").isdecimal() else cursor.fail("an integer is expected here")
    return value & (1 << bits) - 1


def _float_pattern(cursor: Cursor, token: str, kind: Float) -> int:
    """LLVM writes constants of `float` as the `double` of the same value."""
    if token.startswith("f0x"):
        return int(token[3:], 16)
    if kind.bits not in (32, 64):
        return int(token[3:], 16) if token[:3] in ("0xK", "0xL", "0xM", "0xH", "0xR") else 0
    value: float = struct.unpack("<d", int(token, 16).to_bytes(8, "little"))[0] if "x" in token else float(token)
    form = "<f" if kind.bits == 32 else "<d"
    return int.from_bytes(struct.pack(form, value), "little")


def _list(cursor: Cursor, end: str, nesting: int) -> tuple[Operand, ...]:
    found: list[Operand] = []
    while not cursor.accept(end):
        if found:
            cursor.expect(",")
        found.append(_nested(cursor, nesting))
    return tuple(found)


def _nested(cursor: Cursor, nesting: int) -> Operand:
    kind = read_type(cursor)
    return Operand(kind, read_value(cursor, kind, nesting))


def _packed(cursor: Cursor, kind: Type, nesting: int) -> Value:
    if cursor.accept("{"):
        elements = _list(cursor, "}", nesting)
        cursor.expect(">")
        return Aggregate(elements)
    return Aggregate(_list(cursor, ">", nesting))


def _splat(cursor: Cursor, kind: Type, nesting: int) -> Value:
    cursor.expect("(")
    element = _nested(cursor, nesting)
    cursor.expect(")")
    return Aggregate((element,) * (kind.count if isinstance(kind, Vector) else 1))


def _assembly(cursor: Cursor, kind: Type, nesting: int) -> Value:
    while cursor.token in ("sideeffect", "alignstack", "inteldialect", "unwind"):
        cursor.take()
    template = cursor.take()
    cursor.expect(",")
    constraints = cursor.take()
    return Assembly(unescaped(template[1:-1]).decode("utf-8", "replace"), constraints[1:-1])


def _block_address(cursor: Cursor, kind: Type, nesting: int) -> Value:
    return cursor.fail("addresses of labels (computed goto) are not supported", None, UnsupportedError)


def _same_function(cursor: Cursor, kind: Type, nesting: int) -> Value:
    return read_value(cursor, kind, nesting)


def _constant_expression(cursor: Cursor, kind: Type, nesting: int) -> Value:
    op = cursor.tokens[cursor.index - 1]
    if op in ("icmp", "fcmp"):
        op = f"{op} {cursor.take()}"
    skip_flags(cursor)
    cursor.expect("(")
    types: list[Type] = []
    if op == "getelementptr":
        types.append(read_type(cursor))
        cursor.expect(",")
    operands: list[Operand] = []
    while True:
        cursor.accept("inrange")
        operands.append(_nested(cursor, nesting))
        if cursor.accept("to"):
            types.append(read_type(cursor))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return ConstantExpression(op, tuple(operands), tuple(types))


def skip_flags(cursor: Cursor) -> frozenset[str]:
    """Those that were there."""
    found: set[str] = set()
    while True:
        if cursor.token in _FLAGS:
            found.add(cursor.token)
            cursor.index += 1
        elif cursor.token == "inrange":
            cursor.index += 1
            cursor.skip_brackets()
        else:
            return frozenset(found)


_VALUES: dict[str, Callable[[Cursor, Type, int], Value]] = {
    "[": lambda cursor, kind, nesting: Aggregate(_list(cursor, "]", nesting)),
    "{": lambda cursor, kind, nesting: Aggregate(_list(cursor, "}", nesting)),
    "<": _packed,
    "splat": _splat,
    "asm": _assembly,
    "blockaddress": _block_address,
    "dso_local_equivalent": _same_function,
    "no_cfi": _same_function,
}
