"""Expressions as C: registers are unsigned numbers of 64 bits, operations cut their operands to a width."""

from __future__ import annotations

from collections.abc import Callable

from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary

Names = Callable[[str], str]

_PLAIN = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_COMPARISONS = {"eq": "==", "ne": "!=", "ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_SIGNED_COMPARISONS = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_CLOSED = frozenset(("and", "or", "xor"))
"""Need no cut if their operands were cut."""
HELPERS = frozenset(("udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"))
_REFLEXIVE = frozenset(("eq", "ule", "uge", "sle", "sge"))


def c_expression(expression: Expr, register: Names, symbol: Names) -> str:
    """`register` and `symbol` are what names are called in C."""
    match expression:
        case Const(value):
            return _number(value)
        case Reg(name):
            return register(name)
        case Address(name, offset):
            base = f"(dk_word)(dk_pointer)&{symbol(name)}"
            return f"({base} + {_number(offset & mask(64))})" if offset else f"({base})"
        case Unary(op, width, operand):
            return _unary(op, width, c_expression(operand, register, symbol))
        case Binary(op, width, left, right):
            return _binary(op, width, c_expression(left, register, symbol), c_expression(right, register, symbol))
        case Select(condition, then, other):
            parts = (c_expression(part, register, symbol) for part in (condition, then, other))
            return "({} ? {} : {})".format(*parts)


def _number(value: int) -> str:
    return f"{value}ULL" if value < 1 << 32 else f"{value:#x}ULL"


def _cut(width: int, text: str) -> str:
    return text if width == 64 else f"({text} & {mask(width):#x}ULL)"


def _unary(op: str, width: int, operand: str) -> str:
    match op:
        case "neg":
            return _cut(width, f"(0 - {operand})")
        case "not":
            return _cut(width, f"~{operand}")
        case "zext" | "freeze":
            return _cut(width, operand)
        case "sext":
            return f"dk_sign_extend({operand}, {width})"
    raise _floating(op)


def _binary(op: str, width: int, left: str, right: str) -> str:
    if op in _PLAIN:
        whole = f"({left} {_PLAIN[op]} {right})"
        return whole if width == 64 else _cut(width, whole)
    first, second = _cut(width, left), _cut(width, right)
    if op in _COMPARISONS | _SIGNED_COMPARISONS and first == second:
        return f"{int(op in _REFLEXIVE)}ULL"
    if op in _COMPARISONS:
        return f"({first} {_COMPARISONS[op]} {second})"
    if op in _SIGNED_COMPARISONS:
        return f"(dk_signed({left}, {width}) {_SIGNED_COMPARISONS[op]} dk_signed({right}, {width}))"
    if op in HELPERS:
        return f"dk_{op}({first}, {second}, {width})"
    raise _floating(op)


def _floating(op: str) -> UnsupportedError:
    return UnsupportedError(f"the operator '{op}' cannot be printed as C", hint="floating point is left out there")
