"""The options that draw: `--graph` for one execution, `--html` for a page. What they need is loaded when it is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dekker.errors import InputError

if TYPE_CHECKING:
    from dekker.cat.reasons import Reason
    from dekker.report.counterexample import OutOfOrder
    from dekker.report.html.page import Page
    from dekker.witness import Witness

GRAPHS = (".svg", ".dot")


def _graph_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and Path(value).suffix not in GRAPHS:
        raise InputError(f"'{value}' is neither an .svg nor a .dot file", hint="the extension chooses what is written")
    return value


GRAPH = click.option(
    "--graph",
    "graph_file",
    metavar="FILE",
    callback=_graph_name,
    help="Draw the execution that is shown: an .svg picture, or a .dot graph.",
)
HTML = click.option("--html", "html_file", metavar="FILE", help="Write the answer as a page for a browser.")


def write_graph(file: str, witness: Witness, order: OutOfOrder | None = None, reasons: Sequence[Reason] = ()) -> None:
    from dekker.report.picture import dot_of, svg_of  # noqa: PLC0415 — rarely needed

    draw = svg_of if file.endswith(".svg") else dot_of
    _write(file, draw(witness, order, reasons))


def write_page(file: str, page: Page) -> None:
    from dekker.report.html.page import html_text  # noqa: PLC0415 — rarely needed

    _write(file, html_text(page))


def texts_of(paths: Sequence[str]) -> dict[str, str]:
    """The files that were asked about."""
    from dekker.frontends import read_text  # noqa: PLC0415 — here for its errors

    return {path: read_text(path) for path in paths}


def _write(file: str, text: str) -> None:
    try:
        Path(file).write_text(text, encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"cannot write '{file}': {reason}") from None
