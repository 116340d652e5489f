"""Both engines on one C program: what they must agree about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dekker.engines.axiomatic import engine as axiomatic
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import UnsupportedError
from dekker.frontends.c import parse_c
from dekker.ir.program import Program
from dekker.ir.property import MemoryValue
from dekker.models import load_model
from dekker.result import Result
from dekker.run.engines import answer, differences
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

MODELS = ("sc", "tso", "pso", "power", "aarch64", "riscv", "cpp20", "rc11")


@dataclass(frozen=True)
class Outcome:
    """`difference` is None if engines agree, `skipped` why there was nothing to compare."""

    difference: str | None = None
    skipped: str | None = None
    violated: bool = False


def observing(program: Program, names: tuple[str, ...]) -> Program:
    present = {item.name for item in program.objects}
    observed = tuple(MemoryValue(name, 0, 4) for name in names if name in present)
    return replace(program, property=replace(program.property, observed=observed))


def read_program(text: str, folder: Path, names: tuple[str, ...]) -> Program:
    file = folder / "program.c"
    file.write_text(text, encoding="utf-8")
    return observing(parse_c([str(file)]), names)


def compare(program: Program, model_name: str, timeout_s: float = 10, unroll: int = 2) -> Outcome:
    model = load_model(model_name)
    limits = Limits(unroll=unroll, timeout_s=timeout_s, counts_known_rounds=False)
    task = Task(prepare(program, model), model, limits)
    results: dict[str, Result] = {}
    for engine in (rsmc, axiomatic):
        try:
            results[engine.NAME] = engine.run(task)
        except UnsupportedError as error:
            return Outcome(skipped=f"{engine.NAME}: {error.diagnostic.message}")
        if results[engine.NAME].stopped_by is not None:
            return Outcome(skipped=f"{engine.NAME}: {results[engine.NAME].stopped_by}")
    violated = any(result.violations or result.deadlocks or result.flags for result in results.values())
    if not differences(list(results.values())):
        return Outcome(violated=violated)
    lines = [f"{name}: {answer(result)}" for name, result in results.items()]
    return Outcome(difference="\n".join([model_name, *lines]))
