"""One program under one model on every engine that applies."""

from __future__ import annotations

from dataclasses import replace

from dekker.engines.rsmc import engine as rsmc
from dekker.engines.states import engine as states
from dekker.errors import DekkerError, MixedSizes, ModelError, UnsupportedError
from dekker.fuzz.transformed import TRANSFORMED, require_same_when_transformed, run_transformed
from dekker.ir.program import Program
from dekker.models import load_model
from dekker.records import dataclass
from dekker.result import Result
from dekker.run.engines import ORACLE, SINGLE_ENGINES, Disagreement, require_agreement, require_same_states
from dekker.run.prepare import prepare
from dekker.run.splitting import run_splitting
from dekker.run.violations import violations_of
from dekker.task import Limits, Search, Task

TIMEOUT_S = 2.0
ORACLE_S, ORACLE_ON_C_S = 0.05, 0.25
"""One program in twenty would take the oracle longer than the others together. What it found until then counts. C
programs took long to compile, and so it may take longer for them."""
UNROLL = 2
REPLAYED = 4
"""Of so many programs that go wrong, one is replayed."""
IN_UNITS = "rsmc in units"
IN_ANOTHER_ORDER = "rsmc in another order"
TOGETHER = "states with several workers"
MERGED = "states with threads that change places"


@dataclass(frozen=True)
class Judgement:
    """`engines` gave an answer; `skipped` says why there is nothing to compare, `problem` what is wrong."""

    engines: tuple[str, ...] = ()
    skipped: str = ""
    problem: str = ""
    violated: bool = False


def judge(
    program: Program, model_name: str, seed: int, timeout_s: float = TIMEOUT_S, twin: Program | None = None
) -> Judgement:
    """A crash of an engine is a problem, too. `seed` says how the exploration is split where that is tried. A `twin`
    must go wrong in the same ways."""
    try:
        return _judge(program, model_name, seed, timeout_s, twin)
    except Disagreement as error:
        return Judgement(problem=error.diagnostic.message)
    except (MixedSizes, ModelError) as error:
        return Judgement(skipped=type(error).__name__)
    except DekkerError as error:
        return Judgement(problem=f"error: {error.diagnostic.message}")
    except Exception as error:
        return Judgement(problem=f"crash: {type(error).__name__}: {error}")


def _judge(program: Program, model_name: str, seed: int, timeout_s: float, twin: Program | None) -> Judgement:
    model = load_model(model_name)
    limits = Limits(UNROLL, timeout_s, counts_known_rounds=program.architecture != "C")
    # Atomic sections as all engines can have them.
    task = Task(prepare(program, model), model, limits, search=Search(exact_sections=False))
    try:
        return _compared(task, program, seed, twin)
    except MixedSizes:
        split = _split(task)
    return Judgement(skipped=MixedSizes.__name__) if split is None else _compared(split, program, seed, twin)


def _split(task: Task) -> Task | None:
    """With accesses of equal sizes, as far as rsmc can tell."""
    try:
        return run_splitting(rsmc.run, task)[0]
    except UnsupportedError:
        return None


def _compared(task: Task, program: Program, seed: int, twin: Program | None) -> Judgement:
    model, limits = task.model, task.limits
    timeout_s = limits.timeout_s or TIMEOUT_S
    results: dict[str, Result] = {}
    oracle_s = ORACLE_ON_C_S if program.architecture == "C" else ORACLE_S
    for name, run in SINGLE_ENGINES.items():
        seconds = min(timeout_s, oracle_s) if name == ORACLE else timeout_s
        try:
            results[name] = run(replace(task, limits=replace(limits, timeout_s=seconds)))
        except MixedSizes:
            raise
        except UnsupportedError:
            continue
    if rsmc.NAME in results:
        results[IN_UNITS] = rsmc.run(replace(task, jobs=1 + seed % 3, split_seed=seed + 1))
        results[IN_ANOTHER_ORDER] = rsmc.run(replace(task, pick_seed=seed + 1))
        _require_same_up_to_renaming(task, results[rsmc.NAME], seed)
    if states.NAME in results:
        inexact = replace(task.search, exact=False)
        results[MERGED] = states.run(replace(task, search=inexact, jobs=1 + seed % 2, split_seed=seed % 2 and seed))
        results[TOGETHER] = states.run(replace(task, jobs=2 + seed % 2, split_seed=seed + 1))
    transformed = run_transformed(program, model, limits, seed)
    if transformed is not None:
        require_same_when_transformed(task, results, transformed)
    decided = {name: result for name, result in results.items() if result.stopped_by is None}
    searched = decided.get(states.NAME)
    counted = {name: result for name, result in results.items() if name not in (states.NAME, TOGETHER, MERGED)}
    require_agreement(task, counted)
    for name, result in decided.items():
        if searched is not None and name != states.NAME:
            require_same_states(task, name, result, searched)
    if twin is not None and rsmc.NAME in decided:
        _require_same_wrongs(
            task, decided[rsmc.NAME], rsmc.run(replace(task, program=prepare(twin, model), pieces=frozenset()))
        )
    answered = (*decided, TRANSFORMED) if transformed is not None else tuple(decided)
    if len(answered) < 2:
        return Judgement(answered, skipped="fewer than two engines gave an answer in time")
    violated = any(result.violations or result.deadlocks or result.flags for result in decided.values())
    if violated and rsmc.NAME in decided and seed % REPLAYED == 0 and program.source is not None:
        _require_replay(replace(task, examples=True))
        _require_replay(replace(task, limits=replace(task.limits, counts_executions=False), examples=True))
    return Judgement(answered, violated=violated)


def _require_replay(task: Task) -> None:
    """What goes wrong is shown by runs that the judge follows; it is an error if one does not replay."""
    for _ in violations_of(task, rsmc.NAME, rsmc.run(task)):
        pass


def _require_same_up_to_renaming(task: Task, exact: Result, seed: int) -> None:
    """Where alike threads are not told apart, no more than the numbers of executions may differ."""
    renaming = replace(task, limits=replace(task.limits, counts_executions=False))
    for found in (rsmc.run(renaming), rsmc.run(replace(renaming, jobs=1 + seed % 3, split_seed=seed + 1))):
        if exact.stopped_by is None and found.stopped_by is None:
            require_agreement(task, {rsmc.NAME: _uncounted(exact), "rsmc up to renaming": _uncounted(found)})
        if exact.stopped_by is None and found.complete_executions > exact.complete_executions:
            raise Disagreement(
                f"renaming threads makes more executions of '{task.program.name}' under {task.model.name}"
            )


def _uncounted(result: Result) -> Result:
    states = dict.fromkeys(result.states, 1)
    return replace(
        result,
        states=states,
        satisfying=len(states),
        violating=0,
        cut=bool(result.cut),
        deadlocks=bool(result.deadlocks),
    )


def _require_same_wrongs(task: Task, result: Result, of_twin: Result) -> None:
    ours, theirs = _wrongs(result), _wrongs(of_twin)
    if of_twin.stopped_by is None and ours != theirs:
        found = f"{', '.join(sorted(ours)) or 'nothing'} instead of {', '.join(sorted(theirs)) or 'nothing'}"
        where = f"'{task.program.name}' under {task.model.name}"
        raise Disagreement(f"{rsmc.NAME} finds something else in the twin of {where}: {found}")


def _wrongs(result: Result) -> set[str]:
    return {*(violation.kind for violation in result.violations), *result.flags}
