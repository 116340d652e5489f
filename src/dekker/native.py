"""The only door to the compiled extension: relations as bit matrices, and compiled models evaluated natively.

A set of events is an integer whose bit `j` stands for event `j`; a relation is a sequence of such integers, one per
event, where bit `j` of row `i` stands for the pair `(i, j)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from functools import lru_cache
from typing import Any

from dekker._core import (
    FIXPOINT,
    Model,
    ModelProgram,
    ProbeGuide,
    Relation,
    end_supervision,
    limit_that_was_met,
    opcode,
    supervise,
    whole_exploration,
)
from dekker._core import explore as explore_natively
from dekker._core import known_at_start as known_at_start_natively
from dekker._core import merge_known as merge_natively
from dekker._core import probe as probe_natively
from dekker._core import search_states as search_natively
from dekker.cat.relational import Fixpoint, RelationalProgram, Step
from dekker.interrupts import heeding
from dekker.ir.rounds import may_come_back
from dekker.models import shipped_as
from dekker.records import dataclass
from dekker.task import Explorer, Limits, Progress, Task

__all__ = [
    "Exploration",
    "NativeModel",
    "NativeProgram",
    "ProbeGuide",
    "Relation",
    "end_supervision",
    "explore",
    "limit_that_was_met",
    "probe",
    "supervise",
]


class NativeModel:
    """A model compiled once and evaluated on many executions; may be used by several threads at a time.

    `ValueError`: the program is malformed, an input is missing, or a value does not fit the number of events.
    `RuntimeError`: a recursive definition has no least fixpoint because it is not monotone.
    """

    def __init__(self, program: RelationalProgram) -> None:
        self._names = tuple(i.name for i in program.inputs)
        self._model = Model(*_model_arguments(program))

    def check(self, n_events: int, inputs: Mapping[str, int | Sequence[int]]) -> list[bool]:
        """For each check of the program, flags included, whether what it states holds.

        `inputs` may hold more names than the model uses.
        """
        return self._model.check(n_events, self._values(inputs))

    def is_allowed(self, n_events: int, inputs: Mapping[str, int | Sequence[int]]) -> bool:
        """Whether all checks hold that are not flags; faster than `check`, because it stops at the first that fails."""
        return self._model.is_allowed(n_events, self._values(inputs))

    def _values(self, inputs: Mapping[str, int | Sequence[int]]) -> list[int | Sequence[int]]:
        try:
            return [inputs[name] for name in self._names]
        except KeyError as missing:
            raise ValueError(f"no value for the input {missing}; given are {', '.join(inputs) or 'none'}") from None


ModelArguments = tuple[tuple[str, ...], list[tuple[int, str, str]], list[int], list[tuple[str, int, bool, bool]]]


def _model_arguments(program: RelationalProgram) -> ModelArguments:
    return (
        program.kinds,
        [(i.slot, i.name, i.kind) for i in program.inputs],
        list(_encoded(program.steps)),
        [(c.kind, c.slot, c.negated, c.flag) for c in program.checks],
    )


Block = tuple[list[int], int, list[tuple[int, int]], list[int]]
"""Code, number of registers, initial registers, parameters."""

Place = tuple[int, int, int]
"""Thread, block and position in the block."""


@dataclass(frozen=True)
class NativeProgram:
    """A program in the flat form that the explorer reads; `engines.rsmc.encoding` makes it. Blocks, the code of threads
    and then of functions, are numbered. `synchronisation` holds the event classes of the writes and reads with which
    threads are spawned and joined, of the fences at these, and of the writes that release memory; whether nothing comes
    behind joins, and whether the model need not be asked about what a thread does that has joined all others."""

    threads: list[Block]
    expressions: list[list[int]]
    classes: list[tuple[list[int], int, int, int]]
    initial_class: int
    initial_bytes: list[tuple[int, int]]
    objects: list[tuple[int, int]]
    observed: list[tuple[int, int, int, int]]
    functions: list[Block]
    arguments: list[int]
    function_addresses: list[tuple[int, int]]
    synchronisation: tuple[int, int, int, int, int, int]
    finds_leaks: bool = False


RawTrace = list[tuple[int, int, int, int, int, int, int, int]]
"""Thread, block, position, kind, address, size, value, link; kinds are the positions in `TRACE_KINDS`."""

TRACE_KINDS = "RWFC"


OrderFlags = tuple[bool, bool, bool, bool, bool, bool, bool, int, int, bool, bool, bool, bool]

Unit = tuple[bytes, int, int]
"""A part of an exploration, how deep it begins, and the number of the read that sleeps there, or 0: of units with the
same number only one is to be explored."""

WHOLE_UNIT: Unit = whole_exploration()
"""That of which all others are parts."""

Known = tuple[
    list[tuple[int, int, int, int, int, int, int]],
    list[tuple[int, int, int, int, int, int, int]],
    bool,
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    bool,
    bool,
    list[int],
    list[int],
    bool,
    bool,
    bool,
    bool,
    bool,
    bool,
    bool,
    list[int],
    list[int],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int, int]],
]
"""What exploring found out: parts of allocated objects that are accessed (start and size of the object, where it is
allocated: thread, block and instruction; offset and size of the part), and those that are written where memory is
released, whether any is; who writes where, and who relies on being the only one; the objects
that are freed, with their sizes, and those that may be allocated again; whether it matters when threads end, and
whether that is an event; what others notice of the first accesses, and what was known of it; whether halves of updates
must be apart, and whether they are; whether the program ends with threads that were not joined, and was known to;
whether alike threads are told apart, and whether that was known; whether a run was looked at for where nobody sees the
order of writes, where that is, and where it was known to be; what is relied on where rounds of loops are left out, and
what was refuted; the numbers of threads, by parent and order."""

_NO = False
NOTHING_KNOWN: Known = (
    [],
    [],
    _NO,
    [],
    [],
    [],
    [],
    _NO,
    _NO,
    [],
    [],
    _NO,
    _NO,
    _NO,
    _NO,
    _NO,
    _NO,
    _NO,
    [],
    [],
    [],
    [],
    [],
)


@dataclass(frozen=True)
class Rest:
    """What an exploration that was stopped has left, or before it begins: everything. `words` is how many the rows of
    its relations need, `next_id` the next number of a read that sleeps, and `slept` those that did."""

    units: list[Unit] = field(default_factory=list)
    words: int = 1
    known: Known = NOTHING_KNOWN
    next_id: int = 1
    slept: list[int] = field(default_factory=list)

    def packed(self) -> tuple[Any, ...]:
        return (self.units, self.words, self.known, self.next_id, self.slept)


EVERYTHING = Rest()


@dataclass(frozen=True)
class Work:
    """How much of an exploration to do: `jobs` threads, for `slice_s` seconds (0: to the end); `keeps_rest` asks for
    what a limit leaves. `split_seed`, if not 0, splits at random. Unless `numbers_threads`, a thread that `rest` has no
    number for is an error. `rest` says where to go on. `first_own_id`, if not 0: others explore other parts of the same
    at the same time, and reads with smaller numbers are theirs."""

    jobs: int = 1
    keeps_rest: bool = False
    slice_s: float = 0.0
    split_seed: int = 0
    numbers_threads: bool = True
    rest: Rest = EVERYTHING
    first_own_id: int = 0


WHOLE = Work()


COUNTED = (
    *("complete", "blocked", "deadlocks", "abandoned", "cut", "failed", "stuck", "not_last", "left_out"),
    *("up_to_renaming", "up_to_order", "commits", "checks", "templates"),
)
"""The statistics of an exploration."""


@dataclass(frozen=True)
class Exploration:
    """What the explorer found. `states` are the values of what was observed, their numbers of traces, and an example;
    `violations` are kind, place, address and an example; runs were cut at the places `cut_at`; `n_alone` accesses and
    fences of the first thread, before others existed, are no events; `stuck_at` is the place of the first event for
    which the model allowed no parameter, `too_long_at` that of the event with which a run became too long;
    `mixed_sizes` are the place, address and size of an access, and those of another that it overlaps without being
    equal or races with in pieces, and `guess` the places of a load and of the store whose value it would have to guess;
    in these cases there is nothing else. `rest` is what it was stopped at; if it `started_again`, what was found in
    earlier slices does not count; with others at the same time, all have to start again. `asking` are units that let
    reads of others sleep: of those with the same number one is to be explored."""

    statistics: dict[str, int]
    states: list[tuple[tuple[int, ...], int, RawTrace]]
    flags: dict[str, int]
    violations: list[tuple[str, Place, int, RawTrace]]
    stopped_by: str
    flag_examples: dict[str, RawTrace] = field(default_factory=dict)
    deadlock_example: RawTrace = field(default_factory=list)
    cut_at: list[Place] = field(default_factory=list)
    n_alone: int = 0
    stuck_at: Place | None = None
    too_long_at: Place | None = None
    mixed_sizes: tuple[Place, int, int, Place, int, int] | None = None
    guess: tuple[Place, Place] | None = None
    unknown_thread: tuple[int, int] | None = None
    rest: Rest = EVERYTHING
    started_again: bool = False
    asking: list[Unit] = field(default_factory=list)


@lru_cache(maxsize=64)
def _model_program(program: RelationalProgram) -> ModelProgram:
    return ModelProgram(*_model_arguments(program))


FORBIDDEN_START = "the model forbids a fence or an initial write"


class ForbiddenStart(Exception):
    """The model forbids what is there before anything is committed."""


@dataclass(frozen=True)
class Request:
    """An exploration. `order`: in program order; reads of one location stay in order;
    a write waits for earlier accesses of its location; loads may take the value of an own store before it is committed;
    what uses the status of a store-conditional waits for its write; a seed to pick events at random, or 0;
    how many events of continuations may be put off; the model forgets reads, and dependencies; it has flags; the order
    of writes that nobody sees may be left open."""

    program: NativeProgram
    model: RelationalProgram
    order: OrderFlags
    limits: Limits
    examples: bool = False
    progress: Progress | None = None

    def digest(self) -> str:
        """The same for all that ask the same question, whatever the limits."""
        from hashlib import sha256  # noqa: PLC0415 — slow to load

        question = (
            *(getattr(self.program, item.name) for item in fields(self.program)),
            _model_arguments(self.model),
            self.order,
            (self.limits.of_question(), self.examples),
        )
        return sha256(repr(question).encode()).hexdigest()


Explore = Callable[[Request, Work], Exploration]


def explorer_with(explore: Explore | None) -> Explorer | None:
    """For tasks that are explored by another than the core."""
    return None if explore is None else lambda task, request: explore(request, WHOLE)


def merge_known(total: Known, part: Known) -> tuple[Known, bool]:
    """What two parts of an exploration found out; not if one relied on what the other found not to be so."""
    known, is_consistent = merge_natively(total, part)
    return known, is_consistent


def known_at_start(known: Known) -> Known:
    """What remains known when all start again."""
    found: Known = known_at_start_natively(known)
    return found


def explore(request: Request, work: Work = WHOLE) -> Exploration:
    try:
        found = _explore(request, work)
    except RuntimeError as error:
        if str(error) == FORBIDDEN_START:
            raise ForbiddenStart(FORBIDDEN_START) from None
        raise
    if "mixed_sizes" in found:
        return Exploration({}, [], {}, [], "", mixed_sizes=found["mixed_sizes"])
    if "guess" in found:
        return Exploration({}, [], {}, [], "", guess=found["guess"])
    if "unknown_thread" in found:
        return Exploration({}, [], {}, [], "", unknown_thread=found["unknown_thread"])
    found["rest"] = Rest(*found["rest"])
    return Exploration(**found)


def _explore(request: Request, work: Work) -> dict[str, Any]:
    program, limits = request.program, request.limits
    return explore_natively(
        program.threads,
        program.expressions,
        program.classes,
        program.initial_class,
        program.initial_bytes,
        program.objects,
        program.observed,
        (program.functions, program.arguments, program.function_addresses, program.synchronisation),
        _model_program(request.model),
        [check.name for check in request.model.checks],
        request.order,
        (
            limits.unroll,
            limits.counts_known_rounds,
            limits.max_traces or 0,
            limits.timeout_s or 0.0,
            (limits.memory_mb or 0) << 20,
            request.examples,
            limits.stop_at_first,
            program.finds_leaks,
            limits.deadlocks,
            limits.counts_executions,
        ),
        (
            work.jobs,
            work.keeps_rest,
            work.slice_s,
            work.split_seed,
            work.numbers_threads,
            work.first_own_id,
            work.rest.packed(),
        ),
        heeding(request.progress),
    )


def probe(
    program: NativeProgram,
    model: RelationalProgram,
    order: OrderFlags,
    limits: Limits,
    n_probes: int,
    seed: int,
    guide: ProbeGuide,
) -> tuple[list[tuple[float, float]], str]:
    """Random runs, with the weights of those that are complete and of those that are blocked, and what stopped the
    probes before all were done. The `guide` learns from them where most executions are."""
    return probe_natively(
        program.threads,
        program.expressions,
        program.classes,
        program.initial_class,
        program.initial_bytes,
        program.objects,
        program.observed,
        (program.functions, program.arguments, program.function_addresses, program.synchronisation),
        _model_program(model),
        [check.name for check in model.checks],
        order,
        (
            limits.unroll,
            limits.counts_known_rounds,
            limits.timeout_s or 0.0,
            (limits.memory_mb or 0) << 20,
            limits.counts_executions,
            n_probes,
            seed,
        ),
        guide,
        None,
    )


ACTIONS = (
    *("read", "write", "buffered", "commit", "fence", "choice", "spawn", "join", "begin", "end", "allocate", "release"),
    "renew",
    *("wait", "failure"),
)
STATE_MODELS = ("sc", "tso", "pso")
VIOLATIONS = (
    *("assertion", "memory", "use after free", "double free", "call", "join", "release", "allocation"),
    *("uninitialised", "deadlock", "robustness", "leak"),
)

Action = tuple[str, int, int, int, int, int, int]
"""Kind (one of `ACTIONS`), thread, block, position, address, size, value. That of a commit is the position in the
buffer; that of a spawn or join the other thread."""


@dataclass(frozen=True)
class StateSearch:
    """What the search of states found: final values, and violations by kind, place and address, each with a schedule if
    asked for."""

    bound: int
    statistics: dict[str, int]
    states: list[tuple[tuple[int, ...], list[Action]]]
    violations: list[tuple[str, Place, int, list[Action]]]
    stopped_by: str
    refused_at: Place


def search_states(
    program: tuple[Any, ...], task: Task, bound: int, limits: Limits, trial: tuple[int, int] = (0, 0)
) -> StateSearch:
    """`engines.states.encoding` makes `program` from that of the task; `bound` limits the entries of each store buffer,
    0 not at all; `limits` are those of the task that are left. A `trial` with these numbers of entries and states is
    given up if a store finds its buffer full, or a buffer holds more entries and there are more states."""
    search = task.search
    flags = (
        search.depth_first,
        search.dynamic_local,
        search.reduction,
        search.symmetry,
        limits.stop_at_first,
        search.robust,
        search.compact,
        task.examples,
        task.program.property.leaks,
        limits.deadlocks,
        search.symmetry and not (search.exact if search.exact is not None else not limits.stop_at_first),
        may_come_back(task.program),
    )
    options = (
        STATE_MODELS.index(shipped_as(task.model) or task.model.name),
        bound,
        sum(1 << position for position, flag in enumerate(flags) if flag),
        limits.max_traces or 0,
        limits.timeout_s or 0.0,
        (limits.memory_mb or 0) << 20,
        task.jobs,
        task.split_seed,
        *trial,
    )
    found = search_natively(program, options, heeding(task.progress))
    return StateSearch(
        bound,
        found["statistics"],
        [(values, _actions(schedule)) for values, schedule in found["states"]],
        [(kind, place, address, _actions(schedule)) for kind, place, address, schedule in found["violations"]],
        found["stopped_by"],
        found["refused_at"],
    )


def _actions(schedule: list[tuple[int, ...]]) -> list[Action]:
    return [(ACTIONS[kind], *rest) for kind, *rest in schedule]  # type: ignore[misc]


def _encoded(steps: Sequence[Step]) -> Iterator[int]:
    """The flat form of `steps` that the extension reads (see `decode_steps` in the core)."""
    for step in steps:
        if isinstance(step, Fixpoint):
            yield FIXPOINT
            yield from _counted(step.variables)
            yield from _counted(step.results)
            yield len(step.body)
            yield from _encoded(step.body)
        else:
            yield opcode(step.code)
            yield step.dst
            yield from _counted(step.args)


def _counted(slots: Sequence[int]) -> Iterator[int]:
    yield len(slots)
    yield from slots
