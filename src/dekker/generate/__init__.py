"""Litmus tests from cycles of edges, in the manner of the diy tools (Alglave, Maranget and others).

A cycle such as `PodWW Rfe DpAddrdR Fre` describes executions that sequential consistency forbids. `generate` writes the
smallest program that can run so, with a condition that holds when it did.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dekker.errors import InputError
from dekker.generate import aarch64, arm, assembly, c, ppc, riscv, x86, x86_64
from dekker.generate.assembly import Rendering
from dekker.generate.cycles import canonical, complete, enumerate_resolved, parse_cycle, resolve
from dekker.generate.edges import Vocabulary, spell
from dekker.generate.names import edges_of_name, name_and_rotation
from dekker.generate.synthesis import Test, synthesise
from dekker.records import dataclass

__all__ = [
    "ARCHITECTURES",
    "annotation_names",
    "cycle_of_name",
    "edge_names",
    "enumerate_cycles",
    "generate",
    "name_of_cycle",
    "parse_cycle",
]


@dataclass(frozen=True)
class Dialect:
    vocabulary: Vocabulary
    render: Callable[[Test], Rendering]
    exclusive: frozenset[str] = frozenset()


DIALECTS = {
    "PPC": Dialect(ppc.VOCABULARY, partial(assembly.render, ppc.ASSEMBLER)),
    "X86": Dialect(x86.VOCABULARY, partial(assembly.render, x86.ASSEMBLER)),
    "X86_64": Dialect(x86_64.VOCABULARY, partial(assembly.render, x86_64.ASSEMBLER)),
    "ARM": Dialect(arm.VOCABULARY, partial(assembly.render, arm.ASSEMBLER)),
    "AArch64": Dialect(aarch64.VOCABULARY, partial(assembly.render, aarch64.ASSEMBLER), aarch64.EXCLUSIVE),
    "RISCV": Dialect(riscv.VOCABULARY, partial(assembly.render, riscv.ASSEMBLER), riscv.EXCLUSIVE),
    "C": Dialect(c.VOCABULARY, c.render),
}
ARCHITECTURES = tuple(DIALECTS)


def generate(architecture: str, cycle: Sequence[str] | str, name: str | None = None) -> str:
    """The litmus test of a cycle, named after it unless a name is given."""
    dialect = _dialect(architecture)
    vocabulary = dialect.vocabulary
    usual_name, rotated = name_and_rotation(resolve(_words(cycle), vocabulary), vocabulary)
    test = synthesise(rotated, vocabulary.plain, dialect.exclusive)
    rendering = dialect.render(test)
    words = [spell(edge, vocabulary) for edge in rotated]
    communications = [edge.kind.value for edge in rotated if edge.external]
    header = [
        f"{vocabulary.architecture} {name or usual_name}",
        f'"{" ".join(words)}"',
        f"Cycle={' '.join(canonical(words))}",
        f"Com={' '.join(communications)}",
        f"Orig={' '.join(words)}",
    ]
    return "\n".join([*header, rendering.text, "exists", _condition(test, rendering)]) + "\n"


def enumerate_cycles(
    architecture: str, edges: Sequence[str], size: int | range, *, redundant: bool = False
) -> Iterator[tuple[str, ...]]:
    """Every valid cycle made of the given edges, each once whatever its rotation: up to `size` edges, or of a number
    of edges in the range. Unless `redundant`, two neighbours never amount to a single edge (Coe Coe, PodRR PodRW)."""
    sizes = range(1, size + 1) if isinstance(size, int) else size
    return enumerate_resolved(edges, sizes, _dialect(architecture).vocabulary, redundant)


def edge_names(architecture: str) -> list[str]:
    """All edges of an architecture, without annotations."""
    return list(_dialect(architecture).vocabulary.edges)


def annotation_names(architecture: str) -> dict[str, str]:
    """The annotations that edges of an architecture may end in, two at a time, and the directions they suit."""
    return dict(_dialect(architecture).vocabulary.annotations)


def name_of_cycle(cycle: Sequence[str] | str, architecture: str) -> str:
    """The customary name of the test of a cycle."""
    vocabulary = _dialect(architecture).vocabulary
    return name_and_rotation(resolve(_words(cycle), vocabulary), vocabulary)[0]


def cycle_of_name(name: str, architecture: str) -> tuple[str, ...]:
    """A cycle whose test has that name."""
    vocabulary = _dialect(architecture).vocabulary
    cycle = complete(edges_of_name(name, vocabulary), vocabulary)
    return tuple(spell(edge, vocabulary) for edge in cycle)


def _words(cycle: Sequence[str] | str) -> Sequence[str]:
    return parse_cycle(cycle if isinstance(cycle, str) else " ".join(cycle))


def _dialect(architecture: str) -> Dialect:
    known = {name.lower(): name for name in DIALECTS}
    name = known.get(architecture.lower())
    if name is None:
        close = [known[match] for match in difflib.get_close_matches(architecture.lower(), known, n=1)]
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"unknown architecture '{architecture}'", hint=f"{hint}known: {', '.join(DIALECTS)}")
    return DIALECTS[name]


def _condition(test: Test, rendering: Rendering) -> str:
    atoms = [f"{location}={value}" for location, value in test.finals]
    atoms += [f"{thread}:{register}={value}" for thread, register, value in rendering.checks]
    return "(" + " /\\ ".join(atoms) + ")"
