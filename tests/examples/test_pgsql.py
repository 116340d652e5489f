"""The story of examples/pgsql, as its README tells it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.calls import dekker

FOLDER = "examples/pgsql"
WORKERS = f"{FOLDER}/workers.c"
README = Path(f"{FOLDER}/README.md").read_text(encoding="utf-8")


def rows() -> list[tuple[str, str, str]]:
    """Options, model and what goes wrong, of the table of variants."""
    found = []
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and set(cells[1:]) & {"safe", "**deadlock**", "**assertion**"}:
            options = "-DFENCE_BEFORE_WAKING -DFENCE_BEHIND_WAIT" if cells[0] == "both" else ""
            named = re.match(r"`(-D\w+)`", cells[0])
            options = named[1] if named is not None else options
            found += [
                (options, model, cell.strip("*"))
                for model, cell in zip(("tso", "pso", "power"), cells[1:], strict=True)
            ]
    return found


def test_the_table_has_all_variants() -> None:
    assert len(rows()) == 12


@pytest.mark.parametrize(("options", "model", "expected"), rows())
def test_variants(options: str, model: str, expected: str) -> None:
    outcome = dekker("check", WORKERS, "--model", model, "--keep-going", "--", *options.split())
    if expected == "safe":
        assert outcome.out.startswith(f"SAFE under {model}: 1 complete execution")
    else:
        assert all(f"violation: {kind}" in outcome.out for kind in expected.split(", "))


def test_both_idioms_are_found() -> None:
    record = json.loads(dekker("show", "--cycles", "--all", "--model", "power", WORKERS, "--json", "-").out)
    idioms = {(cycle["idiom"], cycle["critical"]) for cycle in record["cycles"]}
    assert {("MP", True), ("LB", False)} <= idioms
    summary = dekker("show", "--cycles", "--all", "--model", "power", WORKERS, "--most", "0").out.splitlines()[0]
    assert summary in README


def test_the_patch_is_proposed() -> None:
    outcome = dekker("fences", WORKERS, "--model", "power", "--minimal")
    shown = [
        line for line in outcome.out.splitlines() if line and not line.startswith(("  _", "  l", "  b", "verified"))
    ]
    assert all(line.strip() in README for line in shown)
