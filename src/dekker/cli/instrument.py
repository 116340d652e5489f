"""`dekker instrument`: the delays of a memory model spelled out in C."""

from __future__ import annotations

from pathlib import Path

import click

from dekker.cli.compiler_flags import CompilerCommand, compiler_flags
from dekker.cli.limits import within_limits
from dekker.cli.search import ENTRIES, SELECT
from dekker.errors import InputError
from dekker.run.instrument import instrument_files


@click.command(name="instrument", cls=CompilerCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PROGRAM... [-- FLAG...]")
@click.option("--model", "-m", required=True, help="tso, pso, rmo or power.")
@click.option("--output", "-o", metavar="OUT.c", help="The file to write (default: stdout).")
@SELECT
@click.option(
    "--buffer",
    type=ENTRIES,
    metavar="N",
    help="Accesses of each kind that a thread delays.  [default: all that it has, 2 if it has loops]",
)
@click.option("--cc", metavar="COMMAND", help="Another clang than the one that comes with Dekker.")
@within_limits
def command(
    paths: tuple[str, ...], model: str, output: str | None, select: str | None, buffer: int | None, cc: str | None
) -> int:
    """Write a program whose sequentially consistent runs are those of PROGRAM under a weak memory model.

    The result is one file of C99 with POSIX threads and the functions __VERIFIER_assume, __VERIFIER_nondet_bool,
    __VERIFIER_atomic_begin and __VERIFIER_atomic_end, which checkers for sequential consistency know. Nothing is
    delayed but what the model delays and what can be noticed. A final condition becomes an assertion that fails if an
    execution satisfies it (forall: does not).
    """
    text = instrument_files(paths, model, select, buffer, compiler_flags(), cc)
    if output is None or output == "-":
        print(text, end="")
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write '{output}': {error.strerror}") from None
    return 0
