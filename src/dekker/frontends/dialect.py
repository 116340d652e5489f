"""What the user decides about the meaning of C programs."""

from __future__ import annotations

from dekker.records import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """`assert_branches`: `assert` is compiled, and what follows depends on what it asks. `volatile_relaxed`: accesses
    to volatile variables are relaxed atomics. `overflow`: that of signed numbers is a violation."""

    assert_branches: bool = False
    volatile_relaxed: bool = False
    overflow: bool = False


DEFAULT_DIALECT = Dialect()
