"""`python -m benchmarks`: runs sets of inputs, prints work and rates, and the ratio to other tools."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks import peers
from benchmarks.languages import LANGUAGES_OF_MODELS
from benchmarks.publish import publish, require_place
from benchmarks.row import Options, Row, run_case
from benchmarks.sets import FAMILIES, SETS, find_cases
from benchmarks.sets.case import Case
from benchmarks.sets.request import OWN_CORPUS, parse_request
from benchmarks.table import as_json, conclusions, heading, layout_of, legends, missing_tools, row_text
from benchmarks.tools import TOOLS, chosen_tools
from dekker.errors import DekkerError, InputError
from dekker.run.engines import ENGINES

STATUS_FINE, STATUS_WRONG, STATUS_CALL, STATUS_INCOMPLETE = range(4)

EPILOG = """\b
Sets take sizes: sb-ring=8, sb-ring=4,6,8, sb-ring=4..12.

\b
Exit status:
  0  every row was measured, and every count that is known was right
  1  a number of traces is wrong, or memory grows with it
  2  the call is at fault
  3  some row has no complete result
"""


@dataclass(frozen=True)
class Outputs:
    json_file: Path | None
    document: Path | None


@click.command(name="benchmarks", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("sets", nargs=-1, metavar="SET...")
@click.option("--list", "list_sets", is_flag=True, help="List the sets, their sizes, models and known counts.")
@click.option("--engine", type=click.Choice(sorted(ENGINES)), default="rsmc", show_default=True)
@click.option("--model", "models", multiple=True, help="Instead of each set's own models; may be given several times.")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, show_default=True, help="Seconds, of CPU."
)
@click.option("--with", "tools", metavar="TOOLS", help=f"Of {', '.join(TOOLS)}; or none. Default: all on PATH.")
@click.option("--verdict", is_flag=True, help="Ask for the verdict only, as dekker check does; no count is checked.")
@click.option("--corpus", envvar="DEKKER_CORPUS", type=click.Path(path_type=Path), help="Folder of litmus tests.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the rows as JSON.")
@click.option(
    "--into",
    "document",
    type=click.Path(path_type=Path),
    help="Replace the results in a document, if all are complete.",
)
def command(  # noqa: PLR0913 — one argument per option
    sets: tuple[str, ...],
    list_sets: bool,
    engine: str,
    models: tuple[str, ...],
    repeat: int,
    timeout: float,
    tools: str | None,
    verdict: bool,
    corpus: Path | None,
    json_file: Path | None,
    document: Path | None,
) -> int:
    """Run the SETs with an engine, each row in a process of its own, and beside it those of herd7, nidhugg, genmc,
    cbmc and spin that are on PATH."""
    if list_sets:
        print(list_text())
        return STATUS_FINE
    if not sets:
        raise InputError("no set is named", hint=f"known sets: {', '.join(SETS)}")
    _require_known_models(models)
    requests = [parse_request(text, models, corpus or OWN_CORPUS) for text in sets]
    cases = [case for request in requests for case in find_cases(request)]
    options = Options(engine, repeat, timeout, tuple(chosen_tools(tools)), verdict)
    return _run(cases, options, Outputs(json_file, document))


def main(arguments: Sequence[str] | None = None) -> None:
    sys.exit(run_command(arguments))


def run_command(arguments: Sequence[str] | None = None) -> int:
    try:
        return int(command.main(args=arguments, prog_name="python -m benchmarks", standalone_mode=False) or STATUS_FINE)
    except click.ClickException as error:
        error.show(sys.stderr)
    except DekkerError as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename}", file=sys.stderr)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return STATUS_INCOMPLETE
    return STATUS_CALL


def list_text() -> str:
    lines = []
    for name, known in SETS.items():
        lines.append(f"{name:15} {known.about}")
        for family in FAMILIES.get(name, ()):
            sizes = ", ".join(map(str, family.sizes))
            lines.append(f"{'':15}   {family.name}: {family.size} {sizes}; {', '.join(family.models)}")
            lines.append(f"{'':15}   traces: {family.formula}")
    return "\n".join(lines)


def _require_known_models(models: Sequence[str]) -> None:
    for model in models:
        if model not in LANGUAGES_OF_MODELS:
            known = ", ".join(LANGUAGES_OF_MODELS)
            raise InputError(f"there are no benchmarks for the model '{model}'", hint=f"known models: {known}")


def _run(cases: Sequence[Case], options: Options, outputs: Outputs) -> int:
    _require_writable(outputs)
    pace = peers.measured_pace(cases, options)
    text: list[str] = []
    rows: list[Row] = []
    layout = None
    for case in cases:
        if layout is not (layout := layout_of(case)):
            text.append(heading(layout))
            print(text[-1], flush=True)
        rows.append(run_case(case, options))
        text.append(row_text(rows[-1], pace))
        print(text[-1], flush=True)
    ending = ["", *legends(cases), *(conclusion.text for conclusion in conclusions(rows))]
    if pace is not None:
        ending.append(peers.pace_text(pace))
    if mean := peers.mean_text(rows, pace):
        ending.append(mean)
    if missing := missing_tools(rows):
        ending.append(f"not on PATH, so not compared: {', '.join(missing)}")
    print("\n".join(ending))
    if outputs.json_file is not None:
        outputs.json_file.write_text(json.dumps(as_json(rows, options, pace), indent=1) + "\n", encoding="utf-8")
    status = _status(rows)
    if outputs.document is not None and status == STATUS_FINE:
        publish(outputs.document, _command_line(), "\n".join([*text, *ending]))
    elif outputs.document is not None:
        print(f"{outputs.document} stays as it is: these are no complete results", file=sys.stderr)
    return status


def _require_writable(outputs: Outputs) -> None:
    """Better before a long run than after it."""
    if outputs.json_file is not None:
        outputs.json_file.open("a", encoding="utf-8").close()
    if outputs.document is not None:
        require_place(outputs.document)


def _command_line() -> str:
    return "python -m benchmarks " + " ".join(sys.argv[1:])


def _status(rows: Sequence[Row]) -> int:
    problems = [problem for row in rows for problem in row.problems]
    problems += [conclusion.text for conclusion in conclusions(rows) if not conclusion.holds]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems:
        return STATUS_WRONG
    return STATUS_FINE if all(row.complete or row.case.skipped for row in rows) else STATUS_INCOMPLETE
