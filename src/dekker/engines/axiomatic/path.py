"""A path: what one thread does if its branches go a certain way, with unknown values for its reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from dekker.engines.axiomatic.rounds import Entered, LoopHistory, Loops, next_open_round, next_round
from dekker.engines.axiomatic.terms import Symbol, Term, apply, chosen_by, resolve
from dekker.errors import UnsupportedError
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Select, Unary, Unset
from dekker.ir.instructions import Await, Order
from dekker.ir.layout import Layout
from dekker.ir.program import Function, Program
from dekker.ir.undefined import ALL, Partly
from dekker.records import dataclass
from dekker.source import Span
from dekker.task import Limits

NOTHING: frozenset[int] = frozenset()


def choice_mark(number: int) -> int:
    """Stands among the reads of a value that the choice with this number had a part in: it is negative, and no
    dependency."""
    return -1 - number


MOST_KNOWN_ROUNDS = 5000
MOST_READING_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Value:
    """A term and the reads (by index in the thread) it was computed from; among them stands the write of a
    store-conditional whose status register was used. `picked` are reads that only chose between alternatives."""

    term: Term
    reads: frozenset[int] = NOTHING
    picked: frozenset[int] = NOTHING


UNSET = Value(0)


@dataclass(frozen=True, slots=True)
class PathEvent:
    """An event whose address and value may be unknown, with the reads it depends on.

    `release` marks a write by which memory is freed, `renewal` one by which it is in use again. A read that `waits`
    never takes the initial value. A write that is a `copy` may move what is indeterminate. What a read is `compared`
    with decides whether a write follows, unless that is `weak`: then it may not follow all the same. `loose` is a read
    of the specification."""

    kind: str
    address: Value = UNSET
    size: int = 0
    value: Value = UNSET
    order: Order = Order.PLAIN
    tags: frozenset[str] = frozenset()
    fence: str = ""
    control: frozenset[int] = NOTHING
    picked_control: frozenset[int] = NOTHING
    span: Span | None = field(default=None, compare=False, repr=False)
    instruction: int = -1
    function: str = ""
    release: bool = False
    renewal: bool = False
    waits: bool = False
    copy: bool = False
    compared: Value | None = None
    weak: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a `choose` gave; `position` events of the thread come before it. Whether a store-conditional succeeds is
    chosen, too: it has no value, since its write says it."""

    position: int
    instruction: int
    value: int | None


@dataclass(frozen=True, slots=True)
class Frame:
    function: Function
    pc: int
    registers: dict[str, Value]
    result: str | None


