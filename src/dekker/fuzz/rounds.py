"""Random programs of loops that try again: with what the last attempt has read, in functions that may fail, behind a
test, with stores to places of the thread's own, and some that look like that but count, or leave something behind.

Threads hand on small numbers; what they store in places of their own is read by others once they have said so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from random import Random

from dekker.ir.expressions import Address, Binary, Const, Expr, Reg
from dekker.ir.instructions import (
    Assert,
    Assign,
    Branch,
    Call,
    CompareExchange,
    Fence,
    Instruction,
    Jump,
    Load,
    Order,
    Return,
    Rmw,
    Store,
)
from dekker.ir.program import Function, Object, Program, Thread
from dekker.ir.property import MemoryValue, Observable, Property, RegisterValue
from dekker.records import dataclass

SHARED = ("x", "y")
OWN = ("n0", "n1", "n2")
READS = (Order.RELAXED, Order.RELAXED, Order.ACQUIRE, Order.SEQ_CST)
WRITES = (Order.RELAXED, Order.RELEASE, Order.SEQ_CST)
UPDATES = (Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL)
FENCES = ("c11.acquire", "c11.release", "c11.seq_cst")
FAILURES = {Order.RELEASE: Order.RELAXED, Order.ACQ_REL: Order.ACQUIRE}
SIZE = 4


@dataclass
class _Builder:
    """The code of one function so far. `kept` are registers that are shown in the end."""

    random: Random
    number: int
    name: str
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    n_registers: int = 0

    def emit(self, *instructions: Instruction) -> None:
        self.body += instructions

    def fresh(self, *, kept: bool = False) -> str:
        self.n_registers += 1
        register = f"r{self.n_registers}"
        if kept:
            self.kept.append(register)
        return register

    def label(self, name: str) -> str:
        found = f"{name}{len(self.labels)}"
        self.labels[found] = len(self.body)
        return found

    def here(self, label: str) -> None:
        self.labels[label] = len(self.body)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shared(self) -> str:
        return self.random.choice(SHARED)

    def load(self, place: str, register: str | None = None, order: Order | None = None, *, kept: bool = False) -> str:
        register = register or self.fresh(kept=kept)
        self.emit(Load(register, Address(place), SIZE, order or self.random.choice(READS)))
        return register

    def store(self, place: str, value: Expr, order: Order) -> None:
        self.emit(Store(Address(place), value, SIZE, order))

    def exchange(self, place: str, expected: Expr, desired: Expr) -> tuple[str, str]:
        old, success, order = self.fresh(), self.fresh(), self.random.choice(UPDATES)
        failure = FAILURES.get(order, order)
        weak = self.chance(0.5)
        self.emit(CompareExchange(old, success, Address(place), expected, desired, SIZE, order, failure, weak))
        return old, success

    def maybe_fence(self) -> None:
        if self.chance(0.15):
            self.emit(Fence(self.random.choice(FENCES)))


def _number(b: _Builder) -> Const:
    return Const(b.random.randint(0, 2))


def _new(b: _Builder, old: str) -> Expr:
    return b.random.choice((Const(1), Const(2), Binary("add", 32, Reg(old), Const(1)), Const(b.number + 1)))


def _fails(b: _Builder, success: str, label: str) -> None:
    b.emit(Branch(Binary("eq", 32, Reg(success), Const(0)), label))


# --- loops


def _spin(b: _Builder) -> None:
    """The first look is behind the loop or before it."""
    place, seen = b.shared(), b.fresh(kept=b.chance(0.7))
    if b.chance(0.4):
        b.load(place, seen)
    again, end = b.label("L"), f"E{len(b.labels)}"
    b.labels[end] = -1
    b.emit(Branch(Binary(b.random.choice(("eq", "ne")), 32, Reg(seen), _number(b)), end))
    b.load(place, seen)
    _inside(b)
    b.emit(Jump(again))
    b.here(end)


def _inside(b: _Builder) -> None:
    """Something harmless, or not."""
    kind = b.random.randint(0, 11)
    if kind == 0:
        b.load(b.shared())
    elif kind == 1:
        b.load(b.random.choice(OWN), order=b.random.choice((Order.PLAIN, Order.RELAXED)))
    elif kind == 2:
        b.store(OWN[b.number], _number(b), Order.PLAIN)
    elif kind == 3:
        seen = b.load(b.shared())
        b.emit(Assert(Binary("ne", 32, Reg(seen), _number(b)), "in the round"))
    elif kind == 4:
        b.emit(Rmw(None, "add", Address(b.shared()), Const(1), SIZE, Order.RELAXED))
    elif kind == 5:
        for _ in range(b.random.randint(1, 3)):
            b.store(OWN[b.number], _number(b), b.random.choice((Order.PLAIN, Order.RELAXED)))
    b.maybe_fence()


def _retry(b: _Builder) -> None:
    """Expects what the last attempt has read, which may be kept in memory of its own."""
    place, own = b.shared(), OWN[b.number]
    in_memory, expected = b.chance(0.4), b.fresh(kept=b.chance(0.6))
    order = b.random.choice((Order.PLAIN, Order.PLAIN, Order.RELAXED, Order.RELEASE))
    b.load(place, expected)
    if in_memory:
        b.store(own, Reg(expected), order)
    again, end = b.label("L"), f"E{len(b.labels)}"
    b.labels[end] = -1
    if b.chance(0.3):
        b.emit(Branch(Binary("eq", 32, Reg(expected), _number(b)), end))
    if b.chance(0.3):
        _inside(b)
    if in_memory and b.chance(0.7):
        b.load(own, expected, Order.PLAIN)
    old, success = b.exchange(place, Reg(expected), _new(b, expected))
    b.emit(Branch(Reg(success), end))
    b.emit(Assign(expected, Reg(old) if b.chance(0.9) else Binary("and", 32, Reg(old), Const(1))))
    if in_memory:
        b.store(own, Reg(expected if b.chance(0.8) else old), order)
    b.emit(Jump(again))
    b.here(end)


def _position(b: _Builder) -> None:
    """Looks where its turn is, and looks again if it is not there any more; may give up."""
    place, other = b.random.sample(SHARED, 2)
    position = b.fresh(kept=b.chance(0.5))
    b.load(place, position)
    again, behind, end = b.label("L"), f"B{len(b.labels)}", f"E{len(b.labels)}"
    b.labels[behind] = b.labels[end] = -1
    turn = b.load(other)
    if b.chance(0.5):
        b.emit(Branch(Binary("ult", 32, Reg(turn), Reg(position)), end))
    b.emit(Branch(Binary("ugt", 32, Reg(turn), Reg(position)), behind))
    old, success = b.exchange(place, Reg(position), Binary("add", 32, Reg(position), Const(1)))
    b.emit(Branch(Reg(success), end), Assign(position, Reg(old)), Jump(again))
    b.here(behind)
    b.load(place, position)
    b.emit(Jump(again))
    b.here(end)


def _sequence(b: _Builder) -> None:
    place, other = b.random.sample(SHARED, 2)
    again = b.label("L")
    before = b.load(place)
    b.load(other, kept=True)
    b.maybe_fence()
    after = b.load(place)
    b.emit(Branch(Binary("ne", 32, Reg(before), Reg(after)), again))


def _snapshot(b: _Builder) -> None:
    """Several places between two looks at one; some may be of another thread, or checked at once."""
    place, other = b.random.sample(SHARED, 2)
    again, before = b.label("L"), b.fresh()
    if b.chance(0.5):
        wait = b.label("W")
        b.load(place, before)
        b.emit(Branch(Binary("eq", 32, Binary("and", 32, Reg(before), Const(1)), Const(1)), wait))
    else:
        b.load(place, before)
    seen = b.load(other, kept=b.chance(0.7))
    if b.chance(0.5):
        b.load(b.random.choice(OWN), order=b.random.choice((Order.PLAIN, Order.RELAXED)), kept=b.chance(0.5))
    if b.chance(0.2):
        b.emit(Assert(Binary("ne", 32, Reg(seen), _number(b)), "in the round"))
    b.maybe_fence()
    after = b.load(place)
    b.emit(Branch(Binary("ne", 32, Reg(before), Reg(after)), again))


def _publish(b: _Builder) -> None:
    """What takes a snapshot would have to notice."""
    place, other = b.random.sample(SHARED, 2)
    b.store(place, Const(1), b.random.choice(WRITES))
    b.maybe_fence()
    b.store(other, _number(b), b.random.choice(WRITES))
    if b.chance(0.4):
        b.store(OWN[b.number], _number(b), b.random.choice((Order.PLAIN, Order.RELAXED)))
    b.store(place, Const(2), b.random.choice(WRITES))


def _add_and_undo(b: _Builder) -> None:
    """Takes it back if it was not alone, and waits until it is, or gives up."""
    place, old = b.shared(), b.fresh(kept=b.chance(0.3))
    again, end = b.label("L"), f"E{len(b.labels)}"
    b.labels[end] = -1
    b.emit(Rmw(old, "add", Address(place), Const(1), SIZE, b.random.choice(UPDATES)))
    b.emit(Branch(Binary("eq", 32, Reg(old), Const(0)), end))
    b.emit(Rmw(None, "sub", Address(place), Const(1), SIZE, b.random.choice(UPDATES)))
    if b.chance(0.3):
        b.emit(Jump(end))
    wait = b.label("W")
    seen = b.load(place)
    b.emit(Branch(Binary("ne", 32, Reg(seen), Const(0)), wait), Jump(again))
    b.here(end)


def _test_and_try(b: _Builder) -> None:
    place = b.shared()
    again = b.label("L")
    seen = b.load(place)
    b.emit(Branch(Binary("ne", 32, Reg(seen), Const(0)), again))
    _, success = b.exchange(place, Const(0), Const(b.number + 1))
    _fails(b, success, again)


def _counted(b: _Builder) -> None:
    place, count = b.shared(), b.fresh(kept=b.chance(0.3))
    again, end = b.label("L"), f"E{len(b.labels)}"
    b.labels[end] = -1
    b.emit(Assign(count, Binary("add", 32, Reg(count), Const(1))))
    _, success = b.exchange(place, _number(b), Const(b.number + 1))
    b.emit(Branch(Reg(success), end), Branch(Binary("ult", 32, Reg(count), Const(2)), again))
    b.here(end)


def _signal(b: _Builder) -> None:
    """Stores to a place of its own, perhaps there and back, until it is told to go on."""
    again, order = b.label("L"), b.random.choice((Order.RELAXED, Order.RELAXED, Order.PLAIN))
    for value in b.random.choice(((1,), (2, 1), (1, 0), (1, 2, 1))):
        b.store(OWN[b.number], Const(value), order)
    seen = b.load(b.shared(), kept=b.chance(0.5))
    b.emit(Branch(Binary("eq", 32, Reg(seen), _number(b)), again))


def _try_in_function(b: _Builder) -> None:
    name = f"try{b.number}_{len(b.functions)}"
    inner = _Builder(b.random, b.number, name)
    place = b.shared()
    kind = b.random.randint(0, 2)
    if kind == 0:
        _, success = inner.exchange(place, Const(0), Const(b.number + 1))
        inner.emit(Return(Reg(success)))
    elif kind == 1:
        seen, end = inner.load(place), "E"
        inner.labels[end] = -1
        inner.emit(Branch(Binary("ne", 32, Reg(seen), Const(0)), end))
        _, success = inner.exchange(place, Reg(seen), Const(b.number + 1))
        inner.emit(Return(Reg(success)))
        inner.here(end)
        inner.emit(Return(Const(0)))
    else:
        seen, other = inner.load(place), inner.load(b.shared())
        inner.emit(Return(Binary("eq", 32, Reg(seen), Reg(other))))
    b.functions.append(Function(name, (), tuple(inner.body), inner.labels))
    again, result = b.label("L"), b.fresh(kept=b.chance(0.5))
    b.emit(Call(result, Address(name), ()))
    _inside(b)
    b.emit(Branch(Binary("eq", 32, Reg(result), Const(0)), again))


def _back_off(b: _Builder) -> None:
    """Counts between attempts, to a number that is doubled, or that was read."""
    place, pause, count = b.shared(), b.fresh(), b.fresh(kept=b.chance(0.1))
    b.emit(Assign(pause, Const(1)))
    if b.chance(0.2):
        b.load(b.shared(), pause)
    again, end = b.label("L"), f"E{len(b.labels)}"
    b.labels[end] = -1
    _, success = b.exchange(place, Const(0), Const(b.number + 1))
    b.emit(Branch(Reg(success), end), Assign(count, Const(0)))
    run, rest = b.label("R"), f"S{len(b.labels)}"
    b.labels[rest] = -1
    b.emit(Branch(Binary("sge", 32, Reg(count), Reg(pause)), rest))
    b.emit(Assign(count, Binary("add", 32, Reg(count), Const(1))), Jump(run))
    b.here(rest)
    b.emit(Branch(Binary("sge", 32, Reg(pause), Const(2)), again))
    b.emit(Assign(pause, Binary("mul", 32, Reg(pause), Const(2))), Jump(again))
    b.here(end)


LOOPS: tuple[Callable[[_Builder], None], ...] = (
    *(_spin, _retry, _retry, _retry, _position, _position, _sequence, _test_and_try, _counted),
    *(_try_in_function, _try_in_function, _back_off, _signal, _snapshot, _snapshot, _publish, _add_and_undo),
)


# --- what stands between


def _simple(b: _Builder) -> None:
    kind = b.random.randint(0, 10)
    if kind < 4:
        b.store(b.shared(), Const(b.random.randint(0, 2)), b.random.choice(WRITES))
    elif kind < 6:
        b.load(b.shared(), kept=True)
    elif kind == 6:
        b.store(OWN[b.number], Const(b.random.randint(1, 2)), Order.PLAIN)
    elif kind == 7:
        b.load(b.random.choice(OWN), order=b.random.choice((Order.PLAIN, Order.PLAIN, Order.RELAXED)), kept=True)
    elif kind == 8:
        _guarded_read(b)
    elif kind == 9:
        _two_looks(b)
    else:
        b.emit(
            Rmw(
                b.fresh(kept=True),
                b.random.choice(("add", "xchg")),
                Address(b.shared()),
                Const(1),
                SIZE,
                b.random.choice(UPDATES),
            )
        )


def _two_looks(b: _Builder) -> None:
    """At what another thread may go on storing."""
    place = b.random.choice(OWN)
    for _ in range(2):
        b.load(place, order=Order.RELAXED, kept=True)


def _guarded_read(b: _Builder) -> None:
    """Of what another thread keeps for itself until it has said so."""
    seen, end = b.load(b.shared(), kept=True), f"E{len(b.labels)}"
    b.labels[end] = -1
    b.emit(Branch(Binary("eq", 32, Reg(seen), Const(0)), end))
    b.load(b.random.choice(OWN), order=b.random.choice((Order.PLAIN, Order.RELAXED)), kept=True)
    b.here(end)


def rounds_program(seed: int) -> Program:
    random = Random(f"rounds {seed}")
    n_threads, loops_left = random.choice((2, 2, 2, 3)), 2
    functions: list[Function] = []
    observed: list[Observable] = [MemoryValue(place) for place in (*SHARED, *OWN)]
    for number in range(n_threads):
        builder = _Builder(random, number, f"P{number}")
        for _ in range(random.randint(1, 3 if n_threads == 2 else 2)):
            if loops_left and random.random() < 0.5:
                loops_left -= 1
                random.choice(LOOPS)(builder)
            else:
                _simple(builder)
        functions += [Function(builder.name, (), tuple(builder.body), builder.labels), *builder.functions]
        observed += [RegisterValue(number, register) for register in builder.kept]
    return Program(
        "random",
        "C",
        tuple(Object(place, 8) for place in (*SHARED, *OWN)),
        tuple(functions),
        tuple(Thread(f"P{number}", f"P{number}") for number in range(n_threads)),
        Property(None, None, tuple(observed)),
    )
