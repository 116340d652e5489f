"""Litmus tests: small programs in the assembly of one architecture, or in C, with a condition on final states."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from dekker.errors import UnsupportedError
from dekker.frontends.default_models import DEFAULT_MODELS, default_model
from dekker.frontends.litmus.architecture import Architecture
from dekker.frontends.litmus.assembly import parse_assembly
from dekker.frontends.litmus.format import LitmusFile, split_litmus
from dekker.ir.program import Program
from dekker.source import Source, Span

__all__ = ["default_model", "parse_litmus"]

_MODULES = {
    "ppc": "ppc",
    "ppc64": "ppc",
    "power": "ppc",
    "powerpc": "ppc",
    "x86": "x86",
    "x86_64": "x86",
    "x86-64": "x86",
    "arm": "arm",
    "armv7": "arm",
    "aarch32": "arm",
    "aarch64": "aarch64",
    "armv8": "aarch64",
    "riscv": "riscv",
    "risc-v": "riscv",
    "riscv64": "riscv",
    "c": "c",
    "c11": "c",
}


def parse_litmus(source: Source) -> Program:
    """Reads a litmus test. Whatever is wrong with it is an `InputError` that says where."""
    test = split_litmus(source)
    module = _MODULES.get(test.architecture.lower())
    if module is None:
        raise _unknown_architecture(test)
    if module == "c":
        from dekker.frontends.litmus.c import parse_c  # noqa: PLC0415

        return parse_c(test)
    return parse_assembly(test, _architecture(module, test.architecture.lower()))


@cache
def _architecture(module: str, word: str) -> Architecture:
    loaded = import_module(f"dekker.frontends.litmus.{module}")
    found: Architecture = loaded.ARCHITECTURE_64 if word in ("x86_64", "x86-64") else loaded.ARCHITECTURE
    return found


def _unknown_architecture(test: LitmusFile) -> UnsupportedError:
    start = test.source.text.find(test.architecture)
    return UnsupportedError(
        f"the architecture `{test.architecture}` is not known",
        Span(test.source, start, start + len(test.architecture)),
        "known architectures: " + ", ".join(DEFAULT_MODELS),
    )
