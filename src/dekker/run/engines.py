"""The engines by name; `all`: every engine that applies, which must agree; `auto`: the one that fits the program.

`transform` is no part of `all`: it searches with the states engine, and has models of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic

from dekker.engines import states
from dekker.engines.rsmc import engine as rsmc
from dekker.errors import DekkerError, InputError, MixedSizes, UnsupportedError
from dekker.ir.program import has_sections
from dekker.models import shipped_as
from dekker.result import ENDED_WAITING, LEFT_OUT, Result, Verdict, Violation, verdict
from dekker.run.deepening import Deepening, deepened, goes_wrong
from dekker.run.open_loops import open_loop
from dekker.run.turns import may_take_turns, run_in_turns
from dekker.task import Task, with_time_left

Run = Callable[[Task], Result]

ALL = "all"
AUTO = "auto"
ORACLE = "axiomatic"
AUTO_STATES, AUTO_SECONDS = 300_000, 5.0
"""What `auto` lets the states engine try."""
MEMORY_VIOLATIONS = frozenset(("memory", "use after free", "double free", "release"))
JOINS = frozenset(("join",))
"""After these, what a thread does is not the program's."""
TRANSFORM = "transform"


def run_oracle(task: Task) -> Result:
    from dekker.engines.axiomatic import engine  # noqa: PLC0415 — slow to load, and few tasks need it

    return engine.run(task)


def run_transform(task: Task) -> Result:
    from dekker.run import transform  # noqa: PLC0415 — slow to load, and few tasks need it

    return transform.run(task)


SINGLE_ENGINES: dict[str, Run] = {ORACLE: run_oracle, rsmc.NAME: rsmc.run, states.NAME: states.run}


class Disagreement(DekkerError):
    """Two engines give different answers to the same task: at least one of them is wrong."""


def run_all(task: Task) -> Result:
    """The answer of every engine that handles the task, if it is the same. If a limit or Ctrl-C stopped one of them,
    what it found so far must be part of what the others found, and the result says that it was stopped. What one of
    them finds wrong is wrong, whatever the others did not come to. Each gets its share of the time that is left. Bounds
    on loops grow as long as those that need them have cut something; states needs none, and comes last."""
    search = replace(task.search, exact_sections=False)
    task = replace(task, limits=replace(task.limits, stop_at_first=False, counts_executions=True), search=search)
    started, deepening = monotonic(), Deepening(task)
    while True:
        results = _counted(deepening.task, monotonic() - started)
        if any(result.stopped_by == "interrupt" for result in results.values()):
            return deepening.told(_joint(task, results))
        require_agreement(task, results)
        if not deepening.goes_on(_joint(task, results)):
            break
    searched = _result_of(states.NAME, with_time_left(task, monotonic() - started))
    if searched is None:
        return deepening.told(_joint(task, results))
    for name, result in results.items():
        if searched.stopped_by is None and result.stopped_by is None:
            require_same_states(task, name, result, searched)
    return deepening.told(_joint(task, {**results, states.NAME: searched}))


def _counted(task: Task, elapsed_s: float) -> dict[str, Result]:
    """What engines say that count executions."""
    results: dict[str, Result] = {}
    started = monotonic() - elapsed_s
    for index, name in enumerate(name for name in SINGLE_ENGINES if name != states.NAME):
        result = _result_of(name, _with_share(task, monotonic() - started, len(SINGLE_ENGINES) - index))
        if result is not None and result.stopped_by == "interrupt":
            return {name: result}
        if result is not None:
            results[name] = result
    return results


def _result_of(name: str, task: Task) -> Result | None:
    """None if the engine does not handle the task."""
    try:
        return SINGLE_ENGINES[name](task)
    except MixedSizes:
        raise
    except UnsupportedError:
        if name == ORACLE:
            raise
        return None


def _with_share(task: Task, elapsed_s: float, n_engines: int) -> Task:
    left = with_time_left(task, elapsed_s)
    if left.limits.timeout_s is None:
        return task
    return replace(left, limits=replace(left.limits, timeout_s=left.limits.timeout_s / n_engines))


def _joint(task: Task, results: dict[str, Result]) -> Result:
    """What engines say that do not contradict each other."""
    stopped = {name: result for name, result in results.items() if result.stopped_by is not None}
    if not stopped:
        return results[ORACLE]
    condition = task.program.property.condition
    wrong = [
        result
        for result in results.values()
        if goes_wrong(task, result) or verdict(result, condition) is Verdict.UNSAFE
    ]
    told = next(iter(wrong or stopped.values()))
    said = f"not finished: {', '.join(stopped)}"
    reason = next(iter(stopped.values())).stopped_by
    return replace(told, stopped_by=reason, bound="; ".join(filter(None, (told.bound, said))))


