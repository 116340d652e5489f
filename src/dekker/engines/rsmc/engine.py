"""Runs the native explorer on a task and counts what it found."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from dekker.cat.forgetting import forgets_reads
from dekker.cat.relational import RelationalProgram, with_derived_from_read
from dekker.engines.core_code import NONE, encode_observables, initial_bytes, object_ranges
from dekker.engines.rsmc.derived import Refusal, derive_order
from dekker.engines.rsmc.encoding import Encoder
from dekker.engines.rsmc.events import program_events, releases, runtime_events
from dekker.engines.rsmc.joins import joins_are_last
from dekker.engines.rsmc.orders import (
    COMMIT_ORDERS,
    FORGET_DEPENDENCIES,
    LEAVE_ORDER_OPEN,
    NOT_FOR_UPDATES,
    CommitOrder,
)
from dekker.errors import AccessPlace, MixedSizes, UnsupportedError
from dekker.execution import DATA_RACE, FINAL_WRITES, FROM_INITIAL, Trace, TraceEvent
from dekker.ir.arithmetic import mask
from dekker.ir.conditions import compile_formula
from dekker.ir.instructions import Call, Exit, Join, Spawn
from dekker.ir.layout import Layout, layout
from dekker.ir.program import Function, Program
from dekker.ir.property import Observable, RegisterValue, Truth, observables
from dekker.models import shipped_as
from dekker.native import (
    TRACE_KINDS,
    Exploration,
    ForbiddenStart,
    NativeProgram,
    OrderFlags,
    Place,
    ProbeGuide,
    RawTrace,
    Request,
    Work,
    explore,
)
from dekker.native import probe as native_probe
from dekker.result import Result, Violation
from dekker.source import Span
from dekker.task import Task

NAME = "rsmc"
TRUE = Truth(True)
ALL_BITS = mask(64)
FIRST_PAGE = 4096
HEAP_GIGABYTES = 4
TOO_DEEP = "calls are nested too deeply"
STATUS_DEPENDENCIES = frozenset(("status-addr", "status-data", "status-ctrl"))


class NeedsGuess(UnsupportedError):
    """The model lets a load have a value, or a store be seen before an address, that is not known yet."""


def run(task: Task) -> Result:
    """Every trace that the model allows, exactly once."""
    order = commit_order(task)
    places = layout(task.program)
    observed = _observed(task.program)
    native = _encode(task, places, order, observed)
    flags = _order_flags(task, order)
    explored = _explored_program(task.model.program, order)
    try:
        exploration = _explore(task, Request(native, explored, flags, task.limits, task.examples, task.progress))
    except ForbiddenStart as error:
        raise UnsupportedError(f"the rsmc engine cannot run '{task.model.name}': {error}") from None
    if exploration.guess is not None:
        raise _guess(task, *exploration.guess)
    if shipped_as(task.model) is None:
        _require_freedom_from_deadlocks(task, exploration)
    if exploration.mixed_sizes is not None:
        raise _mixed_sizes(task.program, *exploration.mixed_sizes)
    return _result(task, places, observed, exploration)


def _explore(task: Task, request: Request) -> Exploration:
    if task.explorer is None:
        return explore(request, Work(jobs=task.jobs, split_seed=task.split_seed))
    exploration: Exploration = task.explorer(task, request)
    return exploration


def probe(task: Task, n_probes: int, seed: int, guide: ProbeGuide) -> tuple[list[tuple[float, float]], str]:
    """Random runs: for each the weight of a complete and of a blocked one, whose means estimate their numbers; and
    what stopped the probes early."""
    order = commit_order(task)
    native = _encode(task, layout(task.program), order, _observed(task.program))
    explored = _explored_program(task.model.program, order)
    return native_probe(native, explored, _order_flags(task, order), task.limits, n_probes, seed, guide)


def _order_flags(task: Task, order: CommitOrder) -> OrderFlags:
    return (
        order.in_order,
        order.same_location_reads,
        order.same_location_writes,
        order.forwarding,
        order.forwarding_of_updates,
        order.address_order,
        bool(task.model.uses & STATUS_DEPENDENCIES),
        order.pick_seed,
        order.most_waiting,
        task.search.reduction and forgets_reads(task.model.program),
        shipped_as(task.model) in FORGET_DEPENDENCIES,
        any(check.flag for check in task.model.program.checks),
        shipped_as(task.model) in LEAVE_ORDER_OPEN,
    )


def _mixed_sizes(
    program: Program, place: Place, address: int, size: int, other: Place, other_address: int, other_size: int
) -> MixedSizes:
    def access(where: Place, at: int, length: int) -> AccessPlace:
        return AccessPlace(_function(program, where[1]).name, where[2], at, length, _span(program, where))

    racing = (address, size) == (other_address, other_size)
    return MixedSizes(access(place, address, size), access(other, other_address, other_size), racing=racing)


def _guess(task: Task, later: Place, earlier: Place) -> NeedsGuess:
    line = getattr(_span(task.program, earlier), "line", None)
    where = "" if line is None else f" of line {line}"
    model = task.model.name
    if later == earlier:
        text = (
            f"'{model}' lets a load take the value of this store before it is known which value that is, and too many"
            " selections make it: the rsmc engine does not guess them all"
        )
    else:
        text = (
            f"'{model}' lets this store be seen before the address of the access{where} is known: the rsmc engine does"
            " not guess addresses"
        )
    return NeedsGuess(text, _span(task.program, later), "use --engine axiomatic")


def _require_freedom_from_deadlocks(task: Task, exploration: Exploration) -> None:
    """Derived orders are only shown to be valid. The engine also relies on it that an access can always come last in
    coherence."""
    problems = {"stuck": "no parameter", "not_last": "not the parameter that comes last in coherence"}
    for statistic, problem in problems.items():
        if exploration.statistics.get(statistic, 0):
            place = exploration.stuck_at
            raise UnsupportedError(
                f"under '{task.model.name}' the rsmc engine came to an event for which the model allows {problem}",
                None if place is None else _span(task.program, place),
                "use --engine axiomatic",
            )


def commit_order(task: Task) -> CommitOrder:
    order = _valid_order(task)
    return replace(order, pick_seed=task.pick_seed) if task.pick_seed else order


def _valid_order(task: Task) -> CommitOrder:
    """The model's own if it comes with Dekker, else one that can be shown to be valid for the program at hand."""
    model = task.model
    if FINAL_WRITES in model.uses:
        raise UnsupportedError(
            f"the rsmc engine cannot run '{model.name}': '{FINAL_WRITES}' is known only when an execution is complete",
            hint="use --engine axiomatic",
        )
    name = shipped_as(model)
    if name in COMMIT_ORDERS:
        unknown = NOT_FOR_UPDATES.get(name, frozenset())
        if unknown and any(event.tags & unknown for event in program_events(task.program)):
            raise UnsupportedError(
                f"the rsmc engine knows no valid commit-before order for these atomic updates under '{model.name}'",
                hint="use --engine axiomatic",
            )
        return COMMIT_ORDERS[name]
    found = derive_order(model.program, program_events(task.program))
    if isinstance(found, Refusal):
        raise UnsupportedError(
            f"the rsmc engine knows no valid commit-before order for '{model.name}': "
            f"in program order, {found.in_order}; by dependencies, {found.by_dependencies}",
            hint="use --engine axiomatic",
        )
    return found


