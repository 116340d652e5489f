"""What docs/c-programs.md shows is what happens."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.calls import dekker
from tests.docs.test_readme import ROOT

pytest.importorskip("ziglang", reason="the compiler is not installed")

TEXT = (ROOT / "docs" / "c-programs.md").read_text(encoding="utf-8")


def test_every_key_is_described() -> None:
    program = str(ROOT / "examples" / "c" / "table1" / "peterson.c")
    answer = json.loads(dekker("check", program, "--model", "tso", "--json", "-").out)
    described = set(re.findall(r"`(\w+)`", TEXT[TEXT.index("## For other programs") :]))
    for part in (answer, answer["bounds"], answer["violation"]):
        assert part.keys() <= described
