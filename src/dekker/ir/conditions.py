"""What conditions say about final states."""

from __future__ import annotations

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Address
from dekker.ir.layout import Layout
from dekker.ir.property import (
    AddressValue,
    And,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    RegisterValue,
    Term,
    Truth,
)

Values = dict[Observable, int]


def formula_holds(formula: Formula, values: Values, layout: Layout) -> bool:
    match formula:
        case Equals(left, right):
            width = left.width if isinstance(left, RegisterValue) else 8 * left.size
            return (values[left] - _constant(right, values, layout)) & mask(width) == 0
        case Not(operand):
            return not formula_holds(operand, values, layout)
        case And(operands):
            return all(formula_holds(operand, values, layout) for operand in operands)
        case Or(operands):
            return any(formula_holds(operand, values, layout) for operand in operands)
        case Truth(value):
            return value


def _constant(term: Term, values: Values, layout: Layout) -> int:
    match term:
        case int():
            return term
        case AddressValue(symbol, offset):
            return layout.resolve(Address(symbol, offset))
        case RegisterValue() | MemoryValue():
            return values[term]
