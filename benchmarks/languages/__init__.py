"""How a sketch is written down, by language; which language a memory model takes."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.languages import aarch64, arm, c, ppc, riscv, x86
from benchmarks.languages.assembly import Assembly, Inexpressible, write_assembly
from benchmarks.sketch import Sketch

__all__ = ["LANGUAGES_OF_MODELS", "Inexpressible", "write_litmus"]


def _assembly(assembly: Assembly) -> Callable[[Sketch], str]:
    return lambda sketch: write_assembly(assembly, sketch)


WRITERS: dict[str, Callable[[Sketch], str]] = {
    "PPC": _assembly(ppc.ASSEMBLY),
    "X86": _assembly(x86.ASSEMBLY),
    "ARM": _assembly(arm.ASSEMBLY),
    "AArch64": _assembly(aarch64.ASSEMBLY),
    "RISCV": _assembly(riscv.ASSEMBLY),
    "C": c.write_litmus,
}

LANGUAGES_OF_MODELS = {
    "sc": ("X86", "C"),
    "tso": ("X86",),
    "pso": ("X86",),
    "rmo": ("X86",),
    "power": ("PPC",),
    "armv7": ("ARM",),
    "aarch64": ("AArch64",),
    "riscv": ("RISCV",),
    "rc11": ("C",),
}


def write_litmus(sketch: Sketch, model: str) -> str:
    """The sketch as a litmus test that the model can run; `Inexpressible` where its languages have no words for it."""
    reasons = []
    for language in LANGUAGES_OF_MODELS[model]:
        try:
            return WRITERS[language](sketch)
        except Inexpressible as reason:
            reasons.append(str(reason))
    raise Inexpressible("; ".join(reasons))
