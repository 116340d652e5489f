"""Where witnesses go, and how wide the terminal is that they are shown on."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dekker.errors import InputError
from dekker.report.style import WIDTH, RunStyle

if TYPE_CHECKING:
    from dekker.report.record import Record
    from dekker.witness import Witness

NARROWEST = 40


def terminal_width() -> int:
    return max(NARROWEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


LAYOUT = click.option(
    "--layout",
    type=click.Choice(("auto", "table", "list")),
    default="auto",
    show_default=True,
    help="The run with its threads side by side, if the terminal is wide enough, or one after the other; auto: a table "
    "on a terminal.",
)
NO_COLOR = click.option("--no-color", is_flag=True, help="No colours, as if NO_COLOR were set.")


def run_style(layout: str, no_color: bool) -> RunStyle:
    on_terminal = sys.stdout.isatty()
    color = on_terminal and not no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return RunStyle(layout == "table" or (layout == "auto" and on_terminal), color)


def write_witness(file: Path, witness: Witness) -> None:
    from dekker.witness import to_json  # noqa: PLC0415 — slow to load, and few write any

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(to_json(witness), encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"cannot write '{file}': {reason}") from None


class WitnessWriter:
    """Writes the witness of one test to a file, those of several to a folder, each named after its test."""

    def __init__(self, path: str, tests: int) -> None:
        self.target = Path(path)
        self.in_folder = tests != 1 or path.endswith("/") or self.target.is_dir()
        self.taken: set[str] = set()

    def write(self, record: Record) -> Record:
        """The record, with the name of the file that was written."""
        if record.witness is None:
            if record.error is None:
                print(f"{record.name}: no execution decides the condition, so there is no witness", file=sys.stderr)
            return record
        file = self._file(record.name)
        write_witness(file, record.witness)
        return replace(record, witness_file=str(file))

    def _file(self, test: str) -> Path:
        if not self.in_folder:
            return self.target
        stem = re.sub(r"[^\w.+\[\]()-]", "_", test)[:100].lstrip(".") or "witness"
        unique, number = stem, 1
        while unique in self.taken:
            number += 1
            unique = f"{stem}-{number}"
        self.taken.add(unique)
        return self.target / f"{unique}.json"
