from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# A busy machine must not turn a slow example into a failure.
settings.register_profile("dekker", deadline=None)
settings.load_profile("dekker")


@pytest.fixture
def heeds_interrupts() -> Iterator[None]:
    """What runs in the background ignores them, unless it says otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
