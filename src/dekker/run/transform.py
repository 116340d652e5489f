"""The engine `transform`: delays are spelled out in the program, and that is searched under SC.

It knows the models of the framework of one global happens-before, `ghb-tso`, `ghb-pso`, `ghb-rmo` and `ghb-power`;
`tso` and `pso` are the same, `rmo` and `power` differ in details, and the answer says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from dekker.engines.states import engine as states
from dekker.errors import UnsupportedError
from dekker.ir.instructions import Await
from dekker.ir.program import Program
from dekker.ir.validate import validate
from dekker.models import load_model, shipped_as
from dekker.result import Result
from dekker.task import Limits, Task
from dekker.transform.events import AccessPoint
from dekker.transform.instrument import MODELS, Instrumented, instrument
from dekker.transform.machine import Size
from dekker.transform.selection import Strategy, select

NAME = "transform"
PREFIX = "ghb-"
FEW_DELAYS = (0, 1, 2)
SAME_AS_THEIRS = ("tso", "pso")


def run(task: Task) -> Result:
    """Every state that the instrumented program reaches. Final states are counted, not executions."""
    model = framework_model(task)
    if task.program.property.leaks:
        raise UnsupportedError("the transform engine does not look for leaks", hint="use --engine rsmc")
    selection = select(task.program, model, strategy(task.search.select))
    covered: Size | None = None
    for instrumented, limits in _attempts(task, model, selection.delayed):
        result = _search(task, instrumented, limits)
        is_found = limits.stop_at_first and bool(result.violations)
        is_all = instrumented.enough if instrumented.size is None else not result.statistics.get("limits")
        if result.stopped_by is not None or is_found or is_all:
            break
        covered = instrumented.size
    return _told(task, instrumented, result, covered)


def _attempts(task: Task, model: str, delayed: frozenset[AccessPoint]) -> Iterator[tuple[Instrumented, Limits]]:
    """Where the first violation is enough, there is no room for delays first, then for few: these are enough for most,
    and make far fewer states. What is found with them is there with more."""
    grows = task.limits.stop_at_first and task.search.buffer is None
    started = time.perf_counter()
    last = instrument(task.program, model, delayed, task.search.buffer)
    few = [instrument(task.program, model, delayed, buffer) for buffer in (FEW_DELAYS if grows else ())]
    for instrumented in (*(item for item in few if item.size != last.size), last):
        limits = task.limits
        if limits.timeout_s is not None:
            limits = replace(limits, timeout_s=max(limits.timeout_s - (time.perf_counter() - started), 1e-3))
        yield instrumented, limits


def _search(task: Task, instrumented: Instrumented, limits: Limits) -> Result:
    """Depth-first where the first violation is enough: there is no run to be shown that should be short."""
    validate(instrumented.program)
    depth_first = task.search.depth_first or (limits.stop_at_first and not task.search.compact)
    return states.run(
        replace(
            task,
            program=instrumented.program,
            model=load_model("sc"),
            limits=limits,
            examples=False,
            search=replace(task.search, buffer=None, depth_first=depth_first),
            pieces=frozenset(),
        )
    )


def strategy(asked: str | None) -> Strategy:
    return Strategy.WEIGHTED if asked is None else Strategy(asked)


def framework_model(task: Task) -> str:
    """The name of the model as the transformation knows it."""
    name = (shipped_as(task.model) or "").removeprefix(PREFIX)
    if name not in MODELS:
        known = ", ".join((*MODELS, *(f"{PREFIX}{model}" for model in MODELS)))
        raise UnsupportedError(
            f"the transform engine knows the models {known} that come with Dekker, not '{task.model.name}'",
            hint="use --engine rsmc or --engine axiomatic",
        )
    return name


def _told(task: Task, instrumented: Instrumented, result: Result, covered: Size | None) -> Result:
    """`covered` is the room for delays with which all was searched."""
    result.examples.schedule = ()
    result.blocked = 0 if instrumented.size is not None else result.blocked
    said = []
    if result.stopped_by is not None and covered is not None:
        said.append(f"covered in full: {_room(covered)}")
    elif instrumented.size is None and not instrumented.enough:
        said.append("threads delay nothing (--buffer)")
    elif result.statistics.get("limits") and instrumented.size is not None:
        said.append(_room(instrumented.size))
    if instrumented.size is not None and _waits(task.program):
        said.append("threads that wait for ever are not looked for")
    result.bound = "; ".join(said)
    shipped = shipped_as(task.model)
    if shipped in MODELS and shipped not in SAME_AS_THEIRS:
        result.choice = f"it was asked for; it takes {task.model.name} as {PREFIX}{shipped} (docs/transform.md)"
    return result


def _room(size: Size) -> str:
    return f"threads delay no more than {size.reads} reads and {size.writes} writes (--buffer)"


def _waits(program: Program) -> bool:
    return any(isinstance(step, Await) for function in program.functions for step in function.body)
