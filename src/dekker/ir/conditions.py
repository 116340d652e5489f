"""What conditions say about final states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
State = tuple[int, ...]
Predicate = Callable[[State], bool]


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


def compile_formula(formula: Formula, observed: Sequence[Observable], layout: Layout) -> Predicate:
    """The same as a function of the values of `observed`, for many states of one program."""
    places = {item: position for position, item in enumerate(observed)}

    def compiled(formula: Formula) -> Predicate:
        match formula:
            case Equals(left, right):
                return _comparison(places, left, right, layout)
            case Not(operand):
                inner = compiled(operand)
                return lambda state: not inner(state)
            case And(operands):
                all_of = [compiled(operand) for operand in operands]
                return lambda state: all(part(state) for part in all_of)
            case Or(operands):
                any_of = [compiled(operand) for operand in operands]
                return lambda state: any(part(state) for part in any_of)
            case Truth(value):
                return lambda state: value

    return compiled(formula)


def _comparison(
    places: dict[Observable, int], left: RegisterValue | MemoryValue, right: Term, layout: Layout
) -> Predicate:
    bits = mask(left.width if isinstance(left, RegisterValue) else 8 * left.size)
    place = places[left]
    if isinstance(right, RegisterValue | MemoryValue):
        other = places[right]
        return lambda state: (state[place] - state[other]) & bits == 0
    expected = _constant(right, {}, layout) & bits
    return lambda state: state[place] & bits == expected


def _constant(term: Term, values: Values, layout: Layout) -> int:
    match term:
        case int():
            return term
        case AddressValue(symbol, offset):
            return layout.resolve(Address(symbol, offset))
        case RegisterValue() | MemoryValue():
            return values[term]
