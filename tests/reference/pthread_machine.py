"""An abstract machine for small pthread programs, under SC and TSO: all interleavings, one state at a time.

Written from POSIX and from x86-TSO (Sewell et al., CACM 2010), and independent of everything that it judges: it runs
the syntax of `pthread_syntax`, not what Dekker makes of its text.

- A state is the threads (position, local variables, store buffer), the content of every object, the owners of the
  mutexes, who waits for which condition variable, and how many have arrived at each barrier.
- A step is one statement of one thread, or one entry that leaves a store buffer. What touches local variables alone
  is done together with the step before it, for nobody can see when it happens.
- Under SC an entry leaves the buffer with the step that puts it there. Under TSO it leaves at any time, in order.
  Buffers hold stores, and what must not overtake them: a mutex that is unlocked, an object whose life ends.
- Locked instructions (updates, also compare-exchanges that fail; locking, also an attempt that fails; the beginning of
  a wait; a signal for which somebody waits; arrival at a barrier) need an empty buffer, and so do fences, the start and
  the end of threads, and joining. A sequentially consistent store is a store and a fence.
- A wait ends by a signal, by a broadcast, or of itself. All that only a wait that ends of itself could change stays as
  it is: states in which nothing else can happen are deadlocks.
- The time of a timed wait may be up at any moment, whoever holds the mutex: before a signal, which then goes to another
  wait or is lost, or after it, for POSIX lets a wait whose time is up consume a signal. The mutex comes later.
- A weak compare-exchange may fail for no reason under SC, where it is what the language says. Under TSO it is one
  locked instruction.
- A thread that does something wrong, or whose assumption fails, stops. Others go on: what they do, they could have done
  before. Such a run has no final state.
- Threads go on after the end of `main`, for the end could have come later. Nobody is in a deadlock then.
- With `reuse`, an allocation may return the address of any object that was freed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from tests.reference import pthread_syntax as syntax
from tests.reference.pthread_syntax import AddressOf, Body, Expression, Local, Op, Program, Read, statements_of

ASSERTION, AFTER_FREE, DOUBLE_FREE, INVALID_FREE = "assertion", "use after free", "double free", "invalid free"
NULL, MISUSE, DANGLING, UNINITIALISED, INVALID_JOIN = "null pointer", "misuse", "dangling", "uninitialised", "join"
DEADLOCK = "deadlock"
ALLOCATIONS = 3
"""By each thread, at most."""


class TooLarge(Exception):
    """More states, or objects, than were asked for."""


class Pointer(NamedTuple):
    slot: int


class _Word:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNDEFINED, ABSENT, ENDED = _Word("undefined"), _Word("absent"), _Word("ended")
"""The content of an object that was never written; of one that does not exist yet; of one that no longer does."""

Value = Any


class Wrong(Exception):
    """What a thread does must not happen."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


# --- states

STOPPED: Final = -1
NOT_STARTED: Final = -2


class Thread(NamedTuple):
    """At an instruction. `phase` is where it is in one that takes several steps."""

    position: int
    locals: tuple[Value, ...]
    buffer: tuple[tuple[str, int, Value], ...] = ()
    phase: Any = 0
    result: Value = 0
    allocated: int = 0


class State(NamedTuple):
    threads: tuple[Thread, ...]
    memory: tuple[Value, ...]
    owners: tuple[int | None, ...]
    waiting: tuple[frozenset[int], ...]
    arrived: tuple[int, ...]
    joined: frozenset[int] = frozenset()


@dataclass
class Outcomes:
    """Final values of the observed variables, kinds of what goes wrong (a deadlock is one), and the number of states;
    `endless`: whether a run can come to where it never ends, but not for a deadlock."""

    final: set[tuple[int, ...]] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    n_states: int = 0
    endless: bool = False


