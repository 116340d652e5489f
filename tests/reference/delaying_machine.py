"""The abstract machine of Alglave, Kroening, Nimal and Tautschnig (ESOP 2013, section 3.1), corrected, as a small
interpreter of weak memory. It shares no code with the transformation nor with the oracle.

A program is run in two steps: first every thread alone, its reads returning any of some values (prophecies), which
gives events in program order with dependencies; then the machine performs them. All events are delayed at the start,
because a delay can always come earlier; what is left to choose is the order of the writes to each address, and the
order in which events are performed.

    W1, W2  a write waits for what ppo and ab keep before it
    W3      and for earlier reads of its address
    W4      and for the writes before it in the buffer
    R2      a read takes a write only if the reads that this depends on were performed
    R3, R4  a read waits for what ppo and ab keep before it
    R5      it takes what is in memory, if no earlier own write to the address is still delayed
    R6      or a delayed write that its thread may see: not before its own earlier writes, before its own later ones
    (ours)  and not before what earlier reads of the address took, nor after what later ones took

ab depends on what was read: see `_kept_before`. That values do not come out of thin air is asked at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations, product

from dekker.ir.arithmetic import mask
from dekker.ir.expressions import Address, Binary, Const, Expr, Reg, Unary, evaluate_binary, evaluate_unary
from dekker.ir.fences import FENCES
from dekker.ir.instructions import Assign, Branch, Fence, Jump, Load, Store
from dekker.ir.layout import Layout, layout
from dekker.ir.memory import InitialMemory
from dekker.ir.program import Function, Program, Thread
from dekker.ir.property import RegisterValue

INITIAL = -1
Outcome = tuple[int, ...]


class Outside(Exception):
    """The interpreter does not know this instruction or expression."""


@dataclass(frozen=True)
class Happening:
    """An event of a thread. `needs` are reads by their position in the thread, for its address and value; `decided`
    those that branches depended on, `synchronised` those of branches in front of an isync."""

    kind: str
    place: int
    value: int
    needs: frozenset[int]
    decided: frozenset[int]
    synchronised: frozenset[int]
    fences: tuple[tuple[int, str], ...]
    """In front of it: after how many events of the thread, and of which kind."""


@dataclass(frozen=True)
class Walk:
    """One way through a thread."""

    happenings: tuple[Happening, ...]
    registers: dict[str, int]


def outcomes(program: Program, model: str, values: Iterable[int]) -> set[Outcome]:
    """Final states as the property observes them. The program has no loop; its accesses have the size of what they
    access."""
    found: set[Outcome] = set()
    guesses = sorted(values)
    places = layout(program)
    initial = InitialMemory(program, places)
    walks = [list(_walks(program, thread, places, guesses)) for thread in program.threads]
    for choice in product(*walks):
        machine = _Machine(model, choice, initial)
        for memory in machine.run():
            shown = []
            for item in program.property.observed:
                if isinstance(item, RegisterValue):
                    shown.append(choice[item.thread].registers.get(item.register, 0) & mask(item.width))
                else:
                    place = places.resolve(Address(item.symbol, item.offset))
                    shown.append(memory.get(place, initial.read(place, item.size)))
            found.add(tuple(shown))
    return found


# --- threads


@dataclass
class _Thread:
    places: Layout
    pc: int = 0
    happenings: tuple[Happening, ...] = ()
    registers: dict[str, tuple[int, frozenset[int]]] = field(default_factory=dict)
    decided: frozenset[int] = frozenset()
    synchronised: frozenset[int] = frozenset()
    fences: tuple[tuple[int, str], ...] = ()


def _walks(program: Program, start: Thread, places: Layout, guesses: list[int]) -> Iterator[Walk]:
    function, nothing = program.function_by_name[start.function], frozenset[int]()
    first = _Thread(places)
    first.registers = {name: (_evaluate(value, first)[0], nothing) for name, value in start.registers}
    pending = [first]
    while pending:
        thread = pending.pop()
        if thread.pc == len(function.body):
            yield Walk(thread.happenings, {name: value for name, (value, _) in thread.registers.items()})
            continue
        pending += _steps(function, thread, guesses)


def _steps(function: Function, thread: _Thread, guesses: list[int]) -> Iterator[_Thread]:
    step = function.body[thread.pc]
    after = _Thread(**{**vars(thread), "pc": thread.pc + 1, "registers": dict(thread.registers)})
    match step:
        case Assign(dst, value):
            after.registers[dst] = _evaluate(value, thread)
            yield after
        case Load(dst, address, _, _, False, False):
            place, needs = _evaluate(address, thread)
            for guess in guesses:
                reading = _Thread(**{**vars(after), "registers": dict(after.registers)})
                reading.registers[dst] = guess, frozenset((len(thread.happenings),))
                reading.happenings = (*thread.happenings, _happening("R", place, guess, needs, thread))
                yield reading
        case Store(address, value, size):
            place, needs = _evaluate(address, thread)
            number, more = _evaluate(value, thread)
            number &= mask(8 * size)
            after.happenings = (*thread.happenings, _happening("W", place, number, needs | more, thread))
            yield after
        case Fence(kind):
            after.fences = (*thread.fences, (len(thread.happenings), kind))
            if kind == "isync":
                after.synchronised = thread.decided
            yield after
        case Branch(condition, target):
            taken, needs = _evaluate(condition, thread)
            after.decided = thread.decided | needs
            after.pc = function.labels[target] if taken else thread.pc + 1
            yield after
        case Jump(target):
            after.pc = function.labels[target]
            yield after
        case _:
            raise Outside(step)


def _happening(kind: str, place: int, value: int, needs: frozenset[int], thread: _Thread) -> Happening:
    return Happening(kind, place, value, needs, thread.decided, thread.synchronised, thread.fences)


def _evaluate(expression: Expr, thread: _Thread) -> tuple[int, frozenset[int]]:
    match expression:
        case Const(value):
            return value, frozenset()
        case Address():
            return thread.places.resolve(expression), frozenset()
        case Unary(op, width, operand):
            inner, needs = _evaluate(operand, thread)
            return evaluate_unary(op, width, inner), needs
        case Reg(name):
            return thread.registers.get(name, (0, frozenset()))
        case Binary(op, width, left, right):
            first, some = _evaluate(left, thread)
            second, more = _evaluate(right, thread)
            return evaluate_binary(op, width, first, second), some | more
    raise Outside(expression)


# --- the machine

State = tuple[frozenset[int], tuple[tuple[int, int], ...]]
"""The events that were performed, and what each read took."""


class _Machine:
    def __init__(self, model: str, walks: tuple[Walk, ...], initial: InitialMemory) -> None:
        self.model, self.initial = model, initial
        self.events: list[Happening] = []
        self.thread: list[int] = []
        self.position: list[int] = []
        for thread, walk in enumerate(walks):
            for position, happening in enumerate(walk.happenings):
                self.events.append(happening)
                self.thread.append(thread)
                self.position.append(position)
        self.number = {(self.thread[e], self.position[e]): e for e in range(len(self.events))}
        self.all = range(len(self.events))

    def run(self) -> Iterator[dict[int, int]]:
        """The memories at the end."""
        places = sorted({event.place for event in self.events})
        orders = [list(self._orders(place)) for place in places]
        for choice in product(*orders):
            self.order = [write for order in choice for write in order]
            if self._comes_to_an_end():
                ends = {place: order[-1] for place, order in zip(places, choice, strict=True) if order}
                yield {place: self.events[write].value for place, write in ends.items()}

    def _orders(self, place: int) -> Iterator[tuple[int, ...]]:
        """Buffers: a write stands behind the earlier ones of its thread."""
        writes = [e for e in self.all if self.events[e].kind == "W" and self.events[e].place == place]
        for order in permutations(writes):
            if all(order.index(a) < order.index(b) for a in writes for b in writes if self._po(a, b)):
                yield order

    def _comes_to_an_end(self) -> bool:
        seen: set[State] = set()
        pending: list[State] = [(frozenset(), ())]
        while pending:
            state = pending.pop()
            if state in seen:
                continue
            seen.add(state)
            done, took = state
            if len(done) == len(self.events):
                if self._is_grounded(dict(took)):
                    return True
                continue
            pending += self._next(done, dict(took))
        return False

    def _next(self, done: frozenset[int], took: dict[int, int]) -> Iterator[State]:
        for e in self.all:
            if e in done or not self._kept_before(e, took) <= done:
                continue
            if self.events[e].kind == "W":
                if self._may_be_written(e, done):
                    yield done | {e}, tuple(sorted(took.items()))
                continue
            for source in self._sources(e, done, took):
                yield done | {e}, tuple(sorted({**took, e: source}.items()))

    def _po(self, first: int, second: int) -> bool:
        return self.thread[first] == self.thread[second] and self.position[first] < self.position[second]

    def _same_place(self, first: int, second: int) -> bool:
        return self.events[first].place == self.events[second].place

    def _reads(self, e: int, positions: Iterable[int]) -> set[int]:
        return {self.number[self.thread[e], position] for position in positions}

    def _ppo(self, e: int) -> set[int]:
        event, earlier = self.events[e], {other for other in self.all if self._po(other, e)}
        if self.model == "tso":
            return {other for other in earlier if self.events[other].kind + event.kind != "WR"}
        if self.model == "pso":
            return {other for other in earlier if self.events[other].kind == "R"}
        kept = self._reads(e, event.needs)
        if event.kind == "W":
            kept |= self._reads(e, event.decided)
        elif self.model == "power":
            kept |= self._reads(e, event.synchronised)
        return kept

    def _fences(self, e: int, *, strong: bool | None = None) -> set[int]:
        """What fences keep before an event; only strong fences, only others, or all."""
        event, found = self.events[e], set[int]()
        for position, kind in event.fences:
            orders = FENCES[kind].orders
            if strong is not None and (len(orders) == 4) != strong:
                continue
            for other in self.all:
                is_before = self._po(other, e) and self.position[other] < position
                if is_before and self.events[other].kind + event.kind in orders:
                    found.add(other)
        return found

    def _met(self, readers: Iterable[int], took: dict[int, int]) -> set[int]:
        """Writes of other threads that these events have taken."""
        sources = {took[e]: e for e in readers if took.get(e, INITIAL) != INITIAL}
        return {write for write, e in sources.items() if self.thread[write] != self.thread[e]}

    def _cumulative(self, e: int, took: dict[int, int]) -> set[int]:
        found = self._fences(e) | self._met(self._fences(e, strong=True), took)
        if self.events[e].kind == "W":
            found |= self._met(self._fences(e, strong=False), took)
        return found

    def _kept_before(self, e: int, took: dict[int, int]) -> set[int]:
        """W1, W2, R3, R4, as far as they do not depend on what a read takes now."""
        return self._ppo(e) | (self._cumulative(e, took) if self.model == "power" else self._fences(e))

    def _may_be_written(self, w: int, done: frozenset[int]) -> bool:
        place = self.events[w].place
        before = self.order[: self.order.index(w)]
        if any(self.events[other].place == place and other not in done for other in before):
            return False
        earlier = (r for r in self.all if self.events[r].kind == "R" and self._po(r, w) and self._same_place(r, w))
        return all(r in done for r in earlier)

    def _rank(self, write: int) -> int:
        return -1 if write == INITIAL else self.order.index(write)

    def _sources(self, r: int, done: frozenset[int], took: dict[int, int]) -> Iterator[int]:
        writes = [w for w in self.order if self._same_place(w, r)]
        flushed = [w for w in writes if w in done]
        memory = flushed[-1] if flushed else INITIAL
        for w in (INITIAL, *writes):
            value = self.initial.read(self.events[r].place, 4) if w == INITIAL else self.events[w].value
            if value == self.events[r].value and self._may_take(r, w, memory, done, took):
                yield w

    def _may_take(self, r: int, w: int, memory: int, done: frozenset[int], took: dict[int, int]) -> bool:
        if w == memory:
            own = (x for x in self.order if self._same_place(x, r) and self._po(x, r))
            if any(x not in done for x in own):
                return False
        elif w == INITIAL or w in done or not self._is_visible(r, w, done, took):
            return False
        others = [o for o in took if self._same_place(o, r)]
        if any(self._rank(took[o]) > self._rank(w) for o in others if self._po(o, r)):
            return False
        return not any(self._rank(took[o]) < self._rank(w) for o in others if self._po(r, o))

    def _is_visible(self, r: int, w: int, done: frozenset[int], took: dict[int, int]) -> bool:
        own = self.thread[w] == self.thread[r]
        if not own and self.model != "power":
            return False
        if not self._reads(w, self.events[w].needs) <= done:
            return False
        if not own and not self._cumulative(w, took) <= done:
            return False
        mine = [x for x in self.order if self._same_place(x, r) and self.thread[x] == self.thread[r]]
        if any(self._rank(w) >= self._rank(x) for x in mine if self._po(r, x)):
            return False
        return all(self._rank(w) >= self._rank(x) for x in mine if self._po(x, r))

    def _is_grounded(self, took: dict[int, int]) -> bool:
        """rf, dp and control dependencies to writes have no cycle."""
        before = {e: self._reads(e, self.events[e].needs) for e in self.all}
        for e in self.all:
            if self.events[e].kind == "W":
                before[e] |= self._reads(e, self.events[e].decided)
            elif took[e] != INITIAL:
                before[e].add(took[e])
        left = set(self.all)
        while left:
            free = {e for e in left if not before[e] & left}
            if not free:
                return False
            left -= free
        return True
