"""The reference, written from the code as Markdown: commands, Python, models, fences, schemas, grammars."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path

import click

import dekker
from dekker.cli.main import EPILOG
from dekker.cli.main import dekker as command_line
from dekker.ir.fences import FENCES
from dekker.models import FOLDER, describe
from dekker.report.json_schema import NAMES, json_schema

PAIRS = ("RR", "RW", "WR", "WW")
GRAMMARS = {
    "Programs as Dekker represents them": "dekker.ir.text",
    "The language of `.rsmc` files": "dekker.frontends.rsmc",
    "Lang": "dekker.frontends.lang",
}
FUNCTIONS = ("check", "compare", "litmus")
ARGUMENTS = ("CheckArguments", "LitmusArguments")


def write(folder: Path) -> None:
    """Pages that did not change keep their time, so that a second build is short."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    return {
        "commands": commands(),
        "python": python(),
        "models": models(),
        "fences": fences(),
        "schemas": schemas(),
        "grammars": grammars(),
    }


# --- commands


def commands() -> str:
    context = click.Context(command_line, info_name="dekker")
    parts = ["# Commands", plain(command_line.help or ""), literal(inspect.cleandoc(EPILOG.removeprefix("\b\n")))]
    for verb in command_line.list_commands(context):
        found = command_line.get_command(context, verb)
        assert found is not None
        parts.append(command(found, click.Context(found, info_name=f"dekker {verb}", max_content_width=200)))
    return page(parts)


def command(found: click.Command, context: click.Context) -> str:
    usage = " ".join((context.info_name or "", *found.collect_usage_pieces(context)))
    parts = [f"## {context.info_name}", literal(usage), paragraphs(found.help or "")]
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            names, text = record
            parts.append(f"`{names}`\n: {plain(text)}")
    return "\n\n".join(parts)


def paragraphs(text: str) -> str:
    """Click's marks: what follows \\b is kept line by line."""
    found = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        kept = part.lstrip("\n")
        found.append(literal(kept[2:].lstrip("\n")) if kept.startswith("\b") else plain(kept))
    return "\n\n".join(found)


def plain(text: str) -> str:
    """Text in which nothing but `code` is meant as Markdown."""
    pieces = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(piece if piece.startswith("`") else re.sub(r"([\\*_<\[\]#])", r"\\\1", piece) for piece in pieces)


# --- Python


def python() -> str:
    classes = [name for name in dekker.__all__ if name not in FUNCTIONS]
    errors = [name for name in classes if issubclass(getattr(dekker, name), Exception)]
    directives = [f".. autofunction:: dekker.{name}" for name in FUNCTIONS]
    directives += [f".. autoclass:: dekker.api.{name}\n   :members:\n   :undoc-members:" for name in ARGUMENTS]
    directives += [members(name) for name in classes if name not in errors]
    directives += [f".. autoexception:: dekker.{name}" for name in sorted(errors, key=depth)]
    plugin = importlib.import_module("dekker.pytest_plugin")
    return page(
        [
            "# Python",
            rst(".. automodule:: dekker", *directives),
            "## pytest",
            plain(plugin.__doc__ or ""),
            rst(".. autoclass:: dekker.pytest_plugin.DekkerCheck\n   :special-members: __call__"),
        ]
    )


def members(name: str) -> str:
    return f".. autoclass:: dekker.{name}\n   :members:\n   :undoc-members:\n   :no-inherited-members:"


def depth(name: str) -> int:
    return len(getattr(dekker, name).__mro__)


def rst(*directives: str) -> str:
    return "```{eval-rst}\n" + "\n\n".join(directives) + "\n```"


# --- models, fences, schemas, grammars


def models() -> str:
    parts = ["# Models", "Each is a file of `src/dekker/models`; here they stand as they are."]
    for name, title in describe():
        text = (FOLDER / f"{name}.cat").read_text(encoding="utf-8")
        parts += [f"## {name}", plain(title), literal(text)]
    return page(parts)


def fences() -> str:
    rows = ["| fence | set in `.cat` files | " + " | ".join(PAIRS) + " |", "|---|---|" + ":-:|" * len(PAIRS)]
    for kind in FENCES.values():
        ticks = " | ".join("✓" if pair in kind.orders else "" for pair in PAIRS)
        rows.append(f"| `{kind.name}` | `{kind.tag}` | {ticks} |")
    about = "A fence keeps a pair of accesses in order if it stands between them: `WR` is a write and a later read."
    return page(["# Fences", about, "\n".join(rows)])


def schemas() -> str:
    parts = ["# JSON schemas", "`dekker schema NAME` prints them. JSON Schema, draft 2020-12."]
    for name, about in NAMES.items():
        own = {key: value for key, value in json_schema(name).items() if key != "$defs"}
        parts += [f"## {name}", about, literal(json.dumps(own, indent=2, ensure_ascii=False), "json")]
    return page(parts)


def grammars() -> str:
    parts = ["# Grammars"]
    for title, module in GRAMMARS.items():
        parts += [f"## {title}", literal(inspect.cleandoc(importlib.import_module(module).__doc__ or ""))]
    return page(parts)


# --- Markdown


def literal(text: str, language: str = "text") -> str:
    return f"````{language}\n{text.rstrip()}\n````"


def page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"