def explore(program: Program, model: str, *, reuse: bool = False, limit: int = 20_000) -> Outcomes:
    machine = Machine(program, buffered=model == "tso", reuse=reuse)
    found = Outcomes()
    start = machine.start()
    leads_to: dict[State, list[State]] = {start: []}
    ends: list[State] = []
    pending = [start]
    while pending:
        state = pending.pop()
        followers = list(machine.followers(state))
        if not followers or all(spontaneous for spontaneous, _ in followers):
            ends.append(state)
            machine.judge_end(state, found)
        for _, follower in followers:
            if follower not in leads_to:
                leads_to[follower] = []
                pending.append(follower)
            leads_to[follower].append(state)
        if len(leads_to) > limit:
            raise TooLarge
    found.wrong |= machine.wrong
    found.n_states = len(leads_to)
    found.endless = _cannot_end(leads_to, ends)
    return found


def _cannot_end(leads_to: dict[State, list[State]], ends: list[State]) -> bool:
    can_end = set(ends)
    pending = list(ends)
    while pending:
        for state in leads_to[pending.pop()]:
            if state not in can_end:
                can_end.add(state)
                pending.append(state)
    return len(can_end) < len(leads_to)


# --- code


class Code(NamedTuple):
    """A thread's statements in a row. `jump` and `unless` (a condition that does not hold) go to a position."""

    steps: tuple[tuple[Any, ...], ...]
    locals: dict[str, int]
    n_visible: int
    """Other local variables, which hold what a statement has read so far, are behind those of the program."""
    own: dict[str, int]
    """The objects of local variables that have an address."""


def _name(statement: syntax.Statement) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", type(statement).__name__).lower()


class _Flattening:
    def __init__(self, own: dict[str, int]) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.own = own
        self.scopes: list[list[str]] = []
        self.loops: list[tuple[list[int], list[int], int]] = []
        self.n_leaks = 0
        self.hidden: list[str] = []
        self.outermost = 0

    def function(self, body: Body, *, is_main: bool) -> None:
        """The return from `main` ends the program, before its variables do."""
        self.outermost = int(is_main)
        self.scope(body)
        self.steps.append(("end", 0))

    def scope(self, body: Body) -> None:
        self.scopes.append([])
        for statement in body:
            self.statement(statement)
        self.leave(len(self.scopes) - 1)
        self.scopes.pop()

    def leave(self, depth: int) -> None:
        """The ends of what is declared in scopes that deep."""
        for scope in reversed(self.scopes[max(depth, self.outermost) :]):
            self.steps += [("expire", self.own[name]) for name in reversed(scope)]

    def statement(self, statement: syntax.Statement) -> None:
        match statement:
            case syntax.If(condition, then, otherwise):
                over = self.unless(condition)
                self.scope(then)
                end = self.jump()
                self.land(over)
                self.scope(otherwise)
                self.land(end)
            case syntax.While(condition, body):
                self.loop(condition, body, ())
            case syntax.For(counter, rounds, body):
                one_more = syntax.Let(counter, Op("+", Local(counter), 1))
                self.statement(syntax.Let(counter, 0))
                self.loop(Op("<", Local(counter), rounds), body, (one_more,))
            case syntax.Break() | syntax.Continue():
                breaks, continues, depth = self.loops[-1]
                self.leave(depth)
                (breaks if isinstance(statement, syntax.Break) else continues).append(self.jump())
            case syntax.Return(value):
                self.steps.append(("result", self.lifted(value)))
                self.leave(0)
                self.steps.append(("end", 0))
            case syntax.Scope(body):
                self.scope(body)
            case syntax.Declare(name, value):
                self.scopes[-1].append(name)
                self.steps.append(("declare", self.own[name]))
                if value is not None:
                    self.steps.append(("store", syntax.Store(AddressOf(name), value)))
            case syntax.Leak(target, value):
                slot = self.own[f"leak {self.n_leaks}"]
                self.n_leaks += 1
                self.steps += [("declare", slot), ("put", slot, value), ("expire", slot), ("point", target, slot)]
            case syntax.Retry(place, expected, desired, weak):
                head = len(self.steps)
                success = self.hide()
                self.statement(syntax.CompareExchange(success, place, expected, desired, weak))
                self.steps.append(("unless", Local(success), head))
            case _:
                statement = self.without_reads(statement)
                self.steps.append((_name(statement), statement))
                if isinstance(statement, syntax.Store) and statement.order == "seq_cst":
                    self.steps.append(("fence", syntax.Fence()))

    def loop(self, condition: Expression, body: Body, last: Body) -> None:
        head = len(self.steps)
        over = self.unless(condition)
        self.loops.append(([], [], len(self.scopes)))
        self.scope(body)
        breaks, continues, _ = self.loops.pop()
        for position in continues:
            self.land(position)
        for statement in last:
            self.statement(statement)
        self.steps.append(("jump", head))
        for position in (over, *breaks):
            self.land(position)

    def without_reads(self, statement: syntax.Statement) -> syntax.Statement:
        lifted = {name: self.lifted(getattr(statement, name, 0)) for name in ("value", "condition", "address")}
        return replace(statement, **{name: value for name, value in lifted.items() if hasattr(statement, name)})

    def lifted(self, expression: Any) -> Any:
        """What is read in the expression is read before."""
        match expression:
            case Read(place, _):
                target = self.hide()
                self.steps.append(("load", target, place))
                return Local(target)
            case Op("&&" | "||", _, _):
                return expression
            case Op(operator, left, right):
                return Op(operator, self.lifted(left), self.lifted(right))
        return expression

    def hide(self) -> str:
        self.hidden.append(f"{len(self.hidden)}")
        return self.hidden[-1]

    def unless(self, condition: Expression) -> int:
        condition = self.lifted(condition)
        self.steps.append(("unless", condition, None))
        return len(self.steps) - 1

    def jump(self) -> int:
        self.steps.append(("jump", None))
        return len(self.steps) - 1

    def land(self, position: int) -> None:
        self.steps[position] = (*self.steps[position][:-1], len(self.steps))


