"""What docs/api.md shows is what happens."""

from __future__ import annotations

import doctest
import re

import pytest
from tests.docs.test_readme import ROOT

import dekker

TEXT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_examples_are_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = doctest.DocTestParser().get_doctest(TEXT, {}, "api.md", "docs/api.md", 0)
    assert len(found.examples) >= 12
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    problems: list[str] = []
    runner.run(found, out=problems.append)
    assert runner.failures == 0, "".join(problems)


def test_every_field_and_name_is_described() -> None:
    for kind in (dekker.Result, dekker.LitmusResult):
        for name, value in vars(kind).items():
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                assert re.search(rf"`[^`]*\b{name}\b[^`]*`", TEXT), name
    for name in dekker.__all__:
        assert name in TEXT, name


def test_the_test_suite_in_it_is_python() -> None:
    start = TEXT.index("    import pytest")
    block = TEXT[start : TEXT.index("All arguments of `check`")]
    compile(re.sub(r"^    ", "", block, flags=re.MULTILINE), "api.md", "exec")
