"""Types of LLVM IR and how many bytes they take on a 64-bit little-endian machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Integer:
    bits: int


@dataclass(frozen=True, slots=True)
class Float:
    """`name` is LLVM's word; `float` and `double` have arithmetic here, others have a size only."""

    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class Pointer:
    pass


@dataclass(frozen=True, slots=True)
class Array:
    count: int
    element: Type


@dataclass(frozen=True, slots=True)
class Vector:
    count: int
    element: Type


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Type, ...]
    packed: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A struct by its name in the module."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionType:
    result: Type
    parameters: tuple[Type, ...]
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """`void`, `label`, `metadata`, `token` and structs without a body: types whose values have no bytes."""

    name: str


Type = Integer | Float | Pointer | Array | Vector | Struct | Named | FunctionType | Opaque

VOID = Opaque("void")
POINTER = Pointer()
BIT = Integer(1)
BYTE = Integer(8)
INT = Integer(32)
LONG = Integer(64)

FLOATS = {
    "half": Float("half", 16),
    "bfloat": Float("bfloat", 16),
    "float": Float("float", 32),
    "double": Float("double", 64),
    "x86_fp80": Float("x86_fp80", 80),
    "fp128": Float("fp128", 128),
    "ppc_fp128": Float("ppc_fp128", 128),
}


def type_text(kind: Type) -> str:
    match kind:
        case Integer(bits):
            return f"i{bits}"
        case Float(name) | Opaque(name):
            return name
        case Pointer():
            return "ptr"
        case Array(count, element):
            return f"[{count} x {type_text(element)}]"
        case Vector(count, element):
            return f"<{count} x {type_text(element)}>"
        case Struct(fields, packed):
            inner = "{ " + ", ".join(map(type_text, fields)) + " }"
            return f"<{inner}>" if packed else inner
        case Named(name):
            return f"%{name}"
        case FunctionType(result, parameters, variadic):
            shown = [*map(type_text, parameters), *(["..."] if variadic else [])]
            return f"{type_text(result)} ({', '.join(shown)})"


class Leaf(NamedTuple):
    """A scalar inside a type."""

    offset: int
    type: Integer | Float | Pointer


class SizeUnknown(Exception):
    """A type whose values have no size was used where bytes are needed."""

    def __init__(self, kind: Type) -> None:
        super().__init__(f"the type `{type_text(kind)}` has no size")


_FLOAT_SIZES = {16: (2, 2), 32: (4, 4), 64: (8, 8), 80: (16, 16), 128: (16, 16)}


class DataLayout:
    """Sizes and offsets, for the data layouts of x86-64, AArch64, RISC-V 64 and 64-bit POWER: they differ in nothing
    that matters here. `structs` are the named types of a module."""

    def __init__(self, structs: Mapping[str, Type]) -> None:
        self._structs = structs
        self._sizes: dict[Type, tuple[int, int]] = {}
        self._offsets: dict[Struct, tuple[int, ...]] = {}
        self._leaves: dict[Type, tuple[Leaf, ...]] = {}
        self._field_bytes: dict[Type, int] = {}

    def resolve(self, kind: Type) -> Type:
        """The type itself, or what the name stands for."""
        while isinstance(kind, Named):
            kind = self._structs.get(kind.name, Opaque(f"%{kind.name}"))
        return kind

    def size(self, kind: Type) -> int:
        """Bytes from one element of an array to the next."""
        return self._measure(kind)[0]

    def align(self, kind: Type) -> int:
        return self._measure(kind)[1]

    def store_size(self, kind: Type) -> int:
        """Bytes that an access reads or writes."""
        kind = self.resolve(kind)
        if isinstance(kind, Integer | Float):
            return (kind.bits + 7) // 8
        return self.size(kind)

    def offsets(self, kind: Struct) -> tuple[int, ...]:
        """Where the fields begin."""
        if kind not in self._offsets:
            self._struct(kind)
        return self._offsets[kind]

    def leaves(self, kind: Type) -> tuple[Leaf, ...]:
        """All scalars inside a type, in order; integers of more than 64 bits are several, the low part first."""
        found = self._leaves.get(kind)
        if found is None:
            found = self._leaves[kind] = tuple(self._find_leaves(self.resolve(kind)))
        return found

    def field_bytes(self, kind: Type) -> int:
        """Which bytes of a type belong to a scalar, as bits: all but its padding."""
        found = self._field_bytes.get(kind)
        if found is None:
            found = 0
            for leaf in self.leaves(kind):
                found |= (1 << self.store_size(leaf.type)) - 1 << leaf.offset
            self._field_bytes[kind] = found
        return found

    def _find_leaves(self, kind: Type) -> list[Leaf]:
        match kind:
            case Integer(bits) if bits > 64:
                rest = self._find_leaves(Integer(bits - 64))
                return [Leaf(0, LONG), *(Leaf(8 + offset, leaf) for offset, leaf in rest)]
            case Integer() | Float() | Pointer():
                return [Leaf(0, kind)]
            case Array(count, element) | Vector(count, element):
                inner, step = self.leaves(element), self.size(element)
                return [Leaf(i * step + offset, leaf) for i in range(count) for offset, leaf in inner]
            case Struct(fields):
                parts = zip(self.offsets(kind), fields, strict=True)
                return [Leaf(start + offset, leaf) for start, field in parts for offset, leaf in self.leaves(field)]
        return []

    def _measure(self, kind: Type) -> tuple[int, int]:
        found = self._sizes.get(kind)
        if found is None:
            resolved = self.resolve(kind)
            measure = _MEASURES.get(type(resolved))
            if measure is None:
                raise SizeUnknown(kind)
            found = self._sizes[kind] = measure(self, resolved)
        return found

    def _integer(self, kind: Integer) -> tuple[int, int]:
        align = 1
        while align * 8 < kind.bits and align < 16:
            align *= 2
        size = -(-((kind.bits + 7) // 8) // align) * align
        return size, align

    def _float(self, kind: Float) -> tuple[int, int]:
        return _FLOAT_SIZES[kind.bits]

    def _pointer(self, kind: Pointer) -> tuple[int, int]:
        return 8, 8

    def _array(self, kind: Array) -> tuple[int, int]:
        size, align = self._measure(kind.element)
        return kind.count * size, align

    def _vector(self, kind: Vector) -> tuple[int, int]:
        size = kind.count * self.size(kind.element)
        rounded = 1 << max(0, size - 1).bit_length()
        return rounded, rounded

    def _struct(self, kind: Struct) -> tuple[int, int]:
        offset, widest, offsets = 0, 1, []
        for field in kind.fields:
            size, align = self._measure(field)
            align = 1 if kind.packed else align
            offset = -(-offset // align) * align
            offsets.append(offset)
            offset += size
            widest = max(widest, align)
        self._offsets[kind] = tuple(offsets)
        return -(-offset // widest) * widest, widest


_MEASURES: dict[type, Callable[[DataLayout, Any], tuple[int, int]]] = {
    Integer: DataLayout._integer,
    Float: DataLayout._float,
    Pointer: DataLayout._pointer,
    Array: DataLayout._array,
    Vector: DataLayout._vector,
    Struct: DataLayout._struct,
}