SILENT = frozenset(("let", "jump", "unless", "result", "point", "assert", "assume"))
"""Steps that touch local variables alone."""


class Machine:
    def __init__(self, program: Program, *, buffered: bool, reuse: bool) -> None:
        self.program = program
        self.buffered = buffered
        self.reuse = reuse
        self.wrong: set[str] = set()
        self.slots = {name: number for number, name in enumerate(program.variables)}
        self.mutexes = {name: number for number, name in enumerate(program.mutexes)}
        self.conditions = {name: number for number, name in enumerate(program.conditions)}
        self.barriers = {name: number for number, (name, _) in enumerate(program.barriers)}
        n_globals = len(self.slots)
        n_threads = len(program.threads)
        self.heap = range(n_globals, n_globals + ALLOCATIONS * n_threads)
        self.n_slots = self.heap.stop
        self.code = [self._flat(body, number == 0) for number, body in enumerate(program.threads)]
        self.steps: dict[str, Callable[[_Step, Any], Iterator[State]]] = {
            name: getattr(_Step, f"do_{name}") for code in self.code for name, *_ in code.steps
        }

    def _flat(self, body: Body, is_main: bool) -> Code:
        names = syntax.declared_in(body)
        names += [f"leak {n}" for n in range(sum(isinstance(s, syntax.Leak) for s in statements_of(body)))]
        own = {name: self.n_slots + number for number, name in enumerate(names)}
        self.n_slots += len(own)
        flattening = _Flattening(own)
        flattening.function(body, is_main=is_main)
        names = [*syntax.locals_of(body), *flattening.hidden]
        return Code(
            tuple(flattening.steps), {name: n for n, name in enumerate(names)}, len(syntax.locals_of(body)), own
        )

    def start(self) -> State:
        memory = (0,) * len(self.slots) + (ABSENT,) * (self.n_slots - len(self.slots))
        threads = tuple(Thread(NOT_STARTED, (0,) * len(code.locals)) for code in self.code)
        n_conditions, n_barriers = len(self.conditions), len(self.barriers)
        owners = (None,) * len(self.mutexes)
        state = State(threads, memory, owners, (frozenset(),) * n_conditions, (0,) * n_barriers)
        return self.silently(changed(state, 0, state.threads[0]._replace(position=0)), 0)

    def has_ended(self, state: State, number: int) -> bool:
        thread = state.threads[number]
        return thread.position == len(self.code[number].steps)

    # --- steps

    def followers(self, state: State) -> Iterator[tuple[bool, State]]:
        """With whether a wait ends of itself."""
        for number, thread in enumerate(state.threads):
            if thread.buffer:
                yield False, self.commit(state, number)
            if 0 <= thread.position < len(self.code[number].steps):
                for follower in self.steps_of(state, number):
                    yield False, follower
                if isinstance(thread.phase, tuple) and not thread.buffer:
                    yield True, changed(woken(state, number), number, thread._replace(phase="woken"))

    def steps_of(self, state: State, number: int) -> Iterator[State]:
        name, *operands = self.code[number].steps[state.threads[number].position]
        step = _Step(self, state, number)
        try:
            for follower in self.steps[name](step, *operands):
                yield self.silently(follower if self.buffered else self.drained(follower, number), number)
        except Wrong as wrong:
            self.wrong.add(wrong.kind)
            yield changed(state, number, state.threads[number]._replace(position=STOPPED))

    def silently(self, state: State, number: int) -> State:
        """Behind all steps that touch local variables alone."""
        code = self.code[number].steps
        for _ in range(1000):
            position = state.threads[number].position
            if not 0 <= position < len(code) or code[position][0] not in SILENT:
                return state
            name, *operands = code[position]
            try:
                (state,) = self.steps[name](_Step(self, state, number), *operands)
            except Wrong as wrong:
                self.wrong.add(wrong.kind)
                return changed(state, number, state.threads[number]._replace(position=STOPPED))
        raise TooLarge

    # --- memory

    def drained(self, state: State, number: int) -> State:
        while state.threads[number].buffer:
            state = self.commit(state, number)
        return state

    def commit(self, state: State, number: int) -> State:
        """The oldest entry of a buffer leaves it."""
        thread = state.threads[number]
        (kind, index, value), *rest = thread.buffer
        state = changed(state, number, thread._replace(buffer=tuple(rest)))
        if kind == "unlock":
            return state._replace(owners=with_item(state.owners, index, None))
        if kind != "declare" and state.memory[index] in (ENDED, ABSENT):
            self.wrong.add(DOUBLE_FREE if kind == "release" else self.gone(index))
            return changed(state, number, state.threads[number]._replace(position=STOPPED))
        return state._replace(memory=with_item(state.memory, index, ENDED if kind == "release" else value))

    def gone(self, slot: int) -> str:
        return AFTER_FREE if slot in self.heap else DANGLING

    # --- ends

    def judge_end(self, state: State, found: Outcomes) -> None:
        if any(thread.position == STOPPED for thread in state.threads):
            return
        if not self.has_ended(state, 0):
            found.wrong.add(DEADLOCK)
            return
        values = tuple(state.memory[self.slots[name]] for name in self.program.observed)
        found.final.add(values)


