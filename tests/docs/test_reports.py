"""What docs/reports.md says is what the code does."""

from __future__ import annotations

import re

from tests.docs.test_readme import ROOT

from dekker.report.html.fences_page import MOST_DRAWN
from dekker.report.html.litmus_page import MOST_CHARACTERS
from dekker.report.picture.view import OTHER, RELATIONS

TEXT = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_every_relation_is_described() -> None:
    described = set(re.findall(r"`([a-z]+)`", TEXT[TEXT.index("| edge |") : TEXT.index("A small arrow")]))
    assert described == set(RELATIONS) - {OTHER}


def test_bounds_are_those_of_the_code() -> None:
    assert f"at most {MOST_DRAWN} of them" in TEXT
    assert f"{MOST_CHARACTERS // 1_000_000} million characters" in TEXT
