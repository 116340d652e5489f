"""Conditions and final states as text, in the notation of litmus tests."""

from __future__ import annotations

from collections.abc import Sequence

from dekker.ir.layout import Layout
from dekker.ir.property import (
    And,
    Condition,
    Equals,
    Formula,
    MemoryValue,
    Not,
    Observable,
    Or,
    RegisterValue,
    Truth,
)


def condition_text(condition: Condition) -> str:
    body = formula_text(condition.formula)
    return f"{condition.quantifier.value} ({body})"


def formula_text(formula: Formula) -> str:
    match formula:
        case Equals(left, right):
            return f"{left}={right}"
        case Not(operand):
            return f"not ({formula_text(operand)})"
        case And(operands):
            return r" /\ ".join(_inside_and(operand) for operand in operands) or "true"
        case Or(operands):
            return r" \/ ".join(formula_text(operand) for operand in operands) or "false"
        case Truth(value):
            return "true" if value else "false"


def _inside_and(formula: Formula) -> str:
    text = formula_text(formula)
    return f"({text})" if isinstance(formula, Or) else text


def shown_order(observed: Sequence[Observable]) -> list[int]:
    """Indices of what a state shows, sorted: registers by thread and name, then locations by name."""
    return sorted(range(len(observed)), key=lambda index: _sort_key(observed[index]))


LONGEST_NUMBER = 18


def _sort_key(observable: Observable) -> tuple[int, int, tuple[str, int], int]:
    if isinstance(observable, RegisterValue):
        return 0, observable.thread, _natural(observable.label or observable.register), 0
    return 1, 0, _natural(observable.label or observable.symbol), observable.offset


def _natural(name: str) -> tuple[str, int]:
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return (stem, int(digits or -1)) if len(digits) <= LONGEST_NUMBER else (name, -1)


def value_text(observable: Observable, value: int, layout: Layout) -> str:
    width = 8 * observable.size if isinstance(observable, MemoryValue) else observable.width
    return layout.show(value, width)
