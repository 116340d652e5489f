"""What the marks of Lang mean in the representation: everything is a signed number of 64 bits."""

from __future__ import annotations

WIDTH = 64
SIZE = 8

OPERATORS = {
    "||": "or",
    "&&": "and",
    "=": "eq",
    "!=": "ne",
    "<": "slt",
    ">": "sgt",
    "<=": "sle",
    ">=": "sge",
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "sdiv",
    "%": "srem",
}
LOGICAL = frozenset(("&&", "||"))
