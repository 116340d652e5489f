"""Small programs for the tests, from LLVM IR or from C."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dekker.frontends.c import Options, parse_c
from dekker.frontends.c.runtime import RUNTIME, Runtime
from dekker.ir.program import Program
from dekker.ir.text import print_instruction

needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="the package ziglang, which brings the C compiler, is missing"
)


def from_ir(folder: Path, text: str, runtime: Runtime = RUNTIME) -> Program:
    path = folder / "test.ll"
    path.write_text(text)
    return parse_c([str(path)], runtime=runtime)


def from_c(
    folder: Path, text: str, runtime: Runtime = RUNTIME, *, name: str = "test.c", flags: tuple[str, ...] = ()
) -> Program:
    path = folder / name
    path.write_text(text)
    return parse_c([str(path)], Options(flags=flags), runtime)


def main_of(body: str, before: str = "") -> str:
    """A module whose `main` has the given lines."""
    return f"{before}\ndefine i32 @main() {{\n{body}\n}}\n"


def listing(program: Program, function: str = "main") -> list[str]:
    """The instructions of a function, as they are printed."""
    return [print_instruction(step) for step in program.function_by_name[function].body]
