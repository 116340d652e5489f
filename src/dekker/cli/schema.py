"""`dekker schema`: what the JSON of the other verbs looks like."""

from __future__ import annotations

import json

import click

from dekker.report.json_schema import NAMES, json_schema


@click.command(name="schema")
@click.argument("name", required=False, metavar="[NAME]")
def command(name: str | None) -> None:
    """Print the JSON Schema of what Dekker writes as JSON; without a name, which there are."""
    if name is None:
        width = max(map(len, NAMES))
        for known, about in NAMES.items():
            print(f"{known:<{width}}  {about}")
    else:
        print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
