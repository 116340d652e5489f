"""What docs/modular.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.calls import dekker

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "modular.md").read_text(encoding="utf-8")


def test_the_example_is_the_file() -> None:
    text = (ROOT / "examples" / "lang" / "spin-lock.lang").read_text(encoding="utf-8")
    assert text in re.sub(r"^    ", "", PAGE, flags=re.MULTILINE)


def test_the_options_exist() -> None:
    text = dekker("modular", "--help").out
    for option in set(re.findall(r"--[a-z][a-z-]+", PAGE)) - {"--engine"}:
        assert option in text, option
