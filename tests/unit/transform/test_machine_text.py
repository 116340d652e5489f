"""The machine in our representation is what the front end makes of its C."""

from __future__ import annotations

import pytest
from tests.transform.make_machine import machine_text

from dekker.transform.machine import FEATURES, FOLDER


@pytest.mark.parametrize("model", FEATURES)
def test_the_machine_is_up_to_date(model: str) -> None:
    stored = (FOLDER / f"{model}.ir").read_text(encoding="utf-8")
    assert machine_text(model) == stored, "run `python tests/transform/make_machine.py`"
