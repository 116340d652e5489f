"""The examples with the states engine: the verdicts of the tables, which are those of rsmc."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest
from tests.cli.calls import dekker
from tests.examples.table import DOCUMENTS, Expectation, expectations

from dekker.frontends.c import driver

pytest.importorskip("ziglang", reason="the compiler is not installed")

CASES = [item for document in DOCUMENTS for item in expectations(document) if item.model in ("sc", "tso", "pso")]
FEW = [item for item in CASES if item.program.stem in ("dekker", "indexer", "parker", "seqlock", "rcu_publish")]


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dekker.frontends.c.compile_file", cache(driver.compile_file))
        yield


def check(expected: Expectation) -> None:
    """What is safe within a bound for rsmc may be safe without one; what is found first is one of the kinds that rsmc
    finds. Threads are told apart, because the search up to renaming does not end for the indexer."""
    options = [option for option in expected.options if not option.startswith("--unroll")]
    arguments = [str(expected.program), "-m", expected.model, *options, "--engine", "states", "--json", "-"]
    outcome = dekker("check", *arguments, "--no-symmetry", "--timeout", "120", "--", *expected.flags)
    answer = json.loads(outcome.out)
    if expected.kinds:
        assert (outcome.status, answer["verdict"]) == (1, "UNSAFE")
        assert answer["violation"]["kind"] in expected.kinds
    else:
        assert outcome.status == 0
        assert answer["verdict"] in ("SAFE", expected.verdict), answer["bounds"]


@pytest.mark.parametrize("expected", FEW, ids=lambda expected: expected.title)
def test_same_verdict(expected: Expectation) -> None:
    check(expected)


@pytest.mark.slow
@pytest.mark.parametrize("expected", [item for item in CASES if item not in FEW], ids=lambda expected: expected.title)
def test_same_verdict_of_the_others(expected: Expectation) -> None:
    check(expected)
