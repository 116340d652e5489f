"""The option that all verbs have that can work on a cluster."""

from __future__ import annotations

import click

CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Work on a Dask cluster: where `dask scheduler` is, or local, or local:N for N processes here.",
)
