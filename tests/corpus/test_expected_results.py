"""Verdicts, counts and numbers of states equal the tables beside the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.corpus.expectations import (
    OWN_CORPUS,
    SHARED_CORPUS,
    Expectation,
    check,
    disagreement,
    read_expectations,
    stratified_sample,
)

from dekker.engines.rsmc.orders import NOT_FOR_UPDATES
from dekker.report.record import Record

OWN_FOLDERS = sorted(table.parent for table in OWN_CORPUS.rglob("expected.csv"))
SAMPLE_PER_FOLDER = 60
TIMEOUT_S = 60.0


def test_every_own_test_has_its_expectations() -> None:
    listed = {row.path for folder in OWN_FOLDERS for row in read_expectations(folder)}
    assert listed == set(OWN_CORPUS.rglob("*.litmus"))
    assert len(listed) >= 300


@pytest.mark.parametrize("engine", ["axiomatic", "rsmc"])
@pytest.mark.parametrize("folder", OWN_FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_own_corpus(folder: Path, engine: str) -> None:
    assert disagreements(read_expectations(folder), engine) == []


@pytest.mark.corpus
@pytest.mark.skipif(
    not SHARED_CORPUS.is_dir(), reason="the collection of published litmus tests is not beside the project"
)
@pytest.mark.parametrize("engine", ["axiomatic", "rsmc"])
@pytest.mark.parametrize("name", ["PPC", "PPC-herding-cats", "X86", "ARM-herding-cats", "AARCH64", "RISCV", "C11"])
def test_sample_of_published_tests(name: str, engine: str) -> None:
    assert disagreements(stratified_sample([SHARED_CORPUS / name], SAMPLE_PER_FOLDER), engine) == []


def disagreements(expectations: list[Expectation], engine: str) -> list[str]:
    found = []
    for expected in expectations:
        _, record = check(expected, TIMEOUT_S, engine)
        if is_left_to_the_oracle(expected, record):
            continue
        if record.stopped_by is not None:
            found.append(f"{expected}: not finished within {TIMEOUT_S:g} s")
        elif (difference := disagreement(expected, record)) is not None:
            found.append(f"{expected}: {difference}")
    return found


def is_left_to_the_oracle(expected: Expectation, record: Record) -> bool:
    """The rsmc engine knows no commit order for updates under these two models."""
    refused = record.error is not None and "knows no valid commit-before order" in record.error.message
    return refused and record.engine == "rsmc" and expected.model in NOT_FOR_UPDATES