class _Step:
    """One statement of one thread: all states that it leads to, none if it has to wait."""

    def __init__(self, machine: Machine, state: State, number: int) -> None:
        self.machine = machine
        self.state = state
        self.number = number
        self.thread = state.threads[number]
        self.code = machine.code[number]

    # --- local

    def evaluate(self, expression: Expression) -> Value:
        match expression:
            case int():
                return expression
            case Local(name):
                return self.thread.locals[self.code.locals[name]]
            case AddressOf(name):
                return Pointer(self.code.own[name] if name in self.code.own else self.machine.slots[name])
            case Op("&&", left, right):
                return int(bool(self.decide(left)) and bool(self.decide(right)))
            case Op("||", left, right):
                return int(bool(self.decide(left)) or bool(self.decide(right)))
            case Op(operator, left, right):
                a, b = self.evaluate(left), self.evaluate(right)
                return UNDEFINED if UNDEFINED in (a, b) else OPERATORS[operator](a, b)
        raise TypeError(expression)

    def decide(self, expression: Expression) -> Value:
        """A value on which something depends."""
        value = self.evaluate(expression)
        if value is UNDEFINED:
            raise Wrong(UNINITIALISED)
        return value

    def after(self, target: str | None = None, value: Value = 0, **changes: Any) -> Thread:
        """The thread behind the statement."""
        n_hidden = len(self.thread.locals) - self.code.n_visible
        known = self.thread.locals[: self.code.n_visible] + (0,) * n_hidden
        if target is not None:
            known = with_item(known, self.code.locals[target], value)
        return self.thread._replace(position=self.thread.position + 1, phase=0, locals=known, **changes)

    def go(self, target: str | None = None, value: Value = 0, **changes: Any) -> State:
        return changed(self.state, self.number, self.after(target, value, **changes))

    def do_let(self, s: syntax.Let) -> Iterator[State]:
        yield self.go(s.target, self.evaluate(s.value))

    def do_jump(self, position: int) -> Iterator[State]:
        yield changed(self.state, self.number, self.thread._replace(position=position))

    def do_unless(self, condition: Expression, position: int) -> Iterator[State]:
        thread = self.after()
        yield changed(self.state, self.number, thread if self.decide(condition) else thread._replace(position=position))

    def do_result(self, value: Expression) -> Iterator[State]:
        yield self.go(result=self.evaluate(value))

    def do_point(self, target: str, slot: int) -> Iterator[State]:
        yield self.go(target, Pointer(slot))

    def do_assert(self, s: syntax.Assert) -> Iterator[State]:
        if not self.decide(s.condition):
            raise Wrong(ASSERTION)
        yield self.go()

    def do_assume(self, s: syntax.Assume) -> Iterator[State]:
        holds = self.decide(s.condition)
        yield self.go() if holds else changed(self.state, self.number, self.thread._replace(position=STOPPED))

    # --- memory

    def place(self, expression: Expression) -> int:
        """The object there, which must exist as far as this thread knows."""
        pointer = self.decide(expression)
        if not isinstance(pointer, Pointer):
            raise Wrong(NULL)
        self.require_alive(pointer.slot)
        return pointer.slot

    def require_alive(self, slot: int) -> None:
        if not self.is_alive(slot):
            raise Wrong(self.machine.gone(slot))

    def is_alive(self, slot: int) -> bool:
        """By what the thread has done itself, though it may still be in the buffer, and by memory."""
        for kind, index, _ in reversed(self.thread.buffer):
            if index == slot and kind in ("release", "declare"):
                return kind == "declare"
        return self.state.memory[slot] not in (ENDED, ABSENT)

    def seen(self, slot: int) -> Value:
        """What the thread reads there: its own last store that is in the buffer, or memory."""
        for kind, index, value in reversed(self.thread.buffer):
            if index == slot and kind in ("store", "declare"):
                return value
        return self.state.memory[slot]

    def buffering(self, kind: str, index: int, value: Value = 0) -> State:
        return self.go(buffer=(*self.thread.buffer, (kind, index, value)))

    def write(self, slot: int, value: Value) -> State:
        """At once: for locked instructions."""
        return self.state._replace(memory=with_item(self.state.memory, slot, value))

    def do_load(self, target: str, place: Expression) -> Iterator[State]:
        known = with_item(self.thread.locals, self.code.locals[target], self.seen(self.place(place)))
        yield changed(self.state, self.number, self.thread._replace(position=self.thread.position + 1, locals=known))

    def do_store(self, s: syntax.Store) -> Iterator[State]:
        slot, value = self.place(s.place), self.evaluate(s.value)
        if value is UNDEFINED and slot not in self.code.own.values():
            raise Wrong(UNINITIALISED)
        yield self.buffering("store", slot, value)

    def do_fence(self, s: syntax.Fence) -> Iterator[State]:
        if not self.thread.buffer:
            yield self.go()

    def do_spin(self, s: syntax.Spin) -> Iterator[State]:
        value = self.seen(self.place(s.place))
        if value is UNDEFINED:
            raise Wrong(UNINITIALISED)
        if OPERATORS[s.operator](value, s.value):
            yield self.go()

    def do_update(self, s: syntax.Update) -> Iterator[State]:
        slot, operand = self.place(s.place), self.decide(s.operand)
        if self.thread.buffer:
            return
        old = self.state.memory[slot]
        if old is UNDEFINED and s.operator == "add":
            raise Wrong(UNINITIALISED)
        written = self.write(slot, old + operand if s.operator == "add" else operand)
        yield changed(written, self.number, self.after(s.target, old))

    def do_compare_exchange(self, s: syntax.CompareExchange) -> Iterator[State]:
        slot, expected, desired = self.place(s.place), self.decide(Local(s.expected)), self.decide(s.desired)
        if self.thread.buffer:
            return
        old = self.state.memory[slot]
        if old is UNDEFINED:
            raise Wrong(UNINITIALISED)
        success = self.code.locals[s.success]
        failed = self.after(s.expected, old)
        failed = failed._replace(locals=with_item(failed.locals, success, 0))
        if old != expected:
            yield changed(self.state, self.number, failed)
            return
        yield changed(self.write(slot, desired), self.number, self.after(s.success, 1))
        if s.weak and not self.machine.buffered:
            yield changed(self.state, self.number, failed)

    # --- objects that come and go

    def do_malloc(self, s: syntax.Malloc) -> Iterator[State]:
        if self.thread.allocated == ALLOCATIONS:
            raise TooLarge
        fresh = self.machine.heap[ALLOCATIONS * self.number + self.thread.allocated]
        after = self.after(s.target, Pointer(fresh), allocated=self.thread.allocated + 1)
        yield changed(self.write(fresh, UNDEFINED), self.number, after)
        for slot in self.machine.heap:
            if self.machine.reuse and self.state.memory[slot] is ENDED:
                yield changed(self.write(slot, UNDEFINED), self.number, self.after(s.target, Pointer(slot)))

    def do_free(self, s: syntax.Free) -> Iterator[State]:
        pointer = self.decide(s.address)
        if pointer == 0:
            yield self.go()
            return
        slot = pointer.slot
        if slot not in self.machine.heap:
            raise Wrong(INVALID_FREE)
        if not self.is_alive(slot):
            raise Wrong(DOUBLE_FREE)
        yield self.buffering("release", slot)

    def do_declare(self, slot: int) -> Iterator[State]:
        yield self.buffering("declare", slot, UNDEFINED)

    def do_put(self, slot: int, value: Value) -> Iterator[State]:
        yield self.buffering("store", slot, value)

    def do_expire(self, slot: int) -> Iterator[State]:
        yield self.buffering("release", slot)

    # --- locks

    def do_lock(self, s: syntax.Lock) -> Iterator[State]:
        mutex = self.machine.mutexes[s.mutex]
        if not self.thread.buffer and self.state.owners[mutex] is None:
            yield self.own(mutex, self.after())

    def own(self, mutex: int, after: Thread) -> State:
        return changed(self.state._replace(owners=with_item(self.state.owners, mutex, self.number)), self.number, after)

    def do_try_lock(self, s: syntax.TryLock) -> Iterator[State]:
        mutex = self.machine.mutexes[s.mutex]
        if self.thread.buffer:
            return
        if self.state.owners[mutex] is None:
            yield self.own(mutex, self.after(s.target, 0))
        else:
            yield self.go(s.target, 1)

    def require_held(self, mutex: int) -> None:
        unlocked = any(entry[:2] == ("unlock", mutex) for entry in self.thread.buffer)
        if unlocked or self.state.owners[mutex] != self.number:
            raise Wrong(MISUSE)

    def do_unlock(self, s: syntax.Unlock) -> Iterator[State]:
        mutex = self.machine.mutexes[s.mutex]
        self.require_held(mutex)
        yield self.buffering("unlock", mutex)

    # --- condition variables

    def do_wait(self, s: syntax.Wait) -> Iterator[State]:
        """Phases: not yet, waiting (for the condition variable of this number), woken."""
        mutex = self.machine.mutexes[s.mutex]
        if self.thread.buffer:
            return
        if self.thread.phase == 0:
            yield self.begin_wait(self.machine.conditions[s.condition], mutex)
        elif self.thread.phase == "woken" and self.state.owners[mutex] is None:
            yield self.own(mutex, self.after())

    def do_timed_wait(self, s: syntax.TimedWait) -> Iterator[State]:
        """One more phase: the time is up."""
        mutex, phase = self.machine.mutexes[s.mutex], self.thread.phase
        if self.thread.buffer:
            return
        if phase == 0:
            yield self.begin_wait(self.machine.conditions[s.condition], mutex)
            return
        if phase != "late":
            yield changed(woken(self.state, self.number), self.number, self.thread._replace(phase="late"))
        if phase in ("woken", "late") and self.state.owners[mutex] is None:
            yield self.own(mutex, self.after(s.target, int(phase == "late")))

    def begin_wait(self, condition: int, mutex: int) -> State:
        self.require_held(mutex)
        waiting = self.state.waiting[condition] | {self.number}
        thread = self.thread._replace(phase=("waiting", condition), buffer=(("unlock", mutex, 0),))
        state = self.state._replace(waiting=with_item(self.state.waiting, condition, waiting))
        return changed(state, self.number, thread)

    def do_signal(self, s: syntax.Signal) -> Iterator[State]:
        waiting = self.state.waiting[self.machine.conditions[s.condition]]
        if not waiting:
            yield self.go()
        elif not self.thread.buffer:
            for number in waiting:
                yield wake(self.go(), number)

    def do_broadcast(self, s: syntax.Broadcast) -> Iterator[State]:
        waiting = self.state.waiting[self.machine.conditions[s.condition]]
        if not waiting or not self.thread.buffer:
            state = self.go()
            for number in waiting:
                state = wake(state, number)
            yield state

    def do_barrier_wait(self, s: syntax.BarrierWait) -> Iterator[State]:
        """The phase is how many must have arrived."""
        if self.thread.buffer:
            return
        barrier = self.machine.barriers[s.barrier]
        needed = self.machine.program.barriers[barrier][1]
        arrived = self.state.arrived[barrier]
        if self.thread.phase == 0:
            state = self.state._replace(arrived=with_item(self.state.arrived, barrier, arrived + 1))
            target = (arrived // needed + 1) * needed
            yield changed(state, self.number, self.thread._replace(phase=target))
        elif arrived >= self.thread.phase:
            yield self.go()

    # --- threads

    def do_create(self, s: syntax.Create) -> Iterator[State]:
        if self.thread.buffer:
            return
        state = self.go()
        created = state.threads[s.thread]._replace(position=0)
        yield self.machine.silently(changed(state, s.thread, created), s.thread)

    def do_join(self, s: syntax.Join) -> Iterator[State]:
        if s.thread in self.state.joined or self.state.threads[s.thread].position == NOT_STARTED:
            raise Wrong(INVALID_JOIN)
        if not self.thread.buffer and self.machine.has_ended(self.state, s.thread):
            state = self.go(s.target, self.state.threads[s.thread].result)
            yield state._replace(joined=state.joined | {s.thread})

    def do_end(self, _: int) -> Iterator[State]:
        """With nothing in its locals that could tell two ends apart."""
        if not self.thread.buffer:
            ended = Thread(len(self.code.steps), (), (), 0, self.thread.result)
            yield changed(self.state, self.number, ended)


OPERATORS: dict[str, Callable[[Value, Value], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">=": lambda a, b: int(a >= b),
}


def with_item(items: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*items[:index], value, *items[index + 1 :])


def changed(state: State, number: int, thread: Thread) -> State:
    return state._replace(threads=with_item(state.threads, number, thread))


def woken(state: State, number: int) -> State:
    """Waits for nothing any more."""
    return state._replace(waiting=tuple(waiting - {number} for waiting in state.waiting))


def wake(state: State, number: int) -> State:
    state = woken(state, number)
    return changed(state, number, state.threads[number]._replace(phase="woken"))
