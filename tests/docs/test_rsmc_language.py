"""What docs/rsmc-language.md shows is what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.calls import dekker

from dekker.errors import ParseError
from dekker.frontends.rsmc import expressions, parse_rsmc
from dekker.frontends.rsmc.lexer import RESERVED
from dekker.ir.validate import validate
from dekker.source import Source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rsmc-language.md").read_text(encoding="utf-8")

COUNT = re.compile(r"^\| `([\w-]+\.rsmc)` \| .* \| (\d+) \|$", re.MULTILINE)
OPERATOR_ROW = re.compile(r"^\| (`.*`) \|", re.MULTILINE)


def unindented(block: str) -> str:
    return re.sub(r"^    ", "", block, flags=re.MULTILINE)


def test_the_example_is_the_file() -> None:
    assert (ROOT / "examples" / "rsmc" / "load-buffering.rsmc").read_text(encoding="utf-8") in unindented(PAGE)


def test_the_counts_are_real() -> None:
    counts = COUNT.findall(PAGE)
    assert {name for name, _ in counts} == {file.name for file in (ROOT / "examples" / "rsmc").iterdir()}
    for name, count in counts:
        out = dekker("litmus", str(ROOT / "examples" / "rsmc" / name), "--engine", "rsmc", "--json", "-").out
        record = json.loads(out)
        assert record["positive"] + record["negative"] == int(count)


def test_the_idioms_are_programs() -> None:
    block = PAGE[PAGE.index("    r1 := y;  r2 := [&x") : PAGE.index("**Expressions**")]
    threads = [f"thread {name}: {line.strip()}" for name, line in zip("PQRST", block.strip().split("\n"), strict=True)]
    validate(parse_rsmc(Source("idioms.rsmc", "x = 0 y = 0 p = &x\n" + "\n".join(threads))))


def test_the_table_of_operators_is_complete() -> None:
    rows = [re.findall(r"`([^`]*)`", row.replace("\\|", "|")) for row in OPERATOR_ROW.findall(PAGE)]
    binary = rows[: rows.index(["-", "~", "!", "&x"])]
    assert {mark for row in binary for mark in row} == expressions.BINARY_MARKS
    assert f"at most\n{expressions.MOST_OPERATORS} operators" in PAGE


@pytest.mark.parametrize("word", sorted(word for word in RESERVED if word.isalpha()))
def test_reserved_words_are_documented(word: str) -> None:
    assert re.search(rf'[`"]~?{word}\b', PAGE)
    with pytest.raises(ParseError):
        parse_rsmc(Source("t.rsmc", f"{word} = 0\nthread P: r := 1"))