def require_agreement(task: Task, results: dict[str, Result]) -> None:
    """Of engines that count executions."""
    whole = [result for result in results.values() if result.stopped_by is None]
    partial = [result for result in results.values() if result.stopped_by is not None]
    differing = differences(whole) if whole else []
    differing += [key for part in partial for result in whole for key in contradictions(part, result)]
    if differing:
        raise _disagreement(task, ", ".join(differing), results)


def _disagreement(task: Task, about: str, results: dict[str, Result]) -> Disagreement:
    counts = ", ".join(
        f"{name}: {result.satisfying}+{result.violating} in {len(result.states)} states"
        for name, result in results.items()
    )
    return Disagreement(
        f"engines disagree on '{task.program.name}' under {task.model.name} about {about} (executions {counts})",
        hint="this is a defect of Dekker: do not trust either answer",
    )


def require_same_states(task: Task, name: str, explored: Result, searched: Result) -> None:
    """The states engine counts no executions, and follows loops that others cut; others follow stores that it does not
    delay any further, and threads beyond an access to memory that is not there; and see that a thread waits for ever
    in a loop that was not turned into an await. Of two that join a thread which never
    ends, they say that this is one too many; it says that both wait for ever. Where nothing is asked of final states,
    it has come to an end when the program has, even if threads that are left go wrong in every execution, or stop at an
    assumption."""
    ours, theirs = _findings(searched), _findings(explored)
    if _has(MEMORY_VIOLATIONS, ours) or _has(MEMORY_VIOLATIONS, theirs):
        ours, theirs = _anything(ours, "violations"), _anything(theirs, "violations")
    elif _has(JOINS, ours) or _has(JOINS, theirs):
        ours, theirs = _anything(ours, "violations", "deadlocks"), _anything(theirs, "violations", "deadlocks")
    for about in ours:
        missing = theirs[about] - ours[about] if not searched.bound else frozenset[object]()
        extra = ours[about] - theirs[about] if not explored.cut else frozenset[object]()
        if about == "states" and (explored.violations or explored.blocked):
            extra -= {()}
        if about == "deadlocks" and explored.statistics.get(LEFT_OUT):
            missing = frozenset()
        if missing or extra:
            raise _disagreement(task, about, {name: explored, states.NAME: searched})


def _has(kinds: frozenset[str], findings: dict[str, frozenset[object]]) -> bool:
    return any(isinstance(item, tuple) and item[0] in kinds for item in findings["violations"])


def _anything(findings: dict[str, frozenset[object]], *about: str) -> dict[str, frozenset[object]]:
    return {" or ".join(about): frozenset((True,)) if any(findings[key] for key in about) else frozenset()}


def _findings(result: Result) -> dict[str, frozenset[object]]:
    return {
        "states": frozenset(result.states),
        "violations": frozenset((violation.kind, _line(violation)) for violation in result.violations),
        "deadlocks": frozenset((True,)) if result.deadlocks else frozenset(),
    }


def differences(results: Sequence[Result]) -> list[str]:
    """What the results disagree about."""
    left_out = any(result.statistics.get(LEFT_OUT) for result in results)
    if left_out:
        results = [_beyond_what_is_left_out(result, results) for result in results]
    counted = not left_out and not any(result.statistics.get(ENDED_WAITING) for result in results)
    first, *others = (answer(result, counted=counted) for result in results)
    return [key for key in first if any(other[key] != first[key] for other in others)]


def _beyond_what_is_left_out(result: Result, others: Sequence[Result]) -> Result:
    """An engine that follows rounds of loops one by one may be cut, and does not see threads wait behind that."""
    flags, deadlocks = dict(result.flags), bool(result.deadlocks)
    for other in others if result.cut else ():
        flags |= other.flags
        deadlocks = deadlocks or bool(other.deadlocks)
    return replace(result, cut=0, flags=flags, deadlocks=deadlocks)


def contradictions(part: Result, whole: Result) -> list[str]:
    """What an engine found that was stopped, and another did not find that was not."""
    if part.statistics.get(LEFT_OUT):
        whole = _beyond_what_is_left_out(whole, (part,))
    found, known = answer(part), answer(whole)
    missing = [key for key in ("flags", "violations") if not _items(found[key]) <= _items(known[key])]
    if not part.states.keys() <= whole.states.keys():
        missing.append("states")
    if part.deadlocks and not whole.deadlocks:
        missing.append("deadlocks")
    return missing


