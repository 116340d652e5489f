"""`dekker generate`: litmus tests from cycles of relaxations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from dekker.cli.limits import within_limits
from dekker.errors import InputError
from dekker.generate import cycle_of_name, edge_names, enumerate_cycles, generate, parse_cycle


@click.command(name="generate")
@click.argument("architecture")
@click.argument("cycles", nargs=-1, metavar="[CYCLE]...")
@click.option("--size", type=click.IntRange(2, 12), help="All cycles of up to that many edges, over --edges.")
@click.option("--edges", help="The pool for --size, separated by blanks or commas (default: all of the architecture).")
@click.option("--list-edges", is_flag=True, help="Print the edges the architecture has, and stop.")
@click.option("--name", help="Name of the test, when one cycle is given.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after that many tests.")
@click.option("--output", "-o", metavar="FOLDER", help="Write one file per test there instead of printing.")
@within_limits
def command(
    architecture: str,
    cycles: tuple[str, ...],
    size: int | None,
    edges: str | None,
    list_edges: bool,
    name: str | None,
    limit: int | None,
    output: str | None,
) -> None:
    """Write litmus tests for ARCHITECTURE (PPC, X86, X86_64, ARM, AArch64, RISCV, C) from cycles of relaxations.

    A CYCLE is one argument, its edges separated by blanks, or the usual name of one: on PPC,
    "SyncdWW Rfe DpAddrdR Fre" and MP+sync+addr are the same test.
    """
    if list_edges:
        print("\n".join(edge_names(architecture)))
        return
    if bool(cycles) == (size is not None):
        raise InputError("give either cycles or --size", hint="'dekker generate --help' shows both")
    if name is not None and len(cycles) != 1:
        raise InputError("--name goes with exactly one cycle")
    written = 0
    taken: set[str] = set()
    for cycle in _cycles(architecture, cycles, size, edges):
        _write(generate(architecture, cycle, name), output, taken)
        written += 1
        if written == limit:
            break
    if not written:
        raise InputError("these edges form no cycle of that size")


def _cycles(
    architecture: str, cycles: tuple[str, ...], size: int | None, edges: str | None
) -> Iterator[tuple[str, ...]]:
    if size is None:
        for cycle in cycles:
            edges_given = parse_cycle(cycle)
            yield tuple(edges_given) if len(edges_given) > 1 else tuple(cycle_of_name(cycle, architecture))
    else:
        pool = edge_names(architecture) if edges is None else edges.replace(",", " ").split()
        yield from enumerate_cycles(architecture, pool, size)


def _write(text: str, folder: str | None, taken: set[str]) -> None:
    """Different cycles can have the same usual name; their files get numbers."""
    if folder is None:
        print(text)
        return
    architecture, name = text.split("\n", 1)[0].split(" ", 1)
    unique, number = name, 0
    while unique in taken:
        number += 1
        unique = f"{name}-{number:03}"
    taken.add(unique)
    text = text.replace(f"{architecture} {name}\n", f"{architecture} {unique}\n", 1)
    target = Path(folder) / f"{unique.replace('/', '_')}.litmus"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write '{target}': {error.strerror}") from None
