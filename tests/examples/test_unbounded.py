"""The examples whose loops have no bound: every cell of the table in their README, through the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.cli.calls import dekker
from tests.examples.table import ROOT

from dekker.frontends.c import driver

pytest.importorskip("ziglang", reason="the compiler is not installed")

FOLDER = ROOT / "examples" / "c" / "unbounded"
MODELS = ("sc", "tso", "pso")
_ROW = re.compile(r"\| \[(\w+\.c)\]\(.*?\) \| (?:`(.*?)`)? ?\| (.*) \| (.*) \| (.*) \|")


def rows() -> Iterator[tuple[str, str, str, str]]:
    for line in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines():
        if found := _ROW.fullmatch(line):
            file, flags, *cells = found.groups()
            yield from ((file, flags or "", model, cell.strip("*")) for model, cell in zip(MODELS, cells, strict=True))


@pytest.fixture(scope="module", autouse=True)
def compile_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dekker.frontends.c.compile_file", cache(driver.compile_file))
        yield


@pytest.mark.parametrize(("file", "flags", "model", "cell"), list(rows()))
def test_cell(file: str, flags: str, model: str, cell: str, tmp_path: Path) -> None:
    witness = tmp_path / "run.json"
    arguments = [str(FOLDER / file), "-m", model, "--engine", "states", "--json", "-", "--witness", str(witness)]
    outcome = dekker("check", *arguments, "--", *flags.split())
    answer = json.loads(outcome.out)
    if cell == "safe":
        assert (outcome.status, answer["verdict"]) == (0, "SAFE")
        return
    assert (outcome.status, answer["verdict"], answer["violation"]["kind"]) == (1, "UNSAFE", cell)
    assert dekker("replay", str(witness)).status == 0


def test_every_program_has_a_row() -> None:
    assert {file.name for file in FOLDER.glob("*.c")} == {row[0] for row in rows()}
