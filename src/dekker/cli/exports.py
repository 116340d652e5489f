"""Answers in formats that other tools read: the options, and the files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dekker.errors import InputError, UnsupportedError
from dekker.records import dataclass

if TYPE_CHECKING:
    from dekker.report.check_report import CheckReport
    from dekker.report.record import Record

SARIF = click.option("--sarif", "sarif_file", metavar="FILE", help="Write SARIF 2.1.0, for code review; - is stdout.")
JUNIT = click.option("--junit", "junit_file", metavar="FILE", help="Write JUnit XML, for CI; - is stdout.")
_WITNESSES = (
    click.option(
        "--witness-graphml", "graphml_file", metavar="FILE", help="Write a witness of SV-COMP (GraphML 1.0), for C."
    ),
    click.option("--witness-yaml", "yaml_file", metavar="FILE", help="Write a witness of SV-COMP (YAML 2.0), for C."),
)


@dataclass(frozen=True)
class Exports:
    """Names of files to write, if any."""

    sarif: str | None = None
    junit: str | None = None
    graphml: str | None = None
    yaml: str | None = None

    def files(self) -> dict[str, str | None]:
        """By option."""
        return {
            "--sarif": self.sarif,
            "--junit": self.junit,
            "--witness-graphml": self.graphml,
            "--witness-yaml": self.yaml,
        }

    def write_check(self, report: CheckReport) -> None:
        self.write_checks([report])
        if self.graphml is not None:
            from dekker.report.witness_graphml import graphml_witness  # noqa: PLC0415 — few ask for it

            _write_witness(self.graphml, graphml_witness, report)
        if self.yaml is not None:
            from dekker.report.witness_yaml import yaml_witness  # noqa: PLC0415

            _write_witness(self.yaml, yaml_witness, report)

    @property
    def take_stdout(self) -> bool:
        return "-" in self.files().values()

    def write_checks(self, reports: Sequence[CheckReport]) -> None:
        for file, text in self.answers(reports):
            write_answer(file, text)

    def answers(self, reports: Sequence[CheckReport]) -> Iterator[tuple[str, str]]:
        """Files and what is to be in them, but for witnesses."""
        if self.sarif is not None:
            from dekker.report.sarif import sarif_log  # noqa: PLC0415

            yield self.sarif, sarif_log(reports, own_version())
        if self.junit is not None:
            from dekker.report.junit import junit_of_checks  # noqa: PLC0415

            yield self.junit, junit_of_checks(reports).rstrip("\n")

    def write_litmus(self, records: Sequence[Record]) -> None:
        if self.junit is not None:
            from dekker.report.junit import junit_of_litmus  # noqa: PLC0415

            write_answer(self.junit, junit_of_litmus(records).rstrip("\n"))


def export_options(command: Callable[..., int]) -> Callable[..., int]:
    """Adds the options of `check`; the command gets their values as the argument `exports`."""

    def with_exports(
        *,
        sarif_file: str | None,
        junit_file: str | None,
        graphml_file: str | None,
        yaml_file: str | None,
        **others: Any,
    ) -> int:
        return command(exports=Exports(sarif_file, junit_file, graphml_file, yaml_file), **others)

    with_exports.__doc__ = command.__doc__
    with_exports.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    result: Callable[..., int] = with_exports
    for option in reversed((SARIF, JUNIT, *_WITNESSES)):
        result = option(result)
    return result


def own_version() -> str:
    from importlib.metadata import version  # noqa: PLC0415

    return version("dekker")


def _write_witness(file: str, form: Callable[[CheckReport, str], str], report: CheckReport) -> None:
    """An answer for which the format has no witness is still the answer."""
    try:
        text = form(report, own_version())
    except UnsupportedError as error:
        print(f"no witness was written to '{file}': {error.diagnostic.message}", file=sys.stderr)
        if error.diagnostic.hint is not None:
            print(f"\nhint: {error.diagnostic.hint}", file=sys.stderr)
        return
    write_answer(file, text.rstrip("\n"))


def require_own_file(checkpoint: str, others: dict[str, str | None]) -> None:
    """`InputError` if another option would write over the checkpoint."""
    for option, file in others.items():
        if file not in (None, "-") and os.path.realpath(file) == os.path.realpath(checkpoint):
            raise InputError(f"{option} would write over the checkpoint '{checkpoint}'", hint="give it another name")


def write_answer(file: str, text: str) -> None:
    if file == "-":
        print(text, file=sys.stdout)
        return
    try:
        Path(file).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write '{file}': {error.strerror}") from None
