"""The options in docs/explain.md and docs/formats.md exist."""

from __future__ import annotations

import re

from tests.cli.calls import dekker
from tests.docs.test_readme import ROOT

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("explain", "formats")}


def test_the_options_exist() -> None:
    helps = "".join(dekker(verb, "--help").out for verb in ("check", "compare", "litmus", "explain", "show"))
    for text in PAGES.values():
        for option in set(re.findall(r"--[a-z][a-z-]+", text)):
            assert option in helps, option
