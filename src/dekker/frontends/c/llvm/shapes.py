"""What debug information says about the parts of global variables.

Members that share their bytes with others (of unions, and bit-fields) have no name of their own.
"""

from __future__ import annotations

import re

from dekker.frontends.c.llvm.metadata import DebugInformation
from dekker.ir.shapes import ArrayShape, FieldShape, Shape, StructShape

_REFERENCE = re.compile(r"!(\d+)")
_TRANSPARENT = frozenset(f"DW_TAG_{name}_type" for name in ("const", "volatile", "atomic", "restrict")) | {
    "DW_TAG_typedef"
}
_DEEPEST, _MOST_FIELDS = 8, 64


def variable_shape(debug: DebugInformation, number: str | None) -> Shape | None:
    """The shape of the variable that a `!dbg` node of it describes; None for numbers and pointers."""
    if number is None:
        return None
    variable = _followed(debug, debug.node(number), "var")
    return _shape(debug, _followed(debug, variable, "type"), _DEEPEST)


def _followed(debug: DebugInformation, node: dict[str, str], field: str) -> dict[str, str]:
    target = node.get(field, "")
    return debug.node(target[1:]) if target.startswith("!") else {}


def _type(debug: DebugInformation, node: dict[str, str]) -> dict[str, str]:
    """Behind `const`, `volatile`, `_Atomic` and names of types."""
    for _ in range(32):
        if node.get("tag") not in _TRANSPARENT:
            break
        node = _followed(debug, node, "baseType")
    return node


def _bytes(debug: DebugInformation, node: dict[str, str]) -> int:
    return int(_type(debug, node).get("size", "0")) // 8


def _shape(debug: DebugInformation, node: dict[str, str], depth: int) -> Shape | None:
    node = _type(debug, node)
    if depth == 0:
        return None
    match node.get("tag"):
        case "DW_TAG_array_type":
            return _array(debug, node, depth)
        case "DW_TAG_structure_type" | "DW_TAG_class_type":
            return _struct(debug, node, depth)
    return None


def _elements(debug: DebugInformation, node: dict[str, str]) -> list[dict[str, str]]:
    target = node.get("elements", "")
    text = debug.text(target[1:]) if target.startswith("!") else ""
    return [debug.node(number) for number in _REFERENCE.findall(text)]


def _array(debug: DebugInformation, node: dict[str, str], depth: int) -> Shape | None:
    base = _followed(debug, node, "baseType")
    shape, size = _shape(debug, base, depth - 1), _bytes(debug, base)
    for count in reversed([int(item.get("count", "0")) for item in _elements(debug, node)]):
        shape, size = ArrayShape(count, size, shape), count * size
    return shape if size else None


def _struct(debug: DebugInformation, node: dict[str, str], depth: int) -> Shape | None:
    fields: list[FieldShape] = []
    for member in _elements(debug, node)[:_MOST_FIELDS]:
        bits, base = int(member.get("offset", "0")), _followed(debug, member, "baseType")
        size = _bytes(debug, base)
        is_field = member.get("tag") == "DW_TAG_member" and "name" in member and bits % 8 == 0 and size
        overlaps = fields and bits // 8 < fields[-1].offset + fields[-1].size
        if is_field and not overlaps and "DIFlagBitField" not in member.get("flags", ""):
            fields.append(FieldShape(bits // 8, size, member["name"], _shape(debug, base, depth - 1)))
    return StructShape(tuple(fields)) if fields else None
