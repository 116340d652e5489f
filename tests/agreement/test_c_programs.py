"""Random C programs compute the same as native programs and translated, by reference interpreter and engine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.reference.native_c import difference
from tests.unit.frontends.c.programs import needs_compiler

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(
        shutil.which("gcc") is None and shutil.which("cc") is None,
        reason="there is no native C compiler to compare with",
    ),
]


@pytest.mark.parametrize("seed", range(100))
def test_translated_programs_compute_what_native_ones_do(tmp_path: Path, seed: int) -> None:
    assert difference(seed, tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 6000))
def test_campaign(tmp_path: Path, seed: int) -> None:
    assert difference(seed, tmp_path) is None
