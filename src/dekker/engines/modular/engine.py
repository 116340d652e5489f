"""Runs a `System`: fixed threads by reachability, classes with any number of threads by the thread-modular search.

A bad state of the thread-modular search may be one that no finite number of threads reaches. So an error that it finds
is tried in concrete instances of growing size; only one that an instance shows makes the verdict UNSAFE.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from dekker.engines.modular.capture import NotFinite
from dekker.engines.modular.forbidden import Forbidden, visible_of
from dekker.engines.modular.growth import loop_at
from dekker.engines.modular.limits import Watch
from dekker.engines.modular.machine import Machine
from dekker.engines.modular.memory import Memory, NewCells
from dekker.engines.modular.reachability import Reached, reach
from dekker.engines.modular.rules import RULE_SETS
from dekker.engines.modular.story import findings
from dekker.engines.modular.thread_modular import Covered, cover
from dekker.errors import InputError, UnsupportedError
from dekker.ir.thread_classes import System, members
from dekker.modular_result import Counts, Finding, ModularResult, Unbounded
from dekker.records import dataclass
from dekker.result import Verdict
from dekker.source import Span

NAME = "modular"
MODELS = tuple(RULE_SETS)
FEWEST_CONCRETE, MOST_CONCRETE = 2, 4
MANY_VALUES = 12
MOST_STATES = 1_000_000
MOST_STATES_ON_TRIAL = 200_000
"""Unless there is another limit: of a search, and of one that may be followed by a search with more concrete threads,
or that tries an instance. With few concrete threads, more can happen, so that even numbers may have no bound."""


@dataclass(frozen=True, slots=True)
class ModularOptions:
    """`concrete` is N, the number of threads that the thread-modular search looks at together; None begins with
    `FEWEST_CONCRETE` and takes more as long as there is a bad state that no instance shows. Instances have up to
    `instances` threads of each class with any number. `first_only`: the first bad state ends a search."""

    model: str = "tso"
    concrete: int | None = None
    instances: int = 4
    timeout_s: float | None = None
    memory_mb: int | None = None
    max_states: int | None = None
    first_only: bool = True
    progress: Callable[[dict[str, int]], object] | None = None


def run(system: System, options: ModularOptions) -> ModularResult:
    started = time.perf_counter()
    if options.model not in RULE_SETS:
        hint = f"its models are {', '.join(RULE_SETS)}"
        raise InputError(f"the modular engine does not know the model '{options.model}'", hint=hint)
    result = _run_fixed(system, options) if system.is_fixed else _run_any_number(system, options)
    return replace(result, notes=(*system.notes, *result.notes), time_s=time.perf_counter() - started)


def _run_fixed(system: System, options: ModularOptions) -> ModularResult:
    search = _search(system, options, None)
    verdict = Verdict.UNSAFE if search.findings else Verdict.UNKNOWN if search.is_partial else Verdict.SAFE
    return ModularResult(
        verdict,
        options.model,
        _counts(system),
        search.n_states,
        None,
        search.findings,
        search.unbounded,
        search.stopped_by,
        notes=search.notes,
        statistics=search.statistics,
        came_to_end=search.came_to_end,
    )


def _run_any_number(system: System, options: ModularOptions) -> ModularResult:
    """Looks at more and more threads together until nothing bad is left or an instance shows it."""
    deadline = None if options.timeout_s is None else time.monotonic() + options.timeout_s
    fewest = _concrete(system, options)
    most = max(fewest, MOST_CONCRETE) if options.concrete is None else fewest
    result: ModularResult | None = None
    for concrete in range(fewest, most + 1):
        limits = options if fewest == most else _on_trial(options, deadline)
        latest = _with_concrete(system, limits, concrete)
        if result is None or latest.stopped_by is None or latest.findings:
            result = replace(latest, tried=() if result is None else result.tried)
        if result.verdict is Verdict.SAFE or latest.stopped_by not in (None, "states"):
            break
        if any(item.is_certain for item in result.unbounded) and not result.findings:
            break
        if result.findings:
            result = _try_instances(system, options, result, deadline)
            if result.verdict is Verdict.UNSAFE:
                break
    assert result is not None
    return result


def _with_concrete(system: System, options: ModularOptions, concrete: int) -> ModularResult:
    search = _search(system, options, concrete)
    return ModularResult(
        Verdict.UNKNOWN if search.is_partial or search.findings else Verdict.SAFE,
        options.model,
        _counts(system),
        search.n_states,
        concrete,
        search.findings,
        search.unbounded,
        search.stopped_by,
        notes=search.notes,
        statistics=search.statistics,
        came_to_end=search.came_to_end,
    )


def _on_trial(options: ModularOptions, deadline: float | None) -> ModularOptions:
    left = None if deadline is None else max(0.01, deadline - time.monotonic())
    return replace(options, timeout_s=left, max_states=options.max_states or MOST_STATES_ON_TRIAL)


def _concrete(system: System, options: ModularOptions) -> int:
    """A forbidden state that speaks of k threads needs that many together."""
    for item in system.forbidden:
        if item.final:
            message = "the end of all threads is no state of a program with any number of threads"
            raise UnsupportedError(message, item.span, "leave `final` out, or give all classes a number")
    needed = max((len(members(item.term)) for item in system.forbidden), default=1)
    if needed > MOST_CONCRETE:
        raise UnsupportedError(f"a forbidden state speaks of {needed} threads, and {MOST_CONCRETE} is the most")
    return max(options.concrete or FEWEST_CONCRETE, needed)


def _try_instances(
    system: System, options: ModularOptions, result: ModularResult, deadline: float | None
) -> ModularResult:
    """Those that were not tried before."""
    first = 1 + max(
        (count or 0 for (_, count), item in zip(result.tried, system.classes, strict=False) if item.count is None),
        default=0,
    )
    tried = result.tried
    for number in range(first, options.instances + 1):
        instance = fixed_instance(system, number)
        search = _search(instance, replace(_on_trial(options, deadline), first_only=True), None)
        if search.findings:
            return replace(result, verdict=Verdict.UNSAFE, findings=search.findings, instance=_counts(instance))
        if search.stopped_by is not None:
            break
        tried = _counts(instance)
    return replace(result, tried=tried)


def fixed_instance(system: System, number: int) -> System:
    """The same with `number` threads in each class that has any number."""
    classes = tuple(replace(item, count=number if item.count is None else item.count) for item in system.classes)
    return replace(system, classes=classes)


def _counts(system: System) -> Counts:
    return tuple((item.name, item.count) for item in system.classes)


# --- one search


@dataclass(frozen=True, slots=True)
class _Outcome:
    n_states: int
    findings: tuple[Finding, ...] = ()
    unbounded: tuple[Unbounded, ...] = ()
    stopped_by: str | None = None
    statistics: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    came_to_end: bool = False

    @property
    def is_partial(self) -> bool:
        return bool(self.unbounded or self.stopped_by)


def explore(system: System, options: ModularOptions, concrete: int | None, watch: Watch) -> Reached | Covered:
    """Starts again whenever a part of memory turns out to be accessed."""
    memory = Memory(system.program, system.first_index)
    visible = visible_of(system)
    while True:
        machine = Machine(system, RULE_SETS[options.model], memory, visible)
        forbidden = [Forbidden(machine, item) for item in system.forbidden]
        watch.n_states = 0
        try:
            if concrete is not None:
                return cover(machine, concrete, forbidden, watch, first_only=options.first_only)
            classes = [number for number, item in enumerate(system.classes) for _ in range(item.count or 0)]
            return reach(machine, classes, forbidden, watch, first_only=options.first_only)
        except NewCells:
            continue


def _search(system: System, options: ModularOptions, concrete: int | None) -> _Outcome:
    watch = Watch(options.timeout_s, options.memory_mb, options.max_states or MOST_STATES, options.progress)
    try:
        found = explore(system, options, concrete, watch)
    except NotFinite as problem:
        name = system.classes[problem.thread_class].name
        return _Outcome(watch.n_states, unbounded=(_loop_of(system, problem, name),))
    machine = found.machine
    statistics = {"local_states": len(machine.locals), "memory_states": len(machine.globals)}
    notes = tuple(_many_values(machine)) if found.stopped_by is not None else ()
    return _Outcome(
        len(found.parents), findings(found), _growing(found), found.stopped_by, statistics, notes, _came_to_end(found)
    )


def _came_to_end(found: Reached | Covered) -> bool:
    """There is a state in which all threads have ended, of those that the search looks at together."""
    if isinstance(found, Reached):
        return bool(found.final)
    ended = {local for local in range(len(found.machine.locals)) if found.machine.has_ended(local)}
    return any(ended.issuperset(threads) for _, threads in found.parents)


def _many_values(machine: Machine) -> Iterator[str]:
    """Variables that seem to have no bound."""
    for cell in range(len(machine.memory.places)):
        count = len({values[cell] for values in machine.globals})
        if count > MANY_VALUES:
            yield f"`{machine.memory.name(cell)}` had {count} different values: does it count without end?"


def _loop_of(system: System, problem: NotFinite, name: str) -> Unbounded:
    machine = Machine(system, RULE_SETS["tso"], Memory(system.program, system.first_index), visible_of(system))
    return Unbounded(name, loop_at(machine.codes[problem.thread_class], problem.position), problem.why)


def _growing(found: Reached | Covered) -> tuple[Unbounded, ...]:
    loops: dict[tuple[str, Span | None], Unbounded] = {}
    for thread in found.growth.grown:
        local = found.machine.locals[thread]
        name = found.machine.system.classes[local.thread_class].name
        span = loop_at(found.machine.codes[local.thread_class], local.position)
        why = "every round can add a write to those that have not taken effect, without bound"
        loops.setdefault((name, span), Unbounded(name, span, why, found.growth.is_certain))
    return tuple(loops.values())
