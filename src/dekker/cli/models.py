"""`dekker models`: what ships."""

from __future__ import annotations

import click

from dekker.models import describe


@click.command(name="models")
def command() -> None:
    """List the memory models that ship with Dekker, one line each."""
    listed = describe()
    width = max(len(name) for name, _ in listed)
    for name, title in listed:
        print(f"{name:<{width}}  {title}")