@lru_cache(maxsize=64)
def _explored_program(program: RelationalProgram, order: CommitOrder) -> RelationalProgram:
    """Where stores forward, from-read is computed from reads-from and coherence instead of being an input."""
    return with_derived_from_read(program) if order.forwarding else program


def _observed(program: Program) -> tuple[Observable, ...]:
    """What the property shows, and then what else it asks for."""
    wanted: dict[Observable, None] = dict.fromkeys(program.property.observed)
    if program.property.condition is not None:
        wanted.update(dict.fromkeys(observables(program.property.condition.formula)))
    if program.property.filter is not None:
        wanted.update(dict.fromkeys(observables(program.property.filter)))
    return tuple(wanted)


def _encode(task: Task, places: Layout, order: CommitOrder, observed: tuple[Observable, ...]) -> NativeProgram:
    program = task.program
    encoder = Encoder(
        places, model=_explored_program(task.model.program, order), order=order, pieces=_watched_pieces(task)
    )
    functions = _callable_functions(program)
    encoder.blocks = {function.name: len(program.threads) + i for i, function in enumerate(functions)}
    threads, registers = [], []
    for number in range(len(program.threads)):
        wanted = [item.register for item in observed if isinstance(item, RegisterValue) and item.thread == number]
        threads.append(encoder.thread(program, number, wanted))
        registers.append(encoder.registers)
    blocks = [encoder.function(function) for function in functions]
    initial_class = encoder.initial_class()
    classes = _synchronisation(encoder) if _needs_runtime(program) else (NONE, NONE, NONE, NONE)
    return NativeProgram(
        threads,
        encoder.expressions,
        encoder.classes,
        initial_class,
        initial_bytes(program, places),
        object_ranges(program, places),
        encode_observables(observed, registers, places),
        blocks,
        encoder.arguments,
        [(places.starts[name], number) for name, number in encoder.blocks.items()],
        (*classes, int(joins_are_last(program, observed)), int(_decides_alone(task))),
        program.property.leaks,
    )


