"""The examples in C and C++, checked through the command line: every cell of the tables in their READMEs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import dekker
from tests.examples.table import DOCUMENTS, Expectation, expectations

from dekker.frontends.c import driver

pytest.importorskip("ziglang", reason="the compiler is not installed")

EXPECTATIONS = [expectation for document in DOCUMENTS for expectation in expectations(document)]
MODELS_OF_ALL = {"sc", "tso", "pso", "power"}
MODELS_OF_ATOMICS = MODELS_OF_ALL | {"aarch64", "cpp20"}


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    """One run of the compiler for all models: it takes most of the time, seconds for C++."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dekker.frontends.c.compile_file", cache(driver.compile_file))
        yield


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda expected: expected.title)
def test_verdict(expected: Expectation) -> None:
    arguments = [str(expected.program), "--model", expected.model, *expected.options, "--keep-going", "--json", "-"]
    outcome = dekker("check", *arguments, "--", *expected.flags)
    assert outcome.out, outcome.err
    answer = json.loads(outcome.out)
    assert answer["verdict"] == expected.verdict, answer
    assert outcome.status == {"UNSAFE": 1, "UNKNOWN": 3}.get(expected.verdict, 0)
    assert kinds(answer["violation"]) == expected.kinds
    if expected.executions is not None:
        assert answer["stats"]["complete"] == expected.executions


def kinds(violation: dict[str, Any] | None) -> set[str]:
    return set() if violation is None else {item["kind"] for item in (violation, *violation.get("others", ()))}


@pytest.mark.parametrize("expected", [item for item in EXPECTATIONS if item.kinds], ids=lambda expected: expected.title)
def test_the_run_that_is_shown_replays(tmp_path: Path, expected: Expectation) -> None:
    file = tmp_path / "run.json"
    arguments = [str(expected.program), "--model", expected.model, *expected.options, "--witness", str(file)]
    outcome = dekker("check", *arguments, "--", *expected.flags)
    assert outcome.status == 1, outcome.err
    assert "The run that shows it:" in outcome.out
    assert file.exists(), outcome.err
    replayed = dekker("replay", str(file))
    assert replayed.status == 0, replayed.out + replayed.err


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.parent.name)
def test_every_program_has_a_row(document: Path) -> None:
    programs = {path for suffix in ("*.c", "*.cpp") for path in document.parent.rglob(suffix)}
    programs = {path for path in programs if path.parent.name != "unbounded"}  # these have a table of their own
    assert programs
    assert programs == {expectation.program for expectation in expectations(document)}


def test_every_program_has_a_correct_and_a_broken_version_under_all_models() -> None:
    for program in {expectation.program for expectation in EXPECTATIONS}:
        rows: dict[tuple[str, ...], dict[str, str]] = {}
        for item in (item for item in EXPECTATIONS if item.program == program):
            rows.setdefault((*item.options, *item.flags), {})[item.model] = item.verdict
        models = MODELS_OF_ALL if program.parent.name == "table1" else MODELS_OF_ATOMICS
        complete = [row for row in rows.values() if row.keys() >= models]
        assert any("UNSAFE" not in row.values() for row in complete), program
        assert any("UNSAFE" in row.values() for row in complete), program
