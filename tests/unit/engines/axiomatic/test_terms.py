"""Terms resolve as far as what is known allows, and no further."""

from __future__ import annotations

from dekker.engines.axiomatic.terms import Apply, Symbol, apply, either, resolve

FIRST, SECOND = Symbol(0, 0), Symbol(1, 0)


def test_operations_on_numbers_are_numbers() -> None:
    assert apply("add", 32, 0xFFFFFFFF, 1) == 0
    assert apply("not", 8, 0x0F) == 0xF0


def test_a_false_dependency_is_known_without_its_read() -> None:
    assert apply("xor", 32, FIRST, FIRST) == 0
    assert apply("sub", 32, FIRST, FIRST) == 0
    assert apply("and", 32, FIRST, 0) == 0
    assert apply("eq", 32, FIRST, FIRST) == 1


def test_a_true_dependency_is_not() -> None:
    assert apply("add", 32, FIRST, 0) == Apply("add", 32, (FIRST, 0))
    assert apply("xor", 32, FIRST, SECOND) == Apply("xor", 32, (FIRST, SECOND))


def test_known_symbols_are_replaced_through_chains() -> None:
    term = apply("add", 32, FIRST, 1)
    assert resolve(term, {FIRST: SECOND, SECOND: 4}) == 5


def test_a_value_that_needs_itself_stays_unknown() -> None:
    known = {FIRST: SECOND, SECOND: FIRST}
    assert not isinstance(resolve(FIRST, known), int)
    incremented = {FIRST: apply("add", 32, FIRST, 1)}
    assert not isinstance(resolve(FIRST, incremented), int)


def test_a_cycle_through_a_false_dependency_is_known() -> None:
    assert resolve(FIRST, {FIRST: apply("xor", 32, SECOND, SECOND), SECOND: FIRST}) == 0


def test_a_choice_between_equals_needs_no_condition() -> None:
    assert either(FIRST, 3, 3) == 3
    assert resolve(either(FIRST, 3, 4), {FIRST: 0}) == 4
