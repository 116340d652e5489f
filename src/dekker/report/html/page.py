"""What a page says, and the file that it becomes.

The page is data (JSON) and a script that shows it. Everything that comes from a program is in the data, where no
character can end the element; the script only ever makes text of it; and a policy in the page keeps the browser from
running any other script, and from asking the network for anything.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from dekker.records import dataclass
from dekker.report.picture.colours import CYCLE_DARK, LOOKS

SCRIPTS = ("layout.js", "dom.js", "picture.js", "source.js", "timeline.js", "table.js", "entry.js", "app.js")
GOOD, BAD, OPEN = "good", "bad", "open"

Plain = dict[str, Any]
"""What `json` can write."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Of a column of the table of entries. The cells of one are the verdict; `long` ones are cut to fit."""

    label: str
    number: bool = False
    verdict: bool = False
    long: bool = False


@dataclass
class Sources:
    """The files that entries show, each once."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, file: str, text: str) -> int:
        return self.numbers.setdefault((file, text), len(self.numbers))

    def plain(self) -> list[Plain]:
        return [{"file": file, "text": text} for file, text in self.numbers]


@dataclass
class Page:
    """`entries` are shown in a table with these `columns` if there are several. `text` is for a reader whose browser
    runs no scripts."""

    title: str
    text: str
    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    columns: Sequence[Heading] = ()
    entries: Sequence[Plain] = ()
    sources: Sources = field(default_factory=Sources)


def html_text(page: Page) -> str:
    script = _script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return _TEMPLATE.format(
        policy=policy,
        title=escape(page.title),
        style=_style(),
        data=embedded(_plain(page)),
        text=escape(page.text),
        script=script,
    )


def embedded(value: Any) -> str:
    """JSON that can stand in a `script` element, whatever texts are in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(page: Page) -> Plain:
    return {
        "title": page.title,
        "facts": [list(fact) for fact in page.facts],
        "notes": list(page.notes),
        "columns": [{"label": c.label, "number": c.number, "verdict": c.verdict, "long": c.long} for c in page.columns],
        "entries": list(page.entries),
        "sources": page.sources.plain(),
        "meanings": {kind: look.meaning for kind, look in LOOKS.items()},
        "generator": f"Dekker {version('dekker')}",
    }


@cache
def _script() -> str:
    return "\n".join(_asset(name) for name in SCRIPTS)


@cache
def _style() -> str:
    """The colours of relations are those of all pictures."""
    light = "".join(
        f".rel-{kind}{{--colour:{look.light};--dash:{look.dash or 'none'}}}" for kind, look in LOOKS.items()
    )
    dark = "".join(f"%s .rel-{kind}{{--colour:{look.dark}}}" for kind, look in LOOKS.items())
    hidden = "".join(f".hide-{kind} .rel-{kind}{{display:none}}" for kind in LOOKS)
    ground = "".join(f"--{name}:{colour};" for name, colour in _DARK.items())
    chosen, system = ':root[data-theme="dark"]', ':root:not([data-theme="light"])'
    for_screen = "@media screen"
    dark_rules = "\n".join(
        (
            f"{for_screen}{{{chosen}{{{ground}}}{dark.replace('%s', chosen)}}}",
            f"{for_screen} and (prefers-color-scheme: dark){{{system}{{{ground}}}{dark.replace('%s', system)}}}",
        )
    )
    return _asset("style.css").replace("/* DARK */", f"{light}\n{hidden}\n{dark_rules}")


_DARK: Mapping[str, str] = {
    "ground": "#161b22",
    "page": "#0d1117",
    "text": "#e6edf3",
    "dim": "#9aa4af",
    "line": "#30363d",
    "node": "#1c2330",
    "node-line": "#6e7681",
    "accent": "#79c0ff",
    "lit": "#12304f",
    "lit-line": "#58a6ff",
    "good": "#7ee787",
    "bad": "#ff8f87",
    "open": "#e3b341",
    "good-ground": "#12261e",
    "bad-ground": "#3a1618",
    "open-ground": "#2e2410",
    "cycle": CYCLE_DARK,
    "cycle-ground": "#2f2708",
    "cycle-line": "#e3b341",
}


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#main">To the answer</a>
<header><div class="bar"><h1 id="title">{title}</h1><button type="button" id="theme">Dark</button></div><div id="about"></div></header>
<main id="main" tabindex="-1"><noscript><p>Pictures and tables need scripts. This is the answer as text:</p><pre>{text}</pre></noscript></main>
<footer id="foot"></footer>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""  # noqa: E501 — as it will stand in the file
