"""The engine `transform`: delays are spelled out in the program, and that is searched under SC.

It knows the models of the framework of one global happens-before, `ghb-tso`, `ghb-pso`, `ghb-rmo` and `ghb-power`;
`tso` and `pso` are the same, `rmo` and `power` differ in details, and the answer says so.
"""

from __future__ import annotations

from dataclasses import replace

from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.ir.instructions import Await
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import is_built_in, load_model
from dekker.result import Result
from dekker.task import Task
from dekker.transform.instrument import MODELS, Instrumented, instrument
from dekker.transform.selection import Strategy, select

NAME = "transform"
PREFIX = "ghb-"
SAME_AS_THEIRS = ("tso", "pso")


def run(task: Task) -> Result:
    """Every state that the instrumented program reaches. Final states are counted, not executions."""
    model = framework_model(task)
    if task.program.property.leaks:
        raise UnsupportedError("the transform engine does not look for leaks", hint="use --engine rsmc")
    selection = select(task.program, model, strategy(task.search.select))
    instrumented = instrument(task.program, model, selection.delayed, task.search.buffer)
    validate(instrumented.program)
    search = replace(task.search, buffer=None)
    sequential = replace(
        task, program=instrumented.program, model=load_model("sc"), examples=False, search=search, pieces=frozenset()
    )
    result = states.run(sequential)
    return _told(task, instrumented, result)


def strategy(asked: str | None) -> Strategy:
    return Strategy.WEIGHTED if asked is None else Strategy(asked)


def framework_model(task: Task) -> str:
    """The name of the model as the transformation knows it."""
    name = task.model.name.removeprefix(PREFIX)
    if name not in MODELS or not is_built_in(task.model):
        known = ", ".join((*MODELS, *(f"{PREFIX}{model}" for model in MODELS)))
        raise UnsupportedError(
            f"the transform engine knows the models {known} that come with Dekker, not '{task.model.name}'",
            hint="use --engine rsmc or --engine axiomatic",
        )
    return name


def _told(task: Task, instrumented: Instrumented, result: Result) -> Result:
    result.examples.schedule = ()
    result.blocked = 0 if instrumented.size is not None else result.blocked
    said = []
    if result.statistics.get("limits") and instrumented.size is not None:
        size = instrumented.size
        said.append(f"threads delay no more than {size.reads} reads and {size.writes} writes (--buffer)")
    if instrumented.size is not None and _waits(task.program):
        said.append("threads that wait for ever are not looked for")
    result.bound = "; ".join(said)
    if task.model.name in MODELS and task.model.name not in SAME_AS_THEIRS:
        result.choice = f"it was asked for; it takes {task.model.name} as {PREFIX}{task.model.name} (docs/transform.md)"
    return result


def _waits(program: Program) -> bool:
    return any(isinstance(step, Await) for function in program.functions for step in function.body)
