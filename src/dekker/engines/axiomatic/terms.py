"""Values that may depend on reads whose sources are not chosen yet.

A term is an integer, a `Symbol` (what some read returns), an initial value, or an operation on terms. Terms are
simplified only where the result does not depend on unknown values at all (`x ^ x` is 0), so that false dependencies do
not leave values open.
"""

from __future__ import annotations

from collections.abc import Mapping

from dekker.ir.expressions import evaluate_binary, evaluate_unary
from dekker.ir.memory import InitialMemory
from dekker.ir.undefined import ALL, Partly, is_undecided, of_binary, of_unary, partly, undefined_bits
from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    thread: int
    index: int


@dataclass(frozen=True, slots=True)
class Apply:
    """A unary or binary operator of `ir.arithmetic`."""

    op: str
    width: int
    operands: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Either:
    condition: Term
    then: Term
    other: Term


@dataclass(frozen=True, slots=True)
class Initially:
    """What a location holds at the start; its address may be unknown."""

    address: Term
    size: int
    memory: InitialMemory


Term = int | Symbol | Apply | Either | Initially

_ZERO_IF_EQUAL = frozenset(("xor", "sub", "ne", "ult", "ugt", "slt", "sgt"))
_ONE_IF_EQUAL = frozenset(("eq", "ule", "uge", "sle", "sge"))
_ZERO_IF_ANY_ZERO = frozenset(("and", "mul"))


TAINTED = "tainted"
"""What was chosen by something that is indeterminate."""
CHOSEN_BY = "chosen-by"
"""The first operand; tainted if the second, by which it was chosen, is indeterminate."""


def apply(op: str, width: int, *operands: Term) -> Term:
    if len(operands) == 1:
        (operand,) = operands
        if not isinstance(operand, int):
            return Apply(op, width, operands)
        if op == TAINTED:
            return Partly(operand, ALL)
        return partly(evaluate_unary(op, width, int(operand)), of_unary(op, width, operand))
    left, right = operands
    if op == CHOSEN_BY:
        return chosen_by(left, right)
    if isinstance(left, int) and isinstance(right, int):
        return partly(evaluate_binary(op, width, int(left), int(right)), of_binary(op, width, left, right))
    if left == right and op in _ZERO_IF_EQUAL:
        return 0
    if left == right and op in _ONE_IF_EQUAL:
        return 1
    if op in _ZERO_IF_ANY_ZERO and (_is_zero(left) or _is_zero(right)):
        return 0
    return Apply(op, width, operands)


def _is_zero(term: Term) -> bool:
    return term == 0 and not undefined_bits(term)


def chosen_by(chosen: Term, condition: Term) -> Term:
    if isinstance(condition, int):
        return apply(TAINTED, 64, chosen) if is_undecided(condition) else chosen
    return Apply(CHOSEN_BY, 64, (chosen, condition))


def either(condition: Term, then: Term, other: Term) -> Term:
    if is_undecided(condition):
        return apply(TAINTED, 64, then if condition else other)
    if isinstance(condition, int):
        return then if condition else other
    is_same = then == other and undefined_bits(then) == undefined_bits(other)
    return then if is_same else Either(condition, then, other)


def initially(address: Term, size: int, memory: InitialMemory) -> Term:
    return memory.read(address, size) if isinstance(address, int) else Initially(address, size, memory)


def symbols(term: Term) -> frozenset[Symbol]:
    """The reads that the term is about."""
    match term:
        case Symbol():
            return frozenset((term,))
        case Apply(_, _, operands):
            return frozenset[Symbol]().union(*map(symbols, operands))
        case Either(condition, then, other):
            return symbols(condition) | symbols(then) | symbols(other)
        case Initially(address):
            return symbols(address)
    return frozenset()


def resolve(term: Term, known: Mapping[Symbol, Term]) -> Term:
    """The term with known symbols replaced; an integer as soon as everything it needs is known.

    A symbol whose value needs itself stays unknown.
    """
    return term if isinstance(term, int) else _resolve(term, known, frozenset())


def _resolve(term: Term, known: Mapping[Symbol, Term], open_symbols: frozenset[Symbol]) -> Term:
    match term:
        case Symbol():
            if term in open_symbols or term not in known:
                return term
            return _resolve(known[term], known, open_symbols | {term})
        case Apply(op, width, operands):
            resolved = [_resolve(operand, known, open_symbols) for operand in operands]
            if op == CHOSEN_BY and symbols(resolved[1]) and symbols(resolved[1]) <= open_symbols:
                return resolved[0]  # it has a say in the choice, so it does not come from there
            return apply(op, width, *resolved)
        case Either(condition, then, other):
            return either(
                _resolve(condition, known, open_symbols),
                _resolve(then, known, open_symbols),
                _resolve(other, known, open_symbols),
            )
        case Initially(address, size, memory):
            return initially(_resolve(address, known, open_symbols), size, memory)
    return term
