"""The site is built without a warning, and has a page for everything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.sessions import ROOT, pages

from dekker.cli.main import VERBS
from dekker.ir.fences import FENCES
from dekker.models import model_names
from dekker.report.json_schema import NAMES

for needed in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(needed, reason="the extra `docs` is not installed")

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    call = ["-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs/site", "-d", str(folder / "cache"), "."]
    done = subprocess.run(
        [sys.executable, *call, str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


def test_every_page_is_there_and_can_be_reached(site: Path) -> None:
    for page in pages():
        assert (site / page).with_suffix(".html").exists(), page
    assert "docs/index.html" in (site / "index.html").read_text(encoding="utf-8")


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]+\"")
    for page in site.rglob("*.html"):
        assert loaded.findall(page.read_text(encoding="utf-8")) == [], page


def test_the_reference_is_complete(site: Path) -> None:
    generated = site / "docs" / "reference" / "generated"
    known = {
        "commands": [f"dekker {verb}" for verb in VERBS],
        "models": model_names(),
        "fences": FENCES,
        "schemas": NAMES,
        "python": ["CheckArguments", "LitmusResult", "UnsupportedError", "max_traces", "DekkerCheck"],
        "grammars": ["PROGRAM", "INSTRUCTION", "STATEMENT"],
    }
    for page, names in known.items():
        text = re.sub(r"<[^>]+>", "", (generated / f"{page}.html").read_text(encoding="utf-8"))
        for name in names:
            assert name in text, (page, name)


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere_without_the_site(page: str) -> None:
    """In a viewer of the repository: relative, and to what is there."""
    for target in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), f"{page}: {target}"
            assert "generated/" not in target, f"{page}: {target}"