def _decides_alone(task: Task) -> bool:
    """Whether a thread that has joined all others sees only the last write to each location, and threads that are
    started see what came before, so that the model need not be asked: with full fences, models that come with Dekker
    see to that. There is one thread at the start."""
    return len(task.program.threads) == 1 and shipped_as(task.model) in COMMIT_ORDERS


def _watched_pieces(task: Task) -> frozenset[tuple[str, int]]:
    """A model that reports races by itself needs no other watch."""
    return frozenset() if DATA_RACE in (check.name for check in task.model.program.checks) else task.pieces


def _callable_functions(program: Program) -> list[Function]:
    """All, if any is called, or if the program can end as a whole, as those of C do: its first steps are then taken
    without events. What runs threads alone is not repeated."""
    steps = [step for function in program.functions for step in function.body]
    calls = any(isinstance(step, Call | Spawn) or (isinstance(step, Exit) and step.everything) for step in steps)
    return list(program.functions) if calls else []


def _needs_runtime(program: Program) -> bool:
    return any(isinstance(i, Spawn | Join) or releases(i) for function in program.functions for i in function.body)


def _synchronisation(encoder: Encoder) -> tuple[int, int, int, int]:
    """Threads begin and end as if with a strong fence. What releases memory is a plain write."""
    write, read, fence, release = runtime_events()
    classes = encoder.event_class
    return classes(write), classes(read), classes(fence), classes(release)