@dataclass(frozen=True, slots=True)
class Spawned:
    """A thread that was started: its number and what it runs."""

    thread: int
    function: Function
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Scoped:
    """An object of the stack that has not ended, and the depth of the call that it belongs to."""

    depth: int
    start: int
    lasting: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """What goes wrong behind the first `n_events` events of a thread, which goes on."""

    kind: str
    message: str
    span: Span | None
    n_events: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A thread is joined or detached: behind it, its thread has had so many events, and has noted so many failures."""

    handle: int
    span: Span | None
    n_events: int
    n_noted: int
    is_join: bool


@dataclass(frozen=True, slots=True)
class LooseCheck:
    """A condition that is asked behind the first `n_events` events of a thread, before its value is known."""

    condition: Term
    span: Span | None
    n_events: int


@dataclass(frozen=True, slots=True)
class Path:
    """`status` is `running` while the path is followed, then `complete`, `blocked` (a failed assumption), `waiting` (a
    failed await), `joining` (waits for a thread that does not end), `cut` (a loop went on beyond the bound) or `failed`
    (the kind of violation is `failure_kind`, and `failure` says more). The path of a thread that nobody started is
    `unborn`. A path that goes on behind a loose assertion that fails has `noted` it.

    `rounds` says how many events there were when control last came to the target of an await, given by the depth of
    calls and the position; `last_round` is that number for the await at which the path is waiting. `objects` are the
    starts and sizes of what the thread has allocated, `births` how many events it had then, `allocated_at` the
    places of the allocations; `own_objects` are no memory of the heap, `released` ones were freed before there were
    other threads; `scoped` ones are on the stack and still there. The first `alone` accesses and fences are no events;
    they go on while it `is_alone`. What is in `unset` objects is indeterminate until it is written. `claimed` are
    the threads that it has joined or detached. The status `ended` means that the thread has ended the program."""

    frames: tuple[Frame, ...]
    events: tuple[PathEvent, ...] = ()
    constraints: tuple[tuple[Term, bool], ...] = ()
    updates: tuple[tuple[int, int, str], ...] = ()
    choices: tuple[Chosen, ...] = ()
    control: frozenset[int] = NOTHING
    picked_control: frozenset[int] = NOTHING
    linked: int | None = None
    loops: LoopHistory = field(default_factory=LoopHistory)
    rounds: Mapping[tuple[int, int], int] = field(default_factory=dict)
    last_round: int = 0
    status: str = "running"
    failure_kind: str = "assertion"
    failure: str = ""
    failure_span: Span | None = None
    noted: tuple[Failure, ...] = ()
    loose_checks: tuple[LooseCheck, ...] = ()
    spawned: tuple[Spawned, ...] = ()
    objects: tuple[tuple[int, int], ...] = ()
    births: tuple[int, ...] = ()
    allocated_at: tuple[Span | None, ...] = field(default=(), compare=False, repr=False)
    own_objects: frozenset[int] = NOTHING
    released: frozenset[int] = NOTHING
    allocated: int = 0
    alone: int = 0
    is_alone: bool = False
    scoped: tuple[Scoped, ...] = ()
    unset: frozenset[int] = NOTHING
    claimed: tuple[Claim, ...] = ()

    @property
    def registers(self) -> dict[str, Value]:
        return self.frames[-1].registers


UNBORN = Path((), status="unborn")


@dataclass
class Discovered:
    """What is found out by exploring: which parts of allocated objects are accessed, by start; which thread writes to
    an address, None if several do; which thread has relied on being the only one to write there; and which objects are
    freed, with their sizes, where that memory may be allocated again."""

    fields: dict[int, frozenset[tuple[int, int]]] = field(default_factory=dict)
    writers: dict[int, int | None] = field(default_factory=dict)
    trusted: dict[int, int | None] = field(default_factory=dict)
    freed: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class World:
    """What a thread that runs among others can meet: the paths of all threads so far, what each read returned as far as
    that is known and where it came from, what was discovered, and the numbers of threads by who started them."""

    paths: tuple[Path, ...]
    known: Mapping[Symbol, Term]
    sources: Mapping[tuple[int, int], tuple[int, int]]
    discovered: Discovered
    numbers: dict[tuple[int, int], int]

    def path(self, thread: int) -> Path:
        return self.paths[thread] if 0 <= thread < len(self.paths) else UNBORN

    def is_object(self, start: int) -> bool:
        """Whether it can be freed."""
        return any(start == known and start not in path.own_objects for path in self.paths for known, _ in path.objects)

    def is_released(self, start: int) -> bool:
        """Before there were other threads."""
        return any(start in path.released for path in self.paths)


@dataclass(frozen=True, slots=True)
class Context:
    """`world` is None where paths of a fixed set of threads are enumerated one by one."""

    program: Program
    layout: Layout
    thread: int
    limits: Limits
    await_targets: Mapping[str, frozenset[int]]
    """By function, the positions where rounds of awaits begin."""
    loops: Mapping[str, Loops]
    """By function."""
    world: World | None = None
    may_be_undefined: bool = False
    """Values may be indeterminate."""


def await_targets(program: Program) -> dict[str, frozenset[int]]:
    return {
        function.name: frozenset(function.labels[item.target] for item in function.body if isinstance(item, Await))
        for function in program.functions
    }


def goto(path: Path, pc: int) -> Path:
    return replace(path, frames=(*path.frames[:-1], replace(path.frames[-1], pc=pc)))


def jump(context: Context, path: Path, label: str) -> Path:
    """A jump backwards counts against the bound, unless nobody else is there; `path` stands behind the jump."""
    frame = path.frames[-1]
    target, pc, depth = frame.function.labels[label], frame.pc - 1, len(path.frames)
    if target > pc:
        return goto(path, target)
    if context.limits.counts_known_rounds:
        history, rounds = next_round(path.loops, (depth, target))
    else:
        loop, entered = context.loops[frame.function.name][target], Entered(len(path.events), len(path.choices))
        history, rounds = next_open_round(path.loops, (depth, target), loop, entered)
    if rounds.known > MOST_KNOWN_ROUNDS or rounds.reading > MOST_READING_ROUNDS:
        most = MOST_KNOWN_ROUNDS if rounds.known > MOST_KNOWN_ROUNDS else MOST_READING_ROUNDS
        raise UnsupportedError(f"the axiomatic engine follows a loop {most} times at most", frame.function.span(pc))
    if rounds.counted > (MOST_KNOWN_ROUNDS if path.is_alone else context.limits.unroll):
        return replace(path, status="cut")
    return goto(replace(path, loops=history), target)


def set_register(path: Path, register: str, value: Value) -> Path:
    frame = path.frames[-1]
    registers = {**frame.registers, register: value}
    return replace(path, frames=(*path.frames[:-1], replace(frame, registers=registers)))


def emit(path: Path, event: PathEvent) -> Path:
    frame = path.frames[-1]
    event = replace(
        event,
        control=path.control,
        picked_control=path.picked_control,
        instruction=frame.pc - 1,
        function=frame.function.name,
    )
    return replace(path, events=(*path.events, event))


def choose(path: Path, value: int | None) -> tuple[Path, frozenset[int]]:
    """The path with a choice, and what stands for that among the reads of a value."""
    chosen = Chosen(len(path.events), path.frames[-1].pc - 1, value)
    return replace(path, choices=(*path.choices, chosen)), frozenset((choice_mark(len(path.choices)),))


def depend(path: Path, value: Value) -> Path:
    """What follows has a control dependency on the value."""
    if not value.reads and not value.picked:
        return path
    return replace(path, control=path.control | value.reads, picked_control=path.picked_control | value.picked)


def assume(path: Path, term: Term, expected: bool) -> Iterator[Path]:
    """The path under the condition that the term is (not) 0, if that can be."""
    if isinstance(term, int):
        if bool(term) == expected:
            yield path
    elif (term, not expected) not in path.constraints:
        yield replace(path, constraints=(*path.constraints, (term, expected)))


def decided(term: Term, path: Path) -> bool | None:
    if isinstance(term, int):
        return bool(term)
    return next((expected for known, expected in path.constraints if known == term), None)


def fail(path: Path, kind: str, message: str, span: Span | None) -> Path:
    return replace(path, status="failed", failure_kind=kind, failure=message, failure_span=span)


def evaluate(expression: Expr, path: Path, context: Context) -> Value:
    match expression:
        case Unset():
            return Value(Partly(0, ALL))
        case Const(value):
            return Value(value)
        case Reg(name):
            return _current(path.registers.get(name, UNSET), context)
        case Address():
            return Value(context.layout.resolve(expression))
        case Unary(op, width, operand):
            inner = evaluate(operand, path, context)
            return Value(apply(op, width, inner.term), inner.reads, inner.picked)
        case Binary(op, width, left, right):
            first, second = evaluate(left, path, context), evaluate(right, path, context)
            term = apply(op, width, first.term, second.term)
            return Value(term, first.reads | second.reads, first.picked | second.picked)
        case Select(condition, then, other):
            choice = evaluate(condition, path, context)
            chosen = evaluate(then if decided(choice.term, path) else other, path, context)
            term = chosen_by(chosen.term, choice.term) if context.may_be_undefined else chosen.term
            return Value(term, chosen.reads, choice.reads | choice.picked | chosen.picked)


def _current(value: Value, context: Context) -> Value:
    """With what is known by now."""
    if isinstance(value.term, int) or context.world is None:
        return value
    return replace(value, term=resolve(value.term, context.world.known))
