"""Names of C++ functions for a person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dekker.replay.demangle import demangled


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("main", "main"),
        ("_Z4worki", "work"),
        ("_ZN5Queue4pushEi", "Queue::push"),
        ("_ZNK5Queue4sizeEv", "Queue::size"),
        ("_ZN5QueueC2Ev", "Queue::Queue"),
        ("_ZN5QueueD1Ev", "Queue::~Queue"),
        ("_ZNSt3__110lock_guardINS_5mutexEEC2B9nie220108ERS1_", "std::lock_guard::lock_guard"),
        ("_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_", "std::move"),
        ("_ZZ4mainENK3$_1clEv", "lambda in main"),
        ("_ZZN1A1fEiENKUlvE_clEv", "lambda in A::f"),
        ("_Z", "_Z"),
        ("_ZN", "_ZN"),
        ("_ZTV5Queue", "_ZTV5Queue"),
    ],
)
def test_names(name: str, shown: str) -> None:
    assert demangled(name) == shown


@given(st.text(alphabet="NESt0123456789_ICDabBU$Z", max_size=30))
def test_any_text_is_a_name(text: str) -> None:
    assert demangled(f"_Z{text}")
