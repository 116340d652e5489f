"""C programs with threads of finitely many states: modular finds the failing assertions that states finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.frontends.c.programs import needs_compiler

from dekker.engines.modular.engine import ModularOptions
from dekker.engines.modular.engine import run as run_modular
from dekker.engines.modular.from_program import system_of_program
from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.frontends import parse_files
from dekker.fuzz.threaded_c import FLAVOURS, threaded_program
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.result import Verdict
from dekker.run.prepare import prepare
from dekker.task import Limits, Task

pytestmark = needs_compiler

USED = ("plain", "three", "updates", "locks")
LIMITS = Limits(unroll=4, counts_known_rounds=False)
MODELS = ("sc", "tso", "pso")


def with_middle_thread(text: str) -> str:
    """What main does beside the threads becomes a thread of its own, and main looks at the end."""
    head, main = text.split("int main(void) {\n")
    before: list[str] = []
    starts: list[str] = []
    middle: list[str] = []
    joins: list[str] = []
    for line in main.split("\n"):
        if "pthread_create" in line:
            starts.append(line)
        elif "pthread_join" in line:
            joins.append(re.sub(r"pthread_join\((\w+), .*", r"pthread_join(\1, 0);", line))
        elif "out2 =" not in line and "return 0" not in line and line.strip() not in ("}", ""):
            (middle if starts else before).append(line)
    body = "\n".join(middle)
    thread = f"static void *middle(void *unused) {{ int a = 0, b = 0;\n{body}\nreturn 0; }}\n"
    start, join = "pthread_t last; pthread_create(&last, 0, middle, 0);", "pthread_join(last, 0);"
    lines = (*before, *starts, start, *joins, join, "assert(!(x == 2 && y == 1));", "return 0; }")
    return f"{head}{thread}int main(void) {{\n" + "\n".join(lines)


def lines_by_states(program: Program, model: str) -> set[int]:
    loaded = load_model(model)
    result = states.run(Task(prepare(program, loaded), loaded, LIMITS))
    return {item.span.line for item in result.violations if item.span is not None and item.kind == "assertion"}


def compare(path: Path, text: str, title: str) -> int:
    """How many models were compared: what does not fit is refused under all of them."""
    path.write_text(text, encoding="utf-8")
    program = parse_files([str(path)])
    compared = 0
    for model in MODELS:
        try:
            system = system_of_program(prepare(program, load_model(model), unroll_waits=True), {})
            result = run_modular(system, ModularOptions(model, first_only=False, max_states=50_000))
        except UnsupportedError:
            continue
        if result.verdict is not Verdict.UNKNOWN:
            found = {item.span.line for item in result.findings if item.span is not None}
            assert found == lines_by_states(program, model), f"{title} under {model}"
            compared += 1
    return compared


def test_assertions_are_those_of_the_states_engine(tmp_path: Path) -> None:
    compared = 0
    for flavour in USED:
        for seed in range(6):
            text = with_middle_thread(threaded_program(seed, FLAVOURS[flavour]))
            compared += compare(tmp_path / "test.c", text, f"{flavour} {seed}")
    assert compared > 20


@pytest.mark.slow
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_assertions_are_those_of_the_states_engine_campaign(flavour: str, tmp_path: Path) -> None:
    for seed in range(100, 300):
        text = with_middle_thread(threaded_program(seed, FLAVOURS[flavour]))
        compare(tmp_path / "test.c", text, f"{flavour} {seed}")