def _result(task: Task, places: Layout, observed: tuple[Observable, ...], exploration: Exploration) -> Result:
    prop = task.program.property
    statistics = exploration.statistics
    result = Result(
        flags=dict(exploration.flags),
        blocked=statistics["blocked"],
        deadlocks=statistics.get("deadlocks", 0),
        cut=statistics["cut"],
        cut_at=_cut_spans(task.program, exploration),
        stopped_by=exploration.stopped_by or None,
        too_long_at=None if exploration.too_long_at is None else _span(task.program, exploration.too_long_at),
        statistics=statistics,
    )
    is_kept = compile_formula(prop.filter or TRUE, observed, places)
    is_satisfying = compile_formula(prop.condition.formula if prop.condition else TRUE, observed, places)
    shown_masks = [mask(item.width) if isinstance(item, RegisterValue) else ALL_BITS for item in prop.observed]
    for state, count, example in exploration.states:
        if not is_kept(state):
            continue
        shown = tuple(value & bits for value, bits in zip(state, shown_masks))  # noqa: B905 — what is shown comes first
        result.states[shown] = result.states.get(shown, 0) + count
        if task.examples:
            result.examples.states.setdefault(shown, _trace(task.program, example, exploration.n_alone))
        if is_satisfying(state):
            result.satisfying += count
        else:
            result.violating += count
    _require_support(task.program, exploration)
    for kind, place, address, example in exploration.violations:
        violation = _violation(task.program, kind, place, address)
        result.violations[violation] = None
        if task.examples:
            result.examples.violations[violation] = _trace(task.program, example, exploration.n_alone)
    for flag, example in exploration.flag_examples.items():
        result.examples.flags[flag] = _trace(task.program, example, exploration.n_alone)
    if task.examples and result.deadlocks:
        result.examples.deadlock = _trace(task.program, exploration.deadlock_example, exploration.n_alone)
    return result


def _trace(program: Program, events: RawTrace, alone: int) -> Trace:
    found = [
        TraceEvent(thread, pc, TRACE_KINDS[kind], address, size, value, link, _function(program, block).name)
        for thread, block, pc, kind, address, size, value, link in events
    ]
    if not alone:
        return tuple(found)
    moved = (e._replace(link=e.link + 1) if e.kind == "R" and e.link != FROM_INITIAL else e for e in found)
    return (TraceEvent(0, 0, "P", value=alone), *moved)


def _cut_spans(program: Program, exploration: Exploration) -> tuple[Span, ...]:
    """In the order of the source."""
    spans = {_span(program, place) for place in exploration.cut_at}
    return tuple(sorted((span for span in spans if span is not None), key=lambda span: (span.source.name, span.start)))


def _violation(program: Program, kind: str, place: Place, address: int) -> Violation:
    _, block, pc = place
    instruction = _function(program, block).body[pc]
    match kind:
        case "assertion":
            message = getattr(instruction, "message", "assertion")
        case "memory":
            message = _outside(getattr(instruction, "size", 0), address)
        case "use after free":
            message = f"access to memory at {address:#x} that may have been freed"
        case "double free":
            message = "this memory may have been freed already"
        case "call":
            message = TOO_DEEP if address == ALL_BITS else f"call of {address:#x}, which is no function"
        case "join":
            message = f"{address} is no thread that can be joined or detached"
        case "uninitialised":
            message = "the value was never set"
        case "release":
            message = f"free of {address:#x}, which is not the start of memory that was allocated"
        case "leak":
            message = f"the {address} bytes that are allocated here are lost: at the end nothing points to them"
        case _:
            message = f"allocation of {address} bytes: a thread has {HEAP_GIGABYTES} GB"
    return Violation(kind, message, _span(program, place))


def _require_support(program: Program, exploration: Exploration) -> None:
    """An execution came to what cannot be followed."""
    for kind, place, _, _ in exploration.violations:
        if kind == "unsupported":
            message = getattr(_function(program, place[1]).body[place[2]], "message", "this is not supported")
            raise UnsupportedError(message, _span(program, place))


def _outside(size: int, address: int) -> str:
    if address < FIRST_PAGE:
        return f"access to {size} bytes at {address:#x}: a null pointer, or one that was never set"
    return f"access to {size} bytes at {address:#x}, which lie in no object"


def _function(program: Program, block: int) -> Function:
    """The code of threads comes first, then all functions."""
    n_threads = len(program.threads)
    if block < n_threads:
        return program.function_by_name[program.threads[block].function]
    return program.functions[block - n_threads]


def _span(program: Program, place: Place) -> Span | None:
    return _function(program, place[1]).span(place[2])
