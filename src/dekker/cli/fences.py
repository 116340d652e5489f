"""`dekker fences`: where are fences needed, and which?"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.dialect import dialect_options
from dekker.cli.exports import write_answer
from dekker.cli.limits import MEGABYTES, NUMBERS, REUSE, ROUNDS, SECONDS
from dekker.cli.main import STATUS_HOLDS, STATUS_UNDECIDED, STATUS_VIOLATED
from dekker.cli.pictures import HTML, texts_of, write_page
from dekker.cli.progress import ProgressLine
from dekker.errors import InputError
from dekker.frontends.dialect import Dialect
from dekker.report.fences_text import (
    NO_HELP,
    NONE_NEEDED,
    PLACED,
    UNDECIDED,
    WRONG_ANYWAY,
    FencesReport,
    fences_json,
    fences_text,
)
from dekker.run.check import CheckOptions, check_limits
from dekker.run.engines import ENGINES
from dekker.run.fences import FenceOptions, Proposal, propose

LEAST_WEIGHT, MOST_WEIGHT = 0.001, 1e6
STATUS = {
    NONE_NEEDED: STATUS_HOLDS,
    PLACED: STATUS_HOLDS,
    NO_HELP: STATUS_VIOLATED,
    WRONG_ANYWAY: STATUS_VIOLATED,
    UNDECIDED: STATUS_UNDECIDED,
}


@click.command(name="fences", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--model", "-m", required=True, help="tso, pso, rmo, power, armv7, aarch64 or riscv.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Write the source with the fences; a folder for several files, and for headers.",
)
@click.option(
    "--in",
    "inside",
    multiple=True,
    metavar="PATH",
    help="Put fences into this header as well, or into those of a folder, although it is included in angle brackets.",
)
@click.option("--minimal", is_flag=True, help="Try to leave out each fence, and show what goes wrong without it.")
@click.option("--robust", is_flag=True, help="Break every critical cycle, whether or not the property needs it.")
@click.option("--weight", "weights", multiple=True, metavar="KIND=COST", help="What a fence costs, such as lwsync=2.")
@click.option("--engine", type=click.Choice(sorted(ENGINES)), help="Which checks the property (default: rsmc).")
@click.option("--unroll", type=ROUNDS, help="Rounds of each loop.  [default: 1, then 2, then 4]")
@click.option("--timeout", type=SECONDS, help="Seconds, for everything.")
@click.option("--memory", type=MEGABYTES, metavar="MB", help="Megabytes that the process may hold.")
@REUSE
@click.option("--nondet", type=NUMBERS, metavar="LOW..HIGH", help="What __VERIFIER_nondet_int gives.  [default: -1..2]")
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@click.option("--json", "json_file", metavar="FILE", help="Write the answer as a JSON object; - is stdout.")
@HTML
@dialect_options
def command(
    paths: tuple[str, ...],
    model: str,
    output: str | None,
    inside: tuple[str, ...],
    minimal: bool,
    robust: bool,
    weights: tuple[str, ...],
    engine: str | None,
    unroll: int | None,
    timeout: float | None,
    memory: int | None,
    nondet: tuple[int, int] | None,
    reuse: bool,
    cc: str | None,
    json_file: str | None,
    html_file: str | None,
    dialect: Dialect,
) -> int:
    """Find the cheapest fences with which a program keeps its property under a memory model.

    Fences are put between statements of a C or C++ source, rows of a litmus test, or instructions of an .rsmc program.
    What is proposed has been checked: the property holds with these fences, in all executions (of loops, as many rounds
    as --unroll says). A litmus test that asks whether a state exists is taken to want that it does not. A full fence
    costs 3 and a lighter one 1 if --weight says nothing else.

    Exit status 0: fences were found, or none is needed. 1: no fence helps.
    """
    limits = check_limits(unroll, timeout, memory)
    check = CheckOptions(model, engine, limits, compiler_flags(), cc, nondet=nondet, reuse=reuse, dialect=dialect)
    options = FenceOptions(robust, minimal, tuple(map(_weight, weights)), timeout, inside)
    with ProgressLine() as progress:
        proposal = propose(paths, model, check, options, progress)
    if output is not None and proposal.report.outcome in (PLACED, NONE_NEEDED):
        by_hand = _write(output, paths, proposal)
        notes = tuple(_by_hand(output, path, proposal.report) for path in by_hand)
        proposal = replace(proposal, report=replace(proposal.report, notes=proposal.report.notes + notes))
    if json_file != "-":
        print(fences_text(proposal.report))
    if json_file is not None:
        write_answer(json_file, fences_json(proposal.report))
    if html_file is not None:
        from dekker.report.html.fences_page import fences_page  # noqa: PLC0415 — rarely needed

        write_page(html_file, fences_page(proposal.report, texts_of((*paths, *proposal.headers))))
    return STATUS[proposal.report.outcome]


def _weight(text: str) -> tuple[str, float]:
    kind, _, cost = text.partition("=")
    try:
        number = float(cost)
    except ValueError:
        number = -1.0
    if not kind or not LEAST_WEIGHT <= number <= MOST_WEIGHT:
        hint = f"write the kind and a number from {LEAST_WEIGHT:g} to {MOST_WEIGHT:,.0f}: sync=3".replace(",", " ")
        raise InputError(f"'{text}' is no weight of a fence", hint=hint)
    return kind, number


def _write(output: str, paths: tuple[str, ...], proposal: Proposal) -> list[str]:
    """A file, or a folder for what is more than one; says which headers have no place there."""
    try:
        if len(paths) == 1 and not output.endswith(os.sep) and not Path(output).is_dir():
            Path(output).write_text(proposal.texts[0], encoding="utf-8", newline="")
            return list(proposal.headers)
        texts = {Path(path).name: text for path, text in zip(paths, proposal.texts, strict=True)}
        left = []
        for path, text in proposal.headers.items():
            place = _beside(path, paths)
            if place is None or place in texts:
                left.append(path)
            else:
                texts[place] = text
        for name, text in texts.items():
            Path(output, name).parent.mkdir(parents=True, exist_ok=True)
            Path(output, name).write_text(text, encoding="utf-8", newline="")
        return left
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None


def _by_hand(output: str, header: str, report: FencesReport) -> str:
    lines = ", ".join(dict.fromkeys(str(fence.line) for fence in report.fences if fence.file == header))
    return f"'{output}' is without the fences of {header} (line {lines}): put them there by hand, or write to a folder"


def _beside(header: str, paths: tuple[str, ...]) -> str | None:
    """The name of a header as seen from the folder of a source, if it lies in or below one."""
    names = (os.path.relpath(header, Path(path).parent) for path in paths)
    return next((name for name in names if not name.startswith("..")), None)
