"""What the parts of objects are called: fields of structures and elements of arrays. Names mean nothing to engines."""

from __future__ import annotations

from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """`count` elements, each of `size` bytes."""

    count: int
    size: int
    element: Shape | None = None


@dataclass(frozen=True, slots=True)
class FieldShape:
    offset: int
    size: int
    name: str
    shape: Shape | None = None


@dataclass(frozen=True, slots=True)
class StructShape:
    """Fields by offset, without overlap."""

    fields: tuple[FieldShape, ...]


Shape = ArrayShape | StructShape


def part_name(shape: Shape | None, offset: int) -> str:
    """What follows the name of an object for a byte in it, such as `[2].next`, or `+3` where there is no name."""
    if isinstance(shape, ArrayShape) and shape.size and offset < shape.count * shape.size:
        index, rest = divmod(offset, shape.size)
        return f"[{index}]{part_name(shape.element, rest)}"
    if isinstance(shape, StructShape):
        for field in shape.fields:
            if field.offset <= offset < field.offset + field.size:
                return f".{field.name}{part_name(field.shape, offset - field.offset)}"
    return f"+{offset}" if offset else ""
