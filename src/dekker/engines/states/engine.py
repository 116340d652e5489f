"""Runs the native search on a task, with store buffers that grow until they are large enough."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from dekker.engines.states import MODELS, NAME
from dekker.engines.states.encoding import encode
from dekker.engines.states.schedule import function_of, run_schedule, trace_of
from dekker.engines.states.sections import ExactSections
from dekker.engines.states.story import story
from dekker.errors import UnsupportedError
from dekker.ir.arithmetic import mask
from dekker.ir.conditions import compile_formula
from dekker.ir.layout import Layout, layout
from dekker.ir.passes.reuse import reuses_freed_memory
from dekker.ir.program import Program
from dekker.ir.property import Observable, RegisterValue, Truth, observables
from dekker.models import shipped_as
from dekker.native import VIOLATIONS, Action, Place, StateSearch, search_states
from dekker.result import Result, Violation
from dekker.source import Span
from dekker.task import Limits, Task

__all__ = ["MODELS", "NAME", "run"]

GROWING_BOUNDS = (1, 2, 4, 8, 16, 32)
TRIAL = (4, 100_000)
"""Entries and states: with the largest buffers the search goes on as long as none holds more, or there are not more."""
GIVEN_UP = ("buffers", "stores", "states", "time", "memory")
"""Why a trial ends without an answer."""
HASH_BITS = 64
TRUE = Truth(True)
ALL_BITS = mask(64)
TOO_MUCH_MEMORY = "the states engine handles allocations of at most 256 MB, and at most 4095 objects at a time"
RENEWED_AT_ONCE = "what an allocation writes to memory that is used again is not delayed"
"""Under pso a later store, which gives the object to others, may be seen first."""


def run(task: Task) -> Result:
    """Every state that the program can reach. Final states are counted, not executions."""
    name = shipped_as(task.model)
    if name not in MODELS:
        raise UnsupportedError(
            f"the states engine knows the models {', '.join(MODELS)} that come with Dekker, not '{task.model.name}'",
            hint="use --engine rsmc or --engine axiomatic",
        )
    sections = ExactSections(task.program, task.search.exact_sections)
    places = layout(task.program)
    observed = _observed(task.program)
    native = encode(sections.program, places, observed, pso=name == "pso", static_local=task.search.static_local)
    covered: int | None = None
    for bound, limits, is_trial in _attempts(task):
        found = sections.in_source(search_states(native, task, bound, limits, TRIAL if is_trial else (0, 0)))
        if is_trial and _has_failed(found, limits):
            continue
        _refuse(task.program, found)
        result = _result(task, places, observed, found)
        if found.stopped_by:
            break
        if (result.violations or result.deadlocks) and limits.stop_at_first:
            result.stopped_by = "violation"
            break
        covered = bound
        if not found.statistics["overflows"]:
            break
    result = _with_bound(result, covered, found)
    if name == "pso" and reuses_freed_memory(task.program):
        result.bound = "; ".join(filter(None, (result.bound, RENEWED_AT_ONCE)))
    return result


def _refuse(program: Program, found: StateSearch) -> None:
    if found.stopped_by == "refused":
        step = function_of(program, found.refused_at[1]).body[found.refused_at[2]]
        raise UnsupportedError(getattr(step, "message", TOO_MUCH_MEMORY), _span(program, found.refused_at))
    if found.stopped_by == "threads":
        raise UnsupportedError("the states engine handles at most 64 threads")
    if found.stopped_by == "stores":
        raise UnsupportedError(
            "more than 256 stores that wait in buffers have to do with one step",
            hint="use --buffer with a small number",
        )


def _has_failed(trial: StateSearch, limits: Limits) -> bool:
    if trial.violations and limits.stop_at_first:
        return False
    return trial.stopped_by in GIVEN_UP or (not trial.stopped_by and trial.statistics["overflows"] > 0)


def _attempts(task: Task) -> Iterator[tuple[int, Limits, bool]]:
    """Bounds of buffers, and whether the search is a trial. Most programs do not fill large buffers, and there are more
    states with small ones that are full."""
    is_trial = task.search.buffer is None and shipped_as(task.model) != "sc"
    bounds = (GROWING_BOUNDS[-1], *GROWING_BOUNDS) if is_trial else (task.search.buffer or 0,)
    started = time.perf_counter()
    for number, bound in enumerate(bounds):
        limits = task.limits
        if limits.timeout_s is not None:
            left = limits.timeout_s - (time.perf_counter() - started)
            is_half = is_trial and number == 0
            limits = replace(limits, timeout_s=max(left / 2 if is_half else left, 1e-3))
        yield bound, limits, is_trial and number == 0


def _with_bound(result: Result, covered: int | None, found: StateSearch) -> Result:
    """`covered` is the largest bound whose states were all visited."""
    result.statistics["buffer"] = found.bound
    said = []
    if found.stopped_by:
        said += [f"covered in full: store buffers of {_count(covered)} (--buffer {covered})"] if covered else []
    elif found.statistics["overflows"]:
        said.append(f"store buffers hold no more than {_count(found.bound)} (--buffer {found.bound})")
    if found.statistics["limits"]:
        said.append("runs are not followed beyond what the runtime library supports (docs/c-library.md)")
    if found.statistics["compact"]:
        n_states = found.statistics["states"]
        chance = n_states * n_states / 2 ** (HASH_BITS + 1)
        said.append(f"hashes stood for states: the chance that one was missed is below {chance:.1e}")
    result.bound = "; ".join(said)
    return result


def _count(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _observed(program: Program) -> tuple[Observable, ...]:
    """What the property shows, and then what else it asks for."""
    wanted: dict[Observable, None] = dict.fromkeys(program.property.observed)
    if program.property.condition is not None:
        wanted.update(dict.fromkeys(observables(program.property.condition.formula)))
    if program.property.filter is not None:
        wanted.update(dict.fromkeys(observables(program.property.filter)))
    return tuple(wanted)


def _result(task: Task, places: Layout, observed: tuple[Observable, ...], found: StateSearch) -> Result:
    prop = task.program.property
    result = Result(
        blocked=found.statistics["blocked"],
        deadlocks=found.statistics["deadlocks"],
        stopped_by=found.stopped_by or None,
        statistics=dict(found.statistics),
    )
    is_kept = compile_formula(prop.filter or TRUE, observed, places)
    is_satisfying = compile_formula(prop.condition.formula if prop.condition else TRUE, observed, places)
    shown_masks = [mask(item.width) if isinstance(item, RegisterValue) else ALL_BITS for item in prop.observed]
    for state, example in found.states:
        if not is_kept(state):
            continue
        shown = tuple(value & bits for value, bits in zip(state, shown_masks))  # noqa: B905 — what is shown comes first
        result.states[shown] = 1
        trace = trace_of(task.program, example) if task.examples else None
        if trace is not None:
            result.examples.states.setdefault(shown, trace)
        if is_satisfying(state):
            result.satisfying += 1
        else:
            result.violating += 1
    for kind, place, size, example in found.violations:
        trace = trace_of(task.program, example) if task.examples and kind != "robustness" else None
        result.examples.schedule = result.examples.schedule or story(task.program, places, example)
        if kind == "deadlock":
            result.examples.deadlock = trace
            continue
        address = size if kind == "leak" else _address(task.program, kind, place, example)
        violation = _violation(task.program, kind, place, address)
        result.violations[violation] = None
        if trace is not None:
            result.examples.violations[violation] = trace
    return result


def _address(program: Program, kind: str, place: Place, example: list[Action]) -> int:
    """What goes wrong there is about this address, as a replay has it."""
    failures = (action for action in reversed(example) if action[0] == "failure" and action[2:4] == place[1:])
    failure = next((action for action in failures if VIOLATIONS[action[6]] == kind), None)
    return run_schedule(program, example).moved(failure[4]) if failure is not None else 0


_MESSAGES = {
    "memory": "access to {size} bytes at {address:#x}, which lie in no object",
    "use after free": "access to memory at {address:#x} that may have been freed",
    "double free": "this memory may have been freed already",
    "join": "{address} is no thread that can be joined or detached",
    "release": "free of {address:#x}, which was not allocated",
    "uninitialised": "the value was never set",
    "leak": "the {address} bytes that are allocated here are lost: at the end nothing points to them",
    "allocation": "allocation of {address} bytes",
}


def _violation(program: Program, kind: str, place: Place, address: int) -> Violation:
    if kind == "robustness":
        return Violation(kind, "with all stores written, a state that the program does not have under sc")
    _, block, pc = place
    body = function_of(program, block).body
    instruction = body[pc] if pc < len(body) else None
    if kind == "assertion":
        message = getattr(instruction, "message", "assertion")
    elif kind == "call":
        message = f"call of {address:#x}, which is no function" if address else "calls are nested too deeply"
    else:
        message = _MESSAGES[kind].format(address=address, size=getattr(instruction, "size", 0))
    return Violation(kind, message, _span(program, place))


def _span(program: Program, place: Place) -> Span | None:
    return function_of(program, place[1]).span(place[2])
