"""The ranges of options that limit a run."""

from __future__ import annotations

import click

SECONDS = click.FloatRange(min=0, max=1e9, min_open=True)
MEGABYTES = click.IntRange(min=1, max=1 << 30)
TRACES = click.IntRange(min=1, max=1 << 62)
ROUNDS = click.IntRange(min=0, max=(1 << 31) - 1)
