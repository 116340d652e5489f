"""Other tools, run on the same input in the same run, where they are on PATH."""

from __future__ import annotations

from benchmarks.tools.cbmc import CBMC
from benchmarks.tools.genmc import GENMC
from benchmarks.tools.herd7 import HERD7
from benchmarks.tools.nidhugg import NIDHUGG
from benchmarks.tools.spin import SPIN
from benchmarks.tools.tool import Tool
from dekker.errors import InputError

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (HERD7, NIDHUGG, GENMC, CBMC, SPIN)}


def chosen_tools(names: str | None) -> list[Tool]:
    """All, or those named with commas between them, or none."""
    if names is None:
        return list(TOOLS.values())
    if names == "none":
        return []
    unknown = [name for name in names.split(",") if name not in TOOLS]
    if unknown:
        raise InputError(f"there is no tool '{unknown[0]}'", hint=f"known tools: {', '.join(TOOLS)}, or none")
    return [TOOLS[name] for name in names.split(",")]