def _items(value: object) -> set[object]:
    assert isinstance(value, list)
    return set(value)


def answer(result: Result, *, counted: bool = True) -> dict[str, object]:
    """What engines must agree about; `counted`: also how many executions there are."""
    if not counted:
        result = replace(
            result,
            states=dict.fromkeys(result.states, 0),
            satisfying=bool(result.satisfying),
            violating=bool(result.violating),
        )
    return {
        "states": sorted(result.states.items()),
        "flags": sorted(result.flags),
        "violations": sorted({(violation.kind, _line(violation)) for violation in result.violations}),
        "satisfying": result.satisfying,
        "violating": result.violating,
        "deadlocks": result.deadlocks,
        "cut": bool(result.cut),
    }


def _line(violation: Violation) -> int:
    """Of two that join or detach a thread, which is one too many depends on who is looked at first."""
    if violation.kind in JOINS:
        return 0
    return violation.span.line if violation.span is not None else 0


def run_auto(task: Task) -> Result:
    return run_engine(AUTO, task)[1]


ENGINES: dict[str, Run] = {**SINGLE_ENGINES, TRANSFORM: run_transform, ALL: run_all, AUTO: run_auto}


def run_engine(name: str | None, task: Task) -> tuple[str, Result]:
    """The result, and which engine gave it. None stands for rsmc, or the oracle for what that cannot run, or
    states where that ends earlier; `auto` for states where the rule in docs/states.md says so, else the same as
    None. Violations in which an atomic section is seen half done are none."""
    run = partial(_run_named, name)
    if name == states.NAME or not has_sections(task.program):
        return run(task)
    from dekker.run.sections import run_with_sections  # noqa: PLC0415 — few programs have any

    return run_with_sections(run, task, name)


def _run_named(name: str | None, task: Task) -> tuple[str, Result]:
    if task.search.robust and name not in (None, AUTO, states.NAME):
        raise InputError("only the states engine can tell whether a program is robust", hint="use --engine states")
    if name == AUTO or (name is None and task.search.robust):
        return _run_fitting(task)
    if name == ALL:
        return name, run_all(task)
    if name is not None:
        return name, deepened(ENGINES[name], task)
    return _run_traces(task)


def _run_traces(task: Task) -> tuple[str, Result]:
    start = monotonic()
    try:
        return run_in_turns(task) if may_take_turns(task) else (rsmc.NAME, deepened(rsmc.run, task))
    except MixedSizes:
        raise
    except UnsupportedError as refusal:
        try:
            return ORACLE, replace(
                deepened(run_oracle, with_time_left(task, monotonic() - start)), choice=refusal.diagnostic.message
            )
        except UnsupportedError:
            raise refusal from None


def _run_fitting(task: Task) -> tuple[str, Result]:
    """Where a loop has no bound of its own, states if it ends within a budget."""
    if task.search.robust:
        return states.NAME, replace(states.run(task), choice="only this engine can tell whether a program is robust")
    loop = _open_loop(task)
    searched = _search_within_budget(task) if loop is not None else None
    if searched is not None and searched.stopped_by in (None, "violation", "interrupt"):
        return states.NAME, replace(searched, choice=f"{loop} has no bound of its own")
    name, result = _run_traces(task)
    return name, result if name != rsmc.NAME else replace(result, choice=_reason_against_states(task, loop, searched))


def _search_within_budget(task: Task) -> Result | None:
    seconds = min(AUTO_SECONDS, (task.limits.timeout_s or 2 * AUTO_SECONDS) / 2)
    n_states = min(AUTO_STATES, task.limits.max_traces or AUTO_STATES)
    limits = replace(task.limits, timeout_s=seconds, max_traces=n_states)
    try:
        return states.run(replace(task, limits=limits))
    except UnsupportedError:
        return None


def _open_loop(task: Task) -> str | None:
    """Loops that only what is read can end need no bound in the states engine."""
    found = open_loop(task.program) if shipped_as(task.model) in states.MODELS else None
    if found is None:
        return None
    function, span = found
    return f"a loop in '{function}'{f' at {span}' if span is not None else ''}"


def _reason_against_states(task: Task, loop: str | None, searched: Result | None) -> str:
    if shipped_as(task.model) not in states.MODELS:
        return f"the states engine does not know the model '{task.model.name}'"
    if loop is None:
        return "every loop has a bound of its own or only waits"
    if searched is None:
        return f"the states engine does not handle the program; {loop} has no bound of its own"
    n_states = searched.statistics["states"]
    return (
        f"{loop} has no bound of its own, but the states engine did not end within {n_states} states (--engine states)"
    )
