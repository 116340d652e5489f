"""States, time and bytes of the states engine with each reduction on and off: `python -m benchmarks.states`.

With `alike` for the model: threads that are started alike, told apart and not.

The rows are the shape of Tables 2 and 3 of "Model Checking of C++ Programs under the x86-TSO Memory Model": base has no
reduction of locals, +s the static one, +d the dynamic one, +sdu buffers without bound, +sd4 buffers of four entries.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
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
ALIKE = ROOT / "benchmarks" / "state_spaces" / "alike.c"
WAYS = {"mutex": "-DMUTEX", "update": "-DUPDATE", "compare-exchange": "-DEXCHANGE", "queue lock": "-DQUEUE"}
TOLD_APART = {"each thread by itself": Search(exact=True), "up to renaming": Search(exact=False)}


def programs() -> dict[str, tuple[Path, tuple[str, ...]]]:
    """All examples in C, those with loops without bound and those of the RSMC paper with their fences."""
    found: dict[str, tuple[Path, tuple[str, ...]]] = {}
    for file in sorted((ROOT / "examples" / "c").rglob("*.c")):
        flags = {"unbounded": ("-DFENCED", "-DFOREVER"), "table1": ("-DFENCED",)}.get(file.parent.name, ())
        found[f"{file.parent.name}/{file.stem}"] = (file, flags)
    return found


def measure(
    file: Path, flags: tuple[str, ...], model_name: str, variants: Mapping[str, Search] = VARIANTS
) -> list[str]:
    model = load_model(model_name)
    program = prepare(parse_c([str(file)], Options(flags=flags)), model)
    cells = []
    for search in variants.values():
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


def compare_alike() -> None:
    print("| " + " | ".join(("threads that count up", "model", "number", *TOLD_APART)) + " |")
    print("|" + "---|" * (len(TOLD_APART) + 3))
    for name, flag in WAYS.items():
        for model in ("sc", "tso"):
            for n in (3, 5, 7, 10):
                cells = measure(ALIKE, (flag, f"-DN={n}"), model, TOLD_APART)
                print("| " + " | ".join((name, model, str(n), *cells)) + " |", flush=True)


def main(model: str = "tso", wanted: str = "") -> None:
    if model == "alike":
        compare_alike()
        return
    print("| " + " | ".join(("program", *VARIANTS)) + " |")
    print("|" + "---|" * (len(VARIANTS) + 1))
    for name, (file, flags) in programs().items():
        if wanted in name:
            cells = measure(file, flags, model)
            print("| " + " | ".join((name, *(cells or ["not supported"]))) + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
