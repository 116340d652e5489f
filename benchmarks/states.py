"""States, time and bytes of the states engine with each reduction on and off: `python -m benchmarks.states`.

The rows are the shape of Tables 2 and 3 of "Model Checking of C++ Programs under the x86-TSO Memory Model": base has no
reduction of locals, +s the static one, +d the dynamic one, +sdu buffers without bound, +sd4 buffers of four entries.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

from dekker.engines.states import engine
from dekker.errors import DekkerError
from dekker.frontends.c import Options, parse_c
from dekker.models import load_model
from dekker.run.prepare import prepare
from dekker.task import Limits, Search, Task

ROOT = Path(__file__).parents[1]
NO_LOCALS = Search(static_local=False, dynamic_local=False)
VARIANTS = {
    "base": NO_LOCALS,
    "+s": replace(NO_LOCALS, static_local=True),
    "+d": replace(NO_LOCALS, dynamic_local=True),
    "+sd": Search(),
    "+sdu": Search(buffer=0),
    "+sd4": Search(buffer=4),
    "+sd, all interleavings": Search(reduction=False),
}
LIMITS = Limits(timeout_s=10, memory_mb=2000)


def programs() -> dict[str, tuple[Path, tuple[str, ...]]]:
    """All examples in C, those with loops without bound and those of the RSMC paper with their fences."""
    found: dict[str, tuple[Path, tuple[str, ...]]] = {}
    for file in sorted((ROOT / "examples" / "c").rglob("*.c")):
        flags = {"unbounded": ("-DFENCED", "-DFOREVER"), "table1": ("-DFENCED",)}.get(file.parent.name, ())
        found[f"{file.parent.name}/{file.stem}"] = (file, flags)
    return found


def measure(file: Path, flags: tuple[str, ...], model_name: str) -> list[str]:
    model = load_model(model_name)
    program = prepare(parse_c([str(file)], Options(flags=flags)), model)
    cells = []
    for search in VARIANTS.values():
        started = time.process_time()
        try:
            result = engine.run(Task(program, model, LIMITS, search=search))
        except DekkerError:
            return []
        seconds = time.process_time() - started
        states = result.statistics["states"]
        mark = f" ({result.stopped_by})" if result.stopped_by else ""
        cells.append(f"{states} in {seconds:.2f} s{mark}")
    return cells


def main(model: str = "tso", wanted: str = "") -> None:
    print("| " + " | ".join(("program", *VARIANTS)) + " |")
    print("|" + "---|" * (len(VARIANTS) + 1))
    for name, (file, flags) in programs().items():
        if wanted in name:
            cells = measure(file, flags, model)
            print("| " + " | ".join((name, *(cells or ["not supported"]))) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
