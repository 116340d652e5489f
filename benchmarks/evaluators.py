"""The native evaluator of models beside the oracle's, on executions of the project's own corpus."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

from dekker.cat.interpreter import evaluate
from dekker.cat.model import Model
from dekker.engines.axiomatic.engine import accepted_executions
from dekker.execution import Execution, base_value
from dekker.frontends.litmus import parse_litmus
from dekker.models import load_model, model_names
from dekker.native import NativeModel
from dekker.run.batch import find_tests
from dekker.source import Source
from dekker.task import Task

OWN_CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "tests"
EXECUTIONS_PER_TEST = 3


def main() -> None:
    executions = _executions()
    events = sum(len(execution.events) for execution in executions) / len(executions)
    print(f"{len(executions)} executions, {events:.1f} events on average")
    for name in model_names():
        _compare(load_model(name), executions)


def _executions() -> list[Execution]:
    found: list[Execution] = []
    for file in (test.path for test in find_tests([str(OWN_CORPUS / "generated")])):
        program = parse_litmus(Source(file, Path(file).read_text(encoding="utf-8")))
        tasks = accepted_executions(Task(program, load_model("armv7")))
        found += [accepted.execution() for accepted in islice(tasks, EXECUTIONS_PER_TEST)]
    return found


def _compare(model: Model, executions: list[Execution]) -> None:
    native = NativeModel(model.program)
    inputs = [
        (len(execution.events), {item.name: base_value(item.name, execution) for item in model.program.inputs})
        for execution in executions
    ]
    started = time.process_time()
    expected = [evaluate(model.program, size, values) for size, values in inputs]
    middle = time.process_time()
    found = [native.check(size, values) for size, values in inputs]
    ended = time.process_time()
    assert found == expected
    python, compiled = (middle - started) / len(inputs), (ended - middle) / len(inputs)
    times = f"python {1e6 * python:8.1f} µs   native {1e6 * compiled:6.1f} µs"
    print(f"{model.name:10} {times}   ratio {python / compiled:.0f}")


if __name__ == "__main__":
    main()
