"""The table in docs/explanation/memory-models.md is what the models say."""

from __future__ import annotations

import re

import pytest
from tests.docs.sessions import ROOT

import dekker
from dekker.models import model_names

PAGE = (ROOT / "docs" / "explanation" / "memory-models.md").read_text(encoding="utf-8")
HEAD = re.search(r"^\| what can happen \|(.*)\|$", PAGE, re.MULTILINE)
ROWS = re.findall(r"^\| .*\(\.\./\.\./(examples/memory-models/\S+\.litmus)\)\) \|(.*)\|$", PAGE, re.MULTILINE)


def test_the_table_has_all_models() -> None:
    assert HEAD is not None
    shown = set(re.findall(r"`([\w-]+)`", HEAD[1]))
    assert shown == {name for name in model_names() if not name.startswith("ghb-")}
    assert len(ROWS) == 5


@pytest.mark.parametrize(("file", "cells"), ROWS)
def test_the_cells_are_true(file: str, cells: str) -> None:
    assert HEAD is not None
    marks = [cell.strip() for cell in cells.split("|")]
    for model, mark in zip(re.findall(r"`([\w-]+)`", HEAD[1]), marks, strict=True):
        answer = dekker.litmus(str(ROOT / file), model)
        assert answer.verdict == ("No" if mark == "✓" else "Ok"), (file, model)
