"""Sphinx's settings. The root is that of the repository, so that links between pages are the same here and in a viewer
of the repository; `make docs` calls it."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from docs.site import reference  # noqa: E402 — found from the root

project = "Dekker"
author = "the authors of Dekker"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "examples/**/README.md",
    "benchmarks/README.md",
]
exclude_patterns = ["build", ".venv", ".git", "src", "core", "tests"]

myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # generated pages have the levels that the code has
smartquotes = False  # -- is no dash in an option
highlight_language = "text"
pygments_style = "friendly"

default_role = "code"  # docstrings mark names with single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
maximum_signature_line_length = 80

html_theme = "furo"
html_title = "Dekker"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["dekker.css"]


def generate(app: Sphinx) -> None:
    reference.write(ROOT / "docs" / "reference" / "generated")


def enter(app: Sphinx, exception: Exception | None) -> None:
    """The first page lies in docs/, as in the repository; who opens the folder is led there."""
    if exception is None and app.builder.name == "html":
        page = '<!doctype html><meta charset="utf-8"><title>Dekker</title>'
        page += '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">Dekker</a>\n'
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", generate)
    app.connect("build-finished", enter)
